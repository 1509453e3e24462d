"""The command line that shows a failure again: the test, what it needs of others, the server and the values as given.

It can be pasted into a shell. Secrets are left out: the person who runs it has to add them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from shlex import join
from typing import TYPE_CHECKING

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.secrets import without_secret, without_secrets
from mcp_conductor.cli.flags.shared import OUTPUT_FLAGS, TEST_LIMIT_FLAGS
from mcp_conductor.cli.flags.target import TARGET_FLAGS
from mcp_conductor.report.formats.folding import InRevisions
from mcp_conductor.report.model import BAD, Looks, Outcome, Report, run_id
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.text.visible import one_line

if TYPE_CHECKING:
    from mcp_conductor.suites.language.suite import Case, Suite
    from mcp_conductor.suites.running.job import Job
    from mcp_conductor.suites.running.plan import Plan
    from mcp_conductor.suites.running.trace import Trace


# Flags that make a test what it is; those that choose tests, or how they are shown, do not.
_DECISIVE = (
    *(flag.name for flag in (*TARGET_FLAGS, *TEST_LIMIT_FLAGS)),
    "--isolation",
    "--step-timeout",
    "--compat",
    "--seed",
    "--strict",
    "--allow-only",
    "--allow-outside",
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
        self._shuffled = "--shuffle" in given
        self._isolation = given.one("--isolation")
        self._jobs: Sequence[Job] = ()
        self._cases: dict[str, tuple[Job, Case]] = {}

    def about(self, jobs: "Sequence[Job]", seed: int) -> None:
        """Remember the tests that are run, and the SEED of their random values."""
        self._seed = ["--seed", str(seed)] if self._seed is None else self._seed
        self._jobs = jobs
        for job in jobs:
            if job.cases and _RANDOM.search(job.cases[0].step.given.document.text):
                self._random.add(job.suite.file)
            for case in job.cases:
                self._cases[job.identity(case)] = (job, case)

    def __call__(self, outcome: Outcome) -> str:
        found = self._cases.get(outcome.id)
        file = "" if outcome.where is None else one_line(outcome.where.file)  # of a teardown, which is not a test
        places = [file] if found is None else self._before(*found)
        order = ["--shuffle"] if places and found is not None else []
        if found is not None and not places:
            places = _places(found[0].suite, found[1])
        is_random = found is not None and found[0].suite.file in self._random
        seed = (self._seed or []) if order or is_random else []
        return join(["conductor", "test", *places, *self._flags, *order, *seed, *self._after])

    def _before(self, job: "Job", case: "Case") -> list[str]:
        """Where those tests stand that came before CASE to its server in a random order, and CASE; if there are any."""
        isolation = self._isolation or job.suite.isolation
        if not self._shuffled or isolation == "test":
            return []
        jobs = self._jobs[: self._jobs.index(job) + 1] if isolation == "run" else [job]
        if len(jobs) == 1 and case is job.cases[0]:
            return []
        from mcp_conductor.suites.running.select import word_for  # not for a check

        places: list[str] = []
        for each in jobs:
            suite = each.suite
            if len(each.cases) == len(suite.cases):
                places.append(one_line(suite.file))
            else:
                places += [one_line(word_for(suite.file, suite.cases, one)) for one in each.cases]
        return list(dict.fromkeys(places))


def next_lines(given: Given, shown: Iterable[InRevisions]) -> str:
    """The command lines that show more about what failed in a check, or about what is warned of if nothing failed."""
    shown = list(shown)
    for statuses in (BAD, ("warned",)):
        if found := [each for each in shown if each.outcome.status in statuses]:
            names = list(dict.fromkeys(each.outcome.id for each in found))
            versions = {each.versions[-1] for each in found}
            version = None if "--protocol" not in given else versions.pop() if len(versions) == 1 else "all"
            words = (word for name in names for word in ("--explain", name))
            explain = join(["conductor", "check", *_flags(given, ("--plugin",)), *words])
            # What was found in what other checks said does not come again without these.
            again = given.all("--only") if any(each.outcome.elsewhere for each in found) else names
            return f"next:\n  {explain}\n  {check_again(given, again, version)}\n"
    return ""


def reach(given: Given, words: Sequence[str], server: str | None = None) -> str:
    """What mcp-cli needs to find the server that is GIVEN by WORDS or by flags; SERVER is what a test file names."""
    flags = [*_flags(given, (flag.name for flag in TARGET_FLAGS if flag.name != "--protocol"))]
    if server is not None and "--server" not in given:
        flags += ["--server", server]
    flags, after = without_secrets(given, flags, ["--", *words] if words else [])
    return join([*flags, *after])


def check_again(given: Given, names: Iterable[str], version: str | None) -> str:
    """The command line that checks these requirements alone, in the revision VERSION if that must be said."""
    flags = list(_flags(given, [flag for flag in given.values if flag not in _OF_THE_CHECK]))
    flags, words = without_secrets(given, flags, ["--", *given.words] if given.words else [])
    protocol = [] if version is None else ["--protocol", version]
    only = [word for name in names for word in ("--only", name)]
    return join(["conductor", "check", *flags, *protocol, *only, "-vv", *words])


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
    from mcp_conductor.suites.running.select import word_for

    needed, tests = set(case.step.needs), [case]
    before = suite.cases[: suite.cases.index(case)]
    for other in reversed(before):
        if needed & other.step.captures.keys():
            needed |= other.step.needs
            tests.insert(0, other)
    return [one_line(word_for(suite.file, suite.cases, each)) for each in tests]


_MOST_SOURCES = 20_000_000  # characters of all test files


def looks_of_tests(
    given: Given, plan: "Plan", report: Report, again: Callable[[Outcome], str], trace: "Trace"
) -> Looks:
    """What there is to look at after a run of tests. AGAIN is the command line that runs a test again."""
    from mcp_conductor.checks.explain import rules

    sources: dict[str, str] = {}
    ways: dict[str, str] = {"": reach(given, given.after)}
    room = _MOST_SOURCES
    for job in plan.jobs:
        file = job.suite.file
        ways[file] = reach(given, given.after, job.suite.server)
        document = job.cases[0].step.given.document if job.cases else None
        if document is not None and file not in sources and len(document.text) <= room:
            room -= len(document.text)
            sources[file] = "\n" * (document.begins - 1) + document.text
    commands = {run_id(each): again(each) for each in report.outcomes if each.findings and each.where is not None}
    return Looks(
        sources=sources,
        again=commands,
        reach=ways,
        remarks=tuple(trace.remarks),
        rules=rules(dict.fromkeys(each.requirement for each in trace.remarks if each.requirement is not None)),
        trace=trace.when,
    )


def looks_of_verify(given: Given, report: Report, file: str) -> Looks:
    """What there is to look at after a recording was played to a server: a part of it cannot be played alone."""
    command = verify_again(given, file)
    commands = {run_id(each): command for each in report.outcomes if each.findings}
    return Looks(again=commands, reach={"": reach(given, given.words)})


def looks_of_check(given: Given, report: Report) -> Looks:
    """What there is to look at after a check."""
    from mcp_conductor.checks.engine.grade import in_words

    commands = {run_id(each): check_again(given, [each.id], each.version) for each in report.outcomes if each.findings}
    of_a_server = "--client" not in given and "--transcript" not in given
    return Looks(
        again=commands,
        reach={"": reach(given, given.words)} if of_a_server else {},
        grading=in_words("client" if "--client" in given else "server"),
    )
