"""Matchers of text."""

from typing import Any

from mcp_conductor.bounded.regex import Regex
from mcp_conductor.protocol.message import Digits, compact
from mcp_conductor.suites.matching.differences import clipped, described, difference, is_number, number_in, shown
from mcp_conductor.suites.matching.matchers import matcher


def text_of(value: Any) -> str:
    """VALUE as text, as JavaScript writes it: test files of other programs rely on it."""
    match value:
        case str():
            return value
        case Digits():
            return value.text
        case float() if value.is_integer() and abs(value) < 1e21:
            return str(int(value))
        case list():
            return ",".join("" if item is None else text_of(item) for item in value)
        case dict():
            return "[object Object]"
        case _:
            return compact(value)


def _no_text(actual: Any) -> str:
    return f"is {described(actual)}, not text"


def _is_scalar(actual: Any) -> bool:
    return isinstance(actual, (str, bool)) or is_number(actual)


def has_part(actual: Any, part: str) -> str | None:
    """match:PART — a text, number, boolean or array that has PART in it, as text.

    match:ell    "hello"  passes
    match:42     1421     passes
    match:xyz    "hello"  does not contain 'xyz'
    match:hello  "Hello"  does not contain 'hello' (but it does in a different case)
    """
    if not _is_scalar(actual) and not isinstance(actual, list):
        return _no_text(actual)
    return None if part in text_of(actual) else _lacks(text_of(actual), part)


def resembles(actual: Any, regex: Regex) -> str | None:
    r"""match:REGEX — a text, number, boolean or array of which a part, as text, matches the regular expression.

    match:^h.*o$  "hello"  passes
    match:\d{3}   "ab12"   is the string 'ab12', which does not match it
    """
    if not _is_scalar(actual) and not isinstance(actual, list):
        return _no_text(actual)
    return None if regex.search(text_of(actual)) else f"is {described(actual)}, which does not match it"


@matcher("regex")
def matches_regex(actual: Any, regex: Regex) -> str | None:
    r"""match:regex:REGEX — a text, number or boolean of which a part matches the regular expression.

    match:regex:^v\d+$  "v12"   passes
    match:regex:^v\d+$  "v1.2"  is 'v1.2', which does not match the regular expression
    """
    if not _is_scalar(actual):
        return _no_text(actual)
    return None if regex.search(text_of(actual)) else f"is {shown(actual)}, which does not match the regular expression"


@matcher("contains")
def contains(actual: Any, part: str) -> str | None:
    """match:contains:PART — a text that has PART in it, or an array with an element that, as text, has.

    match:contains:ell  "hello"             passes
    match:contains:ell  ["hello", "world"]  passes
    match:contains:xyz  "hello"             does not contain 'xyz'
    match:contains:xyz  ["hello", "world"]  has no element that contains 'xyz'
    """
    if isinstance(actual, list):
        return None if any(part in text_of(item) for item in actual) else f"has no element that contains {part!r}"
    if not isinstance(actual, str):
        return f"is {described(actual)}, not text or an array"
    return None if part in actual else _lacks(actual, part)


def _lacks(actual: str, part: str) -> str:
    case = " (but it does in a different case)" if part.casefold() in actual.casefold() else ""
    return f"does not contain {clipped(part)!r}{case}"


@matcher("containsIgnoreCase")
def contains_ignore_case(actual: Any, part: str) -> str | None:
    """match:containsIgnoreCase:PART — as contains, ignoring case.

    match:containsIgnoreCase:ELL  "hello"  passes
    match:containsIgnoreCase:XYZ  "hello"  does not contain 'XYZ', ignoring case
    """
    low = part.lower()
    if isinstance(actual, list):
        found = any(low in text_of(item).lower() for item in actual)
        return None if found else f"has no element that contains {part!r}, ignoring case"
    if not isinstance(actual, str):
        return f"is {described(actual)}, not text or an array"
    return None if low in actual.lower() else f"does not contain {clipped(part)!r}, ignoring case"


@matcher("equalsIgnoreCase")
def equals_ignore_case(actual: Any, text: str) -> str | None:
    """match:equalsIgnoreCase:TEXT — this text, ignoring case.

    match:equalsIgnoreCase:HELLO  "hello"  passes
    match:equalsIgnoreCase:HELLO  "hi"     is 'hi', not 'HELLO', ignoring case
    """
    if not isinstance(actual, str):
        return _no_text(actual)
    return None if actual.lower() == text.lower() else f"is {shown(actual)}, not {clipped(text)!r}, ignoring case"


@matcher("startsWith")
def starts_with(actual: Any, start: str) -> str | None:
    """match:startsWith:START — a text that begins with START.

    match:startsWith:Hello  "Hello, world"  passes
    match:startsWith:Hello  "hello, world"  does not start with 'Hello', but with 'hello, world'
    """
    if not isinstance(actual, str):
        return _no_text(actual)
    if actual.startswith(start):
        return None
    return f"does not start with {clipped(start)!r}, but with {clipped(actual, max(20, len(start)))!r}"


@matcher("endsWith")
def ends_with(actual: Any, end: str) -> str | None:
    """match:endsWith:END — a text that ends with END.

    match:endsWith:.txt  "hello.txt"  passes
    match:endsWith:.txt  "hello.md"   does not end with '.txt', but with 'hello.md'
    """
    if not isinstance(actual, str):
        return _no_text(actual)
    if actual.endswith(end):
        return None
    tail = actual[-max(20, len(end)) :]
    newline = " (there is white space after it)" if end and actual.rstrip().endswith(end) else ""
    return f"does not end with {clipped(end)!r}, but with {clipped(tail)!r}{newline}"


@matcher("literal")
def literal(actual: Any, text: str) -> str | None:
    """match:literal:TEXT — exactly this text, even if it begins with `match:`.

    match:literal:match:any  "match:any"  passes
    match:literal:match:any  "anything"   is 'anything', not 'match:any'
    """
    return None if actual == text else difference(text, actual)


@matcher("equals")
def equals(actual: Any, value: str) -> str | None:
    """match:equals:VALUE — this number (or a text that is this number), or exactly this text.

    match:equals:5      "5.0"    passes
    match:equals:hello  "hello"  passes
    match:equals:5      6        is 6, not 5
    match:equals:hello  "Hello"  differs only in case: 'Hello', not 'hello'
    """
    wanted, found = number_in(value), number_in(actual)
    if wanted is None:
        return literal(actual, value)
    if found is None:
        return f"is {described(actual)}, not the number {value}"
    return None if found == wanted else f"is {shown(actual)}, not {value}"


@matcher("notEquals")
def not_equals(actual: Any, value: str) -> str | None:
    """match:notEquals:VALUE — another number than this one, or another text.

    match:notEquals:5  6    passes
    match:notEquals:5  5.0  is 5.0, but must not be
    """
    if number_in(value) is not None and number_in(actual) is None:
        return f"is {described(actual)}, not a number"
    return f"is {shown(actual)}, but must not be" if equals(actual, value) is None else None


def _length(actual: str) -> int:
    """As JavaScript counts: a character beyond the first 65,536 is two."""
    return len(actual) + sum(character > "\uffff" for character in actual) if not actual.isascii() else len(actual)


def _length_problem(actual: Any, problem: str, low: int, high: float) -> str | None:
    if not isinstance(actual, str):
        return _no_text(actual)
    length = _length(actual)
    return None if low <= length <= high else f"is {_characters(length)} long, not {problem}: {shown(actual)}"


def _characters(length: int) -> str:
    return f"{length} character{'' if length == 1 else 's'}"


@matcher("stringLength")
def string_length(actual: Any, length: int) -> str | None:
    """match:stringLength:LENGTH — a text of LENGTH characters (UTF-16 units: an emoji counts 2).

    match:stringLength:5  "hello"  passes
    match:stringLength:4  "hello"  is 5 characters long, not 4: 'hello'
    """
    return _length_problem(actual, str(length), length, length)


@matcher("stringLengthGreaterThan")
def string_length_greater_than(actual: Any, length: int) -> str | None:
    """match:stringLengthGreaterThan:LENGTH — a text of more characters.

    match:stringLengthGreaterThan:4  "hello"  passes
    match:stringLengthGreaterThan:5  "hello"  is 5 characters long, not more than 5: 'hello'
    """
    return _length_problem(actual, f"more than {length}", length + 1, float("inf"))


@matcher("stringLengthLessThan")
def string_length_less_than(actual: Any, length: int) -> str | None:
    """match:stringLengthLessThan:LENGTH — a text of fewer characters.

    match:stringLengthLessThan:6  "hello"  passes
    match:stringLengthLessThan:5  "hello"  is 5 characters long, not less than 5: 'hello'
    """
    return _length_problem(actual, f"less than {length}", 0, length - 1)


@matcher("stringLengthGreaterThanOrEqual")
def string_length_greater_than_or_equal(actual: Any, length: int) -> str | None:
    """match:stringLengthGreaterThanOrEqual:LENGTH — a text of at least LENGTH characters.

    match:stringLengthGreaterThanOrEqual:5  "hello"  passes
    match:stringLengthGreaterThanOrEqual:6  "hello"  is 5 characters long, not at least 6: 'hello'
    """
    return _length_problem(actual, f"at least {length}", length, float("inf"))


@matcher("stringLengthLessThanOrEqual")
def string_length_less_than_or_equal(actual: Any, length: int) -> str | None:
    """match:stringLengthLessThanOrEqual:LENGTH — a text of at most LENGTH characters.

    match:stringLengthLessThanOrEqual:5  "hello"  passes
    match:stringLengthLessThanOrEqual:4  "hello"  is 5 characters long, not at most 4: 'hello'
    """
    return _length_problem(actual, f"at most {length}", 0, length)


@matcher("stringLengthBetween")
def string_length_between(actual: Any, low: int, high: int) -> str | None:
    """match:stringLengthBetween:LOW:HIGH — a text of LOW to HIGH characters, both included.

    match:stringLengthBetween:3:5  "hello"  passes
    match:stringLengthBetween:3:5  "hi"     is 2 characters long, not from 3 to 5: 'hi'
    """
    return _length_problem(actual, f"from {low} to {high}", low, high)


@matcher("stringEmpty")
def string_empty(actual: Any) -> str | None:
    """match:stringEmpty — an empty text.

    match:stringEmpty  ""       passes
    match:stringEmpty  "hello"  is not empty: 'hello'
    """
    if not isinstance(actual, str):
        return _no_text(actual)
    return f"is not empty: {shown(actual)}" if actual else None


@matcher("stringNotEmpty")
def string_not_empty(actual: Any) -> str | None:
    """match:stringNotEmpty — a text that is not empty.

    match:stringNotEmpty  "hello"  passes
    match:stringNotEmpty  ""       is an empty string
    """
    if not isinstance(actual, str):
        return _no_text(actual)
    return None if actual else "is an empty string"
