"""The words that presets are written in: a tool, a text resource, a prompt or a question, as plain as they come."""

import re
from collections.abc import Callable
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import (
    Act,
    Completions,
    Prompt,
    Resource,
    TaskSupport,
    Template,
    Tool,
    object_schema,
    text,
)
from mcp_conductor.server.params import BadParam

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def tool(
    name: str,
    description: str,
    arguments: Json,
    run: Act,
    *,
    required: list[str] | None = None,
    task: TaskSupport | None = None,
    **listed: Any,
) -> Tool:
    """A tool with these properties as ARGUMENTS; LISTED are further members of its entry in the list."""
    if not name:
        raise BadParam("name", "must not be empty")
    entry = {"name": name, "description": description, "inputSchema": object_schema(arguments, required), **listed}
    return Tool(listed=entry, run=run, task=task)


def string(description: str, **keywords: Any) -> Json:
    """The schema of a string argument."""
    return {"type": "string", "description": description, **keywords}


def contents(call: Call, mime_type: str, words: str) -> Json:
    """The result of reading a text."""
    return {"contents": [{"uri": call.params["uri"], "mimeType": mime_type, "text": words}]}


def text_resource(
    name: str, uri: str, description: str, words: Callable[[], str], mime: str, **listed: Any
) -> Resource:
    """A resource whose text is what WORDS says at the time."""
    return Resource(
        listed={"uri": uri, "name": name, "description": description, "mimeType": mime, **listed},
        read=lambda call: contents(call, mime, words()),
    )


def text_template(
    name: str, uri_template: str, description: str, words: Callable[[dict[str, str]], str], mime: str, completions: Any
) -> Template:
    """A template whose texts WORDS makes of the variables."""
    from mcp_conductor.protocol.uri_template import parse

    pattern = parse(uri_template)
    return Template(
        listed={"uriTemplate": uri_template, "name": name, "description": description, "mimeType": mime},
        read=lambda call: contents(call, mime, words(call.variables)),
        pattern=pattern,
        completions=completions_for(pattern.names, completions),
    )


def message(content: Json) -> Json:
    """The result of getting a prompt that is one message."""
    return {"messages": [{"role": "user", "content": content}]}


def text_prompt(
    name: str,
    description: str | None,
    words: str,
    arguments: list[Json] | None = None,
    completions: Any = None,
    **listed: Any,
) -> Prompt:
    """A prompt of one message; `{city}` in WORDS stands for the argument of that name."""

    def get(call: Call) -> Json:
        return message(text(_PLACEHOLDER.sub(lambda found: call.arguments.get(found[1], found[0]), words)))

    described = {} if description is None else {"description": description}
    return Prompt(
        listed={"name": name, **described, **({"arguments": arguments} if arguments else {}), **listed},
        get=get,
        completions=completions_for([each["name"] for each in arguments or []], completions),
    )


def completions_for(names: Any, completions: Any) -> Completions:
    """COMPLETIONS, if they are strings for arguments of these NAMES."""
    for name, values in (completions or {}).items():
        if name not in names:
            raise BadParam("completions", f"are for {', '.join(names)}, not for {name!r}")
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise BadParam("completions", f"for {name!r} must be an array of strings")
    return completions or {}


def numbers(count: int) -> range:
    """The numbers of COUNT things."""
    return range(1, not_negative("count", count) + 1)


def not_negative(name: str, value: int) -> int:
    """VALUE, which the param NAME gave."""
    if value < 0:
        raise BadParam(name, f"must be at least 0, not {value}")
    return value


def form(words: str, properties: Json, required: list[str] | None = None) -> Json:
    """The question that has the user fill in a form; without REQUIRED all of it."""
    wanted = list(properties) if required is None else required
    schema = {"type": "object", "properties": properties, **({"required": wanted} if wanted else {})}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": words, "requestedSchema": schema}}


def sample(words: str, most_tokens: int) -> Json:
    """The question that has the client's model answer."""
    messages = [{"role": "user", "content": text(words)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": most_tokens}}
