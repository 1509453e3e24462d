"""Prompts: the list, messages and their content, and what is refused."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged, probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.replies import completed, error_code
from mcp_conductor.checks.engine.shapes import (
    ROLES,
    Fits,
    array_faults,
    base64_flaw,
    declared_faults,
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
    served_faults,
    text,
    text_flaw,
    undeclared_changes,
    uri_flaw,
)
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS
from mcp_conductor.report.model import Finding

NO_SUCH_PROMPT = "conductor_no_such_prompt"
MOST_PROMPTS = 5  # that are tried with wrong arguments
_ARGUMENT: dict[str, Fits] = {"description": text, "title": text, "required": flag}


def listed_prompts(record: Record) -> Iterator[tuple[str, Json]]:
    return objects(listing(record, "prompts/list", "prompts"))


@probed("prompts-capability-declared")
async def prompts_are_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Call prompts/list: prompts come only if the capability is declared, and the method exists if it is."""
    async for finding in declared_faults(probe, "prompts/list", "prompts"):
        yield finding


@judged("prompts-listchanged-flag", needs="prompts")
def list_changed_is_a_flag(record: Record) -> Iterator[Finding]:
    """Look at the declared capability: listChanged is a boolean."""
    for path, capability in having([("capabilities.prompts", record.capabilities["prompts"])], "listChanged"):
        yield from misfits(capability, {"listChanged": flag}, path)


@judged("prompts-list-array", needs="prompts")
def the_list_is_an_array(record: Record) -> Iterator[Finding]:
    """Look at every result of prompts/list: prompts is an array."""
    yield from array_faults(record, "prompts/list", "prompts")


@probed("prompts-list-served", needs="prompts")
async def the_list_is_served(probe: Probe) -> AsyncIterator[Finding]:
    """Call prompts/list: the reply is a result."""
    async for finding in served_faults(probe, "prompts/list"):
        yield finding


@judged("prompts-item-name", needs="prompts")
def prompts_have_names(record: Record) -> Iterator[Finding]:
    """Look at every listed prompt, over all pages: it has a name, and no other has the same."""
    yield from name_faults(listing(record, "prompts/list", "prompts"), "prompt")


@judged("prompts-item-optional", needs="prompts")
def optional_members_fit(record: Record) -> Iterator[Finding]:
    """Look at every listed prompt: texts are strings, and each of its arguments has a name."""
    for path, prompt in having(listed_prompts(record), "description", "title", "arguments"):
        yield from misfits(prompt, {"description": text, "title": text}, path)
        arguments = prompt.get("arguments", [])
        if not isinstance(arguments, list):
            yield fault("arguments is not an array", arguments, path=f"{path}.arguments")
            continue
        for index, argument in enumerate(arguments):
            where = f"{path}.arguments[{index}]"
            if not isinstance(argument, dict) or not isinstance(argument.get("name"), str):
                yield fault("an argument has no name", argument, path=where)
            yield from misfits(argument, _ARGUMENT, where)


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


# Arguments.


def _with_arguments(probe: Probe, *, required: bool = False) -> list[tuple[str, list[str]]]:
    """Prompts that have arguments, or required ones, with the names of these."""
    found: list[tuple[str, list[str]]] = []
    for prompt in probe.found.prompts:
        listed = prompt.get("arguments")
        arguments = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        wanted = [each for each in arguments if not required or each.get("required") is True]
        names = [each["name"] for each in wanted if isinstance(each.get("name"), str)]
        if names and isinstance(prompt.get("name"), str):
            found.append((prompt["name"], names))
    if not found:
        raise NotSeen(f"no prompt has {'required ' if required else ''}arguments")
    return found[:MOST_PROMPTS]


@probed("prompts-arguments-applied", needs="prompts")
async def arguments_change_the_messages(probe: Probe) -> AsyncIterator[Finding]:
    """Get prompts twice, with different arguments: the messages differ too."""
    seen = False
    for name, arguments in _with_arguments(probe):
        replies = []
        for word in ("conductor-one", "conductor-two"):
            params = {"name": name, "arguments": dict.fromkeys(arguments, word)}
            replies.append(await probe.ask("prompts/get", params))
        first, second = (completed(reply) for reply in replies)
        if first is not None and second is not None:
            seen = True
            if first.get("messages") == second.get("messages"):
                yield fault(f"prompt {name!r}: different arguments lead to the same messages", replies[1].raw)
    if not seen:
        raise NotSeen("no prompt takes any text as its arguments")


@probed("prompts-unknown-name", needs="prompts")
async def unknown_prompts_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Get a prompt that does not exist: the error has the code -32602."""
    reply = await probe.ask("prompts/get", {"name": NO_SUCH_PROMPT})
    if error_code(reply) != INVALID_PARAMS:
        yield fault(f"an unknown prompt is not refused with {INVALID_PARAMS}", reply.raw)


@probed("prompts-missing-argument", needs="prompts")
async def missing_arguments_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Get a prompt without its required arguments: the error has the code -32602."""
    for name, _ in _with_arguments(probe, required=True):
        reply = await probe.ask("prompts/get", {"name": name, "arguments": {}})
        if error_code(reply) != INVALID_PARAMS:
            yield fault(
                f"prompt {name!r}: a request without its required arguments is not refused with {INVALID_PARAMS}",
                reply.raw,
            )


@probed("prompts-arguments-validated", needs="prompts")
async def arguments_must_be_texts(probe: Probe) -> AsyncIterator[Finding]:
    """Get a prompt with arguments that are not strings: the reply is an error."""
    for name, arguments in _with_arguments(probe):
        reply = await probe.ask("prompts/get", {"name": name, "arguments": dict.fromkeys(arguments, 42)})
        if reply.kind == "result":
            yield fault(
                f"prompt {name!r}: a number is accepted as an argument, but only strings are allowed", reply.raw
            )
