r"""Assertions on one line: a path into the reply, and what must be true of what is there.

All matchers of texts may follow the path, and some words of their own:

    result.tools[*].name contains read_file         result.content[0].text | json | items  count >= 3
    result.isError == false                         notifications[method=notifications/progress] count >= 2
    result.nextCursor not exists                    result.content[0].text matches /^Hello, \w+/i
    duration < 200ms                                result.structuredContent.celsius between:-90:60
"""

import re
from collections.abc import Callable
from inspect import signature
from typing import Any

from mcp_conductor.catalog import Catalog
from mcp_conductor.errors import CannotTellError, UsageError, nearest
from mcp_conductor.files.fields import Field
from mcp_conductor.plugins import refuse_wrong_params, with_plugins
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.duration import seconds
from mcp_conductor.protocol.message import read
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.differences import (
    clipped,
    described,
    difference,
    number_in,
    same,
    shown,
    without_nothing,
)
from mcp_conductor.suites.matching.matchers import ANYTHING, MATCHERS, judging
from mcp_conductor.suites.matching.matchers.conditions import WORDS, holds
from mcp_conductor.suites.matching.matchers.patterns import read_pattern
from mcp_conductor.suites.matching.matchers.regexes import read_written_regex
from mcp_conductor.suites.matching.matchers.text import ends_with, starts_with
from mcp_conductor.suites.matching.paths import JsonPath, scan_path
from mcp_conductor.values import dataclass

Judge = Callable[[Any], str | None]
# What a predicate makes of the text after its word; None where a matcher of the same name is meant.
ReadPredicate = Callable[[str], Judge | None]
PREDICATES: Catalog[ReadPredicate] = Catalog("predicate", __name__)

# What may follow a path, besides all matchers: what the manual says of it.
MANUAL = {
    "== VALUE": "the value is this one; `=` is the same. VALUE is JSON, or else a text",
    "!= VALUE": "the value is another one",
    "< VALUE, <= VALUE, > VALUE, >= VALUE": "numbers, or texts, are compared; for `duration`, a time such as 200ms",
    "count == N": "so many elements of an array, or members of an object; all operators may stand here",
    "length == N": "the same, and characters of a text",
    "contains TEXT": "a part of a text, a whole element of an array, or a member of an object",
    "startsWith TEXT": "the beginning of a text",
    "endsWith TEXT": "the end of a text",
    "matches /REGEX/FLAGS": "a text in which the regular expression is found",
    "exists": "there is a value, and it is not null",
    "isEmpty": "a text, an array or an object with nothing in it",
    "not …": "the contrary of what follows",
}
_DURATION = "duration"
ROOTS = ("result", "error", "notifications", "session", _DURATION, "id", "jsonrpc")
_OPERATOR = re.compile(r"(==?|!=|<=?|>=?)\s*")
_WORD = re.compile(r"([A-Za-z]\w*)\s*:?\s*")
_COUNTED = re.compile(r"(count|length)\s*(==?|!=|<=?|>=?)\s*([0-9]{1,15})")
_EXAMPLE = "for example: result.tools[*].name contains read_file"


@dataclass(frozen=True, slots=True)
class Assertion:
    """Something that must be true of a document."""

    text: str
    path: JsonPath
    judge: Judge
    optional: bool = False  # whether there may be nothing
    selects: bool = False  # whether an empty selection is nothing: to `exists` and `!=` it is, to `count` it is not

    def check(self, document: Json) -> str | None:
        """What is wrong, if anything is."""
        found = self.path.pick(document, empty=False) if self.selects else self._value(document)
        if found is NOTHING:
            return None if self.optional else f"is missing: {self.path.why(document)}"
        try:
            return self.judge(found)
        except CannotTellError as error:
            return f"cannot be checked: {error.message}"

    def _value(self, document: Json) -> Any:
        """The value at the path. Where no element has the last step of the path, that is most likely misspelled."""
        found = self.path.find(document)
        return self.path.pick(document) if found else found


def compile_assert(field: Field) -> Assertion:
    """Read an assertion; raises a UsageError that points at it when it is not valid."""
    if isinstance(field.value, dict):
        field.refuse("must be a string, not an object", 'a text with ": " in it must be in quotes')
    text = field.text()
    if text == ANYTHING:
        return Assertion(text, JsonPath("$", ()), lambda _: None)
    try:
        path, end = scan_path(text)
        _refuse_unknown_root(path)
        return _read_assertion(text, path, text[end:].strip())
    except ValueError as error:
        field.refuse(f"is not an assertion: {error}", _EXAMPLE)
    except UsageError as error:
        field.refuse(f"{shown(text)} {error.message}", error.hint)


def _refuse_unknown_root(path: JsonPath) -> None:
    """A root that no document has is a mistake, and would make `not exists` true. `$.name` is for unusual replies."""
    root = path.parts[0].steps[0] if path.parts[0].steps else None
    if isinstance(root, str) and root not in ROOTS and not path.text.startswith("$"):
        near = nearest(root, list(ROOTS))
        known = f"did you mean {near!r}?" if near else f"known: {', '.join(ROOTS)}"
        raise UsageError(f"begins with {root!r}, which is not a root of a path", hint=known)


def _read_assertion(text: str, path: JsonPath, predicate: str) -> Assertion:
    asked = re.sub(r"^not\b[\s:]*", "", predicate)
    judge = _judge(asked, path.text)
    if asked == predicate:
        return Assertion(text, path, judge, selects=asked == "exists" or asked.startswith("!="))

    def opposite(value: Any) -> str | None:
        return f"is {shown(value)}, but `{asked}` must not be true of it" if judge(value) is None else None

    return Assertion(text, path, opposite, optional=asked == "exists", selects=asked == "exists")


def _judge(predicate: str, path: str) -> Judge:
    if not predicate:
        raise ValueError(f"{path!r} is only a path: what is expected there is missing")
    if found := _COUNTED.fullmatch(predicate):
        return _count_judge(*found.groups())
    if found := _OPERATOR.match(predicate):
        return _comparison_judge(found[1], predicate[found.end() :], path)
    found = _WORD.match(predicate)
    if found is None:
        raise ValueError(f"cannot read {predicate!r} after the path {path!r}")
    word, rest = found[1], predicate[found.end() :]
    if word not in PREDICATES and MATCHERS.find(word) is None:  # it may be in a plugin that was not loaded so far
        PREDICATES.find(word)
    if word in PREDICATES and (judge := PREDICATES.get(word)(rest)) is not None:
        return judge
    if word not in MATCHERS:
        raise _unknown(word)
    pattern = read_pattern(f"{word}:{rest}" if rest else word)
    return lambda value: pattern.complaint(without_nothing(value))


def _unknown(word: str) -> UsageError:
    known = [*PREDICATES, *(name for name, _ in MATCHERS.items())]
    near = nearest(word, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known[:6])}, operators, and all matchers"
    return UsageError(f"has the unknown predicate {word!r}", hint=with_plugins(hint))


# Comparing.


def _count_judge(word: str, operator: str, number: str) -> Judge:
    countable = (list, dict, str) if word == "length" else (list, dict)

    def judge(value: Any) -> str | None:
        if not isinstance(value, countable):
            return f"is {described(value)}, which cannot be counted"
        if holds(len(value), operator, int(number)):
            return None
        wanted = number if operator in ("=", "==") else f"{WORDS[operator]} {number}"
        return f"has {_size(value)}, not {wanted}"

    return judge


def _size(value: Any) -> str:
    unit = "element" if isinstance(value, list) else "member" if isinstance(value, dict) else "character"
    return f"{len(value) or 'no'} {unit}{'' if len(value) == 1 else 's'}"


def _comparison_judge(operator: str, written: str, path: str) -> Judge:
    if not written:
        raise ValueError(f"nothing follows {operator}")
    if path == _DURATION:
        return _duration_judge(operator, written)
    wanted = _literal(written)
    if operator in ("=", "=="):
        return lambda value: None if same(wanted, value) else _unequal(wanted, value)
    if operator == "!=":
        return lambda value: f"is {shown(value)}, but must not be" if same(wanted, value) else None
    return lambda value: _order_problem(value, operator, wanted)


def _unequal(wanted: Any, value: Any) -> str:
    quotes = f" (a text is written in quotes: == {shown(value)})" if _is_written_alike(wanted, value) else ""
    return difference(wanted, without_nothing(value)) + quotes.replace("'", '"')


def _is_written_alike(wanted: Any, value: Any) -> bool:
    return isinstance(value, str) and not isinstance(wanted, str) and same(wanted, _literal(value or '""'))


def _order_problem(value: Any, operator: str, wanted: Any) -> str | None:
    if number_in(wanted) is not None and number_in(value) is None:
        return f"is {described(value)}, not a number"
    if holds(value, operator, wanted):
        return None
    return f"is {shown(value)}, not {WORDS[operator]} {shown(wanted)}"


def _duration_judge(operator: str, written: str) -> Judge:
    wanted = seconds(written)
    if wanted is None or written.strip()[-1].isdigit():
        raise ValueError(f"{written!r} is not a time with its unit, such as 200ms or 2s")

    def judge(value: Any) -> str | None:
        told = f"is {value * 1000:.4g} ms, not {WORDS[operator]} {wanted * 1000:g} ms"
        return None if holds(value, operator, wanted) else told

    return judge


def _literal(text: str) -> Any:
    """The JSON value that TEXT is, or else TEXT itself."""
    try:
        return read(text)
    except (ValueError, RecursionError):
        return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text


# Words.


def _contains(written: str) -> Judge:
    wanted = _literal(written)
    part = wanted if isinstance(wanted, str) else written

    def judge(value: Any) -> str | None:
        if isinstance(value, str):
            return None if part in value else f"does not contain {clipped(part)!r}: {shown(value)}"
        if isinstance(value, dict):
            return None if part in value else f"has no member {part!r}{_near(part, list(value))}"
        if not isinstance(value, list):
            return f"is {described(value)}, not text, an array or an object"
        # Whole elements: `contains read_file` must not be satisfied by read_file_v2.
        if any(same(wanted, item) or item == part for item in value):
            return None
        return f"has no element {shown(wanted)}{_near(part, value)}"

    return judge


def _near(part: str, items: list[Any]) -> str:
    texts = [item for item in items[:100] if isinstance(item, str)]
    near = nearest(part, texts)
    return f"; it has {near!r}" if near else f": {shown(items)}"


def _matches(written: str) -> Judge:
    regex = read_written_regex(written)

    def judge(value: Any) -> str | None:
        if not isinstance(value, str):
            return f"is {described(value)}, not text"
        return None if regex.search(value) else f"is {shown(value)}, which does not match {written}"

    return judge


def _text(written: str) -> str:
    literal = _literal(written)
    return literal if isinstance(literal, str) else written


def _is_empty(value: Any) -> str | None:
    if not isinstance(value, (str, list, dict)):
        return f"is {described(value)}, which is never empty"
    return f"is not empty: {shown(value)}" if value else None


def _with_text(word: str, read_text: Callable[[str], Judge]) -> None:
    def read_predicate(written: str) -> Judge:
        if not written:
            raise ValueError(f"nothing follows {word!r}")
        return read_text(written)

    PREDICATES.add(word, read_predicate, read_text)


def _alone(word: str, judge: Judge) -> None:
    PREDICATES.add(word, lambda written: None if written else judge, judge)


_with_text("contains", _contains)
_with_text("startsWith", lambda written: lambda value: starts_with(value, _text(written)))
_with_text("endsWith", lambda written: lambda value: ends_with(value, _text(written)))
_with_text("matches", _matches)
_alone("exists", lambda value: "is null" if value is None else None)
_alone("isEmpty", _is_empty)


# Those of plugins.


def predicate(word: str) -> Callable[[Callable[..., str | None]], Callable[..., str | None]]:
    """Register a word of assertions: a function of the value that is there, and of what stands after the word.

    What stands there is given as the JSON value that it is, or else as text. A function of the value alone has a word
    that stands alone.
    """
    if not isinstance(word, str) or not _WORD.fullmatch(word):
        raise TypeError(f'a predicate is a word of letters and digits, as in @predicate("isOdd"), not {word!r}')

    def register(function: Callable[..., str | None]) -> Callable[..., str | None]:
        what = f"the predicate {word!r}"
        judge = judging(function, what)
        takes_text = len(signature(function).parameters) > 1
        refuse_wrong_params(function, what, ["value", "text"] if takes_text else ["value"])

        def read_predicate(written: str) -> Judge:
            if bool(written) != takes_text:
                wanted = "something" if takes_text else "nothing"
                raise ValueError(f"{word!r} takes {wanted}, not {written or 'nothing'!r}")
            wanted_value = _literal(written)
            return (lambda value: judge(without_nothing(value), wanted_value)) if takes_text else judge

        PREDICATES.add(word, read_predicate, function)
        return function

    return register
