"""JSON Schema, as far as MCP needs it: what a schema says of a value, and whether a value fits."""

import marshal
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

from mcp_conductor.bounded.worker import OutOfBoundsError, call
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Digits
from mcp_conductor.protocol.schema_weight import Weight, resolved
from mcp_conductor.text.visible import cut

SECONDS = 2.0  # for a schema that goes to the worker
_MOST_COMPLAINTS = 100
_LONGEST_COMPLAINT = 10_000
TYPES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})


def parts(schema: Any, root: Any) -> list[Json]:
    """SCHEMA and every alternative in it that may describe the same value, local references followed, each once."""
    found: dict[int, Json] = {}
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict) or id(part) in found:
            continue
        found[id(part)] = part
        alternatives = [option for word in ("oneOf", "anyOf", "allOf") for option in reversed(_array(part.get(word)))]
        waiting += alternatives
        if isinstance(part.get("$ref"), str):
            waiting.append(resolved(part["$ref"], root))
    return list(found.values())


def _array(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def types_of(some: list[Json]) -> set[str]:
    """The JSON types that these parts of a schema allow; empty when they do not say."""
    words: list[Any] = []
    for part in some:
        kind = part.get("type")
        words += kind if isinstance(kind, list) else [kind]
    return {word for word in words if isinstance(word, str)} & TYPES


def choices_of(some: list[Json]) -> list[Any]:
    """The values that `enum` and `const` list in these parts of a schema."""
    choices: list[Any] = []
    for part in some:
        choices += _array(part.get("enum")) or ([part["const"]] if "const" in part else [])
    return choices


def items_of(some: list[Json]) -> Any:
    """The schema of an array's elements."""
    return next((part["items"] for part in some if "items" in part), {})


def property_of(name: str, schema: Any) -> Any:
    """The schema of a member of an object."""
    for part in parts(schema, schema):
        properties = part.get("properties")
        if isinstance(properties, dict) and name in properties:
            return properties[name]
    return {}


def member_of(name: str, schema: Any) -> Any:
    """As `property_of`, for a member that may have any name: also by a pattern, or as one of all others."""
    some = parts(schema, schema)
    if any(_has_members(part.get("properties")) and name in part["properties"] for part in some):
        return property_of(name, schema)
    for part in some:
        patterns = part.get("patternProperties")
        for pattern, member in patterns.items() if isinstance(patterns, dict) else ():
            if _matches(pattern, name):
                return member
    others = (part.get("additionalProperties") for part in some)
    return next((other for other in others if isinstance(other, dict)), {})


def _matches(pattern: str, name: str) -> bool:
    from mcp_conductor.bounded.regex import compile_regex

    try:
        return compile_regex(pattern).search(name)
    except re.error:
        return False


class Unknown(NamedTuple):
    """A member that an object schema does not list."""

    name: str
    known: list[str]  # those that it lists
    refused: bool  # the schema allows no others


def unknown_members(names: Iterable[str], schema: Any) -> list[Unknown]:
    """Those of NAMES that SCHEMA lists nowhere, if it does list members, or refuses others; a pattern may list any."""
    some = parts(schema, schema)
    if any(_has_members(part.get("patternProperties")) for part in some):
        return []
    known = [name for part in some if _has_members(part.get("properties")) for name in part["properties"]]
    others = [part["additionalProperties"] for part in some if "additionalProperties" in part]
    refused = isinstance(schema, dict) and schema.get("additionalProperties") is False
    if not refused and (not known or any(other is not False for other in others)):
        return []
    return [Unknown(name, known, refused) for name in names if name not in known]


def _has_members(value: Any) -> bool:
    return isinstance(value, dict) and bool(value)


class Undecided(str):
    """A complaint that does not say whether the value fits: there was not enough time, or it is nested too deeply."""

    __slots__ = ()


def complaints(value: Any, schema: Any, *, seconds: float = SECONDS) -> list[str]:
    """What is wrong with VALUE by SCHEMA; a schema that is invalid, or refers to the network, is a complaint too."""
    return checker(schema, seconds=seconds)(value)


def refuses(schema: Any, value: Any) -> bool:
    """Whether SCHEMA is known to refuse VALUE."""
    found = complaints(value, schema)
    return bool(found) and not isinstance(found[0], Undecided)


def flaw(schema: Any) -> str | None:
    """Why SCHEMA cannot be used at all, if it cannot."""
    if Weight(schema).heavy:
        found = _in_worker("flaw_here", schema)
        return None if found is None else str(found)
    return flaw_here(schema)


def flaw_here(schema: Any) -> str | None:
    """`flaw`, without limits of time and memory."""
    try:
        _compiled(schema)
    except (ValueError, RecursionError) as error:  # ValidationError and ReferencingError are ValueErrors
        return _reason(error)
    return None


def _compiled(schema: Any) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(_plain(schema), retriever=_no_remote_schemas)


def checker(schema: Any, *, seconds: float = SECONDS) -> Callable[[Any], list[str]]:
    """`complaints` by one schema about many values: SCHEMA is compiled once, as it is now.

    What may take long is done by the worker, which has so many SECONDS and a gigabyte for it.
    """
    weight = Weight(schema)
    here = None if weight.heavy else checker_here(schema)

    def check(value: Any) -> list[str]:
        if here is not None and not weight.is_heavy_for(value):
            return here(value)
        found = _in_worker("complaints_here", schema, value, seconds=seconds)
        return found if isinstance(found, list) else [found]

    return check


def checker_here(schema: Any) -> Callable[[Any], list[str]]:
    """`checker`, without limits of time and memory."""
    try:
        validator = _compiled(schema)
    except (ValueError, RecursionError) as error:
        complaint = _unusable(error)
        return lambda _: [complaint]

    def check(value: Any) -> list[str]:
        try:
            plain = _plain(value)
            if validator.is_valid(plain):  # the most usual case, and the quickest to find out
                return []
            errors = list(validator.iter_errors(plain))
        except RecursionError:
            return [_TOO_DEEP]
        except ValueError as error:
            return [_unusable(error)]
        found = [
            f"{_where(error.instance_path)}: {cut(error.message, _LONGEST_COMPLAINT)}"
            for error in errors[:_MOST_COMPLAINTS]
        ]
        more = len(errors) - len(found)
        return [*found, f"and {more} more"] if more else found

    return check


def complaints_here(schema: Any, value: Any) -> list[str]:
    """`complaints`, without limits of time and memory."""
    return checker_here(schema)(value)


_TOO_DEEP = Undecided("the value is nested too deeply to be checked")

# Schemas that took too long once; they would do so every time.
_costly: dict[bytes, Undecided] = {}


def _in_worker(function: str, schema: Any, *value: Any, seconds: float = SECONDS) -> Any:
    """What FUNCTION of this module returns in the worker; or Undecided."""
    from hashlib import sha256

    try:
        plain = _plain(schema)
        digest = sha256(marshal.dumps(plain)).digest()
    except (ValueError, RecursionError) as error:  # nested too deeply
        return _unusable(error)
    if digest in _costly:
        return _costly[digest]
    try:
        return call(f"{__name__}:{function}", plain, *map(_plain, value), seconds=seconds, needs="jsonschema_rs")
    except OutOfBoundsError as error:
        complaint = Undecided(f"applying the schema {error}")
        if error.final:
            _costly[digest] = complaint
        return complaint
    except (ValueError, RecursionError) as error:
        return _TOO_DEEP if value else _unusable(error)


def _unusable(error: Exception) -> str:
    return f"the schema itself cannot be used: {_reason(error)}"


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0]


def _no_remote_schemas(uri: str) -> NoReturn:
    raise ValueError(f"schemas are not fetched from the network: {uri}")


def _where(path: list[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".") or "the value"


def _plain(value: Any) -> Any:
    """VALUE in the types that the validator knows."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()  # lone surrogates
    if isinstance(value, dict):
        return {_plain(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _plain_number(value) if isinstance(value, Digits) else value


def _plain_number(number: Digits) -> int | float:
    if math.isfinite(number):
        return float(number)
    # Beyond all floats; to a schema it is just very large.
    return 10**400 if number > 0 else -(10**400)
