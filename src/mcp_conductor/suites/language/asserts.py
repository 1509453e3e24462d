r"""Assertions on one line: a path into the reply, and what must be true of what is there.

All matchers of texts may follow the path, and some words of their own:

    any result.tools[*].name == read_file           result.content[0].text | json | items  count >= 3
    result.tools[*].description exists              notifications[method=notifications/progress] count >= 2
    result.nextCursor not exists                    result.content[0].text matches /^Hello, \w+/i
    duration < 200ms                                result.structuredContent.celsius between:-90:60

A path with [*] or a filter selects any number of values, and what follows must be true of each of them; with `any`
before the path, of one at least. Only `count` looks at all of them together.
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
from mcp_conductor.suites.matching.paths import Every, JsonPath, Where, refuse_unknown_root, scan_path, size
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
    "count == N": "so many values after [*] or a filter; else elements or members. All operators may stand here",
    "length == N": "so many elements, members, or characters of a text; of each value after [*] or a filter",
    "size == N": "so many bytes in UTF-8: of a text, or of anything else as compact JSON",
    "contains TEXT": "a part of a text, a whole element of an array, or a member of an object",
    "startsWith TEXT": "the beginning of a text",
    "endsWith TEXT": "the end of a text",
    "matches /REGEX/FLAGS": "a text in which the regular expression is found",
    "exists": "there is a value, and it is not null",
    "isEmpty": "a text, an array or an object with nothing in it",
    "not …": "the contrary of what follows",
}
_DURATION = "duration"
_LISTS_OF_OBJECTS = (
    ("notifications",),
    *(("result", name) for name in ("tools", "resources", "resourceTemplates", "prompts")),
    *(("result", name) for name in ("content", "contents", "messages", "tasks")),
)
_OPERATOR = re.compile(r"(==?|!=|<=?|>=?)\s*")
_WORD = re.compile(r"([A-Za-z]\w*)\s*:?\s*")
_COUNTED = re.compile(r"(count|length|size)\s*(==?|!=|<=?|>=?)\s*([0-9]{1,15})")
_ANY = re.compile(r"\s*any\s+(?=[\w$])")
_EXAMPLE = "for example: any result.tools[*].name == read_file"


@dataclass(frozen=True, slots=True)
class Assertion:
    """Something that must be true of a document."""

    text: str
    path: JsonPath
    judge: Judge
    predicate: str = ""  # without `not`
    negated: bool = False
    one: bool = False  # `any`: one of several values is enough

    @property
    def counts(self) -> bool:
        """Whether it is about the number of values."""
        return re.match(r"count\b", self.predicate) is not None

    @property
    def _optional(self) -> bool:
        """Whether a value may be missing."""
        return self.negated and self.predicate == "exists"

    def check(self, document: Json) -> str | None:
        """What is wrong, if anything is."""
        try:
            if not self.path.several:
                return self._check_one(self.path.find(document), document)
            values = self.path.values(document)
            there = [value for value in values if value is not NOTHING]
            if values and not there and not self._optional:
                return f"is missing: {self.path.why(document)}"
            if self.counts:
                return self.judge(there)
            return self._check_each(values, document)
        except CannotTellError as error:
            return f"cannot be checked: {error.message}"

    def _check_one(self, value: Any, document: Json) -> str | None:
        if value is NOTHING:
            return None if self._optional else f"is missing: {self.path.why(document)}"
        return self.judge(value)

    def _check_each(self, values: list[Any], document: Json) -> str | None:
        if not values:  # nothing is there that could contradict `not`
            return None if self.negated and not self.one else f"is missing: {self.path.why(document)}"
        # What is missing contradicts no `not`; but it does not make `any` true.
        missing = None if self._optional or (self.negated and not self.one) else "is missing"
        told = [missing if value is NOTHING else self.judge(value) for value in values]
        wrong = [place for place, complaint in enumerate(told) if complaint is not None]
        if not wrong or (self.one and len(wrong) < len(values)):
            return None
        if len(values) == 1:
            return told[0]
        first = f"{self.path.each(document)[wrong[0]][0]} {told[wrong[0]]}"
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return f"fails for {len(wrong)} of {len(values)} values: {first}{more}"

    def hint(self, document: Json) -> str | None:
        """How to say what this line said when it was about the array of all values, if that is true of DOCUMENT."""
        if not self.path.several or self.one or self.counts or re.match(r"!=|size\b", self.predicate):
            return None
        path, before = self.path, self.path.find(document)
        if path.parts[-1].pipe == "length":
            path = path.without_last_pipe
            values = path.find(document)
            before = len(values) if isinstance(values, list) else NOTHING
        elif before:
            before = without_nothing(self.path.pick(document))
        try:
            if before is NOTHING or self.judge(before) is not None:
                return None
        except CannotTellError:
            return None
        if path is not self.path:
            better: str | None = f"{path.text} count {self.predicate}"
        else:
            better = _of_array(path.text, self.predicate, negated=self.negated)
        return f"a path to several values means each of them, no longer their array: {better}" if better else None

    @property
    def is_of_names(self) -> bool:
        """Whether the names of all entries of a list must contain a text."""
        steps = self.path.parts[-1].steps
        is_name = len(steps) > 1 and isinstance(steps[-2], Every) and steps[-1] in ("name", "uri", "uriTemplate")
        return is_name and self.predicate.startswith("contains") and not (self.negated or self.one)

    @property
    def doubt(self) -> str | None:
        """Why it is surely not what was meant."""
        path = self.path.without_last_pipe if self.path.parts[-1].pipe == "length" else self.path
        length = path is not self.path or re.match(r"length\b", self.predicate) is not None
        if length and path.text == "result" and re.search(r"\d{3}$", self.predicate):
            return "`length` is how many members it has here; `result size …` is how many bytes"
        if not _selects_objects(path):
            return None
        if length:
            return f"`length` is that of each object here; `{path.text} count …` is how many there are"
        if self.predicate == "isEmpty" and not self.one:
            number, there_is = ("> 0", "one") if self.negated else ("== 0", "none")
            return f"no object there is ever empty; `{path.text} count {number}` says that there is {there_is}"
        return None


def _selects_objects(path: JsonPath) -> bool:
    """Whether PATH selects any number of values, and each of them is an object that has members."""
    steps = path.parts[-1].steps
    if not path.several or not steps:
        return False
    in_list = isinstance(steps[-1], Every) and len(path.parts) == 1 and steps[:-1] in _LISTS_OF_OBJECTS
    return in_list or isinstance(steps[-1], Where)


def _of_array(path: str, predicate: str, *, negated: bool) -> str | None:
    """What may be written instead of PREDICATE about the array of all values at PATH."""
    found = _WORD.match(predicate)
    word, rest = (found[1], predicate[found.end() :]) if found else ("", "")
    if negated:
        return f"{path} != {rest}" if word == "contains" else None
    if word in ("length", "arrayLength"):
        return f"{path} count {'== ' * rest.isdecimal()}{rest}"
    known = {"exists": f"any {path} exists", "contains": f"any {path} == {rest}", "isEmpty": f"{path} count == 0"}
    return known.get(word, "match:extractField, under `result`, compares the array")


def compile_assert(field: Field) -> Assertion:
    """Read an assertion; raises a UsageError that points at it when it is not valid."""
    if isinstance(field.value, dict):
        field.refuse("must be a string, not an object", 'a text with ": " in it must be in quotes')
    text = field.text()
    if text == ANYTHING:
        return Assertion(text, JsonPath("$", ()), lambda _: None)
    found = _ANY.match(text)
    try:
        path, end = scan_path(text[found.end() :] if found else text)
        refuse_unknown_root(path)
        asked = text[found.end() + end :].strip() if found else text[end:].strip()
        return _read_assertion(text, path, asked, one=found is not None)
    except ValueError as error:
        field.refuse(f"is not an assertion: {error}", _EXAMPLE)
    except UsageError as error:
        field.refuse(f"{shown(text)} {error.message}", error.hint)


def _read_assertion(text: str, path: JsonPath, predicate: str, *, one: bool) -> Assertion:
    asked = re.sub(r"^not\b[\s:]*", "", predicate)
    judge = _judge(asked, path.text)
    found = Assertion(text, path, judge, asked, one=one)
    if one and (not path.several or found.counts):
        why = "counts all values" if path.several else "selects only one value"
        raise UsageError(f"has `any`, but {why}", hint="`any` stands before a path with [*] or a filter, without count")
    if asked == predicate:
        return found

    def opposite(value: Any) -> str | None:
        return f"is {shown(value)}, but `{asked}` must not be true of it" if judge(value) is None else None

    return Assertion(text, path, opposite, asked, negated=True, one=one)


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
    return pattern.complaint


def _unknown(word: str) -> UsageError:
    known = [*PREDICATES, *(name for name, _ in MATCHERS.items())]
    near = nearest(word, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known[:6])}, operators, and all matchers"
    return UsageError(f"has the unknown predicate {word!r}", hint=with_plugins(hint))


# Comparing.


def _count_judge(word: str, operator: str, number: str) -> Judge:
    countable = (list, dict, str) if word == "length" else (list, dict)

    def judge(value: Any) -> str | None:
        if word != "size" and not isinstance(value, countable):
            return f"is {described(value)}, which cannot be counted"
        if holds(size(value) if word == "size" else len(value), operator, int(number)):
            return None
        wanted = number if operator in ("=", "==") else f"{WORDS[operator]} {number}"
        return f"has {_bytes(value) if word == 'size' else _size(value)}, not {wanted}"

    return judge


def _bytes(value: Any) -> str:
    return f"{size(value)} byte{'' if size(value) == 1 else 's'}"


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
    return difference(wanted, value) + quotes.replace("'", '"')


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
            return (lambda value: judge(value, wanted_value)) if takes_text else judge

        PREDICATES.add(word, read_predicate, function)
        return function

    return register
