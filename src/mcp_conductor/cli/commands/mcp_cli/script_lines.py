"""The lines of `--script`: what each of them asks for, and what is wrong with one that cannot be understood.

    {"id"?, "method", "params"?, "capture"?, "timeout"?, "background"?}    call a method
    {"id"?, "await", "capture"?, "timeout"?}                               wait for an event

Captures and `{{ name }}` are those of test files.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import field
from json import JSONDecodeError
from typing import Any

from mcp_conductor.cli.commands.mcp_cli.events import LOG, NOTIFICATION, PROGRESS, REQUEST, UPDATE
from mcp_conductor.errors import Location, UsageError, nearest
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes
from mcp_conductor.files.reading import read_bytes
from mcp_conductor.files.source import Document
from mcp_conductor.protocol.message import kind_of, read, render, why_not_json
from mcp_conductor.suites.language.captures import Capture, read_captures
from mcp_conductor.suites.language.variables import Filling, filling
from mcp_conductor.values import dataclass

AWAITED = (PROGRESS, LOG, UPDATE, NOTIFICATION, REQUEST)
LONGEST_SCRIPT = 64_000_000  # bytes of a file, or of one line of stdin
_CALL_KEYS = ("id", "method", "params", "capture", "timeout", "background")
_AWAIT_KEYS = ("id", "await", "capture", "timeout")
_EITHER = 'a line has "method" or "await"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptLine:
    """One line that was understood; its placeholders are still open."""

    given: Field
    id: Any  # the number of the line, where it has none
    method: str | None = None
    params: Filling | None = None
    awaited: Filling | None = None
    captures: dict[str, Capture] = field(default_factory=dict)
    timeout: float | None = None
    background: bool = False

    @property
    def brings_secret(self) -> bool:
        """Whether its answer has something that must not be shown, which is known only when it is captured."""
        return any(each.secret for each in self.captures.values())


def read_line(text: str, number: int, file: str, known: Collection[str], background: Collection[Any]) -> ScriptLine:
    """The line TEXT of FILE; raises UsageError at its place.

    The captures KNOWN are there, and BACKGROUND has the ids of earlier lines that are answered when they can be.
    """
    try:
        data = read(text)
    except (ValueError, RecursionError) as error:
        column = error.colno if isinstance(error, JSONDecodeError) else 1
        where = Location(file, number, column, text)
        raise UsageError(f"{file}: line {number} is not JSON: {why_not_json(error)}", where=where) from error
    given = Field(Document(file, text, data, json=True, begins=number), (), data)
    try:
        return _read_members(given, number, known, background)
    except RecursionError:
        raise too_deep(given) from None


def too_deep(given: Field) -> UsageError:
    """What to say of the line that is GIVEN: to read it, or to carry it out, takes more calls than Python allows."""
    document = given.document
    message = f"{document.file}: line {document.begins} is nested too deeply"
    return UsageError(message, where=Location(document.file, document.begins, 1, document.text))


def id_of(text: str, number: int) -> Any:
    """What the answer to a line is called that cannot be understood: its id, if that can be, or its number."""
    try:
        data = read(text)
    except (ValueError, RecursionError):
        return number
    given = data.get("id") if isinstance(data, dict) else None
    return given if _is_id(given) else number


def read_script(path: str, shown: str) -> list[ScriptLine]:
    """All lines of the file at PATH, which messages call SHOWN; raises all mistakes in it."""
    try:
        text = read_bytes(os.path.expanduser(path), LONGEST_SCRIPT).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"--script: cannot read {shown}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--script: {shown} is not UTF-8") from error
    mistakes, known, background = Mistakes(), set[str](), set[Any]()
    lines: list[ScriptLine] = []
    for number, line in written_lines(text):
        try:
            lines.append(read_line(line, number, shown, known, background))
            known |= lines[-1].captures.keys()
            background |= {lines[-1].id} if lines[-1].background else set()
        except UsageError as error:
            mistakes.add(error)
    mistakes.tell()
    return lines


def written_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of TEXT that say something, with their numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r")


def _read_members(given: Field, number: int, known: Collection[str], background: Collection[Any]) -> ScriptLine:
    if not isinstance(given.value, dict):
        given.refuse(f"line {number} must be an object, not {kind_of(given.value)}", _EITHER)
    awaits = "await" in given.value and "method" not in given.value
    members = given.members(_AWAIT_KEYS if awaits else _CALL_KEYS)
    if not awaits and "method" not in members:
        given.refuse(f"line {number} asks for nothing", _EITHER)
    if "id" in members and not _is_id(members["id"].value):
        members["id"].refuse(f"must be a string or a number, not {kind_of(members['id'].value)}")
    if "params" in members and not isinstance(members["params"].value, dict):
        members["params"].refuse(f"must be an object, not {kind_of(members['params'].value)}")
    return ScriptLine(
        given=given,
        id=members["id"].value if "id" in members else number,
        method=_method(members["method"]) if "method" in members else None,
        params=filling(members["params"], known) if "params" in members else None,
        awaited=_awaited(members["await"], known, background) if awaits else None,
        captures=read_captures(members["capture"]) if "capture" in members else {},
        timeout=_timeout(members.get("timeout")),
        background="background" in members and members["background"].boolean(),
    )


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _timeout(given: Field | None) -> float | None:
    if given is None:
        return None
    seconds = given.seconds()
    if not seconds:
        given.refuse("must be a time above 0")
    return seconds


def _method(given: Field) -> str:
    method = given.text()
    if method.startswith("oauth/"):
        given.refuse(f"cannot be {method}, which asks an authorization server", f"mcp-cli --method {method}")
    if not method:
        given.refuse("must be the name of a method, not an empty string")
    return method


def _awaited(given: Field, known: Collection[str], background: Collection[Any]) -> Filling:
    if isinstance(given.value, str) and given.value not in AWAITED and "/" not in given.value:
        near = nearest(given.value, AWAITED)
        hint = f"did you mean {near!r}?" if near else f"an event ({', '.join(AWAITED)}), a method, or an object"
        given.refuse(f"names no event: {given.value!r}", hint)
    if not isinstance(given.value, (str, dict)) or not given.value:
        what = "an empty object" if given.value == {} else kind_of(given.value)
        given.refuse(f"must be an event, a method or an object with members of an event, not {what}")
    awaited = filling(given, known)
    if awaited.is_fixed:
        check_awaited(given, awaited.value, background)
    return awaited


def check_awaited(given: Field, wanted: Any, background: Collection[Any]) -> None:
    """Refuse the `await` that is GIVEN if its value, WANTED, is an answer that cannot come."""
    if not isinstance(wanted, dict) or "id" not in wanted:
        return
    name = wanted["id"]
    if not _is_id(name) or name not in background:
        near = nearest(name, [each for each in background if isinstance(each, str)]) if isinstance(name, str) else None
        hint = f"did you mean {near!r}?" if near else None
        shown = repr(name) if isinstance(name, str) else render(name)
        given.member("id", name).refuse(f"must be that of an earlier line in the background, not {shown}", hint)
