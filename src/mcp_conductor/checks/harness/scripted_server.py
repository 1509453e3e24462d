"""A polite server in every revision; a scenario changes what it answers, and what it says in between.

The methods are those of a composed server (`server/`). The script is asked for everything that the server has.
"""

import asyncio
from collections.abc import Awaitable
from functools import cached_property
from typing import Any, ClassVar, Protocol

from mcp_conductor.checks.harness.client_record import (
    ASKED_IDLE,
    OPENINGS,
    UNANSWERED,
    ClientConnection,
    ClientRecord,
    HttpRequest,
    capabilities_in,
    meta_of,
)
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose, compose_error, compose_result
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    INVALID_PARAMS,
    INVALID_REQUEST,
    META,
    METHOD_NOT_FOUND,
    NEWEST_HANDSHAKE,
    Dialect,
)
from mcp_conductor.protocol.message import Message, build, compact
from mcp_conductor.server.call import Call as ServerCall
from mcp_conductor.server.client import Client, modern_client
from mcp_conductor.server.config import ServerConfig, TransportConfig
from mcp_conductor.server.definitions import Prompt, Refusal, Resource, Template, Tool, text, text_result
from mcp_conductor.server.methods import METHODS, Method
from mcp_conductor.server.paging import Page
from mcp_conductor.server.server import Server

_SETTLED_SECONDS = 0.5  # who is still there after this has not only come to connect
SERVER = {"name": "conductor", "version": "1"}
CAPABILITIES: Json = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "tools": {"listChanged": True},
}


class NoAnswer(Exception):  # noqa: N818  # an event of a scenario, not an error
    """No answer at all."""


class Disconnected(Exception):  # noqa: N818  # an event of a scenario, not an error
    """The server goes away instead of answering."""


class Channel(Protocol):
    """How a message reaches the client, while a request of its is open."""

    def say(self, text: str) -> Awaitable[None]: ...

    def write_stderr(self, text: str) -> Awaitable[None]:
        """Write to stderr, where there is one."""

    def ask(self, raw: Json, seconds: float) -> Awaitable[Message | None]: ...


class ScriptCall:
    """One request of the client, and the means to say something before its answer."""

    def __init__(
        self,
        record: ClientRecord,
        request: Message,
        connection: ClientConnection,
        channel: Channel,
        http: HttpRequest | None = None,
    ) -> None:
        self._record = record
        self.request = request
        self.connection = connection
        self.http = http
        self._channel = channel

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
        await self._channel.say(text)

    async def write_stderr(self, text: str) -> None:
        await self._channel.write_stderr(text)

    async def ask(self, method: str, params: Json | None = None, *, identity: Id) -> Message | None:
        """What the client answers; None when it does not in time."""
        reply = await self._channel.ask(compose(method, params, identity=identity), self._record.patience)
        if reply is None and not self.connection.endings:
            self._record.moments[f"{UNANSWERED} {identity}"] = asyncio.get_running_loop().time()
        return reply


class ServerScript:
    """The server of one scenario. It lives as long as the client, through all its connections."""

    # Methods that a scenario answers besides: the names of its own functions.
    METHODS: ClassVar[dict[str, str]] = {}
    asks = False  # whether the server asks the client something, which it can do also while that waits for nothing
    events = False  # over HTTP: whether every answer is an event stream
    old_only = False  # over HTTP: whether only HTTP+SSE is spoken
    sessions = True  # over HTTP: whether initialize is answered with a session id
    extra_headers: tuple[tuple[str, str], ...] = ()  # over HTTP: what every answer to a POST carries
    stubborn = False  # whether the server stays when its stdin is closed, and when it gets SIGTERM

    def __init__(self, record: ClientRecord, version: str | None) -> None:
        self.record = record
        self.version = version  # the only revision that is spoken here; None: the one that the client wants
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

    async def ask_idle(self, call: ScriptCall) -> None:
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

    def chosen_version(self, asked: Any, usual: str) -> str:
        """The revision in the answer to initialize; USUAL is what a polite server says."""
        del asked
        return usual

    async def before(self, call: ScriptCall) -> None:
        """Say something before the answer to a request, which does not open the connection."""

    async def after_opening(self, call: ScriptCall) -> None:
        """Say something before the answer to initialize or server/discover."""

    def heard(self, connection: ClientConnection, message: Message) -> None:
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

    def page(self, method: str, items: list[Json], cursor: Any) -> Page:
        """The page of a list at CURSOR, and the cursor of the next."""
        pages = self.pages(method, items)
        for index, (each, page) in enumerate(pages):
            if each == cursor:
                return page, pages[index + 1][0] if index + 1 < len(pages) else None
        raise Refusal(INVALID_PARAMS, "there is no such cursor")

    async def call_tool(self, call: ScriptCall) -> Json:
        return text_result(f"{call.params.get('name')} was called")

    async def read_resource(self, call: ScriptCall) -> Json:
        return {"contents": [{"uri": call.params.get("uri"), "mimeType": "text/plain", "text": "a note"}]}

    async def get_prompt(self, call: ScriptCall) -> Json:
        del call
        return {"messages": [{"role": "user", "content": text("hello")}]}

    async def acknowledge(self, call: ScriptCall) -> Json:
        del call
        return {}

    # How a request is answered.

    async def reply(self, call: ScriptCall) -> Json | None:
        """The answer to a request; None when the script gives none."""
        try:
            return compose_result(call.request.id, await self._result(call))
        except Refusal as refusal:
            return compose_error(call.request.id, refusal.error())
        except NoAnswer:
            return None

    async def _result(self, call: ScriptCall) -> Json:
        self._settle(call)
        if call.method in OPENINGS:
            await self.after_opening(call)
        else:
            self.count += 1
            await self.before(call)
        result = await self._server.answer(call)
        if call.method == "initialize":
            self._agree(call, result)
        return result

    @cached_property
    def _server(self) -> "_PoliteServer":
        return _PoliteServer(self)

    def _settle(self, call: ScriptCall) -> None:
        """Find out the revision of a request that comes without a handshake."""
        connection, said = call.connection, call.meta.get(f"{META}protocolVersion")
        modern = said is not None or call.method == "server/discover"
        if (
            call.method == "initialize"
            or not modern
            or (connection.dialect is not None and connection.dialect.handshake)
        ):
            return
        if not self._server.modern_versions:
            code = METHOD_NOT_FOUND if call.method == "server/discover" else INVALID_REQUEST
            raise Refusal(code, "this server wants to be initialized")
        meta = {f"{META}protocolVersion": said, f"{META}clientCapabilities": capabilities_in(call.request)}
        connection.dialect = modern_client({"_meta": meta}, _CallSender(call), self._server.modern_versions).revision
        connection.declared = self.capabilities()

    def _agree(self, call: ScriptCall, result: Json) -> None:
        """Note what initialize is answered with, and let the scenario change the revision in it."""
        chosen = self.chosen_version(call.params.get("protocolVersion"), result["protocolVersion"])
        result["protocolVersion"] = chosen
        call.connection.dialect = DIALECTS.get(chosen)
        call.connection.initialize = call.params
        call.connection.declared = result["capabilities"]


class _CallSender:
    """Where the server says what belongs to a request; by it the call of the script is found."""

    def __init__(self, call: ScriptCall) -> None:
        self.call = call
        self._saying: set[asyncio.Task[None]] = set()

    def __call__(self, raw: Json) -> None:
        task = asyncio.create_task(self.call.say(compact(raw)))
        self._saying.add(task)
        task.add_done_callback(self._saying.discard)


class _PoliteServer(Server):
    """A composed server that asks the script for everything it has, and that refuses as little as it can.

    What a client does wrong is judged, and not refused: else the client would stop, and no more of it could be seen.
    """

    def __init__(self, script: ServerScript) -> None:
        self._script = script
        kinds = frozenset({"tools", "resources", "prompts"})
        config = ServerConfig(
            info=SERVER, transport=TransportConfig(type="stdio"), list_changed=kinds, subscriptions=True, logging=True
        )
        super().__init__(config)
        self.handshake_versions = tuple(each for each in self.handshake_versions if script.version in (None, each))
        self.modern_versions = tuple(each for each in self.modern_versions if script.version in (None, each))
        self.templates = [
            Template(listed=each, read=self._read, pattern=None, complete=_complete) for each in script.templates()
        ]

    async def answer(self, call: ScriptCall) -> Json:
        """The result of a request. Who has not agreed on a revision is served as if it had."""
        opens = call.method == "initialize"
        params = _repaired(call.params) if opens else call.params
        # Written out: an id that is null would be left out by `compose`, and what the client does is judged elsewhere.
        raw = {"jsonrpc": "2.0", "id": call.request.id, "method": call.method, "params": params}
        send = _CallSender(call)
        client = Client(send, None if opens else call.connection.dialect or NEWEST_HANDSHAKE)
        return await self.result(build(raw)._replace(problem=None), client, send)

    def capabilities(self, dialect: Dialect) -> Json:
        del dialect
        return self._script.capabilities()

    def offered_methods(self, dialect: Dialect) -> dict[str, Method]:
        """All methods of the revision, declared or not; of tasks, those of the scenario."""
        ours = {name: self._by_script(function) for name, function in self._script.METHODS.items()}
        usual = {name: act for name, act in METHODS.items() if not name.startswith("tasks/")}
        return {name: act for name, act in (usual | ours).items() if name in dialect.methods}

    def _by_script(self, function: str) -> Method:
        return lambda call: getattr(self._script, function)(_script_call(call))

    def rounds_of(self, call: ServerCall) -> None:
        """The states of a scenario are its own."""

    def tool(self, name: str) -> Tool:
        listed = {"name": name, "inputSchema": {}}
        return Tool(listed=listed, run=self._call, arguments_checked=False, output_checked=False)

    def resource(self, uri: str) -> Resource:
        return Resource(listed={"uri": uri}, read=self._read)

    def prompt(self, name: str) -> Prompt:
        return Prompt(listed={"name": name}, get=self._get, complete=_complete)

    def list_entries(self, member: str) -> list[Json]:
        script = self._script
        lists = {
            "tools": script.tools,
            "resources": script.resources,
            "resourceTemplates": script.templates,
            "prompts": script.prompts,
        }
        return lists[member]()

    def page(self, method: str, items: list[Json], cursor: Any) -> Page:
        return self._script.page(method, items, cursor)

    def _call(self, call: ServerCall) -> Awaitable[Json]:
        return self._script.call_tool(_script_call(call))

    def _read(self, call: ServerCall) -> Awaitable[Json]:
        return self._script.read_resource(_script_call(call))

    def _get(self, call: ServerCall) -> Awaitable[Json]:
        return self._script.get_prompt(_script_call(call))


def _script_call(call: ServerCall) -> ScriptCall:
    """The call of the script that a call of the server stands for."""
    assert isinstance(call.send, _CallSender)
    return call.send.call


def _complete(_: ServerCall) -> Json:
    return {"completion": {"values": ["anna", "anton"]}}


def _repaired(params: Json) -> Json:
    """The params of initialize with all that a server needs of them; what is missing in them is judged elsewhere."""
    version = params.get("protocolVersion")
    return {"protocolVersion": version if isinstance(version, str) else "", "capabilities": {}, "clientInfo": {}}


def tool(name: str, **properties: Json) -> Json:
    return {
        "name": name,
        "description": f"Does nothing but to be called {name}.",
        "inputSchema": {"type": "object", "properties": properties},
    }


def notice(method: str, **params: Any) -> str:
    """A notification, as text."""
    return compact(compose(method, params or None))
