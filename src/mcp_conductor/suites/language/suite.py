"""A test file, understood completely before any server starts: `*.test.mcp.yml`."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import chain
from typing import Any

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes, read_all
from mcp_conductor.files.other_files import is_outside, unquoted
from mcp_conductor.files.placeholders import Draft
from mcp_conductor.files.source import Document, Path, load as load_source
from mcp_conductor.protocol.dialect import PROTOCOL_CHOICES
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.suites.language.actions import ACTIONS
from mcp_conductor.suites.language.captures import read_path
from mcp_conductor.suites.language.includes import joined_vars, read_included
from mcp_conductor.suites.language.keys import IN_FILE, IN_TEST
from mcp_conductor.suites.language.script import NOTHING_SCRIPTED, Script, read_script
from mcp_conductor.suites.language.steps import (
    STEP_KEYS,
    USUAL_KEYS,
    Reading,
    Step,
    names_in,
    read_step,
    read_steps,
    read_vars,
)
from mcp_conductor.suites.language.tables import Row, file_of_rows, names_of_rows, read_rows
from mcp_conductor.suites.language.variables import Filling, Variables, filling
from mcp_conductor.suites.matching.paths import JsonPath
from mcp_conductor.values import dataclass

# What a file may have, and what the manual says of it.
SUITE_KEYS = {
    "description": "what the file is about (required)",
    "tests": "the tests, in order (required)",
    "server": "which server of the settings file",
    "include": "a file, or several, with what test files share: `vars`, `client`, hooks, `tags`, `timeout`, `ignore`",
    "vars": "variables; each may use those before it",
    "client": "what the client answers in all tests",
    "setup": "steps before the first test",
    "teardown": "steps after the last test, even if tests failed",
    "before_each": "steps before each test",
    "after_each": "steps after each test",
    "tags": "tags of all tests",
    "timeout": "how long each reply may take",
    "protocol": "a revision, or several: the file is run once for each",
    "transports": "servers of the settings file: the file is run on each, and replies must not differ",
    "ignore": "paths of what may differ between the replies of `transports`: one, or an array",
    "isolation": "one server per `run`, `file` or `test`",
    "skip": "true or a reason: no test of this file is run",
    "skip_if": "as for a test",
    "$schema": "for editors",
}
# What a test has in addition to what a step has.
CASE_ONLY_KEYS = {
    "it": "what the server should do (required)",
    "skip": "true, or a reason: it is not run",
    "skip_if": "conditions that must all hold: `capability`, `no_capability`, `platform`, `env`, `no_env`, `protocol`",
    "xfail": "true, or a reason: it is expected to fail, and a failure if it passes",
    "only": "true: nothing else is run",
    "tags": "for `--tag` and `--not-tag`",
    "ignore": "what may differ between the replies of `transports` to this test, in addition to what the file says",
    "steps": "several things to do, one after the other, each with what a step has; the first that fails ends the test",
    "parametrize": "rows of variables, each perhaps with an `id`, or `{file: cases.csv}`: the test is run for each",
}
_STEP = (*ACTIONS, *STEP_KEYS)
CASE_KEYS = (*CASE_ONLY_KEYS, *_STEP)
_SHAPE = "a test file has a description and tests"
_A_TEST = "tests: [{it: …, call: …, expect: …}]"
ISOLATIONS = ("run", "file", "test")
CONDITIONS = ("capability", "no_capability", "platform", "env", "no_env", "protocol")


@dataclass(frozen=True, slots=True)
class FileWarning:
    """Something in a file that is worth knowing."""

    message: str
    where: Location | None
    case: str | None = None  # the title of the test that it is about; None: it is about the file


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test, or one row of a test that has several."""

    title: str
    step: Step
    row: Mapping[str, Any] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    skip: str | None = None  # the reason
    skip_if: Mapping[str, Any] | None = None
    xfail: str | None = None  # the reason
    only: bool = False
    ignore: tuple[JsonPath, ...] = ()  # what may differ between transports
    number: int = 1  # among the tests of its file that have the same title
    row_at: Path | None = None  # where its row is written, if that is in the same file

    @property
    def name(self) -> str:
        """What selects it in its file: its title, and its number if it is not the first of that title."""
        return self.title if self.number == 1 else f"{self.title} ({self.number})"

    @property
    def where(self) -> Location | None:
        return self.step.given.document.locate(self.step.given.path)

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line of the test in its file."""
        return self.step.given.document.lines(self.step.given.path)

    @property
    def row_lines(self) -> tuple[int, int] | None:
        """The first and the last line of its row, if that is written in the same file."""
        return None if self.row_at is None else self.step.given.document.lines(self.row_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """All tests of one file."""

    file: str
    description: str
    cases: tuple[Case, ...]
    server: str | None = None
    vars: Mapping[str, Filling] = field(default_factory=dict)
    script: Script = NOTHING_SCRIPTED
    setup: tuple[Step, ...] = ()
    teardown: tuple[Step, ...] = ()
    before_each: tuple[Step, ...] = ()
    after_each: tuple[Step, ...] = ()
    timeout: float | None = None
    protocols: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    transports_given: Field | None = None  # where that is said
    isolation: str | None = None
    warnings: tuple[FileWarning, ...] = ()
    files: tuple[str, ...] = ()  # that it is made of, besides its own
    outside: bool = False  # whether it may use files outside its directory

    @property
    def steps(self) -> tuple[Step, ...]:
        """Everything that is done to the server."""
        tests = (step for case in self.cases for step in case.step.each)
        return (*self.setup, *self.before_each, *tests, *self.after_each, *self.teardown)

    @property
    def kinds(self) -> set[str]:
        """What the client of this file has to declare that it answers."""
        scripts = (step.script for step in (*self.steps, *(case.step for case in self.cases)))
        return self.script.kinds.union(*(script.kinds for script in scripts))

    @property
    def ids(self) -> set[int]:
        """The ids that requests of this file have, as far as we could choose them too."""
        sent = (action.given.value for step in self.steps for action in step.actions if action.verbatim)
        return {raw["id"] for raw in sent if isinstance(raw, dict) and isinstance(raw.get("id"), int)}


def load_suite(
    path: str, variables: Variables, *, shown: str | None = None, lenient: bool = False, outside: bool = False
) -> Suite:
    """Read the test file at PATH; messages call it SHOWN.

    LENIENT: unknown keys are warnings, not errors. OUTSIDE: it may name files outside its directory.
    """
    directory = os.path.dirname(path)
    reading = Reading(set(variables.names()), lenient, directory)
    try:
        document = load_source(path, shown, json=False, limit=None if outside else directory or os.curdir)
        return _read_suite(document, reading)
    except UsageError as error:
        # What a link stands for may be no test file at all.
        unseen = reading.unquoted if outside or not is_outside(path, directory or os.curdir) else None
        first, *others = (unquoted(each, unseen) for each in (error, *error.more))
        first.more, first.left_out = tuple(others), error.left_out
        raise first from None


def _read_suite(document: Document, reading: Reading) -> Suite:
    root = Field(document, (), document.data)
    _refuse_others(root)
    mistakes = Mistakes()
    given = reading.members(root, tuple(SUITE_KEYS), IN_FILE, mistakes)
    for key in ("description", "tests"):
        if key not in given and not mistakes:  # a key that is not known may be one of these
            mistakes.add(root.mistake(f"has no {key}", _SHAPE))

    parts = [*read_included(given.get("include"), reading, mistakes), given]  # what is shared comes first

    def each(key: str) -> list[Field]:
        return [part[key] for part in parts if key in part]

    def last(key: str) -> Field | None:
        return next(reversed(each(key)), None)

    def steps(key: str, *, own_first: bool = False) -> tuple[Step, ...]:
        fields = reversed(each(key)) if own_first else each(key)
        read = (mistakes.read(one, lambda one: read_steps(one, reading), ()) for one in fields)
        return tuple(chain.from_iterable(read))

    own_vars: dict[str, Filling] = {}
    for one in each("vars"):
        own_vars = joined_vars(own_vars, mistakes.read(one, lambda one: read_vars(one, reading.names), {}))
        reading.learn(names_in(one))
    script = mistakes.read(last("client"), lambda field: read_script(field, reading.names), NOTHING_SCRIPTED)
    setup, before_each = steps("setup"), steps("before_each")
    defaults = _Defaults(
        tags=frozenset().union(*(mistakes.read(one, _tags, frozenset()) for one in each("tags"))),
        skip=mistakes.read(given.get("skip"), _skip, None),
        skip_if=mistakes.read(given.get("skip_if"), _condition, None),
        ignore=tuple(path for one in each("ignore") for path in mistakes.read(one, _paths, ())),
    )
    suite = Suite(
        file=document.file,
        description=mistakes.read(given.get("description"), Field.text, ""),
        cases=mistakes.read(given.get("tests"), lambda field: _tests(field, reading, defaults, own_vars), ()),
        server=mistakes.read(given.get("server"), Field.text, None),
        vars=own_vars,
        script=script,
        setup=setup,
        before_each=before_each,
        after_each=steps("after_each", own_first=True),
        teardown=steps("teardown", own_first=True),
        timeout=mistakes.read(last("timeout"), Field.seconds, None),
        protocols=mistakes.read(given.get("protocol"), _protocols, ()),
        transports=mistakes.read(given.get("transports"), _texts, ()),
        transports_given=given.get("transports"),
        isolation=mistakes.read(given.get("isolation"), lambda field: field.one_of(ISOLATIONS), None),
        outside=document.limit is None,
    )
    mistakes.tell()
    return replace(suite, warnings=tuple(_warnings(suite, reading)), files=tuple(reading.files))


def _refuse_others(root: Field) -> None:
    """Refuse a file that is not a test file at all."""
    if root.value is None:
        root.refuse("is empty", f"{_SHAPE}; `conductor init` and `conductor discover` write a first one")
    if not isinstance(root.value, dict):
        root.refuse(f"is {kind_of(root.value)}, not a test file", _SHAPE)
    if "tests" not in root.value and "serverInfo" in root.value:
        root.refuse("is a server file, not a test file", f"conductor serve {root.document.file}")


def _warnings(suite: Suite, reading: Reading) -> Iterator[FileWarning]:
    for where, message in reading.warnings:
        yield FileWarning(message, where.document.locate(where.path))
    if not suite.cases:
        yield FileWarning("this file has no tests", None)
    seen: set[str] = set()
    if not suite.transports and any(case.ignore for case in suite.cases):
        yield FileWarning("`ignore` changes nothing: this file has no `transports`, whose replies it is about", None)
    doubted: set[int] = set()  # steps, which rows share
    for case in suite.cases:
        expects = [expect for step in case.step.each for expect in step.expects]
        if id(case.step) not in doubted:
            doubted.add(id(case.step))
            doubts = (doubt for expect in expects if expect is not None and expect.asserts for doubt in expect.doubts())
            yield from (FileWarning(message, where, case.title) for where, message in doubts)
        if not any(expect is not None and expect.checks_something for expect in expects):
            yield FileWarning(f"{case.title!r} checks nothing: any reply passes", case.where, case.title)
        if case.title in seen:
            yield FileWarning(f"there is more than one test called {case.title!r}", case.where)
        seen.add(case.title)


@dataclass(frozen=True, slots=True)
class _Defaults:
    """What a file says for all of its tests."""

    tags: frozenset[str]
    skip: str | None
    skip_if: Mapping[str, Any] | None
    ignore: tuple[JsonPath, ...]


def _tests(given: Field, reading: Reading, defaults: _Defaults, file_vars: Mapping[str, Filling]) -> tuple[Case, ...]:
    if given.value is None:
        given.refuse("has nothing below it", _A_TEST)
    if isinstance(given.value, dict):
        given.refuse("must be an array, not an object", f"each test begins with a dash: - it: …; {_A_TEST}")
    cases = read_all(lambda entry: _cases(entry, reading, defaults, file_vars), given.items())
    return tuple(_numbered(tuple(chain.from_iterable(cases))))


def _cases(entry: Field, reading: Reading, defaults: _Defaults, file_vars: Mapping[str, Filling]) -> list[Case]:
    """One test; of several rows, one for each."""
    mistakes = Mistakes()
    given = reading.members(entry, CASE_KEYS, IN_TEST, mistakes)

    if given.keys() <= USUAL_KEYS and "it" in given:  # as of nearly all tests: there is nothing else to read
        mistakes.read(given["it"], Field.text, "")
        step = read_step(entry, given, reading, mistakes)
        return [_with_defaults(_title(given["it"], {} if reading.lenient else file_vars), step, defaults)]
    if "it" not in given and not mistakes:
        mistakes.add(entry.mistake("has no name", "each test says in `it` what the server should do"))
    mistakes.read(given.get("it"), Field.text, "")
    table = given.get("parametrize")
    rows: list[Row] = mistakes.read(table, lambda field: read_rows(field, reading.directory), [("", {})])
    if file := file_of_rows(table, reading.directory):
        reading.files.append(file)
        mistakes.tell()  # its variables are not known, so that all that needs them would be a mistake
    only_here = set() if reading.known is None else names_of_rows(table, rows) - reading.known
    tags = defaults.tags | mistakes.read(given.get("tags"), _tags, frozenset())
    skip = mistakes.read(given.get("skip"), _skip, None) or defaults.skip
    skip_if = mistakes.read(given.get("skip_if"), _condition, defaults.skip_if)
    xfail = mistakes.read(given.get("xfail"), lambda field: _skip(field, "expected to fail"), None)
    only = mistakes.read(given.get("only"), Field.boolean, otherwise=False)
    ignore = defaults.ignore + mistakes.read(given.get("ignore"), _paths, ())
    reading.learn(only_here)
    try:
        step = read_step(entry, given, reading, mistakes)
    finally:
        if reading.known is not None:
            reading.known -= only_here - names_in(given.get("capture"))
    titles = [
        _title(given["it"], {} if reading.lenient else {**file_vars, **_fixed_fillings(row), **step.vars})
        for _, row in rows
    ]
    found = []
    for index, (title, (name, row)) in enumerate(zip(titles, rows, strict=True)):
        told = not name or (title != given["it"].value and titles.count(title) == 1)  # its row in its name
        named = title if told else f"{title} [{name}]"
        made = Case(title=named, step=step, row=row, tags=tags, skip=skip, skip_if=skip_if, xfail=xfail, only=only)
        row_at = (*table.path, index) if table is not None and isinstance(table.value, list) else None
        found.append(replace(made, ignore=ignore, row_at=row_at) if ignore or row_at else made)
    return found


def _with_defaults(title: str, step: Step, defaults: _Defaults) -> Case:
    """A test that says nothing of what a file may say for all of its tests."""
    tags, skip, skip_if, ignore = defaults.tags, defaults.skip, defaults.skip_if, defaults.ignore
    return Case(title=title, step=step, tags=tags, skip=skip, skip_if=skip_if, ignore=ignore)


def _numbered(cases: tuple[Case, ...]) -> Iterator[Case]:
    """CASES, each with its number among those of the same title."""
    titles = {case.title for case in cases}
    if len(titles) == len(cases):
        yield from cases
        return
    last: Counter[str] = Counter()
    for case in cases:
        number = last[case.title] + 1
        while number > 1 and f"{case.title} ({number})" in titles:  # another test has this title
            number += 1
        last[case.title] = number
        yield case if number == 1 else replace(case, number=number)


def _fixed_fillings(row: Mapping[str, Any]) -> dict[str, Filling]:
    return {name: Draft(value) for name, value in row.items()}


def _title(given: Field, known: Mapping[str, Filling]) -> str:
    """The name of a test with what is KNOWN filled in, if it is the same in every run: a test is known by its name."""
    text = given.text()
    if "{{" not in text:
        return text
    values = {name: each.value for name, each in known.items() if each.is_fixed}

    def fill(found: re.Match[str]) -> str:
        try:
            placeholder = filling(Field(given.document, given.path, f"{found[0]} "), None)
            if placeholder.needs and placeholder.needs <= values.keys():
                return str(placeholder.filled(Variables(values=values)))[:-1]
        except UsageError:  # it is only a name, and may have braces for other reasons
            pass
        return found[0]

    return re.sub(r"(?<!\\)\{\{.*?\}\}", fill, text)


def _texts(given: Field) -> tuple[str, ...]:
    return tuple(read_all(Field.text, given.items()))


def _paths(given: Field) -> tuple[JsonPath, ...]:
    return tuple(read_all(_path, given.items() if isinstance(given.value, list) else [given]))


def _path(given: Field) -> JsonPath:
    path = read_path(given)
    if any(part.pipe not in (None, "json") for part in path.parts):
        given.refuse("is not a part of a reply", "only | json is allowed in it")
    return path


def _tags(given: Field) -> frozenset[str]:
    return frozenset(_texts(given) if isinstance(given.value, list) else [given.text()])


_NO_REASONS = ("true", "false", "yes", "no", "on", "off", "y", "n")  # what people mean as true or false


def _skip(given: Field, default: str = "skipped") -> str | None:
    """The reason to skip: true is a reason without a text, false is no reason."""
    if given.value is False:
        return None
    if given.value is True:
        return default
    reason = given.text()
    if reason.strip().lower() in _NO_REASONS:
        given.refuse(f"must be true, false or a reason, not the text {reason!r}", "YAML 1.2 knows only true and false")
    return reason


def _condition(given: Field) -> Mapping[str, Any]:
    """When a test is left out: every one of these must hold."""
    members = given.members(CONDITIONS)
    if not members:
        given.refuse("has no condition", f"one or more of {', '.join(CONDITIONS)}")
    for each in members.values():
        if not isinstance(each.value, str):
            for item in each.items():
                item.text()
    return {key: [each.value] if isinstance(each.value, str) else each.value for key, each in members.items()}


def _protocols(given: Field) -> tuple[str, ...]:
    items = given.items() if isinstance(given.value, list) else [given]
    return tuple(item.one_of(PROTOCOL_CHOICES) for item in items)
