"""Definitions as plugins write them: a mapping with what MCP lists, and a function under `run`, `read` or `get`.

The function is given the `Call`, and returns a text or the whole result of MCP, at once or as a coroutine.
"""

from collections.abc import Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from mcp_conductor.errors import UsageError
from mcp_conductor.plugins import failure, place_of, refuse_wrong_params, wrong_return
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.server.definitions import Act, Definition, Prompt, Resource, Template, Tool, text, text_result
from mcp_conductor.server.presets import Kind, Preset
from mcp_conductor.server.presets.making import completions_for, contents, message

if TYPE_CHECKING:
    from mcp_conductor.server.call import Call

_DONE_BY: dict[Kind, str] = {"tool": "run", "resource": "read", "resource template": "read", "prompt": "get"}
_NAMED_BY: dict[Kind, str] = {
    "tool": "name",
    "resource": "uri",
    "resource template": "uriTemplate",
    "prompt": "name",
}
_PLAIN = "text/plain"


def described(made: Any, preset: Preset) -> Definition:
    """The definition that MADE is, or describes as a mapping."""
    if isinstance(made, Definition):
        return made
    key, name = _DONE_BY[preset.kind], _NAMED_BY[preset.kind]
    if not isinstance(made, dict) or not callable(made.get(key)) or not isinstance(made.get(name), str):
        raise UsageError(
            f"the preset {preset.name!r} does not return a {preset.kind}",
            hint=f"return a dict with {name!r}, a text, and {key!r}, a function",
            where=place_of(preset.make),
        )
    refuse_wrong_params(made[key], f"{key!r} of the preset {preset.name!r}", ["call"])
    listed = {member: value for member, value in made.items() if member not in (key, "completions")}
    try:
        compact(listed)
    except (TypeError, ValueError) as error:
        hint = "what MCP lists of it must be JSON: texts, numbers, booleans, None, lists and dicts"
        where = place_of(preset.make)
        raise UsageError(
            f"the preset {preset.name!r} returns what is not JSON: {error}", hint=hint, where=where
        ) from None
    return _MAKERS[preset.kind](listed, made[key], made.get("completions"))


def _tool(listed: Json, run: Callable[..., Any], _: Any) -> Definition:
    empty: Json = {"type": "object", "properties": {}}
    return Tool(listed={"inputSchema": empty, **listed}, run=_whole(run, lambda _, words: text_result(words)))


def _resource(listed: Json, read: Callable[..., Any], _: Any) -> Definition:
    return Resource(listed={"name": listed["uri"], **listed}, read=_whole(read, _text_of(listed)))


def _template(listed: Json, read: Callable[..., Any], completions: Any) -> Definition:
    from mcp_conductor.protocol.uri_template import parse

    pattern = parse(listed["uriTemplate"])
    return Template(
        listed={"name": listed["uriTemplate"], **listed},
        read=_whole(read, _text_of(listed)),
        pattern=pattern,
        completions=completions_for(pattern.names, completions),
    )


def _prompt(listed: Json, get: Callable[..., Any], completions: Any) -> Definition:
    names = [each["name"] for each in listed.get("arguments", [])]
    whole = _whole(get, lambda _, words: message(text(words)))
    return Prompt(listed=listed, get=whole, completions=completions_for(names, completions))


_MAKERS: dict[Kind, Callable[[Json, Callable[..., Any], Any], Definition]] = {
    "tool": _tool,
    "resource": _resource,
    "resource template": _template,
    "prompt": _prompt,
}


def _text_of(listed: Json) -> "Callable[[Call, str], Json]":
    return lambda call, words: contents(call, listed.get("mimeType", _PLAIN), words)


def _whole(act: Callable[..., Any], result: "Callable[[Call, str], Json]") -> Act:
    """ACT, whose texts become a RESULT."""

    def answer(call: "Call", given: Any) -> Json:
        if isinstance(given, str):
            return result(call, given)
        what = f"the function for {call.method}"
        if not isinstance(given, dict):
            raise TypeError(wrong_return(act, what, given, "a text, or the result as a dict").message)
        try:
            compact(given)
        except (TypeError, ValueError) as error:
            raise TypeError(failure(act, f"the result of {what}", error).message) from None
        return given

    async def later(call: "Call", given: Any) -> Json:
        return answer(call, await given)

    def do(call: "Call") -> Any:
        given = act(call)
        return later(call, given) if isawaitable(given) else answer(call, given)

    return do
