"""Resources: lists and templates, what is read, what is unknown, and subscriptions."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged, probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.replies import completed, error_code
from mcp_conductor.checks.engine.shapes import (
    SCHEME,
    Fits,
    acknowledges,
    annotation_faults,
    array_faults,
    base64_flaw,
    contents_flaw,
    declared_faults,
    flag,
    having,
    is_integer,
    listing,
    misfits,
    objects,
    served_faults,
    template_flaw,
    text,
    undeclared_changes,
    uri_flaw,
)
from mcp_conductor.errors import RequestTimeout, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

NO_SUCH_URI = "x-conductor-unknown:///no-such-resource"
MOST_SUBSCRIBED = 5  # resources that are tried: a server need not let all of them be watched
_SECRET_FILE = "/etc/passwd"
_SECRET_LINE = compiled_later(r"^root:[^:]*:0:0:", re.MULTILINE)

_OPTIONAL: dict[str, Fits] = {"description": text, "mimeType": text, "title": text}


def listed_resources(record: Record) -> Iterator[tuple[str, Json]]:
    return objects(listing(record, "resources/list", "resources"))


def listed_templates(record: Record) -> Iterator[tuple[str, Json]]:
    return objects(listing(record, "resources/templates/list", "resourceTemplates"))


@probed("resources-capability-declared")
async def resources_are_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Call resources/list: resources come only if the capability is declared, and the method exists if it is."""
    async for finding in declared_faults(probe, "resources/list", "resources"):
        yield finding


@judged("resources-capability-flags", needs="resources")
def capability_members_are_flags(record: Record) -> Iterator[Finding]:
    """Look at the declared capability: subscribe and listChanged are booleans."""
    flags: dict[str, Fits] = {"subscribe": flag, "listChanged": flag}
    for path, capability in having([("capabilities.resources", record.capabilities["resources"])], *flags):
        yield from misfits(capability, flags, path)


@judged("resources-list-array", needs="resources")
def the_list_is_an_array(record: Record) -> Iterator[Finding]:
    """Look at every result of resources/list: resources is an array."""
    yield from array_faults(record, "resources/list", "resources")


@probed("resources-list-served", needs="resources")
async def the_list_is_served(probe: Probe) -> AsyncIterator[Finding]:
    """Call resources/list: the reply is a result."""
    async for finding in served_faults(probe, "resources/list"):
        yield finding


@judged("resources-item-uri-name", needs="resources")
def resources_have_uris_and_names(record: Record) -> Iterator[Finding]:
    """Look at every listed resource: uri is a URI with a scheme, and name is a string."""
    for path, item in listing(record, "resources/list", "resources"):
        resource = item if isinstance(item, dict) else {}
        if flaw := uri_flaw(resource.get("uri")):
            yield fault(f"uri {flaw}", item, path=f"{path}.uri")
        if not isinstance(resource.get("name"), str):
            yield fault("a resource has no name", item, path=path)


@judged("resources-item-optional", needs="resources")
def optional_members_fit(record: Record) -> Iterator[Finding]:
    """Look at every listed resource: title, description and mimeType are strings, size an integer, if present."""
    for path, resource in having(listed_resources(record), *_OPTIONAL, "size", "annotations"):
        yield from misfits(resource, {**_OPTIONAL, "size": is_integer}, path)
        yield from annotation_faults(resource, path)


@judged("resources-uri-unique", needs="resources")
def uris_are_unique(record: Record) -> Iterator[Finding]:
    """Look at the URIs of all listed resources, over all pages: none is there twice."""
    first: dict[str, str] = {}
    for path, resource in listed_resources(record):
        uri = resource.get("uri")
        if isinstance(uri, str) and first.setdefault(uri, path) != path:
            yield fault(f"resource {uri} is listed twice, first as {first[uri]}", resource, path=path)


@judged("resources-custom-scheme", needs="resources")
def schemes_are_schemes(record: Record) -> Iterator[Finding]:
    """Look at the URIs of all listed resources: a scheme is a letter, then letters, digits, plus, hyphen, dot."""
    for path, resource in listed_resources(record):
        uri = resource.get("uri")
        scheme, colon, _ = uri.partition(":") if isinstance(uri, str) else ("", "", "")
        # Without a colon before the path there is no scheme at all, which is another matter.
        if colon and not set(scheme) & set("/?#") and not SCHEME.fullmatch(scheme):
            yield fault(f"{scheme!r} is not a scheme by RFC 3986", resource, path=f"{path}.uri")


@judged("resources-listchanged-needs-capability")
def changes_are_declared(record: Record) -> Iterator[Finding]:
    """Look for notifications/resources/list_changed from a server that does not declare resources.listChanged."""
    yield from undeclared_changes(record, "resources")


# Templates.


@judged("resources-templates-array", needs="resources")
def templates_are_an_array(record: Record) -> Iterator[Finding]:
    """Look at every result of resources/templates/list: resourceTemplates is an array."""
    yield from array_faults(record, "resources/templates/list", "resourceTemplates")


@judged("resources-template-uritemplate", needs="resources")
def templates_are_templates(record: Record) -> Iterator[Finding]:
    """Parse the uriTemplate of every listed template by RFC 6570."""
    for path, item in listing(record, "resources/templates/list", "resourceTemplates"):
        if flaw := template_flaw(item.get("uriTemplate") if isinstance(item, dict) else None):
            yield fault(f"uriTemplate {flaw}", item, path=path)


@judged("resources-template-name", needs="resources")
def templates_have_names(record: Record) -> Iterator[Finding]:
    """Look at every listed template: name is a string."""
    for path, template in listed_templates(record):
        if not isinstance(template.get("name"), str):
            yield fault("a template has no name", template, path=path)


@judged("resources-template-optional", needs="resources")
def optional_template_members_fit(record: Record) -> Iterator[Finding]:
    """Look at every listed template: title, description and mimeType are strings, if they are there."""
    for path, template in having(listed_templates(record), *_OPTIONAL, "annotations"):
        yield from misfits(template, _OPTIONAL, path)
        yield from annotation_faults(template, path)


# Reading.


def _read_contents(record: Record) -> Iterator[tuple[str, Any]]:
    """Every item of contents that was read, with its path."""
    seen = False
    for _, result in record.complete("resources/read"):
        contents = result.get("contents")
        for index, item in enumerate(contents if isinstance(contents, list) else []):
            seen = True
            yield f"result.contents[{index}]", item
    if not seen:
        raise NotSeen("no resource was read")


@judged("resources-read-contents", needs="resources")
def reading_gives_contents(record: Record) -> Iterator[Finding]:
    """Look at every result of resources/read: contents is an array."""
    yield from array_faults(record, "resources/read", "contents")


@judged("resources-read-item", needs="resources")
def contents_have_uri_and_text_or_blob(record: Record) -> Iterator[Finding]:
    """Look at everything that was read: each item of contents has a uri, and either text or blob."""
    for path, item in _read_contents(record):
        if flaw := contents_flaw(item):
            yield fault(f"an item of contents {flaw}", item, path=path)


@judged("resources-read-binary-base64", needs="resources")
def blobs_are_base64(record: Record) -> Iterator[Finding]:
    """Decode every blob that was read, strictly as base64."""
    seen = False
    for path, item in _read_contents(record):
        if isinstance(item, dict) and isinstance(item.get("blob"), str):
            seen = True
            if flaw := base64_flaw(item["blob"]):
                yield fault(f"blob {flaw}", item, path=f"{path}.blob")
    if not seen:
        raise NotSeen("no blob was read")


@judged("resources-read-mimetype", needs="resources")
def contents_have_mime_types(record: Record) -> Iterator[Finding]:
    """Look at everything that was read: each item of contents has a mimeType."""
    for path, item in _read_contents(record):
        if isinstance(item, dict) and not isinstance(item.get("mimeType"), str):
            yield fault("an item of contents has no mimeType", item, path=path)


@judged("resources-read-listed", needs="resources")
def listed_resources_can_be_read(record: Record) -> Iterator[Finding]:
    """Read the listed resources, up to 25 of them: none is refused."""
    refused = {str(exchange.request.params.get("uri")): error for exchange, error in record.errors("resources/read")}
    read = {str(exchange.request.params.get("uri")) for exchange, _ in record.results("resources/read")}
    if not refused and not read:
        raise NotSeen("no resource was read")
    for path, resource in listed_resources(record):
        uri = resource.get("uri")
        if isinstance(uri, str) and uri in refused and uri not in read:
            yield fault(f"resource {uri} is listed, but cannot be read", refused[uri], path=path)


# What is unknown.


@probed("resources-not-found-32002", needs="resources")
async def unknown_uris_are_not_found(probe: Probe) -> AsyncIterator[Finding]:
    """Read a URI that does not exist: the error has the code -32002, or -32602, which later revisions want."""
    reply = await _unknown(probe)
    if error_code(reply) not in (probe.dialect.resource_not_found, INVALID_PARAMS):
        yield fault(f"an unknown URI is not refused with {probe.dialect.resource_not_found}", reply.raw)


@probed("resources-not-found-32602", needs="resources")
async def unknown_uris_are_invalid_params(probe: Probe) -> AsyncIterator[Finding]:
    """Read a URI that does not exist: the error has the code -32602."""
    reply = await _unknown(probe)
    if reply.kind != "error":
        raise NotSeen("an unknown URI is not refused at all")
    if error_code(reply) != INVALID_PARAMS:
        yield fault(f"an unknown URI is not refused with {INVALID_PARAMS}", reply.raw)


@probed("resources-not-found-no-empty", needs="resources")
async def unknown_uris_are_not_empty(probe: Probe) -> AsyncIterator[Finding]:
    """Read a URI that does not exist: the reply is not a result with empty contents."""
    reply = await _unknown(probe)
    result = completed(reply)
    if result is not None and result.get("contents") == []:
        yield fault("an unknown URI is read as empty contents", reply.raw)


@probed("resources-not-found-data-uri", needs="resources")
async def the_error_repeats_the_uri(probe: Probe) -> AsyncIterator[Finding]:
    """Read a URI that does not exist: data.uri, if the error has it, is that URI."""
    reply = await _unknown(probe)
    data = reply.error.get("data") if reply.kind == "error" and isinstance(reply.error, dict) else None
    if not isinstance(data, dict) or "uri" not in data:
        raise NotSeen("the error has no data.uri")
    if data["uri"] != NO_SUCH_URI:
        yield fault("data.uri is not the URI that was asked for", reply.raw)


async def _unknown(probe: Probe) -> Message:
    """The reply about a made-up URI; NotSeen if the server has it."""
    reply = await probe.ask("resources/read", {"uri": NO_SUCH_URI})
    result = completed(reply)
    if result is not None and result.get("contents"):
        raise NotSeen("the server reads any URI")
    return reply


@probed("resources-uri-validated", needs="resources")
async def paths_do_not_climb(probe: Probe) -> AsyncIterator[Finding]:
    """Climb out of listed file:// resources by /../ and %2e%2e towards /etc/passwd: what comes is not that file."""
    files = [resource["uri"] for resource in probe.found.resources if str(resource.get("uri")).startswith("file://")]
    if not files:
        raise NotSeen("no file:// resource is listed")
    if _leaks(await probe.ask("resources/read", {"uri": f"file://{_SECRET_FILE}"})):
        raise NotSeen(f"{_SECRET_FILE} is served to every client on purpose")
    for step in ("/..", "/%2e%2e", "%2f%2e%2e"):
        uri = files[0] + step * 12 + _SECRET_FILE
        reply = await probe.ask("resources/read", {"uri": uri})
        if _leaks(reply):
            yield fault(f"reading {uri} gives {_SECRET_FILE}", reply.raw)


def _leaks(reply: Message) -> bool:
    result = completed(reply) or {}
    contents = result.get("contents")
    written = [item.get("text") for item in contents if isinstance(item, dict)] if isinstance(contents, list) else []
    return any(isinstance(each, str) and _SECRET_LINE.search(each) for each in written)


# Subscriptions.


@probed("resources-subscribe-accepted", needs="resources.subscribe")
async def subscriptions_are_taken(probe: Probe) -> AsyncIterator[Finding]:
    """Subscribe to a listed resource and end the subscription: both are answered with a result."""
    uris = [resource["uri"] for resource in probe.found.resources if isinstance(resource.get("uri"), str)]
    if not uris:
        raise NotSeen("no resource is listed")
    for uri in uris[:MOST_SUBSCRIBED]:
        reply = await probe.ask("resources/subscribe", {"uri": uri})
        if reply.kind == "result":
            break
    replies = {"subscribe": reply}
    if reply.kind == "result":
        replies["unsubscribe"] = await probe.ask("resources/unsubscribe", {"uri": uri})
    for word, each in replies.items():
        if not acknowledges(probe, f"resources/{word}", each):
            yield fault(f"resources/{word} is not answered with a result", each.raw)


@probed("resources-subscribe-needs-capability", follows="base-method-not-found-server")
async def undeclared_subscriptions_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Subscribe, although resources.subscribe is not declared: the reply is an error."""
    if probe.declares("resources.subscribe"):
        raise NotSeen("resources.subscribe is declared")
    uris = [resource["uri"] for resource in probe.found.resources if isinstance(resource.get("uri"), str)]
    uri = uris[0] if uris else NO_SUCH_URI
    try:
        reply = await probe.ask("resources/subscribe", {"uri": uri})
    except (RequestTimeout, TransportError):
        raise NotSeen("resources/subscribe is not answered") from None
    if reply.kind == "result":
        yield fault("a subscription is taken, but resources.subscribe is not declared", reply.raw)
        await probe.ask("resources/unsubscribe", {"uri": uri})


@judged("resources-updated-only-subscribed", needs="resources")
def updates_are_for_subscribers(record: Record) -> Iterator[Finding]:
    """Look for notifications/resources/updated about resources that the client has not subscribed to."""
    subscribed = [exchange.request.params.get("uri") for exchange, _ in record.results("resources/subscribe")]
    seen = False
    for message in record.notifications("notifications/resources/updated"):
        seen = True
        uri = message.params.get("uri")
        # It may be a part of what was subscribed to.
        if isinstance(uri, str) and not any(isinstance(each, str) and uri.startswith(each) for each in subscribed):
            yield fault(f"an update of {uri} is sent, but the client has not subscribed to it", message.raw)
    if not seen:
        raise NotSeen("no resource was updated")
