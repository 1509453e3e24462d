"""Expected documents: a mirror of what should come, with `match:` patterns where it may vary.

What has no pattern in it must be equal; a mapping lists all members, unless `match:partial` stands around it. A file is
compiled when it is read, and every mistake in it is refused then; comparing never raises.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any, Final, NoReturn, Protocol

from mcp_conductor.errors import CannotTellError, UsageError, nearest
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes, read_all
from mcp_conductor.files.source import Path
from mcp_conductor.protocol import Json
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.comparison import (
    Comparison,
    EnoughError,
    Glance,
    Mismatch,
    Place,
    Trials,
    UndecidedError,
)
from mcp_conductor.suites.matching.differences import buckets, described, difference, element_count, same, shown, take
from mcp_conductor.suites.matching.matchers import MATCHERS, PREFIX, SPECIAL_KEYS, Tools
from mcp_conductor.values import dataclass

_ORDER_IS_LOOKED_AT: Final = 2000  # elements; more would take too long for a hint
_MOST_GUESSES: Final = 50


class Node(Protocol):
    """A compiled expectation."""

    @property
    def optional(self) -> bool:
        """Whether the value may be missing altogether."""

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        """Tell SEEN how ACTUAL differs."""


def compare(node: Node, actual: Any, tools: Tools | None, place: Place, trials: Trials | None = None) -> list[Mismatch]:
    """How ACTUAL differs from NODE."""
    seen = Comparison(tools, trials)
    try:
        node.walk(actual, place, seen)
    except EnoughError:
        pass
    except UndecidedError as error:
        return [*seen.mismatches(), error.mismatch]
    except RecursionError:
        return [Mismatch(place.path, "is nested too deeply to be compared", at=place.at)]
    return seen.mismatches()


class Expected:
    """A compiled expectation, for any number of values."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.has_matchers = not isinstance(node, Plain) or node.partial

    def check(self, actual: Any, tools: Tools | None = None) -> list[Mismatch]:
        """Everything in which ACTUAL differs, shortest path first; TOOLS has the tool that was called."""
        return compare(self._node, actual, tools, _ANYWHERE)


@dataclass(frozen=True, slots=True)
class Plain:
    """A value without patterns."""

    value: Any
    partial: bool = False
    optional: bool = False

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        # At once, if all is equal; member by member only to report what differs.
        if same(self.value, actual):
            return
        if isinstance(self.value, dict):
            nodes: dict[str, Node] = {key: Plain(value, self.partial) for key, value in self.value.items()}
            Members(self.value, nodes, self.partial).walk(actual, place, seen)
        elif isinstance(self.value, list):
            Elements(self.value, [Plain(item, self.partial) for item in self.value], self.partial).walk(
                actual, place, seen
            )
        else:
            seen.add(place, difference(self.value, actual), self.value, actual, _forgotten_prefix(self.value))


def _forgotten_prefix(value: Any) -> str | None:
    from mcp_conductor.suites.matching.matchers.patterns import forgotten_prefix

    return forgotten_prefix(value) if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Members:
    """An object, member by member."""

    value: Any
    nodes: dict[str, Node]
    open: bool  # to members that are not listed
    optional: bool = False

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        if not isinstance(actual, dict):
            return seen.add(
                place, f"is {described(actual)}, not an object", self.value, actual, _meant_matcher(self.value)
            )
        keys, there = self.nodes.keys(), actual.keys()
        if keys != there and not (self.open and keys <= there):
            self._tell_keys(actual, place, seen)
        for key, node in self.nodes.items():
            # What is equal needs no place, of which most time would be spent here.
            if key in actual and not (node.__class__ is Plain and same(node.value, actual[key])):
                node.walk(actual[key], place.to(key, at=(key,)), seen)
        return None

    def _tell_keys(self, actual: Json, place: Place, seen: Comparison) -> None:
        """Tell which members are missing, and which are not expected."""
        missing = [key for key, node in self.nodes.items() if key not in actual and not node.optional]
        mistaken = self._tell_missing(missing, actual, place, seen) if missing else set()
        for key in () if self.open else [key for key in actual if key not in self.nodes]:
            hint = None if key in mistaken else "expect it too, or put `match:partial` around what is expected"
            seen.add(Place((*place.steps, key), place.at, place.source), "is not expected", NOTHING, actual[key], hint)

    def _tell_missing(self, missing: list[str], actual: Json, place: Place, seen: Comparison) -> set[str]:
        """Tell which members are missing; give those that probably stand for them."""
        mistaken: set[str] = set()
        others = list(islice((name for name in actual if name not in self.nodes), _MOST_GUESSES))
        for key in missing:
            near = nearest(key, others) if len(mistaken) < _MOST_GUESSES else None
            hint = f"it has {near!r}; is that it?" if near else _other_outcome(key, actual)
            mistaken |= {near} if near else set()
            seen.add(place.to(key, at=(key,)), "is missing", self.value[key], NOTHING, hint)
        return mistaken


def _meant_matcher(value: Any) -> str | None:
    """What {match: "contains:x"} and {contains: x} probably stand for."""
    ((key, below),) = value.items() if isinstance(value, dict) and len(value) == 1 else ((None, None),)
    if isinstance(below, dict | list | None):
        return None
    return _forgotten_prefix(str(below) if key == "match" else f"{key}:{below}")


def _other_outcome(key: str, actual: Json) -> str | None:
    if key == "result" and "error" in actual:
        return f"the reply is an error: {shown(actual['error'])}"
    if key == "error" and isinstance(actual.get("result"), dict):
        failed = actual["result"].get("isError") is True
        return "the reply is a result" + (" with isError: true, which is how tools report failures" if failed else "")
    return None


@dataclass(frozen=True, slots=True)
class Elements:
    """An array, element by element; if it is open, what comes after those that are listed does not matter."""

    value: list[Any]
    nodes: list[Node]
    open: bool
    optional: bool = False

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        if not isinstance(actual, list):
            return seen.add(place, f"is {described(actual)}, not an array", self.value, actual)
        fits = len(actual) == len(self.nodes) or (self.open and len(actual) > len(self.nodes))
        if not fits:
            where, told = self._where(actual, seen)
            wanted = f"{'at least ' * self.open}{len(self.nodes)}"
            seen.add(place, f"has {element_count(actual)}, not {wanted}{where}", self.value, actual)
            if told:
                return None
        elif not self.open and self._is_reordered(actual):
            hint = "`match:unordered` takes them in any order"
            return seen.add(place, "has these elements, but in another order", self.value, actual, hint)
        for index, (node, item) in enumerate(zip(self.nodes, actual, strict=False)):
            node.walk(item, place.to(index, at=(index,)), seen)
        return None

    def _where(self, actual: list[Any], seen: Comparison) -> tuple[str, bool]:
        """Which elements are missing or too many, when all others are as they should be; and whether that is so."""
        shorter = min(len(actual), len(self.nodes))
        from_start, from_end = zip(self.nodes, actual, strict=False), zip(self.nodes[::-1], actual[::-1], strict=False)
        start, end = (
            next((count for count, pair in enumerate(pairs) if not matches(*pair, seen)), shorter)
            for pairs in (from_start, from_end)
        )
        if start + end < shorter:
            return "", False
        longer = actual if len(actual) > shorter else self.value
        parted = range(start, start + len(longer) - shorter)
        spelled_out = ", ".join(f"[{index}] {shown(longer[index])}" for index in islice(parted, 3))
        more = ", …" if len(parted) > 3 else ""
        return f"; {'unexpected' if longer is actual else 'missing'}: {spelled_out}{more}", True

    def _is_reordered(self, actual: list[Any]) -> bool:
        if not 1 < len(actual) <= _ORDER_IS_LOOKED_AT or not all(isinstance(node, Plain) for node in self.nodes):
            return False
        left = buckets(actual)
        return all(take(left, item) is not None for item in self.value) and not same(self.value, actual)


def matches(node: Node, actual: Any, seen: Comparison) -> bool:
    """Whether ACTUAL is like NODE, for the comparison SEEN."""
    seen.trials.use_one(_ANYWHERE)
    try:
        node.walk(actual, _ANYWHERE, Glance(seen.tools, seen.trials))
    except (EnoughError, RecursionError):
        return False
    return True


_ANYWHERE: Final = Place()


@dataclass(frozen=True, slots=True)
class Leaf:
    """A pattern in a text."""

    text: str
    complaint: Callable[[Any, Tools | None], str | None]
    optional: bool = False

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        try:
            complaint = "is missing" if actual is NOTHING else self.complaint(actual, seen.tools)
        except CannotTellError as error:
            raise UndecidedError(place, error) from None
        if complaint is not None and not (actual is NOTHING and self.optional):
            seen.add(place, complaint, self.text, actual)


@dataclass(frozen=True, slots=True)
class Together:
    """Several expectations of one value, each with its way down in the file."""

    parts: tuple[tuple[Path, Node], ...]

    @property
    def optional(self) -> bool:
        return all(node.optional for _, node in self.parts)

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        for at, node in self.parts:
            node.walk(actual, place.below(*at), seen)


def compile_expected(field: Field, *, partial: bool = False) -> Expected:
    """Read what FIELD expects; raises UsageError that points at what is wrong in it."""
    try:
        return Expected(_compile_whole(field, partial=partial))
    except RecursionError:
        field.refuse("is nested too deeply")


def _compile_whole(field: Field, *, partial: bool) -> Node:
    """As `compile_node`; what stands below the members of an object is compiled once for all tests of a file.

    The tests of a long file expect the same again and again, but for the id of a reply. Nodes do not know their place,
    so one can stand for all parts of the file that are written alike.
    """
    value, document = field.value, field.document
    # What is read in the common way has no aliases, of which the text may be far longer than the file.
    if not isinstance(value, dict) or document.common is None or any(key.startswith(PREFIX) for key in value):
        return compile_node(field, partial=partial)
    known: dict[tuple[str, bool], Node] = document.memory

    def compile_shared(below: Field, *, partial: bool) -> Node:
        written = (repr(below.value), partial)
        if written not in known:
            known[written] = compile_node(below, partial=partial)
        return known[written]

    nodes = _compile_each(field, value, partial=partial, compile_below=compile_shared)
    for node in nodes.values():
        if node.__class__ is not Plain:
            return Members(value, nodes, partial)
    return Plain(value, partial)


def compile_text(field: Field) -> Callable[[str], str | None]:
    """Read what FIELD expects of a text such as stderr: `toBeEmpty`, a pattern, or this, but for outer space."""
    wanted = field.text()
    if wanted == "toBeEmpty":
        return lambda text: f"is not empty: {shown(text.strip())}" if text.strip() else None
    if wanted.startswith(PREFIX):
        complaint = _compile_leaf(field.refuse, wanted).complaint
        return _decided(lambda text: complaint(text, None))
    return lambda text: None if text.strip() == wanted.strip() else difference(wanted.strip(), text.strip())


def _decided(complaint: Callable[[str], str | None]) -> Callable[[str], str | None]:
    def check(text: str) -> str | None:
        try:
            return complaint(text)
        except CannotTellError as error:
            return f"cannot be compared: {error.message}"

    return check


def compile_node(field: Field, *, partial: bool) -> Node:
    value = field.value
    if isinstance(value, str) and value.startswith(PREFIX):
        return _compile_leaf(field.refuse, value)
    if not isinstance(value, (dict, list)) or is_plain(value):
        return Plain(value, partial)
    if isinstance(value, list):
        return Elements(value, read_all(lambda item: compile_node(item, partial=partial), field.items()), partial)
    for key in value:
        if key.startswith(PREFIX):
            return _compile_special(field, field.members(), partial=partial)
    return Members(value, _compile_each(field, value, partial=partial), partial)


def _compile_each(
    field: Field, members: Json, *, partial: bool, compile_below: Callable[..., Node] | None = None
) -> dict[str, Node]:
    """The nodes of MEMBERS of FIELD."""
    compile_below = compile_below or compile_node

    nodes: dict[str, Node] = {}
    mistakes = Mistakes()
    for key, value in members.items():
        # Most are texts or numbers; few need a Field, with which to refuse them.
        pattern = isinstance(value, str) and value.startswith(PREFIX)
        if not pattern and not isinstance(value, (dict, list)):
            nodes[key] = Plain(value, partial)
            continue
        below = field.member(key, value)
        try:
            nodes[key] = _compile_leaf(below.refuse, value) if pattern else compile_below(below, partial=partial)
        except UsageError as error:
            mistakes.add(error)
    mistakes.tell()
    return nodes


def is_plain(value: Any) -> bool:
    """Whether VALUE has no patterns in it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str) and each.startswith(PREFIX):
            return False
        if isinstance(each, dict):
            waiting += each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return True


def _compile_leaf(refuse: Callable[[str, str | None], NoReturn], text: str) -> Leaf:
    from mcp_conductor.suites.matching.matchers.patterns import read_pattern

    try:
        pattern = read_pattern(text.removeprefix(PREFIX))
    except UsageError as error:
        refuse(f"{shown(text)} {error.message}", error.hint)
    return Leaf(text, pattern.complaint, pattern.optional)


def _compile_special(field: Field, members: dict[str, Field], *, partial: bool) -> Together:
    """A mapping with keys that are matchers: all of them must hold, and its other members too; more may be there."""
    special = {key.removeprefix(PREFIX): each for key, each in members.items() if key.startswith(PREFIX)}

    def read(key: tuple[str, Field]) -> tuple[Path, Node]:
        name, each = key
        if name not in SPECIAL_KEYS:
            _refuse_key(each, name)
        return (PREFIX + name,), SPECIAL_KEYS.get(name)(each, field, partial)

    parts = read_all(read, special.items())
    used = {"value"} if "extractField" in special else set()
    others = {key: each for key, each in members.items() if not key.startswith(PREFIX) and key not in used}
    if others:
        values = {key: each.value for key, each in others.items()}
        nodes = _compile_each(field, values, partial=partial)
        parts.append(((), Members(values, nodes, open=True)))
    return Together(tuple(parts))


def _refuse_key(field: Field, name: str) -> None:
    names = [known for known, _ in SPECIAL_KEYS.items()]
    near = nearest(name, names)
    hint = f"did you mean '{PREFIX}{near}'?" if near else f"known: {', '.join(PREFIX + known for known in names)}"
    if name.removeprefix("not:").partition(":")[0] in MATCHERS:
        hint = f"it is a value, not a key: '{PREFIX}{name}:…'; `match:allOf` has room for several"
    field.refuse("is not a known special key", hint)
