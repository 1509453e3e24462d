"""JSON values as values of Python types: of models, dataclasses, TypedDicts and plain types, also inside of others."""

from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from mcp_conductor.errors import ProtocolError, UsageError
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.text.visible import cut

T = TypeVar("T")


def as_kind(value: Any, kind: type[T]) -> T:
    """VALUE as a KIND; raises ProtocolError where it does not fit, UsageError where KIND is nothing that we know."""
    wrapped = isinstance(value, dict) and [*value] == ["result"]
    if _is_union(kind):
        # An object may be one of the alternatives itself; a server wraps what is declared to be an object or null.
        return cast(T, _one_of(get_args(kind), [value, value["result"]] if wrapped else [value], _WHOLE))
    if wrapped and not _takes_object(kind):
        value = value["result"]
    return cast(T, _made(value, kind, _WHOLE))


def failure(text: str) -> ProtocolError:
    """What is to be raised in place of a value, where the tool failed and only said TEXT."""
    return ProtocolError(f"the tool failed: {cut(text, _LONGEST_REASON)}")


_WHOLE = "the structured content"
_LONGEST_REASON = 500  # characters


def _made(value: Any, kind: Any, where: str) -> Any:
    """VALUE as a KIND; WHERE says which value it is."""
    if kind is Any:
        return value
    if callable(validate := getattr(kind, "model_validate", None)):  # a model of pydantic
        return validate(value)
    if is_dataclass(kind) or is_typeddict(kind):
        return _from_object(value, kind, where)
    if _is_union(kind):
        return _one_of(get_args(kind), [value], where)
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ProtocolError(f"{where} is {value!r}, not {_name(kind)}")
        return value
    return _plain(value, kind, where)


def _plain(value: Any, kind: Any, where: str) -> Any:
    plain: Any = get_origin(kind) or kind
    if not isinstance(plain, type):
        raise UsageError(f"a result cannot be made a {kind!r}: give a model, a dataclass, a TypedDict or a plain type")
    # To Python, true is a number; to JSON it is not. 1 and 1.0 are one number to JSON.
    fits = isinstance(value, plain) or (plain is float and isinstance(value, int))
    if not fits or (isinstance(value, bool) and plain is not bool):
        raise ProtocolError(f"{where} is {kind_of(value)}, not {_name(plain)}")
    inner = get_args(kind)
    if isinstance(value, list) and len(inner) == 1:
        return [_made(item, inner[0], f"{where}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, dict) and len(inner) == 2:
        return {key: _made(item, inner[1], f"{where}.{key}") for key, item in value.items()}
    return value


def _one_of(kinds: tuple[Any, ...], values: list[Any], where: str) -> Any:
    """The first of VALUES as the first of KINDS that it fits."""
    for value in values:
        for kind in kinds:
            try:
                return _made(value, kind, where)
            except (ProtocolError, ValueError):  # what pydantic raises is a ValueError
                continue
    raise ProtocolError(f"{where} is {kind_of(values[-1])} that fits none of {', '.join(map(_name, kinds))}")


def _from_object(value: Any, kind: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ProtocolError(f"{where} is {kind_of(value)}, not an object for {kind.__name__}")
    if is_typeddict(kind):
        missing = sorted(kind.__required_keys__ - value.keys())
        if missing:
            raise ProtocolError(f"{where} lacks {', '.join(missing)}, which {kind.__name__} needs")
        return value
    try:
        return kind(**_with_nested(value, kind, where))
    except TypeError as error:
        raise ProtocolError(f"{where} does not fit {kind.__name__}: {error}") from error


def _with_nested(value: dict[str, Any], kind: Any, where: str) -> dict[str, Any]:
    """VALUE with the models and dataclasses that the dataclass KIND says it holds."""
    try:
        hints = get_type_hints(kind)
    except NameError:  # a name that only its own function knows
        return value
    made = {name: hints[name] for name in value if name in hints and _holds_object(hints[name])}
    return {**value, **{name: _made(value[name], hint, f"{where}.{name}") for name, hint in made.items()}}


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _takes_object(kind: Any) -> bool:
    """Whether KIND is made of a JSON object, so that `{"result": …}` is the value itself."""
    plain = get_origin(kind) or kind
    return plain is Any or _is_made(kind) or is_typeddict(kind) or (isinstance(plain, type) and issubclass(plain, dict))


def _is_made(kind: Any) -> bool:
    """Whether a KIND is another object than the JSON value that it is made of."""
    return is_dataclass(kind) or callable(getattr(kind, "model_validate", None))


def _holds_object(kind: Any) -> bool:
    return _is_made(kind) or any(_holds_object(inner) for inner in get_args(kind))


def _name(kind: Any) -> str:
    return "null" if kind in (None, NoneType) else getattr(kind, "__name__", None) or str(kind)
