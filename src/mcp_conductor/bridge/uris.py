"""What resources are called on a bridge: by their own URIs, and where another server has a URI already, `bridge://…`.

A URI that was given out never changes and never means another resource, whichever servers come or go later. So results
may name it, and clients may keep it. `bridge://SERVER/URI` always means the URI of that server.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.budgets import LONGEST_URI
from mcp_conductor.protocol.uri_template import UriTemplate, parse

SCHEME = "bridge://"
MOST_LISTED = 100_000  # URIs that lists have had; what comes later is `bridge://…`
MOST_LINKS = 10_000  # URIs that no list has, and that results have named


class Uris:
    """Which server a URI belongs to. PREFIXES are the names of servers as they stand in URIs."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._prefixes = prefixes
        self._servers = {prefix: server for server, prefix in prefixes.items()}
        self._owners: dict[str, str] = {}
        self._templates: dict[str, tuple[str, UriTemplate | None]] = {}
        self._links = 0

    def listed(self, server: str, uri: str) -> str:
        """The URI of a resource that SERVER lists."""
        if len(self._owners) < MOST_LISTED and self._owner(uri) is None:
            self._owners[uri] = server
        return self.named(server, uri)

    def linked(self, server: str, uri: str) -> str:
        """The URI of a resource that a result of SERVER names, and that may be in no list."""
        if len(uri) <= LONGEST_URI and self._links < MOST_LINKS and self._owner(uri) is None:
            self._owners[uri] = server
            self._links += 1
        return self.named(server, uri)

    def template(self, server: str, template: str) -> str:
        """The template that SERVER lists; changed if another server may have URIs of it."""
        known = self._templates.get(template)
        if known is None and not any(
            owner != server and _may_overlap(template, other) for other, (owner, _) in self._templates.items()
        ):
            self._templates[template] = known = (server, _parsed(template))
        return template if known is not None and known[0] == server else self._foreign(server, template)

    def find(self, uri: str) -> tuple[str, str] | None:
        """The server that URI belongs to, and what it is called there; None if it belongs to none that we know."""
        owner = self._owner(uri)
        if owner is not None:
            return owner, uri
        if uri.startswith(SCHEME):
            prefix, _, own = uri.removeprefix(SCHEME).partition("/")
            if prefix in self._servers:
                return self._servers[prefix], own
        return None

    def own_template(self, template: str) -> tuple[str, str] | None:
        """The server that has TEMPLATE, and what it is called there."""
        known = self._templates.get(template)
        return (known[0], template) if known is not None else self.find(template)

    def named(self, server: str, uri: str) -> str:
        """What the URI of SERVER is called here, as far as that is known; nothing is given out."""
        return uri if self._owner(uri) == server else self._foreign(server, uri)

    def _foreign(self, server: str, uri: str) -> str:
        return f"{SCHEME}{self._prefixes[server]}/{uri}"

    def _owner(self, uri: str) -> str | None:
        owner = self._owners.get(uri)
        if owner is not None:
            return owner
        for server, template in self._templates.values():
            if template is not None and template.match(uri) is not None:
                return server
        return None


def _parsed(template: str) -> UriTemplate | None:
    try:
        return parse(template)
    except ValueError:
        return None


def _may_overlap(one: str, other: str) -> bool:
    """Whether two templates may make the same URI: so it is if what stands before their variables does not differ."""
    one, other = one.partition("{")[0], other.partition("{")[0]
    return one.startswith(other) or other.startswith(one)


# Where URIs stand in what a server says.

Rename = Callable[[str], str]


def with_uris(result: Json, rename: Rename) -> Json:
    """RESULT with the URIs in it renamed; RESULT itself, if nothing changes."""
    changed = result
    for member, change in (("content", _blocks), ("contents", _contents), ("messages", _messages)):
        if member in result and (new := change(result[member], rename)) is not result[member]:
            changed = {**changed, member: new}
    meta = result.get("_meta")
    if isinstance(meta, dict) and (new := _ui(meta, rename)) is not meta:
        changed = {**changed, "_meta": new}
    return changed


def with_uri(thing: Any, rename: Rename) -> Any:
    """An object with its member `uri` renamed."""
    uri = thing.get("uri") if isinstance(thing, dict) else None
    if not isinstance(uri, str) or (new := rename(uri)) == uri:
        return thing
    return {**thing, "uri": new}


def _each(items: Any, change: Callable[[Any], Any]) -> Any:
    if not isinstance(items, list):
        return items
    changed = [change(item) for item in items]
    return changed if any(new is not old for new, old in zip(changed, items, strict=True)) else items


def _contents(items: Any, rename: Rename) -> Any:
    return _each(items, lambda item: with_uri(item, rename))


def _blocks(items: Any, rename: Rename) -> Any:
    return _each(items, lambda item: _block(item, rename)) if isinstance(items, list) else _block(items, rename)


def _block(block: Any, rename: Rename) -> Any:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "resource_link":
        return with_uri(block, rename)
    if kind == "resource" and (new := with_uri(block.get("resource"), rename)) is not block.get("resource"):
        return {**block, "resource": new}
    if kind == "tool_result" and (new := _blocks(block.get("content"), rename)) is not block.get("content"):
        return {**block, "content": new}
    return block


def _messages(items: Any, rename: Rename) -> Any:
    def change(message: Any) -> Any:
        content = message.get("content") if isinstance(message, dict) else None
        new = _blocks(content, rename)
        return message if new is content else {**message, "content": new}

    return _each(items, change)


def _ui(meta: Json, rename: Rename) -> Json:
    """`_meta` with the resource that shows a tool (MCP Apps), in both places where it may stand."""
    flat, nested = meta.get("ui/resourceUri"), meta.get("ui")
    uri = nested.get("resourceUri") if isinstance(nested, dict) else None
    if isinstance(flat, str) and (new := rename(flat)) != flat:
        meta = {**meta, "ui/resourceUri": new}
    if isinstance(uri, str) and isinstance(nested, dict) and (new := rename(uri)) != uri:
        meta = {**meta, "ui": {**nested, "resourceUri": new}}
    return meta
