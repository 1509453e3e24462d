"""Tools that change what the server has: tools, resources and prompts that come, go and have new content.

Clients that listen are told of each change, and of nothing that did not happen.
"""

from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import Resource, Tool, error_result, object_schema, text_result
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.making import string, text_prompt, tool


@preset("tool")
def add_resource() -> Tool:
    """Add a resource to the server."""

    def run(call: Call) -> Json:
        uri = call.arguments["uri"]
        if uri in call.server.resources:
            return error_result(f"Resource {uri} already exists")
        shown = ("uri", "name", "description", "mimeType")
        listed = {key: call.arguments[key] for key in shown if key in call.arguments}
        call.server.resources[uri] = _static(listed, call.arguments.get("text", ""))
        call.server.tell_list_changed("resources")
        return text_result(f"Resource {uri} added")

    return tool(
        "add_resource",
        "Add a resource to the server and send list_changed notification",
        {
            "uri": string("Resource URI"),
            "name": string("Resource name"),
            "description": string("Resource description"),
            "mimeType": string("Resource MIME type"),
            "text": string("Resource text content"),
        },
        run,
        required=["uri", "name"],
    )


@preset("tool")
def remove_resource() -> Tool:
    """Remove a resource from the server."""

    return _removing("resource", "uri", "URI", missing="Resource with URI {} not found")


@preset("tool")
def update_resource() -> Tool:
    """Give a resource new content, and tell its subscribers."""

    def run(call: Call) -> Json:
        uri = call.arguments["uri"]
        resource = call.server.resources.get(uri)
        if resource is None:
            return error_result(f"Resource with URI {uri} not found")
        call.server.resources[uri] = _static(resource.listed, call.arguments["text"])
        call.server.tell_updated(uri)
        return text_result(f"Resource {uri} updated")

    return tool(
        "update_resource",
        "Update an existing resource's content and send resource updated notification",
        {"uri": string("Resource URI to update"), "text": string("New resource text content")},
        run,
    )


def _static(listed: Json, words: str) -> Resource:
    content = {"uri": listed["uri"], "mimeType": listed.get("mimeType", "text/plain"), "text": words}
    return Resource(listed=listed, read=lambda _: {"contents": [content]})


@preset("tool")
def add_tool() -> Tool:
    """Add a tool to the server."""

    def run(call: Call) -> Json:
        name, schema = call.arguments["name"], call.arguments.get("inputSchema", object_schema())
        if not name:
            return error_result("a tool needs a name")
        if name in call.server.tools:
            return error_result(f"Tool {name} already exists")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            return error_result('inputSchema must be a JSON Schema with "type": "object"')
        listed = {"name": name, "description": call.arguments["description"], "inputSchema": schema}
        call.server.tools[name] = Tool(listed=listed, run=lambda _: text_result(f"Tool {name} executed"))
        call.server.tell_list_changed("tools")
        return text_result(f"Tool {name} added")

    return tool(
        "add_tool",
        "Add a tool to the server and send list_changed notification",
        {
            "name": string("Tool name"),
            "description": string("Tool description"),
            "inputSchema": {"description": "Tool input schema"},
        },
        run,
        required=["name", "description"],
    )


@preset("tool")
def remove_tool() -> Tool:
    """Remove a tool from the server."""

    return _removing("tool", "name", "name", missing="Tool {} not found")


@preset("tool")
def add_prompt() -> Tool:
    """Add a prompt to the server; `{city}` in its text stands for the argument of that name."""

    def run(call: Call) -> Json:
        name = call.arguments["name"]
        if name in call.server.prompts:
            return error_result(f"Prompt {name} already exists")
        try:
            arguments = _prompt_arguments(call.arguments.get("argsSchema"))
        except ValueError as error:
            return error_result(str(error))
        words = call.arguments["promptString"]
        call.server.prompts[name] = text_prompt(name, call.arguments.get("description"), words, arguments)
        call.server.tell_list_changed("prompts")
        return text_result(f"Prompt {name} added")

    return tool(
        "add_prompt",
        "Add a prompt to the server and send list_changed notification",
        {
            "name": string("Prompt name"),
            "description": string("Prompt description"),
            "promptString": string("Prompt text"),
            "argsSchema": {"description": "Prompt arguments schema"},
        },
        run,
        required=["name", "promptString"],
    )


def _prompt_arguments(schema: Any) -> list[Json]:
    """The arguments of a prompt, given as a JSON Schema of an object or as a prompt lists them."""
    match schema:
        case None:
            return []
        case list() if all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in schema):
            return schema
        case {"properties": dict(properties)}:
            required = schema.get("required")
            wanted = required if isinstance(required, list) else []
            return [_prompt_argument(name, member, name in wanted) for name, member in properties.items()]
    raise ValueError("argsSchema must be a JSON Schema with properties, or an array of arguments")


def _prompt_argument(name: str, schema: Any, required: bool) -> Json:
    known = schema if isinstance(schema, dict) else {}
    described = {key: known[key] for key in ("title", "description") if isinstance(known.get(key), str)}
    return {"name": name, **described, "required": required}


@preset("tool")
def remove_prompt() -> Tool:
    """Remove a prompt from the server."""

    return _removing("prompt", "name", "name", missing="Prompt {} not found")


def _removing(kind: str, key: str, key_name: str, *, missing: str) -> Tool:
    """The tool that removes what its argument KEY names."""

    def run(call: Call) -> Json:
        wanted = call.arguments[key]
        there: dict[str, Any] = getattr(call.server, f"{kind}s")
        if there.pop(wanted, None) is None:
            return error_result(missing.format(wanted))
        call.server.tell_list_changed(f"{kind}s")
        return text_result(f"{kind.capitalize()} {wanted} removed")

    description = f"Remove a {kind} from the server by {key_name} and send list_changed notification"
    return tool(f"remove_{kind}", description, {key: string(f"{kind.capitalize()} {key_name} to remove")}, run)
