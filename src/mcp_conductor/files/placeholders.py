r"""`{{ … }}` in what a file says: values that are known only when the file is used.

    {{ user.name }}                 a path: a root or a variable, then members, [0], [-1], ["a key with dots"]
    {{ random_int(1, 9) }}          a function; its arguments are JSON
    {{ user.name ?? "unknown" }}    a JSON value in place of what is missing or null
    {{ user.tags | count }}         filters, after the default if there is one
    \{{                             two braces as they are

Which roots, variables, functions and filters there are is for the owner of a format to say (`Vocabulary`). A text that
is one placeholder and nothing else becomes the value itself; within a longer text, strings stand as they are and
everything else as JSON. Each text is read once, together with the file, and what has no placeholders is shared by all
results from then on: copy a result before you change it.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field as member
from itertools import chain, islice
from json import JSONDecodeError, JSONDecoder
from typing import Any, Generic, NoReturn, TypeVar

from mcp_conductor.errors import nearest
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import read_all
from mcp_conductor.protocol.message import compact
from mcp_conductor.values import dataclass

Scope = TypeVar("Scope")
Fill = Callable[[Scope], Any]
Filter = Callable[[Any], Any]
# Which members each root has, as far as that is known when the file is read; None: any.
Known = Mapping[str, Collection[str] | None]

NAME = re.compile(r"[A-Za-z_]\w*")  # of a root, a variable, a function or a filter
MISSING: Any = object()  # what a path or a function leads to when nothing is there; null is something


def _value_text(value: Any) -> str:
    """VALUE within a text."""
    if value is MISSING:
        return ""
    return value if isinstance(value, str) else compact(value)


FILTERS: dict[str, Filter] = {
    "json": lambda value: compact(None if value is MISSING else value),
    "text": _value_text,
    "count": lambda value: len(value) if isinstance(value, (dict, list, str)) else 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary(Generic[Scope]):
    """What may stand between the braces, and how it is found in a scope."""

    roots: Mapping[str, Fill[Scope]] = member(default_factory=dict)
    known: Known = member(default_factory=dict)
    # Called once, when the file is read, with arguments as annotated; a ValueError says what else is wrong with them.
    functions: Mapping[str, Callable[..., Fill[Scope]]] = member(default_factory=dict)
    filters: Mapping[str, Filter] = member(default_factory=lambda: FILTERS)
    variable: Callable[[str], Fill[Scope]] | None = None  # how a variable is found, if there are variables
    variables: Collection[str] | None = None  # those that there will be; None: any
    strict: bool = False  # whether a path that leads to nothing, and has no default, is refused when it is filled in

    def beginnings(self) -> list[str]:
        """Everything that a placeholder may begin with, as it is written."""
        return [*sorted(self.variables or ()), *self.roots, *(f"{name}()" for name in self.functions)]


@dataclass(frozen=True)  # without slots: with them, Python 3.11 cannot make one by way of Draft[Scope]
class Draft(Generic[Scope]):
    """A value of the file; `fill` makes the final one for a scope, and is None where that is VALUE itself."""

    value: Any
    fill: Fill[Scope] | None = None
    needs: frozenset[str] = frozenset()  # the variables that it cannot do without

    @property
    def is_fixed(self) -> bool:
        return self.fill is None

    def filled(self, scope: Scope) -> Any:
        return self.value if self.fill is None else self.fill(scope)


def draft(field: Field, words: Vocabulary[Scope]) -> Draft[Scope]:
    """Read the placeholders in FIELD, however deep; a lone one keeps the type of its value."""
    match field.value:
        case str():
            return _draft_of_text(field, words, lone_keeps_type=True)
        case list():
            return array(read_all(lambda item: draft(item, words), field.items()))
        case dict():
            members = field.members()
            drafts = read_all(lambda each: draft(each, words), members.values())
            return record(dict(zip(members, drafts, strict=True)))
        case _:
            return Draft(field.value)


def text_draft(field: Field, words: Vocabulary[Scope]) -> Draft[Scope]:
    """Read the placeholders in FIELD, a text that must be a text when they are filled in, too."""
    field.text()
    return _draft_of_text(field, words, lone_keeps_type=False)


def array(items: list[Draft[Scope]]) -> Draft[Scope]:
    """The draft of an array."""
    return _compose_draft([item.value for item in items], dict(enumerate(items)))


def record(members: dict[str, Draft[Scope]]) -> Draft[Scope]:
    """The draft of an object."""
    return _compose_draft({key: each.value for key, each in members.items()}, members)


def may_have_placeholders(value: Any) -> bool:
    """Whether VALUE is worth reading at all: where this says no, its draft is itself."""
    if isinstance(value, str):
        return "{{" in value
    if isinstance(value, dict):
        return any(map(may_have_placeholders, value.values()))
    return isinstance(value, list) and any(map(may_have_placeholders, value))


def _compose_draft(whole: Any, parts: Mapping[Any, Draft[Scope]]) -> Draft[Scope]:
    holes = tuple((key, part.fill) for key, part in parts.items() if part.fill is not None)
    if not holes:
        return Draft(whole)

    def fill(scope: Scope) -> Any:
        copy = whole.copy()
        for key, filled in holes:
            copy[key] = filled(scope)
        return copy

    return Draft(whole, fill, frozenset(chain.from_iterable(part.needs for part in parts.values())))


def _draft_of_text(field: Field, words: Vocabulary[Scope], *, lone_keeps_type: bool) -> Draft[Scope]:
    needs: set[str] = set()
    pieces = list(_pieces(field, words, needs))
    if all(isinstance(piece, str) for piece in pieces):
        return Draft("".join(map(str, pieces)))
    if lone_keeps_type and len(pieces) == 1:
        alone = pieces[0]
        assert not isinstance(alone, str)
        return Draft(field.value, lambda scope: None if (value := alone(scope)) is MISSING else value, frozenset(needs))

    def fill(scope: Scope) -> str:
        return "".join([piece if isinstance(piece, str) else _value_text(piece(scope)) for piece in pieces])

    return Draft(field.value, fill, frozenset(needs))


# Reading a text.

_OPENING = re.compile(r"\\\{\{|\{\{")
_MOST_LISTED = 20
_SPACE = re.compile(r"\s*")
_MEMBER = re.compile(r"""\.([\w$-]+) | \[(-?\d+)\] | \[("(?:[^"\\]|\\.)*")\]""", re.VERBOSE)


def _pieces(field: Field, words: Vocabulary[Scope], needs: set[str]) -> Iterator[str | Fill[Scope]]:
    """The text of FIELD as what stands in it verbatim and what is to be filled in, in turn."""
    text, at = field.value, 0
    while opening := _OPENING.search(text, at):
        if opening.start() > at:
            yield text[at : opening.start()]
        at = opening.end()
        if opening[0] == "{{":
            reader = _Reader(field, at, words, needs)
            yield reader.placeholder()
            at = reader.at
        else:
            yield "{{"
    if at < len(text):
        yield text[at:]


class _Reader(Generic[Scope]):
    """Reads one placeholder in the text of FIELD, from behind its opening braces at AT."""

    def __init__(self, field: Field, at: int, words: Vocabulary[Scope], needs: set[str]) -> None:
        self.at = at
        self._begin = at - 2
        self._field = field
        self._text: str = field.value
        self._words = words
        self._needs = needs

    def placeholder(self) -> Fill[Scope]:
        name = self._name("a path that begins with one of", self._words.beginnings)
        called = bool(self._words.functions) and self._text.startswith("(", self.at)
        begin = self._call(name) if called else self._root(name)
        path = self._path()
        has_default = self._take("??")
        if not called:
            self._check(name, path, has_default=has_default)
        default = self._json('after ?? comes JSON, such as "text", 0, false or []') if has_default else MISSING
        filters = []
        while self._take("|"):
            filters.append(self._filter())
        if not self._take("}}"):
            self._refuse('a path goes on with .member, [0] or ["key"], then ?? and JSON, then | and a filter, then }}')
        return _filling(self._refusing_missing(_look_up(begin, path), default), default, filters)

    def _take(self, sign: str) -> bool:
        self._skip_space()
        if not self._text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        return True

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self.at)
        assert found is not None
        self.at = found.end()

    def _name(self, what: str, words: Callable[[], Collection[str]]) -> str:
        self._skip_space()
        found = NAME.match(self._text, self.at)
        if found is None:
            self._refuse(f"here must be {what} {_list_text(words())}; write \\{{{{ for two braces")
        self.at = found.end()
        return found[0]

    def _root(self, name: str) -> Fill[Scope]:
        if name in self._words.roots:
            return self._words.roots[name]
        if self._words.variable is None:
            self._does_not_know(name, self._words.beginnings())
        return self._words.variable(name)

    def _call(self, name: str) -> Fill[Scope]:
        self.at += 1
        arguments: list[Any] = []
        while not self._take(")"):
            if arguments and not self._take(","):
                self._refuse("arguments are separated by commas and end with )")
            arguments.append(self._json('an argument is JSON, such as "text", 0, false or []'))
        if name not in self._words.functions:
            self._does_not_know(f"{name}()", self._words.beginnings())
        function = self._words.functions[name]
        form = inspect.signature(function)
        if not _fit(arguments, form):
            self._refuse(f"write {name}({', '.join(map(str, form.parameters.values()))})", "has the wrong arguments")
        try:
            return function(*arguments)
        except ValueError as error:
            self._refuse(str(error), "has the wrong arguments")

    def _filter(self) -> Filter:
        known = self._words.filters
        name = self._name("the name of a filter, one of", lambda: known)
        if name not in known:
            self._does_not_know(name, known)
        return known[name]

    def _path(self) -> tuple[str | int, ...]:
        path: list[str | int] = []
        while found := _MEMBER.match(self._text, self.at):
            name, index, quoted = found.groups()
            path.append(name if name is not None else int(index) if index is not None else JSONDecoder().decode(quoted))
            self.at = found.end()
        return tuple(path)

    def _check(self, name: str, path: tuple[str | int, ...], *, has_default: bool) -> None:
        """Refuse a name that can never have a value; a variable with a default may be missing."""
        if name in self._words.roots:
            members = self._words.known.get(name)
            if members is not None and path and path[0] not in members:
                self._refuse(_suggestion(str(path[0]), members), f"names {path[0]!r}, but {name} has no such member")
        elif not has_default:
            if self._words.variables is not None and name not in self._words.variables:
                self._does_not_know(name, self._words.beginnings())
            self._needs.add(name)

    def _json(self, hint: str) -> Any:
        self._skip_space()
        try:
            value, self.at = _DECODER.raw_decode(self._text, self.at)
        except (JSONDecodeError, ValueError):
            self._refuse(hint)
        return value

    def _refusing_missing(self, look: Fill[Scope], default: Any) -> Fill[Scope]:
        """LOOK; but where the vocabulary is strict and no DEFAULT is given, a missing value is refused."""
        if not self._words.strict or default is not MISSING:
            return look

        def found(scope: Scope) -> Any:
            if (value := look(scope)) is MISSING:
                self._refuse('if it may be missing, give a default: ?? "text"', "has no value")
            return value

        return found

    def _does_not_know(self, name: str, known: Collection[str]) -> NoReturn:
        self._refuse(_suggestion(name, known), f"uses the unknown name {name!r}")

    def _refuse(self, hint: str | None, problem: str = "cannot be read") -> NoReturn:
        end = self._text.find("}}", self._begin)
        shown = self._text[self._begin : self._begin + 40 if end < 0 else end + 2]
        self._field.refuse(f"has the placeholder {shown}, which {problem}", hint)


def _fit(arguments: list[Any], form: "inspect.Signature") -> bool:
    try:
        given = form.bind(*arguments).arguments
    except TypeError:
        return False
    return all(form.parameters[name].annotation in (type(value), Any) for name, value in given.items())


def _suggestion(word: str, words: Collection[str]) -> str:
    near = nearest(word, tuple(words))
    if near is not None:
        return f"did you mean {near!r}?"
    return f"known here: {_list_text(words)}" if words else "it has no members here"


def _list_text(words: Collection[str]) -> str:
    return ", ".join(islice(words, _MOST_LISTED)) + (", …" if len(words) > _MOST_LISTED else "")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = JSONDecoder(parse_constant=_no_constant)


def _look_up(root: Fill[Scope], path: tuple[str | int, ...]) -> Fill[Scope]:
    if not path:
        return root

    def look(scope: Scope) -> Any:
        value = root(scope)
        for step in path:
            if isinstance(step, str):
                if not isinstance(value, dict) or step not in value:
                    return MISSING
            elif not isinstance(value, list) or not -len(value) <= step < len(value):
                return MISSING
            value = value[step]
        return value

    return look


def _filling(look: Fill[Scope], default: Any, filters: list[Filter]) -> Fill[Scope]:
    if default is MISSING and not filters:
        return look

    def fill(scope: Scope) -> Any:
        value = look(scope)
        if default is not MISSING and (value is MISSING or value is None):
            value = default
        for each in filters:
            value = each(value)
        return value

    return fill
