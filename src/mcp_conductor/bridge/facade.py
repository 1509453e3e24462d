"""A bridge as one server: its tools, prompts and resources are definitions that ask the bridge.

Tools and prompts are called by the name of their server and their own, with a separator that tool names may have.
Resources keep their URIs, which other results may link to; where two servers have the same, both are `bridge://SERVER/URI`.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_conductor import __version__
from mcp_conductor.bridge import Bridge, BridgeEvent
from mcp_conductor.errors import ConductorError, MethodError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INTERNAL_ERROR, META, METHOD_NOT_FOUND
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.uri_template import UriTemplate, parse
from mcp_conductor.protocol.views import Listed, View
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import Client, Send
from mcp_conductor.server.config import ServerConfig, TransportConfig
from mcp_conductor.server.definitions import Prompt, Refusal, Resource, Template, Tool, error_result
from mcp_conductor.server.server import Deliver, Server
from mcp_conductor.server.spoiled_reply import SpoiledReply

_KINDS = ("tools", "resources", "prompts")
# Members that the modern era adds to every result; our server adds its own.
_OF_THE_ERA = ("resultType", "ttlMs", "cacheScope")


class PendingEvents:
    """Events that were not passed on yet. A change that is already waiting is not added twice."""

    def __init__(self) -> None:
        self._waiting: dict[object, BridgeEvent] = {}
        self._some = asyncio.Event()

    def put(self, event: BridgeEvent) -> None:
        is_change = event.kind == "resource_updated" or event.kind.endswith("_changed")
        self._waiting.setdefault((event.kind, event.server, event.uri) if is_change else object(), event)
        self._some.set()

    async def get(self) -> BridgeEvent:
        while not self._waiting:
            self._some.clear()
            await self._some.wait()
        return self._waiting.pop(next(iter(self._waiting)))


class Facade:
    """A server whose definitions are those of a bridge."""

    def __init__(
        self, bridge: Bridge, transport: TransportConfig, separator: str, complain: Callable[[str], None]
    ) -> None:
        self._bridge = bridge
        self._separator = separator
        self._uris: dict[str, str] = {}  # what a resource is called here: its full name on the bridge
        config = ServerConfig(
            info={"name": "conductor-bridge", "version": __version__},
            transport=transport,
            list_changed=frozenset(_KINDS),
            subscriptions=True,
            completions=True,
        )
        self.server = _Server(config, complain, self._subscribe)
        self.server.why_missing = self._why_missing

    async def take(self, event: BridgeEvent) -> None:
        """Pass on what has happened to a server of the bridge."""
        if event.kind == "resource_updated":
            full = f"{event.server}/{event.uri}"
            for uri in [here for here, there in self._uris.items() if there == full] or [event.uri]:
                self.server.tell_updated(uri)
        elif event.kind in ("connected", "down"):
            await self.refresh(*_KINDS)
        elif event.kind.endswith("_changed"):
            await self.refresh(event.kind.removesuffix("_changed"))

    async def refresh(self, *kinds: str) -> None:
        """Serve what the bridge lists now; clients are told if one of KINDS has changed."""
        tools = [self._tool(each) for each in await self._bridge.list_tools() if isinstance(each.raw, dict)]
        prompts = [self._prompt(each) for each in await self._bridge.list_prompts() if isinstance(each.raw, dict)]
        listed = [each for each in await self._bridge.list_resources() if isinstance(each.raw, dict)]
        templates = [each for each in await self._bridge.list_resource_templates() if isinstance(each.raw, dict)]
        often = Counter(each.key for each in (*listed, *templates))
        self._uris = {_uri(each, often): each.full_name for each in listed}
        before = {kind: self._listing(kind) for kind in _KINDS}
        self.server.tools = {tool.name: tool for tool in tools}
        self.server.prompts = {prompt.name: prompt for prompt in prompts}
        self.server.resources = {_uri(each, often): self._resource(each, often) for each in listed}
        self.server.templates = [self._template(each, often) for each in templates]
        for kind in kinds:
            if self._listing(kind) != before[kind]:
                self.server.tell_list_changed(kind)

    def _why_missing(self, name: str) -> str:
        """Why NAME is missing, if its server is not up."""
        for server, health in self._bridge.health().items():
            if name.startswith(server + self._separator) and health.state != "up":
                reason = "" if health.last_error is None else f": {health.last_error}"
                return f", because the server {server} is {health.state}{reason}"
        return ""

    def _listing(self, kind: str) -> list[Json]:
        found: dict[str, Any] = getattr(self.server, kind)
        more = [template.listed for template in self.server.templates] if kind == "resources" else []
        return [each.listed for each in found.values()] + more

    def _name(self, thing: Listed) -> str:
        return f"{thing.server}{self._separator}{thing.name}"

    def _tool(self, tool: Listed) -> Tool:
        # Whether it runs as a task, and how, is between us and our client.
        listed = {key: value for key, value in tool.raw.items() if key != "execution"}
        full = tool.full_name

        async def run(call: Call) -> Json:
            told = _progress_relay(call) if "progressToken" in call.meta else None
            return await _result_of(
                call, self._bridge.call_tool(full, call.arguments, meta=_meta(call), on_progress=told)
            )

        return Tool(
            listed={"inputSchema": {"type": "object"}, **listed, "name": self._name(tool)},
            run=run,
            arguments_checked=False,  # that is for the server to do
            output_checked=False,
        )

    def _prompt(self, prompt: Listed) -> Prompt:
        full = prompt.full_name

        async def get(call: Call) -> Json:
            return await _result_of(call, self._bridge.get_prompt(full, call.arguments, meta=_meta(call)))

        return Prompt(
            listed={**prompt.raw, "name": self._name(prompt)},
            get=get,
            complete=self._completer_of(prompt.server, {"type": "ref/prompt", "name": prompt.name}),
        )

    def _resource(self, resource: Listed, often: "Counter[str]") -> Resource:
        return Resource(
            listed={**resource.raw, "uri": _uri(resource, often)}, read=self._reader_of(resource.server, resource.key)
        )

    def _template(self, template: Listed, often: "Counter[str]") -> Template:
        uri = _uri(template, often)
        try:
            pattern: UriTemplate | None = parse(uri)
        except ValueError:
            pattern = None
        return Template(
            listed={**template.raw, "uriTemplate": uri},
            read=self._reader_of(template.server),
            pattern=pattern,
            complete=self._completer_of(template.server, {"type": "ref/resource", "uri": template.key}),
        )

    def _reader_of(self, server: str, key: str | None = None) -> Callable[[Call], Awaitable[Json]]:
        async def read(call: Call) -> Json:
            uri = key or str(call.params["uri"]).removeprefix(f"bridge://{server}/")
            return await _result_of(call, self._bridge.read_resource(f"{server}/{uri}", meta=_meta(call)))

        return read

    def _completer_of(self, server: str, ref: Json) -> Callable[[Call], Awaitable[Json]]:
        """A function that asks SERVER to complete an argument of REF, which has the name that SERVER gives it."""

        async def complete(call: Call) -> Json:
            argument, context = call.params["argument"], call.params.get("context")
            known = context.get("arguments") if isinstance(context, dict) else None
            given = known if isinstance(known, dict) else None
            try:
                return await _result_of(
                    call, self._bridge.complete(server, ref, argument["name"], argument["value"], context=given)
                )
            except Refusal as refusal:
                if refusal.code != METHOD_NOT_FOUND:
                    raise
                return {"completion": {"values": []}}  # not every server of a bridge completes arguments

        return complete

    async def _subscribe(self, uri: str) -> None:
        """A client subscribes to a resource: subscribe to it at its server."""
        try:
            if uri in self._uris:
                await self._bridge.subscribe(self._uris[uri])
        except ConductorError as error:
            self.server.complain(f"resources/subscribe {uri}: {error.message}")


class _Server(Server):
    """A server that learns which resources its clients subscribe to."""

    def __init__(
        self, config: ServerConfig, complain: Callable[[str], None], subscribe: Callable[[str], Awaitable[None]]
    ) -> None:
        super().__init__(config, complain)
        self._subscribe = subscribe
        self._subscribing: set[asyncio.Future[None]] = set()

    def take(
        self, message: Message, client: Client, send: Send, deliver: Deliver, spoiled: SpoiledReply | None = None
    ) -> None:
        for uri in _subscribed_uris(message):
            task = asyncio.ensure_future(self._subscribe(uri))
            self._subscribing.add(task)
            task.add_done_callback(self._subscribing.discard)
        super().take(message, client, send, deliver, spoiled)


def _subscribed_uris(message: Message) -> list[str]:
    """The resources that a request subscribes to, in either era."""
    wanted: Any = None
    if message.method == "resources/subscribe":
        wanted = [message.params.get("uri")]
    elif message.method == "subscriptions/listen":
        notifications = message.params.get("notifications")
        wanted = notifications.get("resourceSubscriptions") if isinstance(notifications, dict) else None
    return [uri for uri in wanted if isinstance(uri, str)] if isinstance(wanted, list) else []


def _uri(thing: Listed, often: "Counter[str]") -> str:
    return thing.key if often[thing.key] == 1 else f"bridge://{thing.server}/{thing.key}"


def _meta(call: Call) -> Json | None:
    """The _meta of the caller, without what is only about our connection with it."""
    return {key: value for key, value in call.meta.items() if not key.startswith(META) and key != "progressToken"}


def _progress_relay(call: Call) -> Callable[[Json], None]:
    """A function that passes on the progress of a server, under the token of our client."""

    def tell(params: Json) -> None:
        progress, total, message = (params.get(key) for key in ("progress", "total", "message"))
        if isinstance(progress, (int, float)):
            call.progress(progress, total, message)

    return tell


async def _result_of(call: Call, answer: Awaitable[View]) -> Json:
    """The answer of a server of the bridge; its errors become errors of our server."""
    try:
        result = (await answer).raw
    except MethodError as error:
        if isinstance(error.error, dict) and isinstance(error.code, int):
            raise Refusal(error.code, str(error.error.get("message")), error.error.get("data")) from error
        raise Refusal(INTERNAL_ERROR, error.message) from error
    except ConductorError as error:
        if call.method == "tools/call":
            return error_result(error.message)
        raise Refusal(INTERNAL_ERROR, error.message) from error
    if not isinstance(result, dict):
        raise Refusal(INTERNAL_ERROR, "the server's result is not an object")
    kept = {key: value for key, value in result.items() if key not in _OF_THE_ERA}
    meta = kept.get("_meta")
    if isinstance(meta, dict):
        kept["_meta"] = {key: value for key, value in meta.items() if key != f"{META}serverInfo"}
        if not kept["_meta"]:
            del kept["_meta"]
    return kept
