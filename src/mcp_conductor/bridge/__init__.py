"""Many servers as one: their tools and resources have names that cannot clash, and each is kept connected by itself.

A server that cannot be reached does not disturb the others. A call that was open when its server went away fails
and is never sent twice, unless the server declares that calling twice does no harm.
"""

import asyncio
import os
import random as chance
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from mcp_conductor.bridge.backoff import Backoff
from mcp_conductor.bridge.catalogue import Catalogue
from mcp_conductor.bridge.link import Link
from mcp_conductor.bridge.llm_tools import SEPARATOR, Vendor, legal_names, read_call, tools_for
from mcp_conductor.bridge.terms import BridgeEvent, Health, Terms
from mcp_conductor.client import calls
from mcp_conductor.client.session import DEFAULT_TIMEOUT, Session
from mcp_conductor.client.targets import Target, spec_of, specs_of_file, specs_of_table
from mcp_conductor.errors import (
    ConductorError,
    ConfigError,
    UsageError,
    nearest,
)
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.budgets import DEFAULT, Budgets
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.views import (
    Completion,
    Prompt,
    PromptResult,
    ReadResult,
    Resource,
    ResourceTemplate,
    Tool,
    ToolResult,
)
from mcp_conductor.transport import finish

if TYPE_CHECKING:
    from mcp_conductor.client.auth import Auth
    from mcp_conductor.protocol.questions import ElicitationFunction, RootsFunction, SamplingFunction

__all__ = ["Backoff", "Bridge", "BridgeEvent", "Health"]

T = TypeVar("T")


class Bridge:
    """Any number of servers, by their names: `async with Bridge({"files": …, "web": …}) as bridge`.

    SERVERS is a mapping of names to targets of `connect()`, a table `{"mcpServers": …}`, or the path of a file with
    such a table. Tools and prompts are called `server/name` or `server__name`, resources `server/uri`.

    AUTH has the names of servers with what `connect(auth=…)` takes. SAMPLING, ELICITATION, ROOTS, SAMPLING_TOOLS and
    VALIDATE are as those of `connect()`, for all servers. ANSWERS makes the answers for each connection, in place of
    such functions.
    """

    def __init__(
        self,
        servers: Mapping[str, Target] | str | os.PathLike[str],
        *,
        timeout: float = DEFAULT_TIMEOUT,  # for each request
        connect_timeout: float = 30.0,  # for a server to start, and to list what it has
        start_timeout: float | None = None,  # for all of them, before the bridge is entered without the rest
        patience: float = 10.0,  # how long a call waits for a server that is not up
        health_interval: float = 15.0,
        health_timeout: float = 5.0,
        backoff: Backoff | None = None,
        random: Callable[[], float] = chance.random,
        answers: Callable[[], Answers] | None = None,
        sampling: "SamplingFunction | None" = None,
        elicitation: "ElicitationFunction | None" = None,
        roots: "Sequence[Mapping[str, Any]] | RootsFunction | None" = None,
        sampling_tools: bool = False,
        auth: "Mapping[str, Auth] | None" = None,
        validate: bool = False,
        on_event: Callable[[BridgeEvent], None] | None = None,
        budgets: Budgets = DEFAULT,  # for each server
    ) -> None:
        self._specs = _specs(servers)
        _check_auth(auth or {}, self._specs)
        given = {"roots": roots, "sampling": sampling, "elicitation": elicitation, "sampling_tools": sampling_tools}
        if answers is not None and any(given.values()):
            raise UsageError("answers are given twice", hint="either answers, or roots, sampling and elicitation")
        self._patience = patience
        self._start_timeout = start_timeout
        self._on_event = on_event
        self._terms = Terms(
            timeout=timeout,
            connect_timeout=connect_timeout,
            health_interval=health_interval,
            health_timeout=health_timeout,
            backoff=backoff or Backoff(),
            random=random,
            answers=answers or _maker_of(given),
            auth=auth,
            validate=validate,
            tell=self._tell,
            budgets=budgets,
        )
        self._links: dict[str, Link] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def secrets(self) -> list[str]:
        """What must not be shown of the servers' settings."""
        specs = [spec for spec in self._specs.values() if not isinstance(spec, ConductorError)]
        return [secret for spec in specs for secret in spec.secrets()]

    async def __aenter__(self) -> Self:
        """Connect all servers at once, and wait until each has answered or failed for the first time."""
        self._links = {name: Link(name, spec, self._terms) for name, spec in self._specs.items()}
        for link in self._links.values():
            task = asyncio.create_task(link.run())
            task.add_done_callback(link.on_run_ended)
            self._tasks.append(task)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._start_timeout):
                    await asyncio.gather(*(link.tried.wait() for link in self._links.values()))
        except asyncio.CancelledError:
            await finish(self._close())
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await finish(self._close())

    async def _close(self) -> None:
        """End all servers at once; each has its own bound."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _tell(self, event: BridgeEvent) -> None:
        if self._on_event is not None:
            # Not in this call: an observer that fails must not disturb a server.
            asyncio.get_running_loop().call_soon(self._on_event, event)

    def health(self) -> dict[str, Health]:
        """How each server is."""
        return {name: link.health for name, link in self._links.items()}

    def reconnect(self, server: str) -> None:
        """Try a server again now, also one that is down."""
        self._link(server).retry_now()

    # What all of them have.

    async def list_tools(self) -> list[Tool]:
        """The tools of all servers; see `full_name` and `server`. A server that is down has none."""
        return [tool for catalogue in await self._catalogues() for tool in catalogue.tools]

    async def list_resources(self) -> list[Resource]:
        """Return the resources of all servers that are connected."""
        return [resource for catalogue in await self._catalogues() for resource in catalogue.resources]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Return the templates of resources of all servers that are connected."""
        return [template for catalogue in await self._catalogues() for template in catalogue.templates]

    async def list_prompts(self) -> list[Prompt]:
        """Return the prompts of all servers that are connected, by the names that they have on the bridge."""
        return [prompt for catalogue in await self._catalogues() for prompt in catalogue.prompts]

    async def _catalogues(self) -> Iterable[Catalogue]:
        return await asyncio.gather(*(link.lists.up_to_date(self._terms.timeout) for link in self._links.values()))

    # What one of them is asked.

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        meta: Json | None = None,
        timeout: float | None = None,
        on_progress: Callable[[Json], Awaitable[None] | None] | None = None,
        validate: bool | None = None,
    ) -> ToolResult:
        """Call `server/tool`. It is repeated after a loss only if it is declared read-only or idempotent."""
        link, key = self._route_to_tool(name)
        tool = link.lists.catalogue.tool(key)
        return await self._ask(
            link,
            lambda session: calls.call_tool(
                session, key, arguments, meta=meta, timeout=timeout, on_progress=on_progress, validate=validate
            ),
            repeatable=tool is not None and tool.repeatable,
        )

    # For language models.

    async def tools_for(self, vendor: Vendor) -> list[Json]:
        """The tools of all servers in the form that the API of a vendor of language models takes.

        VENDOR is openai, openai-responses, anthropic or gemini. Tools are called `server__tool`, made legal there.
        """
        return tools_for(vendor, await self.list_tools())

    async def dispatch(
        self,
        call: object,
        *,
        timeout: float | None = None,
        on_progress: Callable[[Json], Awaitable[None] | None] | None = None,
    ) -> Json:
        """Call the tool that a model has called, and return the result in the form that goes back to it.

        CALL is in the form of any vendor: JSON, or an object of its SDK. What fails is told to the model; only what is
        no call at all raises UsageError.
        """
        asked = read_call(call)
        known = legal_names(await self.list_tools())
        tool = known.get(asked.name)
        if tool is None:
            return asked.failure(self._why_unknown(asked.name, list(known)))
        if asked.problem is not None:
            return asked.failure(asked.problem)
        try:
            return asked.answer(
                await self.call_tool(tool.full_name, asked.arguments, timeout=timeout, on_progress=on_progress)
            )
        except ConductorError as error:
            return asked.failure(str(error))

    def _why_unknown(self, name: str, known: list[str]) -> str:
        """Why no tool is called NAME. If its server is not there, a model shall not try a tool of another."""
        for server, link in self._links.items():
            if name.startswith(server + SEPARATOR) and link.health.state != "up":
                return str(link.down_error())
        near = nearest(name, known)
        return f"there is no tool {name}" + (f"; did you mean {near}?" if near else "")

    async def read_resource(self, uri: str, *, meta: Json | None = None, timeout: float | None = None) -> ReadResult:
        """Read `server/uri`."""
        link, key = self._route(uri)
        return await self._ask(link, lambda session: calls.read_resource(session, key, meta=meta, timeout=timeout))

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        meta: Json | None = None,
        timeout: float | None = None,
    ) -> PromptResult:
        """Get `server/prompt`."""
        link, key = self._route(name, ("/", SEPARATOR))
        return await self._ask(
            link, lambda session: calls.get_prompt(session, key, arguments, meta=meta, timeout=timeout)
        )

    async def complete(
        self, server: str, ref: Json, argument: str, value: str = "", *, context: Mapping[str, str] | None = None
    ) -> Completion:
        """What an argument could be; REF is as the server itself knows it."""
        return await self._ask(
            self._link(server), lambda session: calls.complete(session, ref, argument, value, context=context)
        )

    async def subscribe(self, uri: str) -> None:
        """Subscribe to changes of `server/uri`, also after its server has been connected again."""
        link, key = self._route(uri)
        await self._ask(link, lambda session: calls.subscribe(session, key))
        link.subscriptions.add(key)

    async def unsubscribe(self, uri: str) -> None:
        """End the subscription to a resource."""
        link, key = self._route(uri)
        link.subscriptions.discard(key)
        await self._ask(link, lambda session: calls.unsubscribe(session, key))

    async def request(
        self, server: str, method: str, params: Json | None = None, *, timeout: float | None = None
    ) -> Any:
        """The result of any method of one server; never repeated."""
        return await self._ask(
            self._link(server), lambda session: session.request(method, params, timeout=timeout), repeatable=False
        )

    async def _ask(self, link: Link, ask: Callable[[Session], Awaitable[T]], *, repeatable: bool = True) -> T:
        return await link.ask(ask, patience=self._patience, repeatable=repeatable)

    def _route(self, name: str, separators: tuple[str, ...] = ("/",)) -> tuple[Link, str]:
        """The server that NAME is about, and what it is called there."""
        for separator in separators:
            for server in sorted(self._links, reverse=True):  # the longer of two that begin alike comes first
                if name.startswith(server + separator):
                    return self._links[server], name[len(server + separator) :]
        server = name.partition("/")[0]
        return self._link(server), name.partition("/")[2]

    def _route_to_tool(self, name: str) -> tuple[Link, str]:
        """As `_route`, also for the names that models know tools by."""
        if not any(name.startswith(f"{server}/") for server in self._links):
            tools = [tool for link in self._links.values() for tool in link.lists.catalogue.tools]
            if (known := legal_names(tools).get(name)) is not None:
                return self._links[known.server], known.name
            if (meant := next((tool for tool in tools if tool.name == name), None)) is not None:
                whole = f"did you mean {meant.full_name!r}?"
                raise UsageError(f"the tool {name!r} is named without its server", hint=whole)
        return self._route(name, ("/", SEPARATOR))

    def _link(self, server: str) -> Link:
        if server not in self._links:
            near = nearest(server, list(self._links))
            known = f"did you mean {near!r}?" if near else f"there are: {', '.join(self._links) or 'none'}"
            raise UsageError(f"this bridge has no server {server!r}", hint=known)
        return self._links[server]


def _maker_of(given: dict[str, Any]) -> Callable[[], Answers]:
    """What makes the answers for each connection; what is wrong with GIVEN is told now."""
    Answers(**given)
    return partial(Answers, **given)


def _check_auth(auth: "Mapping[str, Auth]", specs: Mapping[str, ServerSpec | ConductorError]) -> None:
    """Refuse AUTH for what is no server at a URL."""
    for name in auth:
        spec = specs.get(name)
        if spec is None:
            near = nearest(name, list(specs))
            raise UsageError(f"auth is for {name!r}, which is no server here", hint=near and f"did you mean {near!r}?")
        if not isinstance(spec, ConductorError) and spec.as_http() is None:
            hint = "give a secret in its environment"
            raise UsageError(f"auth is for servers at a URL; {name!r} is not one", hint=hint)


def _specs(servers: Mapping[str, Target] | str | os.PathLike[str]) -> dict[str, ServerSpec | ConductorError]:
    found: dict[str, ServerSpec | ConductorError] = {}
    if isinstance(servers, (str, os.PathLike)):
        found.update(specs_of_file(os.fspath(servers)))
    elif "mcpServers" in servers:
        found.update(specs_of_table(servers))
    else:
        for name, target in servers.items():
            try:
                found[name] = spec_of(target, name)
            except ConfigError as error:
                found[name] = error
    for name in found:
        for other in found:
            if other.startswith(f"{name}/"):
                raise ConfigError(f"the server names {name!r} and {other!r} are ambiguous: rename one of them")
    return found
