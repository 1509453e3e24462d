"""Which files and which tests are meant: paths, directories, globs, `file.yml:24`, `file.yml::name`, and filters."""

import glob
import os
import re
from collections.abc import Callable, Sequence

from mcp_conductor.bounded.regex import compile_regex
from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.suites import SUFFIXES
from mcp_conductor.suites.language.suite import Case, Suite
from mcp_conductor.suites.running.job import variants
from mcp_conductor.text.visible import one_line
from mcp_conductor.values import dataclass

_LINE = re.compile(r"^(.*\.ya?ml):(\d+)$")
_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "__snapshots__"}
_MOST_LISTED = 5
_PROGRAMS = ("python", "python3", "node", "npx", "npm", "uv", "uvx", "docker", "deno", "bun")
_SOURCES = (".py", ".js", ".mjs", ".cjs", ".ts")
_WORDS = re.compile(r"\(|\)|[^\s()]+")


@dataclass(frozen=True, slots=True)
class FilePattern:
    """One word of the command line, taken apart."""

    text: str
    path: str
    line: int | None = None
    name: str | None = None

    @property
    def is_one(self) -> bool:
        """Whether it names one test of a file, not all of them."""
        return self.line is not None or self.name is not None

    def tests(self, cases: Sequence[Case]) -> list[Case]:
        """Return those of CASES, which are all of a file, that it means."""
        if self.line is not None:
            return _on_line(cases, self.line)
        if self.name is None:
            return list(cases)
        exactly = [case for case in cases if self.name in (case.name, one_line(case.name))]
        rows = f"{self.name} ["
        return exactly or [case for case in cases if case.title == self.name or case.title.startswith(rows)]


def _on_line(cases: Sequence[Case], line: int) -> list[Case]:
    """The tests that LINE is a part of; of a test with rows, only those rows that are written there, if any are."""

    def has(lines: tuple[int, int] | None) -> bool:
        return lines is not None and lines[0] <= line <= lines[1]

    rows = [has(case.row_lines) for case in cases]
    narrowed = {id(case.step) for case, chosen in zip(cases, rows, strict=True) if chosen}
    return [
        case
        for case, chosen in zip(cases, rows, strict=True)
        if chosen or (id(case.step) not in narrowed and has(case.lines))
    ]


def word_for(file: str, cases: Sequence[Case], case: Case) -> str:
    """Return the pattern that means CASE alone of CASES, which are all of FILE: its line, or else its name."""
    line = (case.row_lines or case.lines)[0]
    return f"{file}:{line}" if len(_on_line(cases, line)) == 1 else f"{file}::{case.name}"


def read_pattern(text: str) -> FilePattern:
    path, colons, name = text.partition("::")
    if colons:
        return FilePattern(text, path, name=name)
    found = _LINE.match(text)
    return FilePattern(text, found[1], line=int(found[2])) if found else FilePattern(text, text)


def files_of(pattern: FilePattern, directory: str) -> list[str]:
    """The test files that PATTERN names, seen from DIRECTORY; sorted, so that every machine runs them in one order."""
    full = os.path.join(directory, os.path.expanduser(pattern.path))
    if os.path.isdir(full):
        return sorted(_below(full))
    if _is_a_server(pattern.text):
        return []
    if os.path.lexists(full):
        return [full]  # if it is not a file, the reader reports that
    return sorted(path for path in glob.glob(full, recursive=True) if os.path.isfile(path))


def _is_a_server(text: str) -> bool:
    """Whether TEXT is a part of a server's command, or its URL: the -- before it was forgotten."""
    return text.startswith(("http://", "https://")) or text in _PROGRAMS or text.endswith(_SOURCES)


def no_files(pattern: FilePattern, directory: str) -> UsageError:
    """The error for a PATTERN that matches no file, with a suggestion."""
    full = os.path.join(directory, os.path.expanduser(pattern.path))
    folder = full if os.path.isdir(full) else os.path.dirname(full)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith((".yml", ".yaml")))
    except OSError:
        names = []
    named = "test files are called NAME.test.mcp.yml"
    if _is_a_server(pattern.text):
        return UsageError(f"{pattern.text!r} is not a test file", hint="the server goes after --: conductor test -- …")
    if pattern.text.isdecimal():
        hint = "--jobs N runs N files at the same time, and --parallel takes no number"
        return UsageError(f"{pattern.text!r} is not a test file", hint=hint)
    if os.path.isdir(full):
        looked = "*.test.mcp.yml" if pattern.path in (".", "") else pattern.text
        near = next((name for name in names if "test" in name), None)
        hint = f"there is {near}, but {named}" if near else f"looked for from {directory}; {named}"
        return UsageError(f"no test file matches {looked!r}", hint=hint)
    stems = {name.partition(".")[0]: name for name in names}  # what follows is the same for all of them
    near = nearest(os.path.basename(full).partition(".")[0], list(stems))
    hint = f"did you mean {stems[near]!r}?" if near else f"looked for from {directory}; {named}"
    return UsageError(f"no test file matches {pattern.text!r}", hint=hint)


def no_jobs(suites: Sequence[Suite]) -> UsageError:
    """The error where nothing of SUITES is run: they have no tests, or filters exclude all of them."""
    if not any(suite.cases for suite in suites):
        files = ", ".join(suite.file for suite in suites)
        return UsageError(f"no tests were found in {files}", hint="tests: [{it: …, call: …, expect: …}]")
    return UsageError("no test is left to run", hint="the filters exclude all of them; --collect-only lists tests")


def no_tests(pattern: FilePattern, suites: list[Suite]) -> UsageError:
    """The error for a PATTERN that matches no test of SUITES, with the tests that exist."""
    cases = [case for suite in suites for case in suite.cases]
    titles = list(dict.fromkeys(case.title for case in cases))
    if pattern.name is not None:
        near = nearest(pattern.name, titles) or next((each for each in titles if pattern.name in each), None)
        listed = ", ".join(map(repr, titles[:_MOST_LISTED])) + (", …" if len(titles) > _MOST_LISTED else "")
        hint = f"did you mean {near!r}?" if near else f"there are: {listed}" if titles else "it has no tests"
        return UsageError(f"{pattern.path} has no test called {pattern.name!r}", hint=hint)
    firsts = sorted({case.lines[0] for case in cases})
    close = sorted(firsts, key=lambda line: abs(line - (pattern.line or 0)))[:_MOST_LISTED]
    listed = ", ".join(map(str, sorted(close)))
    hint = f"tests begin at line{'s' if len(close) > 1 else ''} {listed}" if close else "it has no tests"
    return UsageError(f"{pattern.path} has no test at line {pattern.line}", hint=hint)


def _below(folder: str) -> list[str]:
    found: list[str] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS and not name.startswith(".")]
        found += [os.path.join(place, name) for name in names if name.endswith(SUFFIXES)]
    return found


Chosen = Callable[[Suite, Case], bool]


def chosen_by(
    *, keyword: str | None, tags: Sequence[str], not_tags: Sequence[str], text: str | None, failed: set[str] | None
) -> Chosen:
    """Whether a test is wanted, by all filters of the command line together."""
    by_keyword = _keyword(keyword) if keyword is not None else None
    by_text = _filter(text) if text is not None else None

    def chosen(suite: Suite, case: Case) -> bool:
        if tags and not case.tags & set(tags):
            return False
        if case.tags & set(not_tags):
            return False
        names = f"{suite.description} {case.title}"
        if by_keyword is not None and not by_keyword(f"{suite.file} {names}".lower()):
            return False
        # Each by itself too, so that `^` and `$` mean what they seem to.
        if by_text is not None and not any(map(by_text, (case.title, suite.description, names))):
            return False
        names = f"{suite.file}::{case.name}"
        return failed is None or any(f"{names}{suffix}" in failed for _, _, suffix in variants(suite))

    return chosen


def _filter(text: str) -> Callable[[str], bool]:
    """`--filter`: a part of the name, or /a regular expression/ with flags."""
    found = re.fullmatch(r"/(.*)/([a-z]*)", text, re.DOTALL)
    if not found:
        return lambda names: text in names
    try:
        pattern = compile_regex(found[1], re.IGNORECASE if "i" in found[2] else 0)
    except re.error as error:
        raise UsageError(f"--filter {text} is not a regular expression: {error}") from error
    return pattern.search


def _keyword(text: str) -> Callable[[str], bool]:
    """`-k`: words with and, or, not and brackets, as pytest has them."""
    words = _WORDS.findall(text.lower())
    place = 0

    def peek() -> str | None:
        return words[place] if place < len(words) else None

    def take() -> str:
        nonlocal place
        if place >= len(words):
            raise UsageError(f"-k {text!r} ends too early", hint="words with and, or, not and brackets")
        place += 1
        return str(words[place - 1])

    def either() -> Callable[[str], bool]:
        left = both()
        while peek() == "or":
            take()
            left = _or(left, both())
        return left

    def both() -> Callable[[str], bool]:
        left = one()
        while peek() not in (None, "or", ")"):
            if peek() == "and":
                take()
            left = _and(left, one())
        return left

    def one() -> Callable[[str], bool]:
        word = take()
        if word == "not":
            inner = one()
            return lambda names: not inner(names)
        if word == "(":
            inner = either()
            if take() != ")":
                raise UsageError(f"-k {text!r}: a bracket is not closed")
            return inner
        if word in ("and", "or", ")"):
            raise UsageError(f"-k {text!r}: {word!r} is where a word should be", hint="words with and, or, not, ()")
        return lambda names: word in names

    wanted = either()
    if peek() is not None:
        raise UsageError(f"-k {text!r}: {peek()!r} has no meaning there")
    return wanted


def _and(left: Callable[[str], bool], right: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda names: left(names) and right(names)


def _or(left: Callable[[str], bool], right: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda names: left(names) or right(names)


def shard_of(text: str) -> tuple[int, int]:
    """`--shard I/N`: which part of how many."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"--shard takes I/N with I from 1 to N, not {text!r}")
    return int(found[1]), int(found[2])
