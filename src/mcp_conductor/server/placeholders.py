r"""`{{ … }}` in what a config file says: values that are known only when there is a request.

    {{ arguments.name }}                 a path: members, [0], [-1], ["a key with dots"]
    {{ arguments.name ?? "nobody" }}     a JSON value in place of what is missing or null
    {{ arguments.tags | count }}         filters, after the default if there is one
    \{{                                  two braces as they are

A text that is one placeholder and nothing else becomes the value itself; within a longer text, strings stand as they
are and everything else as JSON. Each text is read once, together with the file, and what has no placeholders is shared
by all results from then on: whoever changes a result must copy it.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

from mcp_conductor.errors import nearest
from mcp_conductor.fields import Field
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact

if TYPE_CHECKING:
    from mcp_conductor.server.call import Call


class Scope:
    """What placeholders are filled in from: one request, and what its client has answered meanwhile."""

    __slots__ = ("answers", "call")

    def __init__(self, call: "Call") -> None:
        self.call = call
        self.answers: Json = {}

    @property
    def client(self) -> Json:
        client = self.call.client
        return {"capabilities": client.capabilities, "protocolVersion": client.revision.version}

    @property
    def server(self) -> Json:
        return {"info": self.call.server.config.info}

    @property
    def task(self) -> Json:
        return {} if self.call.task is None else {"id": self.call.task.id}


Fill = Callable[[Scope], Any]
# Which members each root has, as far as that is known before there is a request; None: any.
Known = Mapping[str, Collection[str] | None]

ROOTS: dict[str, Fill] = {
    **{name: attrgetter(f"call.{name}") for name in ("arguments", "variables", "meta", "params")},
    **{name: attrgetter(name) for name in ("answers", "client", "server", "task")},
}
KNOWN: Known = {
    **dict.fromkeys(ROOTS),
    "client": ("capabilities", "protocolVersion"),
    "server": ("info",),
    "task": ("id",),
}
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class Draft:
    """A value of the file; `fill` makes the final one for a request, and is None where that is VALUE itself."""

    value: Any
    fill: Fill | None = None

    def filled(self, scope: Scope) -> Any:
        return self.value if self.fill is None else self.fill(scope)


def draft(field: Field, known: Known = KNOWN) -> Draft:
    """Read the placeholders in FIELD, however deep; a lone one keeps the type of its value."""
    match field.value:
        case str():
            return _draft_of_text(field, known, lone_keeps_type=True)
        case list():
            return array([draft(item, known) for item in field.items()])
        case dict():
            return record({key: draft(member, known) for key, member in field.members().items()})
        case _:
            return Draft(field.value)


def text_draft(field: Field, known: Known = KNOWN) -> Draft:
    """Read the placeholders in FIELD, a text that must be a text when they are filled in, too."""
    field.text()
    return _draft_of_text(field, known, lone_keeps_type=False)


def array(items: list[Draft]) -> Draft:
    """The draft of an array."""
    return _composed([item.value for item in items], dict(enumerate(items)))


def record(members: dict[str, Draft]) -> Draft:
    """The draft of an object."""
    return _composed({key: member.value for key, member in members.items()}, members)


def _composed(whole: Any, parts: Mapping[Any, Draft]) -> Draft:
    holes = tuple((key, part.fill) for key, part in parts.items() if part.fill is not None)
    if not holes:
        return Draft(whole)

    def fill(scope: Scope) -> Any:
        copy = whole.copy()
        for key, filled in holes:
            copy[key] = filled(scope)
        return copy

    return Draft(whole, fill)


def _draft_of_text(field: Field, known: Known, *, lone_keeps_type: bool) -> Draft:
    try:
        pieces = _pieces(field.value, known)
    except _MalformedError as error:
        field.refuse(error.problem, error.hint)
    if all(isinstance(piece, str) for piece in pieces):
        return Draft("".join(map(str, pieces)))
    if lone_keeps_type and len(pieces) == 1:
        alone = pieces[0]
        assert not isinstance(alone, str)
        return Draft(field.value, lambda scope: None if (value := alone(scope)) is _MISSING else value)

    def fill(scope: Scope) -> str:
        return "".join([piece if isinstance(piece, str) else _written(piece(scope)) for piece in pieces])

    return Draft(field.value, fill)


def _written(value: Any) -> str:
    """VALUE within a text."""
    if value is _MISSING:
        return ""
    return value if isinstance(value, str) else compact(value)


FILTERS: dict[str, Callable[[Any], Any]] = {
    "json": lambda value: compact(None if value is _MISSING else value),
    "text": _written,
    "count": lambda value: len(value) if isinstance(value, (dict, list, str)) else 0,
}


# Reading a text.

_OPENING = re.compile(r"\\\{\{|\{\{")
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z_]\w*")
_MEMBER = re.compile(r"""\.([\w$-]+) | \[(-?\d+)\] | \[("(?:[^"\\]|\\.)*")\]""", re.VERBOSE)


class _MalformedError(Exception):
    def __init__(self, problem: str, hint: str | None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


def _pieces(text: str, known: Known) -> list[str | Fill]:
    """TEXT as what stands in it verbatim and what is to be filled in, in turn."""
    pieces: list[str | Fill] = []
    at = 0
    while opening := _OPENING.search(text, at):
        if opening.start() > at:
            pieces.append(text[at : opening.start()])
        at = opening.end()
        if opening[0] == "{{":
            reader = _Reader(text, at, known)
            pieces.append(reader.placeholder())
            at = reader.at
        else:
            pieces.append("{{")
    if at < len(text):
        pieces.append(text[at:])
    return pieces


class _Reader:
    """Reads one placeholder of TEXT, from behind its opening braces at AT."""

    def __init__(self, text: str, at: int, known: Known) -> None:
        self.text = text
        self.at = at
        self._begin = at - 2
        self._known = known

    def placeholder(self) -> Fill:
        root = self._word("a path that begins with one of", ROOTS)
        path = self._path()
        self._check(root, path)
        default = self._json() if self._take("??") else _MISSING
        filters = []
        while self._take("|"):
            filters.append(FILTERS[self._word("the name of a filter, one of", FILTERS)])
        if not self._take("}}"):
            self._refuse('a path goes on with .member, [0] or ["key"], then ?? and JSON, then | and a filter, then }}')
        return _fill(_look_up(ROOTS[root], path), default, filters)

    def _take(self, sign: str) -> bool:
        self._skip_space()
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        return True

    def _skip_space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def _word(self, what: str, words: Collection[str]) -> str:
        self._skip_space()
        found = _WORD.match(self.text, self.at)
        if found is None:
            self._refuse(f"here must be {what} {', '.join(words)}; write \\{{{{ for two braces")
        if found[0] not in words:
            self._refuse(_meant(found[0], words), f"does not know {found[0]!r}")
        self.at = found.end()
        return found[0]

    def _path(self) -> tuple[str | int, ...]:
        path: list[str | int] = []
        while found := _MEMBER.match(self.text, self.at):
            name, index, quoted = found.groups()
            path.append(name if name is not None else int(index) if index is not None else JSONDecoder().decode(quoted))
            self.at = found.end()
        return tuple(path)

    def _check(self, root: str, path: tuple[str | int, ...]) -> None:
        """Refuse what can be known never to be there."""
        members = self._known[root]
        if members is not None and path and path[0] not in members:
            self._refuse(_meant(str(path[0]), members), f"has no {path[0]!r} in {root}")

    def _json(self) -> Any:
        self._skip_space()
        try:
            value, self.at = _DECODER.raw_decode(self.text, self.at)
        except (JSONDecodeError, ValueError):
            self._refuse('after ?? comes JSON, such as "text", 0, false or []')
        return value

    def _refuse(self, hint: str | None, problem: str = "cannot be read") -> NoReturn:
        end = self.text.find("}}", self._begin)
        shown = self.text[self._begin : self._begin + 40 if end < 0 else end + 2]
        raise _MalformedError(f"has the placeholder {shown}, which {problem}", hint)


def _meant(word: str, words: Collection[str]) -> str:
    near = nearest(word, tuple(words))
    if near is not None:
        return f"did you mean {near!r}?"
    return f"known here: {', '.join(words)}" if words else "there is nothing to be had from it here"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = JSONDecoder(parse_constant=_no_constant)


def _look_up(root: Fill, path: tuple[str | int, ...]) -> Fill:
    def look(scope: Scope) -> Any:
        value = root(scope)
        for step in path:
            if isinstance(step, str):
                if not isinstance(value, dict) or step not in value:
                    return _MISSING
            elif not isinstance(value, list) or not -len(value) <= step < len(value):
                return _MISSING
            value = value[step]
        return value

    return look


def _fill(look: Fill, default: Any, filters: list[Callable[[Any], Any]]) -> Fill:
    if default is _MISSING and not filters:
        return look

    def fill(scope: Scope) -> Any:
        value = look(scope)
        if default is not _MISSING and (value is _MISSING or value is None):
            value = default
        for each in filters:
            value = each(value)
        return value

    return fill
