"""JSON values as values of Python types: of models, dataclasses, TypedDicts and plain types."""

from dataclasses import is_dataclass
from typing import Any, TypeVar, cast, get_origin, is_typeddict

from mcp_conductor.errors import ProtocolError, UsageError
from mcp_conductor.protocol.message import kind_of

T = TypeVar("T")


def as_kind(value: Any, kind: type[T]) -> T:
    """VALUE as a KIND; raises ProtocolError where it does not fit, UsageError where KIND is nothing that we know."""
    if callable(validate := getattr(kind, "model_validate", None)):  # a model of pydantic
        return cast(T, validate(value))
    if is_dataclass(kind) or is_typeddict(kind):
        return cast(T, _from_object(value, kind))
    plain: Any = get_origin(kind) or kind
    if not isinstance(plain, type):
        raise UsageError(f"a result cannot be made a {kind!r}: give a model, a dataclass, a TypedDict or a plain type")
    if not issubclass(plain, dict) and isinstance(value, dict) and [*value] == ["result"]:
        value = value["result"]
    # To Python, true is a number; to JSON it is not.
    if not isinstance(value, plain) or (isinstance(value, bool) and plain is not bool):
        raise ProtocolError(f"the structured content is {kind_of(value)}, not a {plain.__name__}")
    return cast(T, value)


def _from_object(value: Any, kind: Any) -> Any:
    if not isinstance(value, dict):
        raise ProtocolError(f"the structured content is {kind_of(value)}, not an object for {kind.__name__}")
    if is_typeddict(kind):
        missing = sorted(kind.__required_keys__ - value.keys())
        if missing:
            raise ProtocolError(f"the structured content lacks {', '.join(missing)}, which {kind.__name__} needs")
        return value
    try:
        return kind(**value)
    except TypeError as error:
        raise ProtocolError(f"the structured content does not fit {kind.__name__}: {error}") from error
