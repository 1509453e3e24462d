"""The command line that shows a failure again: the test, what it needs of others, the server and the values as given.

It can be pasted into a shell. Secrets are left out of it: whoever runs it puts them in again.
"""

import re
from collections.abc import Iterable, Iterator
from shlex import join

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.limits import TEST_LIMIT_FLAGS
from mcp_conductor.cli.target import TARGET_FLAGS
from mcp_conductor.redaction import REDACTED, Redactor, secrets_of_environment, secrets_of_words
from mcp_conductor.report import Outcome
from mcp_conductor.suites.job import Job
from mcp_conductor.suites.suite import Case, Suite
from mcp_conductor.visible import one_line

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
_RANDOM = re.compile(r"\{\{[^}]*\b(?:uuid|random_int|random_text)\b")
_VALUES = ("--var", "--vars-file", "--secret")


class Again:
    """How to run each test of a run again."""

    def __init__(self, given: Given) -> None:
        flags, after = list(_flags(given)), ["--", *given.after] if given.after else []
        secrets = secrets_of_words([*flags, *after])
        hidden = Redactor([*(text.partition("=")[2] for text in given.all("--secret")), *secrets])
        self._flags, self._after = ([one_line(hidden.redact(word)) for word in words] for words in (flags, after))
        self._seed: list[str] | None = [] if "--seed" in given else None  # what makes random values the same again
        self._random: set[str] = set()  # files with random values
        self._cases: dict[str, tuple[Suite, Case]] = {}

    def about(self, jobs: Iterable[Job], seed: int) -> None:
        """These are the tests that are run, with random values by SEED."""
        self._seed = ["--seed", str(seed)] if self._seed is None else self._seed
        for job in jobs:
            if job.cases and _RANDOM.search(job.cases[0].step.given.document.text):
                self._random.add(job.suite.file)
            for case in job.cases:
                self._cases[job.identity(case)] = (job.suite, case)

    def __call__(self, outcome: Outcome) -> str:
        found = self._cases.get(outcome.id)
        file = "" if outcome.where is None else one_line(outcome.where.file)  # of a teardown, which is no test
        places = [file] if found is None else _places(*found)
        seed = (self._seed or []) if found is not None and found[0].file in self._random else []
        return join(["conductor", "test", *places, *self._flags, *seed, *self._after])


def _flags(given: Given) -> Iterator[str]:
    for name in (*_DECISIVE, *_VALUES):
        if name in given and not given.all(name):
            yield name
        for text in given.all(name):
            yield name
            yield _without_secret(name, text)


def _without_secret(flag: str, text: str) -> str:
    if flag == "--token":
        return REDACTED
    name, mark, value = text.partition(":" if flag == "--header" else "=")
    if flag == "--header":
        return f"{name}: {REDACTED}" if mark else REDACTED
    if flag == "--secret" or (flag == "--env" and secrets_of_environment({name: value})):
        return f"{name}={REDACTED}"
    return text


def _places(suite: Suite, case: Case) -> list[str]:
    """Where the test stands, after those that capture what it needs, and what they need themselves."""
    needed, lines = set(case.step.needs), [_line(case)]
    before = suite.cases[: suite.cases.index(case)]
    for other in reversed(before):
        if needed & other.step.captures.keys():
            needed |= other.step.needs
            lines.append(_line(other))
    return [one_line(f"{suite.file}:{line}") for line in sorted(set(lines))]


def _line(case: Case) -> int:
    return 1 if case.where is None else case.where.line
