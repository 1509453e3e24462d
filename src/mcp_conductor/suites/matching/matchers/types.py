"""Matchers of the kind of a value, and of whether there is one."""

from typing import Any, Literal

from mcp_conductor.protocol.message import kind_of
from mcp_conductor.suites.matching.differences import described, exact, is_number
from mcp_conductor.suites.matching.matchers import matcher

Type = Literal["string", "number", "integer", "boolean", "object", "array", "null"]


@matcher("type")
def has_type(actual: Any, type: Type) -> str | None:  # noqa: A002  # its name in the manual
    """match:type:TYPE — a value of this type: string, number, integer, boolean, object, array or null.

    match:type:integer  5.0   passes
    match:type:array    []    passes
    match:type:number   "5"   is the string '5', not a number
    match:type:string   null  is null, not a string
    """
    if type == "integer":
        if is_number(actual) and _is_integer(actual):
            return None
        return f"is {described(actual)}, not an integer"
    article = "an" if type[0] in "aeio" else "a"
    wanted = "null" if type == "null" else f"{article} {type}"
    return None if kind_of(actual) == wanted else f"is {described(actual)}, not {wanted}"


def _is_integer(number: float) -> bool:
    value = exact(number)
    return value.is_finite() and (value == 0 or value.normalize().as_tuple().exponent >= 0)  # type: ignore[operator]


@matcher("exists")
def exists(actual: Any) -> str | None:
    """match:exists — anything but null. `match:not:exists`: null, or no such member at all.

    match:exists           0     passes
    {a: match:not:exists}  {}    passes
    match:exists           null  is null
    {a: match:exists}      {}    a is missing
    """
    return "is null" if actual is None else None


@matcher("any")
def anything(actual: Any) -> str | None:  # noqa: ARG001  # every value passes
    """match:any — any value, null too; but the member must be there.

    {a: match:any}  {"a": null}  passes
    {a: match:any}  {}           a is missing
    """
    return None


@matcher("count")
def count(actual: Any, count: int) -> str | None:
    """match:count:COUNT — an array of COUNT elements, or an object of COUNT members.

    match:count:2  ["a", "b"]  passes
    match:count:1  {"a": 1}    passes
    match:count:2  {"a": 1}    has 1 member, not 2
    """
    if not isinstance(actual, (list, dict)):
        return f"is {described(actual)}, not an array or an object"
    what = "element" if isinstance(actual, list) else "member"
    return None if len(actual) == count else f"has {len(actual)} {what}{'s' * (len(actual) != 1)}, not {count}"
