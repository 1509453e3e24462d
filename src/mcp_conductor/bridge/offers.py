"""What a bridge lists and declares: what its servers have, under the names that it gives."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mcp_conductor.bridge.link import Link
from mcp_conductor.bridge.names import Names
from mcp_conductor.bridge.plan import Plan
from mcp_conductor.bridge.uris import with_uris
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.views import Listed

KINDS = ("tools", "resources", "prompts")


class Offered(NamedTuple):
    """A tool or a prompt: where it is, and what it is called there."""

    server: str
    name: str
    repeatable: bool = True


class Offers:
    """What the servers of LINKS have now."""

    def __init__(self, plan: Plan, links: Mapping[str, Link], names: Names) -> None:
        self._plan = plan
        self._links = links
        self.names = names
        self.tools: dict[str, Offered] = {}
        self.prompts: dict[str, Offered] = {}
        self.listed: dict[str, list[Json]] = {"tools": [], "resources": [], "resourceTemplates": [], "prompts": []}
        self._complained: set[str] = set()

    def refresh(self) -> list[str]:
        """Take over what the servers list now: in a line each, which tools are left out, told once."""
        catalogues = [(name, link.lists.catalogue) for name, link in self._links.items()]
        clashes = self._take_tools((server, tool) for server, each in catalogues for tool in each.tools)
        uris = self._plan.uris
        self.prompts, prompts = {}, []
        for server, prompt in ((server, prompt) for server, each in catalogues for prompt in each.prompts):
            if isinstance(prompt.raw, dict):
                name = self.names.prompt(server, prompt.name)
                self.prompts[name] = Offered(server, prompt.name)
                prompts.append({**prompt.raw, "name": name})
        # Templates first: a URI that fits one belongs to its server.
        templates = [
            {**each.raw, "uriTemplate": uris.template(server, each.key)}
            for server, catalogue in catalogues
            for each in catalogue.templates
            if isinstance(each.raw, dict)
        ]
        resources = [
            with_uris({**each.raw, "uri": uris.listed(server, each.key)}, _renaming(self._plan, server))
            for server, catalogue in catalogues
            for each in catalogue.resources
            if isinstance(each.raw, dict)
        ]
        self.listed |= {"prompts": prompts, "resources": resources, "resourceTemplates": templates}
        fresh = [clash for clash in clashes if clash not in self._complained]
        self._complained.update(fresh)
        return fresh

    def _take_tools(self, tools: Iterable[tuple[str, Listed]]) -> list[str]:
        shown = [
            (name, server, tool)
            for server, tool in tools
            if isinstance(tool.raw, dict) and (name := self.names.tool(server, tool.name)) is not None
        ]
        given, clashes = self.names.give((name, server, tool.name) for name, server, tool in shown)
        self.tools, listed = {}, {}
        for name, server, tool in shown:
            if given[name] == (server, tool.name):
                self.tools[name] = Offered(server, tool.name, bool(getattr(tool, "repeatable", False)))
                changed = with_uris({"inputSchema": {"type": "object"}, **tool.raw}, _renaming(self._plan, server))
                listed[name] = {**changed, "name": name}
        self.listed["tools"] = list(listed.values())
        return clashes

    def lists(self) -> dict[str, list[Json]]:
        """What lists of each kind show, to see whether that has changed."""
        resources = [*self.listed["resources"], *self.listed["resourceTemplates"]]
        return {"tools": self.listed["tools"], "resources": resources, "prompts": self.listed["prompts"]}

    def why_missing(self, name: str) -> str:
        """Why NAME is missing, if its server is not up."""
        server = self.names.server_of(name)
        health = None if server is None else self._links[server].health
        if health is None or health.state == "up":
            return ""
        reason = "" if health.last_error is None else f": {health.last_error}"
        return f", because the server {server} is {health.state}{reason}"

    def resource_server(self) -> str | None:
        """The only server that has resources, if there is one: then a URI that is in no list can only be its own."""
        able = [name for name, link in self._links.items() if link.has("resources")]
        return able[0] if len(able) == 1 and len(self._links) == 1 else None

    # What the bridge says of itself.

    def capabilities(self, dialect: Dialect) -> Json:
        """What the servers declare; a server that is not there yet may have everything but tasks and extensions."""
        found: Json = {kind: {"listChanged": True} for kind in KINDS}
        known = self._declared()
        if len(known) < len(self._links) or any(_member(each, "resources").get("subscribe") for each in known):
            found["resources"]["subscribe"] = True
        if self.may_have("logging"):
            found["logging"] = {}
        if self.may_have("completions") and dialect.completions:
            found["completions"] = {}
        if dialect.tasks == "core":
            found |= _merged("tasks", known)
        elif dialect.tasks == "extension":
            found |= _merged("extensions", known)
        found |= _merged("experimental", known)
        return found

    def may_have(self, capability: str) -> bool:
        """Whether a server declares it, or is not there yet."""
        known = self._declared()
        return len(known) < len(self._links) or any(capability in each for each in known)

    def _declared(self) -> list[Json]:
        declared = [link.capabilities for link in self._links.values()]
        return [each for each in declared if each is not None]

    def instructions(self) -> str | None:
        """What the servers tell their user; each under its name, if there are several servers."""
        told = {name: link.instructions for name, link in self._links.items() if link.instructions}
        if len(self._links) == 1:
            return next(iter(told.values()), None)
        parts = [f"# {self._plan.prefixes[name]}\n\n{text}" for name, text in told.items()]
        return "\n\n".join(parts) or None


def _renaming(plan: Plan, server: str) -> Any:
    return lambda uri: plan.uris.linked(server, uri)


def _member(capabilities: Json, key: str) -> Json:
    value = capabilities.get(key)
    return value if isinstance(value, dict) else {}


def _merged(key: str, declared: list[Json]) -> Json:
    found: Json = {}
    for each in declared:
        found = _deeply(found, _member(each, key))
    return {key: found} if found else {}


def _deeply(one: Json, other: Json) -> Json:
    merged = dict(one)
    for key, value in other.items():
        known = merged.get(key)
        merged[key] = _deeply(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
