"""Whether the params of a preset or a fault are what the annotations of its function say."""

import types
import typing
from typing import Any, Literal

from mcp_conductor.protocol.message import kind_of

_WORDS = {str: "a string", int: "an integer", float: "a number", bool: "a boolean", dict: "an object", list: "an array"}


def misfit(value: Any, hint: Any) -> str | None:
    """What VALUE should be instead, when it is not what the annotation HINT says."""
    if hint is Any:
        return None
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    for option in options:
        if option is types.NoneType and value is None:
            return None
        kind = typing.get_origin(option) or option
        if kind is Literal and value in typing.get_args(option):
            return None
        wanted = (int, float) if kind is float else kind
        if (
            isinstance(wanted, (type, tuple))
            and isinstance(value, wanted)
            and (kind is bool) == isinstance(value, bool)
        ):
            return None
    return (
        " or ".join(_described(option) for option in options if option is not types.NoneType)
        + f", not {kind_of(value)}"
    )


def _described(option: Any) -> str:
    kind = typing.get_origin(option) or option
    if kind is Literal:
        return "one of " + ", ".join(map(repr, typing.get_args(option)))
    return _WORDS.get(kind, str(kind))
