"""Tools for each kind of content, and for what a list may say of a tool: title, icons, annotations."""

from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import Tool, text, text_result
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.making import string, tool

# One blue pixel, and one millisecond of a tone: small, and yet every viewer and player takes them.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mPQz7/3HwAEyQJ8w8SaaAAAAABJRU5ErkJggg=="
WAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACA2v/agCYBJg=="

IMAGE: Json = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO: Json = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}
RESOURCE_LINK: Json = {
    "type": "resource_link",
    "uri": "demo://resource/static/document/architecture.md",
    "name": "architecture",
    "description": "Architecture documentation",
    "mimeType": "text/markdown",
}
EMBEDDED_RESOURCE: Json = {
    "type": "resource",
    "resource": {"uri": "test://embedded", "mimeType": "text/plain", "text": "This is an embedded resource."},
}
ANNOTATIONS: Json = {"audience": ["user"], "priority": 0.8, "lastModified": "2025-01-12T15:00:58Z"}
ICONS: list[Json] = [{"src": f"data:image/png;base64,{PNG}", "mimeType": "image/png", "sizes": ["1x1"]}]

_ANNOTATIONS_BY_TYPE = {
    "success": {"priority": 0.7, "audience": ["user"]},
    "error": {"priority": 1.0, "audience": ["user", "assistant"]},
    "warning": {"priority": 0.9, "audience": ["user", "assistant"]},
    "info": {"priority": 0.3, "audience": ["assistant"]},
}


def _showing(name: str, description: str, *blocks: Json, **listed: Any) -> Tool:
    return tool(name, description, {}, lambda _: {"content": list(blocks)}, **listed)


@preset("tool")
def image_content() -> Tool:
    """Answer with an image."""
    return _showing("image_content", "Returns an image: one blue pixel, PNG", IMAGE)


@preset("tool")
def audio_content() -> Tool:
    """Answer with audio."""
    return _showing("audio_content", "Returns audio: one millisecond of a tone, WAV", AUDIO)


@preset("tool")
def resource_link_content() -> Tool:
    """Answer with a link to a resource, that of the preset `architecture`."""
    return _showing("resource_link_content", "Returns a link to a resource", RESOURCE_LINK)


@preset("tool")
def embedded_resource_content() -> Tool:
    """Answer with a resource inside the result."""
    return _showing("embedded_resource_content", "Returns a resource that is embedded in the result", EMBEDDED_RESOURCE)


@preset("tool")
def annotated_content() -> Tool:
    """Answer with a text for the user that has audience, priority and lastModified."""
    block = {**text("This text is annotated."), "annotations": ANNOTATIONS}
    return _showing("annotated_content", "Returns a text with annotations", block)


@preset("tool")
def mixed_content() -> Tool:
    """Answer with every kind of content at once."""
    return _showing(
        "mixed_content",
        "Returns a text, an image, audio, a link and an embedded resource",
        text("This is a text."),
        IMAGE,
        AUDIO,
        RESOURCE_LINK,
        EMBEDDED_RESOURCE,
    )


@preset("tool")
def get_annotated_message() -> Tool:
    """Answer with an annotated text, and an image if the call asks for it."""

    def run(call: Call) -> Json:
        kind = call.arguments["messageType"]
        block = {**text(f"This is a {kind} message"), "annotations": _ANNOTATIONS_BY_TYPE[kind]}
        return {"content": [block, IMAGE] if call.arguments.get("includeImage") else [block]}

    return tool(
        "get_annotated_message",
        "Get an annotated message",
        {
            "messageType": string("Type of message", enum=list(_ANNOTATIONS_BY_TYPE)),
            "includeImage": {"type": "boolean", "description": "Whether to include an image"},
        },
        run,
        required=["messageType"],
    )


@preset("tool")
def titled_tool() -> Tool:
    """A tool with a title for people besides its name."""
    return _showing("titled_tool", "A tool that has a title", text("This tool has a title."), title="A Titled Tool")


@preset("tool")
def icon_tool() -> Tool:
    """A tool with an icon."""
    return _showing("icon_tool", "A tool that has an icon", text("This tool has an icon."), icons=ICONS)


@preset("tool")
def annotated_tool() -> Tool:
    """A tool with all annotations: it reads only, repeats safely and stays in its own world."""
    return tool(
        "annotated_tool",
        "A tool that says how it behaves",
        {},
        lambda _: text_result("This tool has annotations."),
        annotations={
            "title": "An Annotated Tool",
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    )
