"""The servers of a bridge as one client has them: sessions of its own, and what is said in them, in both directions.

Clients that share sessions share a relay. It tells upwards who the client is and what it can do, as the client says it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mcp_conductor.bridge.exchanges import LOG_LEVEL, Exchanges
from mcp_conductor.bridge.link import Link
from mcp_conductor.bridge.names import Names
from mcp_conductor.bridge.offers import Offers
from mcp_conductor.bridge.passing import Open, party
from mcp_conductor.bridge.plan import Plan
from mcp_conductor.bridge.questions import Questions
from mcp_conductor.bridge.subscribing import Subscribed
from mcp_conductor.bridge.terms import BridgeEvent, Terms
from mcp_conductor.bridge.uris import with_uri
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, MethodError, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import INTERNAL_ERROR, LOG_LEVELS, METHOD_NOT_FOUND, Dialect
from mcp_conductor.protocol.message import Message
from mcp_conductor.server.client import Client
from mcp_conductor.server.definitions import Refusal
from mcp_conductor.server.state import Subscriber
from mcp_conductor.transport import finish

_CONNECT_SECONDS = 30.0
_MOST_EARLY = 100  # notifications that come before the client is ready for them
# Notifications that are about one session, and end here.
_OWN = ("notifications/subscriptions/acknowledged", "notifications/initialized")


class _Declared(Answers):
    """What the client says that it can do; questions do not come here."""

    def __init__(self, capabilities: Json) -> None:
        super().__init__()
        self._declared = capabilities

    def capabilities(self, dialect: Dialect) -> Json:  # noqa: ARG002  # it says the same in all revisions
        return dict(self._declared)


class Relay:
    """All servers of a bridge, for one client or for those that share it."""

    def __init__(self, plan: Plan, capabilities: Json, info: Json | None, protocol: str) -> None:
        self.plan = plan
        self.on_tools: Callable[[list[Json]], None] = lambda _: None  # is told which tools are listed
        self.members: dict[Client, asyncio.Event] = {}  # of the handshake era; set: it is initialized
        self.listeners: set[Subscriber] = set()
        self.subscribed: Subscribed[Client | Subscriber] = Subscribed()
        self.open = Open(list(plan.specs))
        self._levels: dict[int, str] = {}  # the least log level of each client that has set one
        self.questions = Questions(plan, self.members, self.open)
        options = plan.options
        terms = Terms(
            timeout=options.timeout,
            connect_timeout=_CONNECT_SECONDS,
            health_interval=15.0,
            health_timeout=5.0,
            backoff=plan.backoff,
            answers=lambda: _Declared(capabilities),
            tell=self._on_event,
            budgets=options.budgets,
            protocol=protocol,
            client_info=info,
            on_notification=self._on_notification,
            on_request=self.questions.take,
            recording=plan.recording,
        )
        self.links = {name: Link(name, spec, terms) for name, spec in plan.specs.items()}
        self.exchanges = Exchanges(plan, self.links, self.open, self.questions, self._levels)
        self.offers = Offers(plan, self.links, Names(plan.prefixes, options.separator, plan.filters))
        self._tasks: list[asyncio.Task[None]] = []
        self._ready: asyncio.Task[None] | None = None
        self._serving = False
        self._early: deque[tuple[str, Json]] = deque(maxlen=_MOST_EARLY)
        self._setting: set[asyncio.Task[None]] = set()

    # Its life.

    async def ready(self) -> None:
        """Wait until the servers are there, or have had their time. Raises Refusal if they cannot be served."""
        if self._ready is None:
            self._ready = asyncio.create_task(self._start())
        if not self._serving:
            await asyncio.shield(self._ready)

    @property
    def starting(self) -> bool:
        return self._ready is not None and not self._ready.done()

    async def _start(self) -> None:
        for link in self.links.values():
            task = asyncio.create_task(link.run())
            task.add_done_callback(link.on_run_ended)
            self._tasks.append(task)
        options = self.plan.options
        with suppress(TimeoutError):
            async with asyncio.timeout(options.start_timeout):
                await asyncio.gather(*(link.settled(up=options.wait) for link in self.links.values()))
        self._check_start()
        self._serving = True

    def _check_start(self) -> None:
        options = self.plan.options
        late = {name: link for name, link in self.links.items() if link.health.state != "up"}
        for name, link in late.items():
            health = link.health
            if health.state == "retrying":  # one that is down was reported when that happened
                error = health.last_error or TransportError(f"no answer within {options.start_timeout:g} s")
                self.plan.report(name, "retrying", error)
        if options.wait and late:
            told = [f"{name} ({link.health.last_error or 'no answer'})" for name, link in late.items()]
            raise Refusal(INTERNAL_ERROR, f"the bridge waits for all servers; not up: {', '.join(told)}")
        clashes = self.offers.refresh()
        self.on_tools(self.offers.listed["tools"])
        if clashes:
            raise Refusal(INTERNAL_ERROR, "; ".join(clashes))

    async def close(self) -> None:
        """End all servers at once; each has its own bound."""
        self.questions.close()
        self.exchanges.suspended.close()
        for task in (*self._tasks, *self._setting, *([] if self._ready is None else [self._ready])):
            task.cancel()
        await finish(_all_ended([*self._tasks, *self._setting]))

    def join(self, client: Client) -> None:
        """CLIENT, of the handshake era, uses this relay from now on."""
        self.members[client] = asyncio.Event()

    async def leave(self, client: Client) -> None:
        """CLIENT has gone; others still use this relay."""
        self.members.pop(client, None)
        self._levels.pop(party(client), None)
        for subscription in self.subscribed.of(client):
            with suppress(Refusal):
                await self.unsubscribe(subscription, client)

    def initialized(self, client: Client) -> None:
        """CLIENT is ready for notifications and questions."""
        if client in self.members:
            self.members[client].set()
            while self._early:
                client.send(compose(*self._early.popleft()))

    # What servers say by themselves.

    def _on_event(self, event: BridgeEvent) -> None:
        if event.kind in ("connected", "lost", "down"):
            self.plan.report(event.server, event.kind, event.error)
        if event.kind == "connected":
            tools = self.links[event.server].lists.catalogue.tools
            self.plan.warn_of_filters(event.server, {tool.name for tool in tools})
        if event.kind == "connected" and self._levels:
            self._soon(self._set_level_at(event.server))
        if self._serving and event.kind != "resource_updated":
            self.refresh()

    def refresh(self) -> None:
        """Offer what the servers list now, and tell clients which lists have changed."""
        before = self.offers.lists()
        for clash in self.offers.refresh():
            self.plan.complain(clash)
        for kind, listed in self.offers.lists().items():
            if listed != before[kind]:
                self._tell_list_changed(kind)
        self.on_tools(self.offers.listed["tools"])

    def _tell_list_changed(self, kind: str) -> None:
        self._send_all("", f"notifications/{kind}/list_changed", {})
        for listener in list(self.listeners):
            if listener.wants.get(f"{kind}ListChanged"):
                listener.tell(f"notifications/{kind}/list_changed", {})

    def _on_notification(self, server: str, message: Message) -> None:
        method, params = message.method, message.params
        if method == "notifications/cancelled":
            self.questions.cancelled(server, params.get("requestId"))
        elif method == "notifications/progress":
            self._tell_task_progress(server, params)
        elif method == "notifications/message":
            self._tell_log(server, params)
        elif method == "notifications/resources/updated":
            self._tell_updated(server, params)
        elif method == "notifications/tasks":
            for listener in list(self.listeners):
                if params.get("taskId") in listener.wants.get("taskIds", ()):
                    listener.tell(method, params)
        elif not method.endswith("/list_changed") and method not in _OWN:
            self._send_all(server, method, params)

    def _send_all(self, server: str, method: str, params: Json) -> None:
        """Send a notification to all clients of the handshake era; one that is not ready gets it when it is."""
        for client, ready in self.members.items():
            if not ready.is_set():
                if len(self.members) == 1 and server:
                    self._early.append((method, params))
                continue
            send = self.questions.way_to(server, client) if server else client.send
            send(compose(method, params or None))

    def _tell_task_progress(self, server: str, params: Json) -> None:
        token = params.get("progressToken")
        known = self.exchanges.token_of_task(server, token)
        if known is not None:
            self._send_all(server, "notifications/progress", {**params, "progressToken": known})

    def _tell_log(self, server: str, params: Json) -> None:
        if len(self.members) == 1:
            self._send_all(server, "notifications/message", params)
            return
        level = params.get("level")
        number = LOG_LEVELS.index(level) if level in LOG_LEVELS else 0
        for client in self.members:
            if number >= LOG_LEVELS.index(self._levels.get(party(client), LOG_LEVELS[0])):
                self.questions.way_to(server, client)(compose("notifications/message", params))
        passings = [each for each in self.open.at(server) if not each.handshake and each.call is not None]
        if len({each.party for each in passings}) == 1:  # otherwise it is not known whose request it is about
            for passing in passings:
                call = passing.call
                least = None if call is None else call.meta.get(LOG_LEVEL)
                if call is not None and least in LOG_LEVELS and number >= LOG_LEVELS.index(least):
                    call.send(compose("notifications/message", params))
                    break

    def _tell_updated(self, server: str, params: Json) -> None:
        uri = params.get("uri")
        if not isinstance(uri, str):
            return
        params = {key: value for key, value in params.items() if key != "_meta"}
        for owner, shown in self.subscribed.told(server, uri).items():
            told = {**params, "uri": shown or self.plan.uris.linked(server, uri)}
            if isinstance(owner, Subscriber):
                owner.tell("notifications/resources/updated", told)
            elif owner in self.members:
                owner.send(compose("notifications/resources/updated", told))

    # What our clients want of all servers.

    async def subscribe(self, subscription: tuple[str, str], owner: Client | Subscriber, shown: str) -> Json:
        """Subscribe at the server to what OWNER calls SHOWN. Raises Refusal where the server refuses."""
        server, uri = subscription
        link = self.links[server]
        await self._ask_plainly(link, lambda session: session.subscribe(uri), shown)
        link.subscriptions.add(uri)
        self.subscribed.add(subscription, owner, shown)
        return {}

    async def unsubscribe(self, subscription: tuple[str, str], owner: Client | Subscriber) -> Json:
        """Unsubscribe at the server, unless another client of this relay is subscribed."""
        server, uri = subscription
        if not self.subscribed.remove(subscription, owner):
            return {}
        link = self.links[server]
        link.subscriptions.discard(uri)
        return await self._ask_plainly(link, lambda session: session.unsubscribe(uri))

    def forget_listener(self, listener: Subscriber) -> None:
        """LISTENER has ended: its subscriptions end too."""
        for subscription in self.subscribed.of(listener):
            self._soon(self._unsubscribe_quietly(subscription, listener))

    async def _unsubscribe_quietly(self, subscription: tuple[str, str], listener: Subscriber) -> None:
        with suppress(Refusal):
            await self.unsubscribe(subscription, listener)

    async def listen_to_task(self, identity: Any) -> bool:
        """Hear of the changes of a task; whether its server tells of them."""
        server = self.exchanges.server_that_made(identity)
        if server is None:
            return False
        try:
            await self._ask_plainly(self.links[server], lambda session: session.listen({"taskIds": [identity]}))
        except Refusal:
            return False
        return True

    async def _ask_plainly(self, link: Link, ask: Callable[[Session], Any], shown: str | None = None) -> Json:
        try:
            await link.ask(ask, patience=self.plan.options.patience)
        except MethodError as error:
            if isinstance(error.error, dict) and isinstance(error.code, int):
                data = with_uri(error.error.get("data"), lambda uri: shown or self.plan.uris.named(link.name, uri))
                raise Refusal(error.code, str(error.error.get("message")), data) from error
            raise Refusal(INTERNAL_ERROR, error.message) from error
        except ConductorError as error:
            raise Refusal(INTERNAL_ERROR, error.message) from error
        return {}

    async def set_level(self, client: Client, level: str) -> None:
        """CLIENT wants log messages of LEVEL and above; servers are told the least level of all clients."""
        if not self.offers.may_have("logging"):
            raise Refusal(METHOD_NOT_FOUND, "Method not found: logging/setLevel")
        self._levels[party(client)] = level
        await asyncio.gather(*(self._set_level_at(server) for server in self.links))

    async def _set_level_at(self, server: str) -> None:
        link = self.links[server]
        if link.health.state == "up" and link.has("logging") and self._levels:
            level = min(self._levels.values(), key=LOG_LEVELS.index)
            with suppress(Refusal):
                await self._ask_plainly(link, lambda session: _set_level(session, level))

    def hear(self, message: Message) -> None:
        """Pass on a notification of a client: the progress of an answer to its server, all others to all."""
        params = message.params
        if message.method != "notifications/progress":
            for link in self.links.values():
                link.notify(message.method, message.raw.get("params"))
        elif (known := self.questions.progress(params.get("progressToken"))) is not None:
            self.links[known[0]].notify(message.method, {**params, "progressToken": known[1]})

    def _soon(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._setting.add(task)
        task.add_done_callback(self._setting.discard)


async def _set_level(session: Session, level: str) -> None:
    if session.dialect.handshake:  # otherwise each request says it
        await session.set_log_level(level)


async def _all_ended(tasks: "list[asyncio.Task[None]]") -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
