"""What all clients of a server share: its definitions, which may change, its tasks, and who is told of changes."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import DIALECTS, META, TASKS_EXTENSION, Dialect
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.server.client import Client
from mcp_conductor.server.config import ServerConfig
from mcp_conductor.server.definitions import Observe, Observer, Prompt, Resource, Template, Tool
from mcp_conductor.server.paging import Page, page_at
from mcp_conductor.server.tasks import Task, Tasks


class Subscriber:
    """A client of the modern era that listens (basic/patterns/subscriptions); WANTS is what it will be told."""

    def __init__(self, identity: Id, notify: Callable[[str, Json], None], wants: Json) -> None:
        self.wants = wants
        self._request = asyncio.current_task()  # which ends a few turns of the loop after it was cancelled
        self._cancelled = False
        self._notify = notify  # within the request that listens
        self.meta: Json = {f"{META}subscriptionId": identity}
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(self, method: str, params: Json) -> None:
        if not self._cancelled:
            self._notify(method, {**params, "_meta": self.meta})

    def cancelled(self, request: "asyncio.Task[None]") -> None:
        """The client has cancelled REQUEST: if it is this one, it is told no more."""
        self._cancelled |= self._request is request

    def end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    async def until_ended(self) -> None:
        await self._ended


class ServerState:
    """What a server has now, what it says of that, and who listens."""

    def __init__(self, config: ServerConfig, complain: Callable[[str], None] = lambda _: None) -> None:
        self.config = config
        self.complain = complain  # told in a line what went wrong inside
        self.observe: Observe | None = None  # told what crosses the wire
        self.observe_exchange: Callable[[], Observer] | None = None  # the same, for each exchange of HTTP
        self.why_missing: Callable[[str], str] = lambda _: ""  # more about a name that is not there, if there is more
        self.tools: dict[str, Tool] = {tool.name: tool for tool in config.tools}
        self.resources: dict[str, Resource] = {resource.uri: resource for resource in config.resources}
        self.templates: list[Template] = list(config.templates)
        self.prompts: dict[str, Prompt] = {prompt.name: prompt for prompt in config.prompts}
        completing = [*(each.completions for each in config.prompts), *(each.completions for each in config.templates)]
        self.completes = config.completions or any(completing)
        self.tasks = Tasks(config.poll_interval, self._publish_task)
        self.secret = os.urandom(32)
        self.clients: set[Client] = set()  # those of the handshake era that are ready for notifications
        self.listeners: set[Subscriber] = set()  # those of the modern era that asked for notifications
        self.handshake_versions = tuple(version for version in config.versions if DIALECTS[version].handshake)
        self.modern_versions = tuple(version for version in config.versions if not DIALECTS[version].handshake)

    def capabilities(self, dialect: Dialect) -> Json:
        """What the config says, and nothing else; of that, what works where the server forgets its clients."""
        config = self.config
        forgets = dialect.handshake and config.transport.stateless
        told = frozenset() if forgets else config.list_changed
        subscribing = config.subscriptions and not forgets
        capabilities: Json = {}
        for kind, there in (
            ("tools", config.tools),
            ("resources", config.resources or config.templates or config.subscriptions),
            ("prompts", config.prompts),
        ):
            if there or kind in config.list_changed:
                capabilities[kind] = {"listChanged": True} if kind in told else {}
        if subscribing:
            capabilities["resources"]["subscribe"] = True
        if config.logging and not forgets:  # the level that a client sets must hold for its next request
            capabilities["logging"] = {}
        if self.completes and dialect.completions:
            capabilities["completions"] = {}
        if dialect.tasks == "core" and config.tasks is not None:
            capabilities["tasks"] = {name: {} for name in ("list", "cancel") if name in config.tasks} | {
                "requests": {"tools": {"call": {}}}
            }
        if dialect.tasks == "extension" and config.tasks_extension:
            capabilities["extensions"] = {TASKS_EXTENSION: {}}
        return capabilities

    # How a request finds what it is about.

    def tool(self, name: str) -> Tool | None:
        return self.tools.get(name)

    def resource(self, uri: str) -> Resource | None:
        return self.resources.get(uri)

    def prompt(self, name: str) -> Prompt | None:
        return self.prompts.get(name)

    def list_entries(self, member: str) -> list[Json]:
        """What a list shows under MEMBER, over all its pages."""
        if member == "resourceTemplates":
            return [template.listed for template in self.templates]
        there: dict[str, dict[str, Any]] = {"tools": self.tools, "resources": self.resources, "prompts": self.prompts}
        return [each.listed for each in there[member].values()]

    def page(self, method: str, items: list[Json], cursor: Any) -> Page:
        """The page of a list at CURSOR."""
        member = LIST_MEMBERS[method]
        return page_at(cursor, member, items, self.config.page_sizes.get(member, 0))

    # Who is told.

    def tell_list_changed(self, kind: str) -> None:
        """Tell all clients that listen that the list of tools, resources or prompts has changed."""
        if kind not in self.config.list_changed:
            return
        method = f"notifications/{kind}/list_changed"
        for client in list(self.clients):
            client.send(compose(method))
        for listener in list(self.listeners):
            if listener.wants.get(f"{kind}ListChanged"):
                listener.tell(method, {})

    def tell_updated(self, uri: str) -> None:
        """Tell the subscribers of a resource that it has changed."""
        for client in list(self.clients):
            if uri in client.subscriptions:
                client.send(compose("notifications/resources/updated", {"uri": uri}))
        for listener in list(self.listeners):
            if uri in listener.wants.get("resourceSubscriptions", ()):
                listener.tell("notifications/resources/updated", {"uri": uri})

    def _publish_task(self, task: Task) -> None:
        for listener in list(self.listeners):
            if task.id in listener.wants.get("taskIds", ()):
                listener.tell("notifications/tasks", task.detailed())
