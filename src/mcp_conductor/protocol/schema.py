"""JSON Schema where MCP needs it: text from a command line becomes what a tool's schema asks for, values are checked,
and a minimal answer can be made up.

Coercion is true to the schema: text stays text for a string, and what cannot be read as the wanted type is an error,
never something else in disguise.
"""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Digits, compact, read

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_DEEPEST_REFERENCE = 32
_SAMPLES = {
    "email": "user@example.com",
    "uri": "https://example.com",
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
}


def coerce_arguments(pairs: list[tuple[str, str]], schema: Any) -> Json:
    """Arguments from KEY=VALUE texts, each as the object schema SCHEMA wants it; a repeated key fills an array."""
    arguments: Json = {}
    for name, text in pairs:
        wanted = _property(name, schema)
        repeated = name in arguments
        if repeated and "array" not in _types(wanted, schema):
            raise UsageError(f"argument {name!r} is given twice, and its schema is not an array")
        if repeated:
            arguments[name].append(_coerce(name, text, _items(wanted, schema), schema))
        else:
            arguments[name] = _coerce(name, text, wanted, schema)
    return arguments


def coerce(name: str, text: str, schema: Any) -> Any:
    """TEXT as SCHEMA wants it; NAME is for the message when it cannot be."""
    return _coerce(name, text, schema, schema)


def _coerce(name: str, text: str, schema: Any, root: Any) -> Any:
    choices = _choices(schema, root)
    if choices is not None:
        return _choose(name, text, choices)
    types = _types(schema, root)
    if not types or "string" in types:
        return text
    if "null" in types and text == "null":
        return None
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    if types & {"integer", "number"} and _NUMBER.fullmatch(text):
        number = read(text)
        if "number" in types or float(number).is_integer():
            return number if "number" in types or isinstance(number, int) else int(number)
    if "array" in types and (items := _array(name, text, schema, root)) is not None:
        return items
    if "object" in types and isinstance(value := _json(text), dict):
        return value
    wanted = " or ".join(_DESCRIPTIONS[kind] for kind in _DESCRIPTIONS if kind in types)
    raise UsageError(f"argument {name!r}: {text!r} is not {wanted}")


def _array(name: str, text: str, schema: Any, root: Any) -> list[Any] | None:
    """A JSON array, or elements separated by commas, each as the schema's `items` want it."""
    if text.lstrip().startswith("["):
        value = _json(text)
        return value if isinstance(value, list) else None
    if text.lstrip().startswith("{"):
        return None
    items = _items(schema, root)
    return [_coerce(name, part.strip(), items, root) for part in text.split(",")] if text.strip() else []


_DESCRIPTIONS = {
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean (true or false)",
    "object": "a JSON object",
    "array": "an array (JSON, or elements separated by commas)",
    "null": "null",
}


def _choose(name: str, text: str, choices: list[Any]) -> Any:
    """The allowed value that TEXT spells; text that spells none is sent as it is, for the server to judge."""
    for choice in choices:
        if choice == text or (not isinstance(choice, str) and compact(choice) == text):
            return choice
    if any(isinstance(choice, str) for choice in choices):
        return text
    raise UsageError(f"argument {name!r}: {text!r} is not one of {', '.join(map(compact, choices))}")


def _json(text: str) -> Any:
    try:
        return read(text)
    except (ValueError, RecursionError):
        return None


def _property(name: str, schema: Any) -> Any:
    for part in _parts(schema, schema):
        properties = part.get("properties")
        if isinstance(properties, dict) and name in properties:
            return properties[name]
    return {}


def _items(schema: Any, root: Any) -> Any:
    return next((part["items"] for part in _parts(schema, root) if "items" in part), {})


def _types(schema: Any, root: Any) -> set[str]:
    types: set[str] = set()
    for part in _parts(schema, root):
        kind = part.get("type")
        types.update([kind] if isinstance(kind, str) else [word for word in kind or () if isinstance(word, str)])
    return types & {"string", *_DESCRIPTIONS}


def _choices(schema: Any, root: Any) -> list[Any] | None:
    choices: list[Any] = []
    for part in _parts(schema, root):
        if isinstance(part.get("enum"), list):
            choices += part["enum"]
        elif "const" in part:
            choices.append(part["const"])
    return choices or None


def _parts(schema: Any, root: Any, depth: int = 0) -> Iterator[Json]:
    """SCHEMA and every alternative in it that could describe the same value, local references followed."""
    if not isinstance(schema, dict) or depth > _DEEPEST_REFERENCE:
        return
    yield schema
    if isinstance(schema.get("$ref"), str):
        yield from _parts(_resolve(schema["$ref"], root), root, depth + 1)
    for keyword in ("allOf", "anyOf", "oneOf"):
        alternatives = schema.get(keyword)
        for alternative in alternatives if isinstance(alternatives, list) else ():
            yield from _parts(alternative, root, depth + 1)


def _resolve(reference: str, root: Any) -> Any:
    if not reference.startswith("#"):
        return None
    found = root
    for step in reference[1:].strip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, dict) and key else found
    return found


def complaints(value: Any, schema: Any) -> list[str]:
    """What is wrong with VALUE by SCHEMA; a schema that is none, or that refers to the network, is a complaint too."""
    import jsonschema_rs

    try:
        validator = jsonschema_rs.validator_for(schema, retriever=_no_remote_schemas)
        errors = list(validator.iter_errors(_plain(value)))
    except (ValueError, RecursionError) as error:  # ValidationError and ReferencingError are ValueErrors
        return [f"the schema itself cannot be used: {str(error).splitlines()[0]}"]
    return [f"{_where(error.instance_path)}: {error.message}" for error in errors]


def _no_remote_schemas(uri: str) -> NoReturn:
    raise ValueError(f"schemas are not fetched from the network: {uri}")


def _where(path: list[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".") or "the value"


def _plain(value: Any) -> Any:
    """VALUE in the types that the validator knows."""
    match value:
        case Digits():
            return float(value)
        case dict():
            return {key: _plain(member) for key, member in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


def filled_in(schema: Any) -> Json:
    """The least content that an object schema accepts: its defaults, and something plain where it requires more."""
    content: Json = {}
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    for name, member in (properties if isinstance(properties, dict) else {}).items():
        if isinstance(member, dict) and "default" in member:
            content[name] = member["default"]
        elif isinstance(required, list) and name in required:
            content[name] = _sample(member, schema)
    return content


def _sample(schema: Any, root: Any) -> Any:
    if choices := _choices(schema, root):
        return choices[0]
    types = _types(schema, root)
    facts = {key: value for part in _parts(schema, root) for key, value in part.items()}
    if "boolean" in types:
        return False
    if types & {"integer", "number"}:
        lowest = facts.get("minimum", min(0, facts.get("maximum", 0)))
        return lowest if "number" in types else int(lowest)
    if "array" in types:
        return [_sample(_items(schema, root), root)] * facts.get("minItems", 0)
    return _SAMPLES.get(facts.get("format", ""), "").ljust(facts.get("minLength", 0), "x")
