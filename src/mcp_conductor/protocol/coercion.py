"""Text from a command line becomes what a tool's schema asks for.

Coercion follows the schema: text stays text for a string, and what cannot be read as the wanted type is an error,
never a value of another type.
"""

import re
from typing import Any

from mcp_conductor.errors import CannotTellError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Digits, how_to_quote, read, render
from mcp_conductor.protocol.schema import choices_of, items_of, member_of, parts, types_of

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,4})?")
_DESCRIPTIONS = {
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean (true or false)",
    "object": "a JSON object",
    "array": "an array (JSON, or elements separated by commas)",
    "null": "null",
}
_NOTHING = object()


def coerce_arguments(pairs: list[tuple[str, str]], schema: Any) -> Json:
    """Arguments from KEY=VALUE texts, each as the object schema SCHEMA wants it; a repeated key fills an array."""
    texts: dict[str, list[str]] = {}
    for name, text in pairs:
        texts.setdefault(name, []).append(text)
    return {name: _coerce_all(name, given, _schema_for(name, schema), schema) for name, given in texts.items()}


def _schema_for(name: str, schema: Any) -> Any:
    try:
        return member_of(name, schema)
    except CannotTellError:  # a pattern of the server takes too long
        return {}


def _coerce_all(name: str, texts: list[str], schema: Any, root: Any) -> Any:
    if len(texts) == 1:
        return _coerce(name, texts[0], schema, root)
    some = parts(schema, root)
    if "array" not in types_of(some):
        raise UsageError(f"argument {name!r} is given twice, and its schema is not an array")
    return [_coerce(name, text, items_of(some), root) for text in texts]


def _coerce(name: str, text: str, schema: Any, root: Any) -> Any:
    some = parts(schema, root)
    choices = choices_of(some)
    for choice in choices:
        if choice == text or (not isinstance(choice, str) and render(choice) == text):
            return choice
    free = types_of([part for part in some if "enum" not in part and "const" not in part])
    # Text that spells none of the choices is sent as it is, for the server to judge.
    if (not free and not choices) or "string" in free or (not free and any(isinstance(each, str) for each in choices)):
        return text
    value = _typed(name, text, free, items_of(some), root)
    if value is not _NOTHING:
        return value
    wanted = [_DESCRIPTIONS[kind] for kind in _DESCRIPTIONS if kind in free]
    wanted += [f"one of {', '.join(map(render, choices))}"] if choices else []
    raise UsageError(f"argument {name!r}: {text!r} is not {' or '.join(wanted)}", hint=how_to_quote(text))


def _typed(name: str, text: str, types: set[str], items: Any, root: Any) -> Any:
    if "null" in types and text == "null":
        return None
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    if types & {"integer", "number"} and _NUMBER.fullmatch(text):
        number = read(text) if "number" in types else _integer(text)
        if number is not None:
            return number
    if "array" in types and (elements := _elements(name, text, items, root)) is not None:
        return elements
    if "object" in types and isinstance(value := _json(text), dict):
        return value
    return _NOTHING


def _integer(text: str) -> int | Digits | None:
    """The integer that a JSON number is, to the last digit; 5.0 and 1e3 are integers too."""
    if text.lstrip("-").isdigit():
        number: int | Digits = read(text)
        return number
    from decimal import Decimal

    exact = Decimal(text)
    return int(exact) if exact == exact.to_integral_value() else None


def _elements(name: str, text: str, items: Any, root: Any) -> list[Any] | None:
    """A JSON array, or elements separated by commas, each as the schema's `items` want it."""
    if text.lstrip().startswith("["):
        value = _json(text)
        return value if isinstance(value, list) else None
    if text.lstrip().startswith("{"):
        return None
    return [_coerce(name, part.strip(), items, root) for part in text.split(",")] if text.strip() else []


def _json(text: str) -> Any:
    try:
        return read(text)
    except (ValueError, RecursionError):
        return None
