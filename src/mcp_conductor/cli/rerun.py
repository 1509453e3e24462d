"""The command line that shows a failure again: the test, what it needs of others, the server and the values as given.

It can be pasted into a shell. Secrets are left out: the person who runs it has to add them.
"""

from collections.abc import Iterable, Iterator, Sequence
from shlex import join
from typing import TYPE_CHECKING

from mcp_conductor.cli.budget_flags import TEST_LIMIT_FLAGS
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.run_flags import OUTPUT_FLAGS
from mcp_conductor.cli.secret_flags import without_secret, without_secrets
from mcp_conductor.cli.target import TARGET_FLAGS
from mcp_conductor.report.formats.folding import InRevisions
from mcp_conductor.report.model import BAD, Outcome
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.text.visible import one_line

if TYPE_CHECKING:
    from mcp_conductor.suites.language.suite import Case, Suite
    from mcp_conductor.suites.running.job import Job

# Flags that make a test what it is; those that choose tests, or how they are shown, do not.
_DECISIVE = (
    *(flag.name for flag in (*TARGET_FLAGS, *TEST_LIMIT_FLAGS)),
    "--isolation",
    "--step-timeout",
    "--compat",
    "--seed",
    "--strict",
    "--allow-only",
)
_RANDOM = compiled_later(r"\{\{[^}]*\b(?:uuid|random_int|random_text)\b")
_VALUES = ("--var", "--vars-file", "--secret")
# Flags of a check that do not describe its server or client.
_OF_THE_CHECK = {flag.name for flag in OUTPUT_FLAGS} | {
    "--only", "--skip", "--level", "--protocol", "--expected-failures", "--badge",
}  # fmt: skip


class RerunCommands:
    """How to run each test of a run again."""

    def __init__(self, given: Given) -> None:
        flags, after = list(_flags(given, (*_DECISIVE, *_VALUES))), ["--", *given.after] if given.after else []
        self._flags, self._after = without_secrets(given, flags, after)
        self._seed: list[str] | None = [] if "--seed" in given else None  # what makes random values the same again
        self._random: set[str] = set()  # files with random values
        self._cases: dict[str, tuple[Suite, Case]] = {}

    def about(self, jobs: "Iterable[Job]", seed: int) -> None:
        """Remember the tests that are run, and the SEED of their random values."""
        self._seed = ["--seed", str(seed)] if self._seed is None else self._seed
        for job in jobs:
            if job.cases and _RANDOM.search(job.cases[0].step.given.document.text):
                self._random.add(job.suite.file)
            for case in job.cases:
                self._cases[job.identity(case)] = (job.suite, case)

    def __call__(self, outcome: Outcome) -> str:
        found = self._cases.get(outcome.id)
        file = "" if outcome.where is None else one_line(outcome.where.file)  # of a teardown, which is not a test
        places = [file] if found is None else _places(*found)
        seed = (self._seed or []) if found is not None and found[0].file in self._random else []
        return join(["conductor", "test", *places, *self._flags, *seed, *self._after])


def next_lines(given: Given, shown: Iterable[InRevisions]) -> str:
    """The command lines that show more about the first failure of a check, or the first warning if nothing failed."""
    for statuses in (BAD, ("warned",)):
        for each in shown:
            if each.outcome.status in statuses:
                name, version = each.outcome.id, each.versions[-1] if "--protocol" in given else None
                explain = join(["conductor", "check", *_flags(given, ("--plugin",)), "--explain", name])
                return f"next:\n  {explain}\n  {check_again(given, name, version)}\n"
    return ""


def reach(given: Given, words: Sequence[str], server: str | None = None) -> str:
    """What mcp-cli needs to find the server that is GIVEN by WORDS or by flags; SERVER is what a test file names."""
    flags = [*_flags(given, (flag.name for flag in TARGET_FLAGS if flag.name != "--protocol"))]
    if server is not None and "--server" not in given:
        flags += ["--server", server]
    flags, after = without_secrets(given, flags, ["--", *words] if words else [])
    return join([*flags, *after])


def check_again(given: Given, name: str, version: str | None) -> str:
    """The command line that checks the requirement NAME alone, in the revision VERSION if that must be said."""
    flags = list(_flags(given, [flag for flag in given.values if flag not in _OF_THE_CHECK]))
    flags, words = without_secrets(given, flags, ["--", *given.words] if given.words else [])
    protocol = [] if version is None else ["--protocol", version]
    return join(["conductor", "check", *flags, *protocol, "--only", name, "-vv", *words])


def verify_again(given: Given, file: str) -> str:
    """The command line that plays the recording FILE again to the server that is GIVEN."""
    flags = list(_flags(given, [flag for flag in given.values if flag not in _OF_THE_CHECK]))
    flags, words = without_secrets(given, flags, ["--", *given.words] if given.words else [])
    return join(["conductor", "verify", file, *flags, *words])


def _flags(given: Given, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name in given and not given.all(name):
            yield name
        for text in given.written.all(name):
            yield name
            yield without_secret(name, text)


def _places(suite: "Suite", case: "Case") -> list[str]:
    """Where the test stands, after those that capture what it needs, and what they need themselves."""
    needed, lines = set(case.step.needs), [_line(case)]
    before = suite.cases[: suite.cases.index(case)]
    for other in reversed(before):
        if needed & other.step.captures.keys():
            needed |= other.step.needs
            lines.append(_line(other))
    return [one_line(f"{suite.file}:{line}") for line in sorted(set(lines))]


def _line(case: "Case") -> int:
    return 1 if case.where is None else case.where.line
