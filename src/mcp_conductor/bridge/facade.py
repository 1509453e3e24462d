"""A bridge as one server: each client of it has a relay, which has sessions of its own with the servers."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from mcp_conductor import __version__
from mcp_conductor.bridge.plan import Plan
from mcp_conductor.bridge.relay import Relay
from mcp_conductor.bridge.relay_methods import ACTS, Act
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INTERNAL_ERROR, META, Dialect
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import Client
from mcp_conductor.server.config import ServerConfig, TransportConfig
from mcp_conductor.server.definitions import Refusal, Tool
from mcp_conductor.server.methods import METHODS
from mcp_conductor.server.server import Server
from mcp_conductor.transport import finish

IDLE_SECONDS = 600.0  # after which the servers of a client end that may have left without a word
MOST_CLIENTS = 64  # that have servers and may leave so
_SHARED = "shared"


class Facade(Server):
    """The server that the clients of a bridge see."""

    def __init__(
        self,
        plan: Plan,
        transport: TransportConfig,
        *,
        idle_seconds: float = IDLE_SECONDS,
        most_clients: int = MOST_CLIENTS,
    ) -> None:
        self._plan = plan
        self.idle_seconds = idle_seconds
        self._most_clients = most_clients
        self._relays: dict[Client | str, Relay] = {}
        self._known: dict[Client, Json] = {}  # who clients of the handshake era say they are
        self._timers: dict[Client | str, asyncio.TimerHandle] = {}
        self._used: dict[Client | str, float] = {}  # when a client was there last
        self._closing: set[asyncio.Task[None]] = set()
        info = {"name": "conductor-bridge", "version": __version__}
        super().__init__(ServerConfig(info=info, transport=transport), plan.complain)

    def offered_methods(self, dialect: Dialect) -> dict[str, Callable[[Call], Any]]:
        offered: dict[str, Callable[[Call], Any]] = {
            **{name: partial(self._pass, act) for name, act in ACTS.items()},
            "ping": METHODS["ping"],
            "initialize": METHODS["initialize"],  # which refuses a second one
            "server/discover": self._discover,
        }
        return {name: act for name, act in offered.items() if name in dialect.methods}

    def rounds_of(self, call: Call) -> None:
        """The state of earlier rounds is between the client and a server, or that of a request that waits here."""

    def _begin(self, call: Call, message: Message) -> Any:
        if call.method == "initialize" and call.client.dialect is None and message.problem is None:
            return self._initialize(call)
        return super()._begin(call, message)

    # How a client comes, and goes.

    async def _initialize(self, call: Call) -> Json:
        opened = METHODS["initialize"](call)
        client = call.client
        key: Client | str = client if self._plan.options.sessions == "perClient" else _SHARED
        relay = self._relay(key, client.capabilities, call.params["clientInfo"], protocol="handshake")
        relay.join(client)
        if key is client:
            self._known[client] = call.params["clientInfo"]
            self._touch(client)
        try:
            await relay.ready()
        except BaseException:
            client.dialect = None
            self._known.pop(client, None)
            self._drop(client)
            raise
        return {**opened, **self._described(relay, client.revision)}

    async def _discover(self, call: Call) -> Json:
        relay = await self._relay_of(call)
        return {"supportedVersions": list(self.modern_versions), **self._described(relay, call.client.revision)}

    def _described(self, relay: Relay, dialect: Dialect) -> Json:
        instructions = relay.offers.instructions()
        told = {} if instructions is None else {"instructions": instructions}
        return {"capabilities": relay.offers.capabilities(dialect), **told}

    async def _pass(self, act: Act, call: Call) -> Json:
        return await act(await self._relay_of(call), call)

    async def _relay_of(self, call: Call) -> Relay:
        """The relay of the client; a client of the modern era has that of all clients which describe themselves so."""
        client = call.client
        relay = self._relays.get(client)
        if relay is None:
            relay = self._relay_again(client) if client in self._known else self._relay_described(call)
        elif client in self._timers:
            self._used[client] = asyncio.get_running_loop().time()
        await relay.ready()
        return relay

    def _relay_again(self, client: Client) -> Relay:
        """The servers of CLIENT were ended while it was idle."""
        self._touch(client)
        relay = self._relay(client, client.capabilities, self._known[client], protocol="handshake")
        relay.join(client)
        relay.initialized(client)
        return relay

    def _relay_described(self, call: Call) -> Relay:
        info = call.meta.get(f"{META}clientInfo")
        if self._plan.options.sessions == "shared":
            return self._relay(_SHARED, call.client.capabilities, info, protocol="auto")
        key = compact([call.client.capabilities, info])
        self._touch(key)
        return self._relay(key, call.client.capabilities, info, protocol="auto")

    def _relay(self, key: Client | str, capabilities: Json, info: Any, *, protocol: str) -> Relay:
        """The relay of KEY. Servers are spoken to in the era of the client, where they can be."""
        relay = self._relays.get(key)
        if relay is None:
            own = {name: value for name, value in capabilities.items() if name != "tasks"}
            relay = self._relays[key] = Relay(self._plan, own, _introduction(info), protocol)
            relay.on_tools = self._take_tools
        return relay

    def _touch(self, key: Client | str) -> None:
        """The client of KEY is there, and may leave without a word: its servers stay for a while."""
        if self._plan.one_client:
            return
        loop = asyncio.get_running_loop()
        if key not in self._timers:
            if len(self._timers) >= self._most_clients:
                self._make_room()
            self._timers[key] = loop.call_later(self.idle_seconds, self._look_at, key)
        self._used[key] = loop.time()

    def _make_room(self) -> None:
        idle = [each for each in self._timers if self._is_idle(each)]
        if not idle:
            raise Refusal(INTERNAL_ERROR, f"more than {self._most_clients} clients are served")
        self._close(min(idle, key=self._used.__getitem__))

    def _is_idle(self, key: Client | str) -> bool:
        relay = self._relays.get(key)
        if relay is None:
            return True
        waits = isinstance(key, Client) and (key.listens() or bool(relay.subscribed.of(key)))
        return not (waits or relay.starting or relay.open.any or relay.listeners)

    def _look_at(self, key: Client | str) -> None:
        """End the servers of a client that has not been there for long; they are started again if it comes back."""
        loop = asyncio.get_running_loop()
        left = self._used[key] + self.idle_seconds - loop.time()
        if left > 0 or not self._is_idle(key):
            self._timers[key] = loop.call_later(max(left, self.idle_seconds / 10), self._look_at, key)
        else:
            self._close(key)

    def _close(self, key: "Client | str") -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
            del self._used[key]
        relay = self._relays.pop(key, None)
        if relay is not None:
            self._soon(relay.close())

    def _drop(self, client: Client) -> None:
        if client in self._relays or client in self._timers:
            self._close(client)
        elif (shared := self._relays.get(_SHARED)) is not None and client in shared.members:
            self._soon(shared.leave(client))

    def _soon(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def hear(self, message: Message, client: Client) -> None:
        super().hear(message, client)
        relay = self._relays.get(client) or self._relays.get(_SHARED)
        if message.kind != "notification" or relay is None or client not in relay.members:
            return
        if message.method == "notifications/initialized":
            relay.initialized(client)
        elif message.method != "notifications/cancelled":
            relay.hear(message)

    def forget(self, client: Client) -> None:
        super().forget(client)
        self._known.pop(client, None)
        self._drop(client)

    async def close(self) -> None:
        """End all servers of all clients at once."""
        for key in list(self._relays):
            self._close(key)
        while self._closing:
            await finish(_gathered(self._closing))

    def _take_tools(self, listed: list[Json]) -> None:
        """Over HTTP, some arguments are repeated in headers, which are looked at before a request is passed on."""
        self.tools.update({tool["name"]: Tool(listed=tool, run=_run_elsewhere) for tool in listed})


def _introduction(info: Any) -> Json | None:
    """Who a client says it is, if a server can be told that."""
    names = [info.get("name"), info.get("version")] if isinstance(info, dict) else [None]
    return info if all(isinstance(name, str) and name for name in names) else None


async def _gathered(tasks: "set[asyncio.Task[None]]") -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def _run_elsewhere(_: Any) -> Json:
    raise AssertionError("tools of a bridge run at their servers")
