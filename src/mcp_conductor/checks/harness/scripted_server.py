"""A polite server in every revision; a scenario changes what it answers, and what it says in between."""

import asyncio
from collections.abc import Awaitable
from functools import cached_property
from typing import Any, ClassVar, Protocol

from mcp_conductor.checks.harness.client_record import ASKED_IDLE, UNANSWERED, ClientRecord, HttpRequest, Line, meta_of
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    HANDSHAKE,
    INVALID_PARAMS,
    INVALID_REQUEST,
    META,
    METHOD_NOT_FOUND,
    MODERN,
    NEWEST_HANDSHAKE,
    UNSUPPORTED_VERSION,
)
from mcp_conductor.protocol.message import Message, compact

_SETTLED_SECONDS = 0.5  # who is still there after this has not only come to connect
SERVER = {"name": "conductor", "version": "1"}
CAPABILITIES: Json = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "tools": {"listChanged": True},
}


class Refusal(Exception):  # noqa: N818  # what happens, and no fault of ours
    """An error as the answer."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message, **({} if data is None else {"data": data})}


class Silence(Exception):  # noqa: N818
    """No answer at all."""


class Departure(Exception):  # noqa: N818
    """The server goes away instead of answering."""


class Voice(Protocol):
    """How a message reaches the client, while a request of its is open."""

    def say(self, text: str) -> Awaitable[None]: ...

    def mutter(self, text: str) -> Awaitable[None]:
        """Write to stderr, where there is one."""

    def ask(self, raw: Json, seconds: float) -> Awaitable[Message | None]: ...


class Call:
    """One request of the client, and the means to say something before its answer."""

    def __init__(
        self, record: ClientRecord, request: Message, line: Line, voice: Voice, http: HttpRequest | None = None
    ) -> None:
        self._record = record
        self.request = request
        self.line = line
        self.http = http
        self._voice = voice

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def params(self) -> Json:
        return self.request.params

    @property
    def meta(self) -> Json:
        return meta_of(self.request)

    async def say(self, text: str) -> None:
        await self._voice.say(text)

    async def mutter(self, text: str) -> None:
        await self._voice.mutter(text)

    async def ask(self, method: str, params: Json | None = None, *, identity: Id) -> Message | None:
        """What the client answers; None when it does not in time."""
        raw: Json = {"jsonrpc": "2.0", "id": identity, "method": method}
        asked = raw if params is None else {**raw, "params": params}
        reply = await self._voice.ask(asked, self._record.patience)
        if reply is None and not self.line.endings:
            self._record.moments[f"{UNANSWERED} {identity}"] = asyncio.get_running_loop().time()
        return reply


class Script:
    """The server of one scenario. It lives as long as the client, through all its connections."""

    # How each method is answered: the names of our own methods, so that a scenario can replace them.
    METHODS: ClassVar[dict[str, str]] = {
        "initialize": "initialize",
        "server/discover": "discover",
        "ping": "ping",
        "tools/list": "list_tools",
        "tools/call": "call_tool",
        "resources/list": "list_resources",
        "resources/templates/list": "list_templates",
        "resources/read": "read_resource",
        "resources/subscribe": "acknowledge",
        "resources/unsubscribe": "acknowledge",
        "prompts/list": "list_prompts",
        "prompts/get": "get_prompt",
        "completion/complete": "complete",
        "logging/setLevel": "acknowledge",
        "subscriptions/listen": "listen",
    }
    asks = False  # whether the server asks the client something, which it can do also while that waits for nothing
    events = False  # over HTTP: whether every answer is an event stream
    old_only = False  # over HTTP: whether only HTTP+SSE is spoken
    sessions = True  # over HTTP: whether initialize is answered with a session id
    extra_headers: tuple[tuple[str, str], ...] = ()  # over HTTP: what every answer to a POST carries
    stubborn = False  # whether the server stays when its stdin is closed, and when it gets SIGTERM

    def __init__(self, record: ClientRecord, version: str | None) -> None:
        self.record = record
        self.version = version  # the only revision that is spoken here; None: whatever the client wants
        self.count = 0  # requests so far, without those that open the connection

    @cached_property
    def client_calls_tools(self) -> bool:
        """Whether the client calls tools when the server is polite."""
        plain = self.record.plain
        return plain is not None and bool(plain.requests("tools/call"))

    @cached_property
    def finds_client_idle(self) -> bool:
        """Whether we have something to ask, and a client that asks for nothing itself gives no occasion for it."""
        return self.asks and self.record.plain is not None and self.record.plain.is_idle

    async def ask_idle(self, call: Call) -> None:
        """Ask while the client waits for nothing; CALL is how it said that it is ready."""
        await asyncio.sleep(_SETTLED_SECONDS)
        if self.record.is_idle and ASKED_IDLE not in self.record.moments:
            self.did(ASKED_IDLE)
            self.count += 1
            await self.before(call)

    def did(self, what: str) -> None:
        """Remember what was done to the client, and when."""
        self.record.moments.setdefault(what, asyncio.get_running_loop().time())

    # What a scenario may change.

    def capabilities(self) -> Json:
        return CAPABILITIES

    def chosen_version(self, asked: Any) -> str:
        """The revision in the answer to initialize."""
        return self.version or (asked if asked in HANDSHAKE else NEWEST_HANDSHAKE.version)

    async def before(self, call: Call) -> None:
        """Say something before the answer to a request, which does not open the connection."""

    async def after_opening(self, call: Call) -> None:
        """Say something before the answer to initialize or server/discover."""

    def heard(self, line: Line, message: Message) -> None:
        """Notice a notification."""

    def event(self, text: str) -> bytes:
        """Over HTTP: a message as an event."""
        return b"event: message\ndata: " + text.encode(errors="surrogateescape") + b"\n\n"

    async def web(self, host: Any, exchange: Any, request: HttpRequest) -> bool:
        """Over HTTP: answer a request in a way of its own; False leaves it to HOST."""
        del host, exchange, request
        return False

    def tools(self) -> list[Json]:
        return [tool("echo", text={"type": "string", "default": "hello"}), tool("now"), tool("greet")]

    def resources(self) -> list[Json]:
        names = ("one", "two", "three")
        return [{"uri": f"note:///{name}", "name": name, "mimeType": "text/plain"} for name in names]

    def templates(self) -> list[Json]:
        return [{"uriTemplate": "note:///{name}", "name": "a note"}]

    def prompts(self) -> list[Json]:
        return [{"name": "hello"}, {"name": "letter", "arguments": [{"name": "to", "required": True}]}]

    def pages(self, method: str, items: list[Json]) -> list[tuple[str | None, list[Json]]]:
        """The pages of a list, each with the cursor that leads to it: two, as long as there are two items."""
        del method
        return [(None, items[:1]), ("page-2", items[1:])] if len(items) > 1 else [(None, items)]

    # How a request is answered.

    async def reply(self, call: Call) -> Json | None:
        """The answer to a request; None when there is none."""
        frame: Json = {"jsonrpc": "2.0", "id": call.request.id}
        try:
            return {**frame, "result": await self._result(call)}
        except Refusal as refusal:
            return {**frame, "error": refusal.error}
        except Silence:
            return None

    async def _result(self, call: Call) -> Json:
        self._settle(call)
        if call.method in ("initialize", "server/discover"):
            await self.after_opening(call)
        else:
            self.count += 1
            await self.before(call)
        name = self.METHODS.get(call.method)
        dialect = call.line.dialect
        if name is None or (dialect is not None and call.method not in dialect.methods):
            raise Refusal(METHOD_NOT_FOUND, f"there is no method {call.method}")
        result: Json = await getattr(self, name)(call)
        if dialect is not None and not dialect.handshake:
            hints = {"ttlMs": 0, "cacheScope": "private"} if call.method in dialect.cacheable else {}
            result = {"resultType": "complete", **hints, **result}
            result.setdefault("_meta", {f"{META}serverInfo": SERVER})
        return result

    def _settle(self, call: Call) -> None:
        """Find out the revision of a request that comes without a handshake."""
        if call.method == "initialize":
            return
        line, said = call.line, call.meta.get(f"{META}protocolVersion")
        modern = said is not None or call.method == "server/discover"
        if not modern or (line.dialect is not None and line.dialect.handshake):
            return
        if self.version in HANDSHAKE:
            code = METHOD_NOT_FOUND if call.method == "server/discover" else INVALID_REQUEST
            raise Refusal(code, "this server wants to be initialized")
        supported = [self.version] if self.version else list(MODERN)
        if said not in supported:
            data = {"supported": supported, "requested": said}
            raise Refusal(UNSUPPORTED_VERSION, "unsupported protocol version", data)
        line.dialect = DIALECTS[str(said)]
        line.declared = self.capabilities()

    async def initialize(self, call: Call) -> Json:
        asked = call.params.get("protocolVersion")
        if self.version in MODERN:
            data = {"supported": [self.version], "requested": asked}
            raise Refusal(UNSUPPORTED_VERSION, "unsupported protocol version", data)
        chosen = self.chosen_version(asked)
        call.line.dialect = DIALECTS.get(chosen)
        call.line.initialize = call.params
        call.line.declared = self.capabilities()
        return {"protocolVersion": chosen, "capabilities": self.capabilities(), "serverInfo": SERVER}

    async def discover(self, call: Call) -> Json:
        del call
        return {
            "supportedVersions": [self.version] if self.version else list(MODERN),
            "capabilities": self.capabilities(),
        }

    async def ping(self, call: Call) -> Json:
        del call
        return {}

    async def acknowledge(self, call: Call) -> Json:
        del call
        return {}

    async def listen(self, call: Call) -> Json:
        """Say what is listened for, and stay silent: nothing changes here."""
        wanted = call.params.get("notifications")
        meta = {f"{META}subscriptionId": call.request.id}
        await call.say(notice("notifications/subscriptions/acknowledged", notifications=wanted, _meta=meta))
        raise Silence

    async def list_tools(self, call: Call) -> Json:
        return self._page(call, "tools", self.tools())

    async def list_resources(self, call: Call) -> Json:
        return self._page(call, "resources", self.resources())

    async def list_templates(self, call: Call) -> Json:
        return self._page(call, "resourceTemplates", self.templates())

    async def list_prompts(self, call: Call) -> Json:
        return self._page(call, "prompts", self.prompts())

    def _page(self, call: Call, member: str, items: list[Json]) -> Json:
        pages = self.pages(call.method, items)
        asked = call.params.get("cursor")
        for index, (cursor, page) in enumerate(pages):
            if cursor == asked:
                following = pages[index + 1][0] if index + 1 < len(pages) else None
                return {member: page, **({} if following is None else {"nextCursor": following})}
        raise Refusal(INVALID_PARAMS, "there is no such cursor")

    async def call_tool(self, call: Call) -> Json:
        return {"content": [{"type": "text", "text": f"{call.params.get('name')} was called"}]}

    async def read_resource(self, call: Call) -> Json:
        uri = call.params.get("uri")
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "a note"}]}

    async def get_prompt(self, call: Call) -> Json:
        del call
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}]}

    async def complete(self, call: Call) -> Json:
        del call
        return {"completion": {"values": ["anna", "anton"]}}


def tool(name: str, **properties: Json) -> Json:
    return {
        "name": name,
        "description": f"Does nothing but to be called {name}.",
        "inputSchema": {"type": "object", "properties": properties},
    }


def notice(method: str, **params: Any) -> str:
    """A notification, as text."""
    return compact({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})
