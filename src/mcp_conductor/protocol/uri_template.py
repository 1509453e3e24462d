"""URI templates (RFC 6570): which URIs fit one and with which values, and the URI that values make.

All eight operators are known; values are text, so `*` changes nothing. RFC 6570 does not define matching. Here each
variable needs a value, of at least one character, except those of a query: these may be missing, and come in any order.
Behind a query only a fragment can match. Templates and URIs come from others, so what is far longer than any that is
in use is not read, and does not match.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from urllib.parse import quote, unquote_to_bytes

from mcp_conductor.protocol.budgets import LONGEST_URI
from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True)
class _Operator:
    """What an operator puts before and between the values, and what a value may hold as it is."""

    first: str = ""
    separator: str = ","
    named: bool = False
    reserved: bool = False


_OPERATORS = {
    "": _Operator(),
    "+": _Operator(reserved=True),
    "#": _Operator("#", reserved=True),
    ".": _Operator(".", "."),
    "/": _Operator("/", "/"),
    ";": _Operator(";", ";", named=True),
    "?": _Operator("?", "&", named=True),
    "&": _Operator("&", "&", named=True),
}
_LONGEST_PREFIX = 9999
_MOST_MARKS = 1 << 24  # bytes of memory for one match

_VARIABLE = re.compile(r"((?:\w|%[0-9a-f]{2})+(?:\.(?:\w|%[0-9a-f]{2})+)*)(?:(\*)|:(.*))?", re.ASCII | re.IGNORECASE)
_PREFIX = re.compile(r"[1-9][0-9]{0,3}")
_NOT_LITERAL = re.compile(r'[\x00-\x20"<>\\^`|}\x7f]|%(?![0-9A-Fa-f]{2})')

_RESERVED = ":/?#[]@!$&'()*+,;="
_TRIPLET = re.compile("(%[0-9A-Fa-f]{2})")
_SEGMENT = re.compile("[^/?#]+")
_ANYTHING = re.compile(".+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str
    prefix: int | None = None


@dataclass(frozen=True, slots=True)
class _Expression:
    operator: str
    variables: tuple[_Variable, ...]


@dataclass(frozen=True, slots=True)
class _Slot:
    """A place that a value fills, in the way of its operator."""

    variable: _Variable
    run: re.Pattern[str]


_Parts = Sequence[str | _Expression]
_Found = list[tuple[_Variable, str]]


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A template that has been parsed; `names` are its variables in order, each once."""

    text: str
    names: tuple[str, ...] = field(compare=False)
    parts: tuple[str | _Expression, ...] = field(compare=False, repr=False)

    def expand(self, values: dict[str, str]) -> str:
        """The URI that VALUES make; variables without a value vanish."""
        return "".join(part if isinstance(part, str) else _expanded(part, values) for part in self.parts)

    def match(self, uri: str) -> dict[str, str] | None:
        """The values by which the template makes URI, percent-decoded; None if it does not fit."""
        whole = _escaped(uri, _RESERVED) if len(uri) <= LONGEST_URI else uri
        if len(whole) > LONGEST_URI:
            return None
        before, query, after = _split_at_query(self.parts)
        if not query:
            return _values_by_name(_fit(_tokens(before), whole))
        body, mark, fragment = whole.partition("#")
        head, pairs = _cut(body, query[0].operator, _tokens(before))
        return _values_by_name(
            _fit(_tokens(before), head), _query_values(pairs, query), _fit(_tokens(after), mark + fragment)
        )


def parse(text: str) -> UriTemplate:
    """The template that TEXT is; ValueError says what is wrong with it."""
    if len(text) > LONGEST_URI:
        raise ValueError(f"the URI template {text[:40]!r}… has {len(text)} characters, more than {LONGEST_URI}")
    parts = tuple(_parts(text))
    variables = [variable.name for part in parts if isinstance(part, _Expression) for variable in part.variables]
    return UriTemplate(text, tuple(dict.fromkeys(variables)), parts)


def _parts(text: str) -> Iterator[str | _Expression]:
    place = 0
    while place < len(text):
        opening = text.find("{", place)
        literal = text[place : opening if opening >= 0 else None]
        if wrong := _NOT_LITERAL.search(literal):
            what = "has no opening '{'" if wrong[0] == "}" else "must be percent-encoded"
            raise ValueError(f"{text!r} is not a URI template: {wrong[0]!r} {what}")
        if literal:
            yield _escaped(literal, _RESERVED)
        if opening < 0:
            return
        closing = text.find("}", opening)
        inner = text[opening + 1 : closing if closing >= 0 else None]
        if closing < 0 or "{" in inner:
            raise ValueError(f"{text!r} is not a URI template: '{{{inner}' has no closing '}}'")
        try:
            yield _expression(inner)
        except ValueError as error:
            raise ValueError(f"{text!r} is not a URI template: in '{{{inner}}}', {error}") from None
        place = closing + 1


def _expression(inner: str) -> _Expression:
    if inner[:1] and inner[0] in "=,!@|":
        raise ValueError(f"the operator {inner[0]!r} is reserved for later")
    operator = inner[:1] if inner[:1] in _OPERATORS else ""
    return _Expression(operator, tuple(map(_variable, inner.removeprefix(operator).split(","))))


def _variable(text: str) -> _Variable:
    found = _VARIABLE.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not a variable name: use letters, digits, '_' and inner dots")
    name, _, prefix = found.groups()
    if prefix is None:
        return _Variable(name)
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f"the length {prefix!r} is not a number from 1 to {_LONGEST_PREFIX}")
    return _Variable(name, int(prefix))


def _expanded(expression: _Expression, values: dict[str, str]) -> str:
    operator = _OPERATORS[expression.operator]
    shown = []
    for variable in expression.variables:
        if variable.name in values:
            value = _escaped(values[variable.name][: variable.prefix], _RESERVED if operator.reserved else "")
            equals = "=" if value or expression.operator != ";" else ""
            shown.append(f"{variable.name}{equals}{value}" if operator.named else value)
    return operator.first + operator.separator.join(shown) if shown else ""


def _escaped(text: str, safe: str) -> str:
    """TEXT as it may stand in a URI; where reserved characters are SAFE, what is percent-encoded already is so too."""
    pieces = _TRIPLET.split(text) if safe else [text]  # every second piece is a triplet
    return "".join(
        piece if index % 2 or not piece else quote(piece, safe=safe, errors="surrogatepass")
        for index, piece in enumerate(pieces)
    )


def _decoded(text: str) -> str:
    return unquote_to_bytes(text).decode(errors="replace")


def _tokens(parts: _Parts) -> list[str | _Slot]:
    """The text and the slots that PARTS are when every variable has a value."""
    tokens: list[str | _Slot] = []
    for part in parts:
        if isinstance(part, str):
            tokens.append(part)
            continue
        operator = _OPERATORS[part.operator]
        before = operator.first
        for variable in part.variables:
            if literal := before + (f"{variable.name}=" if operator.named else ""):
                tokens.append(literal)
            tokens.append(_Slot(variable, _ANYTHING if operator.reserved else _SEGMENT))
            before = operator.separator
    return tokens


def _fit(tokens: list[str | _Slot], text: str) -> _Found | None:
    """The values of the slots by which TOKENS are TEXT, each as long as it can be, in time proportional to both.

    A regular expression would try every way to share the text among the slots. Here each token, from the last to the
    first, marks once the places from which it and those behind it reach the end.
    """
    if len(tokens) * len(text) > _MOST_MARKS:
        return None
    marks = [bytearray(len(text)) + b"\1"]
    for token in reversed(tokens):
        marks.append(_places(token, text, marks[-1]))
    if not marks.pop()[0]:
        return None
    found, place = [], 0
    for token in tokens:
        goals = marks.pop()
        if isinstance(token, str):
            place += len(token)
        elif run := token.run.match(text, place):
            end = goals.rfind(1, place + 1, run.end() + 1)
            found.append((token.variable, _decoded(text[place:end])))
            place = end
    return found


def _places(token: str | _Slot, text: str, goals: bytearray) -> bytearray:
    """Mark where TOKEN may begin to end at one of the GOALS."""
    places = bytearray(len(goals))
    if isinstance(token, _Slot):
        for run in token.run.finditer(text):
            last = goals.rfind(1, run.start() + 1, run.end() + 1)
            if last > run.start():
                places[run.start() : last] = b"\1" * (last - run.start())
        return places
    place = text.find(token)
    while place >= 0:
        places[place] = goals[place + len(token)]
        place = text.find(token, place + 1)
    return places


def _split_at_query(parts: _Parts) -> tuple[list[str | _Expression], list[_Expression], list[str | _Expression]]:
    """PARTS before the query, those of the query, and those behind it."""
    before: list[str | _Expression] = []
    query: list[_Expression] = []
    after: list[str | _Expression] = []
    for part in parts:
        if isinstance(part, _Expression) and part.operator in ("?", "&") and not after:
            query.append(part)
        else:
            (after if query else before).append(part)
    return before, query, after


def _cut(body: str, opener: str, before: list[str | _Slot]) -> tuple[str, str | None]:
    """What stands before the query, and the query; None if the URI has no query.

    No value before the query has the character that opens it, so that `{+path}{?q}` leaves the query its `?`. Those in
    the text of the template are counted, and there is one place to cut.
    """
    literal = sum(token.count(opener) for token in before if isinstance(token, str))
    pieces = body.split(opener, literal + 1)
    if len(pieces) < literal + 2:
        return body, None
    return opener.join(pieces[:-1]), pieces[-1]


def _query_values(pairs: str | None, query: list[_Expression]) -> _Found | None:
    """The values that the PAIRS of a query give to the variables of QUERY, each at most once."""
    variables = {variable.name: variable for expression in query for variable in expression.variables}
    found = []
    for pair in [] if pairs is None else pairs.split("&"):
        name, equals, value = pair.partition("=")
        variable = variables.pop(name, None)
        if not variable or not equals:
            return None
        found.append((variable, _decoded(value)))
    return found


def _values_by_name(*founds: _Found | None) -> dict[str, str] | None:
    """The values by name; a variable that occurs twice must have one value, of which `{var:3}` shows the beginning."""
    values: dict[str, str] = {}
    everything: _Found = []
    for found in founds:
        if found is None:
            return None
        everything += found
    # The whole value first, then the longest prefix.
    for variable, value in sorted(everything, key=lambda each: -(each[0].prefix or _LONGEST_PREFIX + 1)):
        known = values.setdefault(variable.name, value)
        if value not in (known, known[: variable.prefix]):
            return None
    return values
