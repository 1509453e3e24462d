"""Prompts: the list, messages and their content."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from mcp_conductor.checks.engine.check import judged, judged_everywhere
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import (
    ROLES,
    Fits,
    array_faults,
    base64_flaw,
    echoes,
    embedded_flaw,
    flag,
    having,
    is_one_of,
    link_flaw,
    listing,
    mime_type_flaw,
    misfits,
    name_faults,
    objects,
    text,
    text_flaw,
    undeclared_changes,
    uri_flaw,
)
from mcp_conductor.protocol import Json
from mcp_conductor.report.model import Finding

_ARGUMENT: dict[str, Fits] = {"description": text, "title": text, "required": flag}


def listed_prompts(record: Record) -> Iterator[tuple[str, Json]]:
    return objects(listing(record, "prompts/list", "prompts"))


@judged("prompts-listchanged-flag", needs="prompts", follows="lifecycle-initialize-result-server")
def list_changed_is_a_flag(record: Record) -> Iterator[Finding]:
    """Look at the declared capability: listChanged is a boolean."""
    for path, capability in having([("capabilities.prompts", record.capabilities["prompts"])], "listChanged"):
        yield from misfits(capability, {"listChanged": flag}, path)


@judged("prompts-list-array", needs="prompts")
def the_list_is_an_array(record: Record) -> Iterator[Finding]:
    """Look at every result of prompts/list: prompts is an array."""
    yield from array_faults(record, "prompts/list", "prompts")


@judged("prompts-item-name", needs="prompts")
def prompts_have_names(record: Record) -> Iterator[Finding]:
    """Look at every listed prompt, over all pages: it has a name, and no other has the same."""
    yield from name_faults(listing(record, "prompts/list", "prompts"), "prompt")


@judged("prompts-item-optional", needs="prompts")
def optional_members_fit(record: Record) -> Iterator[Finding]:
    """Look at every listed and every fetched prompt: texts are strings, and each argument has a name."""
    fetched = (result for _, result in record.complete("prompts/get") if "description" in result)
    described = (("result", {"description": result["description"]}) for result in fetched)
    for path, prompt in having(chain(listed_prompts(record), described), "description", "title", "arguments"):
        yield from misfits(prompt, {"description": text, "title": text}, path)
        arguments = prompt.get("arguments", [])
        if not isinstance(arguments, list):
            yield fault("arguments is not an array", arguments, path=f"{path}.arguments", beside=[prompt])
            continue
        for index, argument in enumerate(arguments):
            where = f"{path}.arguments[{index}]"
            if not isinstance(argument, dict) or not isinstance(argument.get("name"), str):
                yield fault("an argument has no name", argument, path=where)
            yield from misfits(argument, _ARGUMENT, where)


@judged_everywhere("prompts-listchanged-needs-capability")
@judged("prompts-listchanged-needs-capability")
def changes_are_declared(record: Record) -> Iterator[Finding]:
    """Look for notifications/prompts/list_changed from a server that does not declare prompts.listChanged."""
    yield from undeclared_changes(record, "prompts")


# Messages.


def _messages(record: Record) -> Iterator[tuple[Json, str, Any]]:
    """Every message of every prompt that was fetched: the params of the request, its path, and the message."""
    seen = False
    for exchange, result in record.complete("prompts/get"):
        messages = result.get("messages")
        for index, message in enumerate(messages if isinstance(messages, list) else []):
            seen = True
            yield exchange.request.params, f"result.messages[{index}]", message
    if not seen:
        raise NotSeen("no message of a prompt was seen")


def _content(record: Record, *kinds: str) -> Iterator[tuple[Json, str, Json]]:
    """The content of every message, of these kinds only if there are any."""
    seen = False
    for params, path, message in _messages(record):
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, dict) and (not kinds or content.get("type") in kinds):
            seen = True
            yield params, f"{path}.content", content
    if not seen:
        raise NotSeen(f"no prompt has {' or '.join(kinds) or 'content'}")


@judged("prompts-get-messages", needs="prompts")
def prompts_have_messages(record: Record) -> Iterator[Finding]:
    """Look at every result of prompts/get: messages is an array."""
    yield from array_faults(record, "prompts/get", "messages")


@judged("prompts-message-shape", needs="prompts")
def messages_have_roles_and_content(record: Record) -> Iterator[Finding]:
    """Look at every message of a prompt: the role is user or assistant, and content is one object, not an array."""
    for _, path, message in _messages(record):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            yield fault(f"the role is not {' or '.join(ROLES)}", message, path=path)
        elif not isinstance(message.get("content"), dict):
            yield fault("content is not an object", message, path=path)


@judged("prompts-content-types", needs="prompts")
def content_has_known_types(record: Record) -> Iterator[Finding]:
    """Look at the content of every message: its type is known in this revision, and has its members."""
    known = record.dialect.content
    flaws = {"text": text_flaw, "resource_link": link_flaw}
    for params, path, content in _content(record):
        kind = str(content.get("type"))
        if not is_one_of(content, known):
            yield fault(f"content is not {', '.join(sorted(known))}", content, path=path)
        elif kind in flaws and (flaw := flaws[kind](content)) and not echoes(content, params):
            yield fault(f"{kind} content: {flaw}", content, path=path)


@judged("prompts-content-binary", needs="prompts")
def binary_content_is_base64(record: Record) -> Iterator[Finding]:
    """Look at images and audio in prompts: data is base64, and mimeType is a MIME type."""
    for params, path, content in _content(record, "image", "audio"):
        for member, flaw_of in (("data", base64_flaw), ("mimeType", mime_type_flaw)):
            if (flaw := flaw_of(content.get(member))) and not echoes(content, params):
                yield fault(f"{member} {flaw}", content, path=f"{path}.{member}")


@judged("prompts-content-resource", needs="prompts")
def embedded_resources_are_whole(record: Record) -> Iterator[Finding]:
    """Look at embedded resources in prompts: a URI, a MIME type, and either text or a base64 blob."""
    for params, path, content in _content(record, "resource"):
        flaw = embedded_flaw(content)
        resource = content.get("resource")
        if flaw is None and isinstance(resource, dict):
            if found := uri_flaw(resource.get("uri")):
                flaw = f"resource.uri {found}"
            elif found := mime_type_flaw(resource.get("mimeType")):
                flaw = f"resource.mimeType {found}"
        if flaw is not None and not echoes(content, params):
            yield fault(flaw, content, path=path)
