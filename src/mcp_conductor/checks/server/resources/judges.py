"""Resources: lists and templates, and what is read."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged, judged_everywhere
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import (
    SCHEME,
    Fits,
    annotation_faults,
    array_faults,
    base64_flaw,
    contents_flaw,
    flag,
    having,
    is_integer,
    listing,
    misfits,
    need_opening,
    objects,
    template_flaw,
    text,
    undeclared_changes,
    uri_flaw,
)
from mcp_conductor.protocol import Json
from mcp_conductor.report.model import Finding

_OPTIONAL: dict[str, Fits] = {"description": text, "mimeType": text, "title": text}


def listed_resources(record: Record) -> Iterator[tuple[str, Json]]:
    return objects(listing(record, "resources/list", "resources"))


def listed_templates(record: Record) -> Iterator[tuple[str, Json]]:
    return objects(listing(record, "resources/templates/list", "resourceTemplates"))


@judged("resources-capability-flags", needs="resources", follows="lifecycle-initialize-result-server")
def capability_members_are_flags(record: Record) -> Iterator[Finding]:
    """Look at the declared capability: subscribe and listChanged are booleans."""
    flags: dict[str, Fits] = {"subscribe": flag, "listChanged": flag}
    for path, capability in having([("capabilities.resources", record.capabilities["resources"])], *flags):
        yield from misfits(capability, flags, path)


@judged("resources-list-array", needs="resources")
def the_list_is_an_array(record: Record) -> Iterator[Finding]:
    """Look at every result of resources/list: resources is an array."""
    yield from array_faults(record, "resources/list", "resources")


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


@judged_everywhere("resources-listchanged-needs-capability")
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


# Subscriptions.


@judged_everywhere("resources-updated-only-subscribed")
@judged("resources-updated-only-subscribed", needs="resources")
def updates_are_for_subscribers(record: Record) -> Iterator[Finding]:
    """Look for notifications/resources/updated about resources that the client has not subscribed to."""
    need_opening(record)
    if not record.declares("resources.subscribe"):
        raise NotSeen("resources.subscribe is not declared: see resources-subscribe-needs-capability")
    refused = {exchange.request.id for exchange, _ in record.errors("resources/subscribe")}
    asked = [each for each in record.sent if each.kind == "request" and each.method == "resources/subscribe"]
    subscribed = [each.params.get("uri") for each in asked if each.id not in refused]
    seen = False
    for message in record.notifications("notifications/resources/updated"):
        seen = True
        uri = message.params.get("uri")
        # It may be a part of what was subscribed to.
        if isinstance(uri, str) and not any(isinstance(each, str) and uri.startswith(each) for each in subscribed):
            yield fault(f"an update of {uri} is sent, but the client has not subscribed to it", message.raw)
    if not seen:
        raise NotSeen("no resource was updated")


@judged_everywhere("resources-subscribe-needs-capability")
def updates_are_declared(record: Record) -> Iterator[Finding]:
    """Look for notifications/resources/updated from a server that does not declare resources.subscribe."""
    need_opening(record)
    if record.declares("resources.subscribe"):
        raise NotSeen("resources.subscribe is declared")
    sent = list(record.notifications("notifications/resources/updated"))
    if not sent:
        raise NotSeen("no resource was updated")
    for message in sent[:1]:
        yield fault("notifications/resources/updated is sent, but resources.subscribe is not declared", message.raw)
