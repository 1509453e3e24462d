"""The params of a preset or a fault: what the annotations of its function say they must be."""

import types
import typing
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, Literal

from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes
from mcp_conductor.protocol.message import kind_of

_WORDS = {str: "a string", int: "an integer", float: "a number", bool: "a boolean", dict: "an object", list: "an array"}


class BadParam(Exception):  # noqa: N818  # what it is about
    """A param has the right type, and yet cannot be used: its name, and the problem."""


def checked_params(entry: Field, params: Field | None, wanted: Mapping[str, Parameter], what: str) -> dict[str, Field]:
    """PARAMS of WHAT, which ENTRY names: known, complete, and of the right types."""
    if params is not None and not wanted and params.members():
        params.refuse(f"must not be there: {what} takes none")
    mistakes = Mistakes()
    given = {} if params is None else params.members(tuple(wanted), mistakes=mistakes)
    unsure = bool(mistakes)  # a key that is not known may be one that is needed
    for name, parameter in wanted.items():
        if name not in given:
            if parameter.default is parameter.empty and not unsure:
                mistakes.add(entry.mistake(f"needs params.{name}", f"params: {{{name}: …}}"))
        elif problem := misfit(given[name].value, parameter.annotation):
            mistakes.add(given[name].mistake(f"must be {problem}"))
    mistakes.tell()
    return given


def make_with(make: Callable[..., Any], given: Mapping[str, Field]) -> Any:
    """What MAKE makes of GIVEN; a value that it cannot use is refused."""
    try:
        return make(**{name: each.value for name, each in given.items()})
    except BadParam as error:
        param, problem = error.args
        given[param].refuse(problem)


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
