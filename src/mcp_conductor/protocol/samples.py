"""Values made from a JSON Schema: arguments that a tool will probably take, and forms that are filled in.

For each member that the schema requires, something plain that fits.

What the schema itself offers (`default`, `const`, `examples`, `enum`) comes first, then what the caller suggests for a
name. Otherwise candidates are tried one after the other, and the validator has the last word; where none of them fits,
the caller finds out by asking it too.
"""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.schema import complaints, parts

SAMPLE = "sample"
# Tools are called with these, and some of them go where an address points: to this machine, where nothing listens.
FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1M",
    "email": "user@example.invalid",
    "hostname": "localhost",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uri": "http://127.0.0.1:9/",
    "uri-reference": "http://127.0.0.1:9/",
    "url": "http://127.0.0.1:9/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "json-pointer": "/sample",
    "regex": ".*",
}
# For a `pattern`: one of these fits most that are used.
_WORDS = (
    "a",
    "A",
    "1",
    "abc",
    "ABC",
    "123",
    "a1",
    "A1",
    "0",
    "1.0.0",
    "v1",
    "en",
    "en-US",
    "/",
    "a/b",
    "#000000",
    "+1",
)
_KINDS = {"properties": "object", "required": "object", "items": "array", "minimum": "number", "multipleOf": "number"}
_NOT_SUGGESTED = ("object", "array", "boolean")
_MOST_SUGGESTED = 10
_DEEPEST = 6
_MOST_CANDIDATES = 40
_MOST_ITEMS = 100
_LONGEST = 1000
_MOST_SAMPLES = 1_000
# Parts of a schema can refer to each other in more ways than can ever be tried.
_MOST_TRIALS = 2000
_MOST_OF_A_FORM = 400  # more than a person fills in by hand


_FIRST_CHOICE: Mapping[str, int] = {}
# Values for a name and its schema, those that fit best first.
Suggest: TypeAlias = Callable[[str, Json], Iterable[Any]]


def nothing_suggested(_name: str, _schema: Json) -> Iterable[Any]:
    """No value for any name."""
    return ()


class _Whole:
    """The schema that all others are part of, and how many trials are left.

    LEAST: the first candidate is taken, without a trial, and it is as small as can be. CHOICE: which of the values
    that SUGGEST has for a name is tried first, if not the first one.
    """

    def __init__(
        self,
        schema: Any,
        *,
        least: bool = False,
        suggest: Suggest = nothing_suggested,
        choice: Mapping[str, int] = _FIRST_CHOICE,
    ) -> None:
        self.schema = schema
        self.least = least
        self._suggest = suggest
        self._choice = choice
        self._left = _MOST_OF_A_FORM if least else _MOST_TRIALS

    def suggested(self, name: str, schema: Json) -> list[Any]:
        types = schema.get("type")
        if not name or any(each in _NOT_SUGGESTED for each in (types if isinstance(types, list) else [types])):
            return []
        values = list(islice(self._suggest(name, schema), _MOST_SUGGESTED))
        first = self._choice.get(name, 0)
        return values[first:] + values[:first]

    def may_try(self) -> bool:
        self._left -= 1
        return self._left >= 0


def sample_arguments(
    schema: Any, suggest: Suggest = nothing_suggested, choice: Mapping[str, int] = _FIRST_CHOICE
) -> Json:
    """The least arguments that SCHEMA accepts, as far as they can be made up.

    SUGGEST has values for a name, of which CHOICE says which is tried first, if not the first one.
    """
    root = _Whole(schema, suggest=suggest, choice=choice)
    found = _sample(schema if isinstance(schema, dict) else {}, root, 0, kind="object")
    return found if isinstance(found, dict) else {}


def filled_in(schema: Any) -> Json:
    """What a form has when it is sent at once: all its defaults, and the least for what it requires besides.

    It is not validated here, so that this is quick for every schema; the caller validates it once.
    """
    if not isinstance(schema, dict):
        return {}
    root = _Whole(schema, least=True)
    required = _required(schema)
    return {
        name: member["default"] if isinstance(member, dict) and "default" in member else _sample(member, root, 1)
        for name, member in _properties(schema).items()
        if name in required or (isinstance(member, dict) and "default" in member)
    }


def required_arguments(schema: Any) -> dict[str, Any]:
    """The properties of SCHEMA that it requires, each with its own schema."""
    properties = _properties(schema)
    return {name: properties.get(name) for name in _required(schema)} if isinstance(schema, dict) else {}


def optional_arguments(schema: Any, given: Json) -> dict[str, Any]:
    """The properties of SCHEMA that are not GIVEN, each with its own schema."""
    return {name: each for name, each in _properties(schema).items() if name not in given}


def _properties(schema: Any) -> Json:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _required(schema: Json) -> dict[str, None]:
    listed = schema["required"] if isinstance(schema.get("required"), list) else []
    return dict.fromkeys(name for name in listed if isinstance(name, str))


def _sample(schema: Any, root: _Whole, depth: int, kind: str | None = None, name: str = "") -> Any:
    alone = {**_definitions(root.schema), **schema} if isinstance(schema, dict) else {}
    tried: list[Any] = []
    for candidate in islice(_candidates(schema, root, depth, kind, name), _MOST_CANDIDATES):
        if root.least:
            return candidate
        if not root.may_try():
            break
        if not complaints(candidate, alone):
            return candidate
        tried.append(candidate)
    return tried[0] if tried else SAMPLE


def _definitions(root: Any) -> Json:
    """What local references below a part of ROOT may lead to."""
    return (
        {key: root[key] for key in ("$schema", "$defs", "definitions") if key in root} if isinstance(root, dict) else {}
    )


def _candidates(schema: Any, root: _Whole, depth: int, kind: str | None = None, name: str = "") -> Iterator[Any]:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        yield SAMPLE
        return
    whole = _resolved(schema, root)
    yield from _offered(whole)
    yield from root.suggested(name, whole)
    for word in ("anyOf", "oneOf"):
        options = whole.get(word)
        for option in options if isinstance(options, list) else []:
            rest = {key: value for key, value in whole.items() if key != word}
            yield from islice(_candidates(_merged(rest, _resolved(option, root)), root, depth + 1, kind), 4)
    types = whole.get("type", kind)
    for each in types if isinstance(types, list) else [types or _kind_of(whole)]:
        yield from _of_kind(each, whole, root, depth, name)


def _offered(schema: Json) -> Iterator[Any]:
    for word in ("const", "default"):
        if word in schema:
            yield schema[word]
    for word in ("examples", "enum"):
        yield from schema[word] if isinstance(schema.get(word), list) else ()


def _resolved(schema: Any, root: _Whole, depth: int = 0) -> Json:
    """SCHEMA with what it refers to, and with all parts of its allOf, in one."""
    if not isinstance(schema, dict) or depth > _DEEPEST or not root.may_try():
        return {}
    whole = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    referred = parts({"$ref": schema["$ref"]}, root.schema)[1:2] if isinstance(schema.get("$ref"), str) else []
    all_of = schema["allOf"] if isinstance(schema.get("allOf"), list) else []
    for part in (*referred, *all_of):
        whole = _merged(whole, _resolved(part, root, depth + 1))
    return whole


def _merged(one: Json, other: Json) -> Json:
    whole = {**one, **other}
    if isinstance(one.get("properties"), dict) and isinstance(other.get("properties"), dict):
        whole["properties"] = {**one["properties"], **other["properties"]}
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        whole["required"] = [*one["required"], *other["required"]]
    return whole


def _kind_of(schema: Json) -> str:
    return next((kind for word, kind in _KINDS.items() if word in schema), "string")


def _of_kind(kind: Any, schema: Json, root: _Whole, depth: int, name: str) -> Iterator[Any]:
    match kind:
        case "object":
            yield from _objects(schema, root, depth)
        case "array":
            yield from _arrays(schema, root, depth, name)
        case "integer" | "number":
            yield from _numbers(schema, whole=kind == "integer", least=root.least)
        case "boolean":
            yield from (False, True)
        case "null":
            yield None
        case _:
            yield from _texts(schema, "" if root.least else SAMPLE)


def _objects(schema: Json, root: _Whole, depth: int) -> Iterator[Json]:
    properties, required = _properties(schema), _required(schema)
    names = [*(name for name in properties if name in required), *(name for name in required if name not in properties)]
    least = {name: _sample(properties.get(name), root, depth + 1, name=name) for name in names}
    yield least
    # Some schemas want more than they list as required: minProperties, dependentRequired, …
    others = [name for name in properties if name not in least]
    for name in others[:8]:
        yield {**least, name: _sample(properties[name], root, depth + 1, name=name)}
    if len(others) > 1:
        yield {name: _sample(each, root, depth + 1, name=name) for name, each in properties.items()}


def _arrays(schema: Json, root: _Whole, depth: int, name: str) -> Iterator[list[Any]]:
    least = min(_MOST_ITEMS, math.ceil(_number(schema, "minItems", 0)))
    first = schema.get("prefixItems")
    head = [_sample(each, root, depth + 1) for each in first] if isinstance(first, list) else []
    items = schema.get("items", {})
    if name and not least and not root.least:  # an empty array would ask a tool to do nothing
        yield head or [_sample(items, root, depth + 1, name=name)]
    yield [*head, *several(_sample(items, root, depth + 1, name=name), max(0, least - len(head)))] if least else []
    if least > 1:  # uniqueItems
        yield list(islice(_candidates(items, root, depth + 1), least))
        yield [f"{SAMPLE} {number}" for number in range(1, least + 1)]
        yield list(range(1, least + 1))


def several(sample: Any, times: int) -> list[Any]:
    """SAMPLE so many times, up to a limit: arrays of arrays multiply."""
    return [sample] * min(times, _MOST_SAMPLES // _size(sample))


def _size(sample: Any) -> int:
    members = sample.values() if isinstance(sample, dict) else sample if isinstance(sample, list) else ()
    return 1 + sum(map(_size, members))


def _numbers(schema: Json, *, whole: bool, least: bool) -> Iterator[float]:
    low, high = _number(schema, "minimum", -math.inf), _number(schema, "maximum", math.inf)
    above, below = _number(schema, "exclusiveMinimum", -math.inf), _number(schema, "exclusiveMaximum", math.inf)
    step = _number(schema, "multipleOf", 1) or 1
    guesses = [low, min(0, high)] if least else []
    guesses += [1, low, above + 1, high, below - 1, 0, step, (above + min(high, below)) / 2]
    steps = max(low, above) / step
    if math.isfinite(steps):
        guesses += [math.ceil(steps) * step, (math.floor(steps) + 1) * step]
    for guess in filter(_fits_float, guesses):
        yield math.ceil(guess) if whole or guess == int(guess) else guess


def _texts(schema: Json, plain: str) -> Iterator[str]:
    least = min(_LONGEST, math.ceil(_number(schema, "minLength", 0)))
    most = math.floor(_number(schema, "maxLength", _LONGEST))
    format_ = schema.get("format")
    if isinstance(format_, str) and format_ in FORMATS:
        yield FORMATS[format_]
    for word in (plain, *(_WORDS if "pattern" in schema else ())):
        yield word.ljust(least, "x")[: max(most, 0)]
    for length in range(least, least + 12 if "pattern" in schema else least):
        yield from ("a" * length, "A" * length, "1" * length)


def _number(schema: Json, key: str, default: float) -> float:
    value = schema.get(key)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and _fits_float(value)
    return value if is_number else default  # type: ignore[return-value]


def _fits_float(value: float) -> bool:
    """Whether VALUE can be calculated with: it is not infinite, and not an integer too large for a float."""
    return abs(value) <= sys.float_info.max
