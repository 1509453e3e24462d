"""What the content of a resource is written like, and steps that change what the server has."""

import base64

from mcp_conductor.files.fields import Field
from mcp_conductor.protocol import Json
from mcp_conductor.server.definitions import Resource
from mcp_conductor.server.placeholders import Draft, Scope, array, record
from mcp_conductor.server.steps import Script, Step, StepFailedError, one_of, step

RESOURCE_MEMBERS = ("uri", "name", "title", "description", "mimeType", "size", "annotations", "icons", "_meta")
CONTENTS = ("text", "blob", "contents")


def contents(given: Field, known: dict[str, Field], uri: Draft, script: Script) -> Draft:
    """The result of resources/read: all `contents`, or the `text` or `blob` of the only one."""
    form = one_of(given, known, *CONTENTS)
    if form == "contents":
        known[form].items()
        return record({"contents": script.draft(known[form])})
    kind = {"mimeType": script.draft(known["mimeType"])} if "mimeType" in known else {}
    content = script.text(known[form])
    if form == "blob" and content.fill is None:
        _check_base64(known[form])
    return record({"contents": array([record({"uri": uri, **kind, form: content})])})


def _check_base64(blob: Field) -> None:
    try:
        base64.b64decode(blob.value, validate=True)
    except ValueError:
        blob.refuse("must be base64", "what is under `contents` is sent as it is")


@step
def update_resource(given: Field, script: Script) -> Step:
    """Give a resource new content, `{uri, text}` or `{uri, blob}`, and tell its subscribers.

    `{uri}` alone only tells them, and the URI may then be one of a template.
    """
    known = given.members(("uri", "text", "blob"))
    one_of(given, known, "uri")
    if len(known) > 1:
        one_of(given, known, "text", "blob")
    parts = {key: script.text(part) for key, part in known.items()}

    async def act(scope: Scope) -> None:
        if scope.call.repeating:
            return
        content: Json = {key: part.filled(scope) for key, part in parts.items()}
        server, uri = scope.call.server, content["uri"]
        if len(content) > 1:
            if uri not in server.resources:
                raise StepFailedError(f"there is no resource {uri} to update")
            listed = server.resources[uri].listed
            kind = {"mimeType": listed["mimeType"]} if "mimeType" in listed else {}
            result = {"contents": [{**kind, **content}]}
            server.resources[uri] = Resource(listed=listed, read=lambda _: result)
        server.tell_updated(uri)

    return act


@step
def add_resource(given: Field, script: Script) -> Step:
    """Add a resource, or put it in place of the one with the same URI, and tell clients that the list has changed.

    It is written like those under `resources`: `uri`, `name`, `mimeType` and so on, and `text`, `blob` or `contents`.
    """
    known = given.members((*RESOURCE_MEMBERS, *CONTENTS))
    one_of(given, known, "uri")
    uri = script.text(known["uri"])
    listed = record(
        {"name": uri, **{key: script.draft(known[key]) for key in known if key not in CONTENTS}, "uri": uri}
    )
    content = contents(given, known, uri, script)

    async def act(scope: Scope) -> None:
        if scope.call.repeating:
            return
        result = content.filled(scope)
        added = Resource(listed=listed.filled(scope), read=lambda _: result)
        scope.call.server.resources[added.uri] = added
        scope.call.server.tell_list_changed("resources")

    return act


@step
def remove_resource(given: Field, script: Script) -> Step:
    """Remove the resource with this URI, and tell clients that the list has changed."""
    uri = script.text(given)

    async def act(scope: Scope) -> None:
        if scope.call.repeating:
            return
        server = scope.call.server
        if server.resources.pop(uri.filled(scope), None) is None:
            raise StepFailedError(f"there is no resource {uri.filled(scope)} to remove")
        server.tell_list_changed("resources")

    return act


@step
def list_changed(given: Field, _: Script) -> Step:
    """Tell clients that the list of `tools`, `resources` or `prompts` has changed; it must be in listChanged."""
    kind = given.one_of(("tools", "resources", "prompts"))

    async def act(scope: Scope) -> None:
        if not scope.call.repeating:
            scope.call.server.tell_list_changed(kind)

    return act
