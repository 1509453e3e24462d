"""One server of a bridge, kept connected: a loss is noticed, the server is tried again, its subscriptions are renewed.

The session is used by many tasks and opened by one, which lives as long as the bridge. Every change of its state is
announced: tasks that wait for the server then look again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_conductor.bridge.catalogue import KINDS, Lists, unless_refused
from mcp_conductor.bridge.terms import BridgeEvent, EventKind, Health, State, Terms
from mcp_conductor.client.connect import connect
from mcp_conductor.client.server_questions import as_object
from mcp_conductor.client.session import Session
from mcp_conductor.errors import (
    ConductorError,
    ConnectionLost,
    HttpStatusError,
    MethodError,
    ProtocolError,
    RequestTimeout,
    ServerDown,
    TransportError,
)
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Incoming
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Transcript

if TYPE_CHECKING:
    from mcp_conductor.recording.writer import RecordingWriter

_MOST_SILENCE = 2  # probes without an answer in a row, before a server that does not answer is given up
_MOST_REPEATS = 3  # of a call that may be repeated
_SHORT_PAUSE = 1.0  # seconds before the next try, at most, while a call waits for the server
_KEPT_BYTES = 1_000_000  # of a transcript that may go on for months

T = TypeVar("T")


class Link:
    """One server and the way to it."""

    def __init__(self, name: str, spec: ServerSpec | ConductorError, terms: Terms) -> None:
        self.name = name
        self.lists = Lists(name, self._on_lists, self.check_soon)
        self.subscriptions: set[str] = set()
        self.calls = 0  # under way
        self.tried = asyncio.Event()  # whether the first attempt has ended, well or not
        self._spec = spec if isinstance(spec, ConductorError) else replace(spec, name=name, budgets=terms.budgets)
        self._terms = terms
        self._state: State = "retrying"
        self._failures = 0
        self._last_error: ConductorError | None = None
        self._session: Session | None = None
        self._opened: Json | None = None  # how the last session was opened
        self._trusted = True  # False: a call has failed, and the reason is not known yet
        self._check_now = asyncio.Event()  # ping the server now, not at the next interval
        self._retry = asyncio.Event()  # a caller asks for another try now
        self._waiting = 0  # calls that wait for the server
        self._resting = False  # in a pause that a call ends
        self._changed = asyncio.Event()
        self._stream_ended = False  # a stream of notifications has ended

    @property
    def health(self) -> Health:
        return Health(self._state, self._failures, self._last_error)

    # For those who want something of the server.

    async def available(self, seconds: float) -> Session:
        """The session, for which this waits up to SECONDS; raises ServerDown."""
        if (session := self._usable()) is not None:
            return session
        self._waiting += 1
        if self._resting:
            self._retry.set()
        try:
            async with asyncio.timeout(seconds):
                while self._state != "down":
                    await self._changed.wait()
                    if (session := self._usable()) is not None:
                        return session
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1
        raise self.down_error()

    async def settled(self, *, up: bool) -> None:
        """Wait until the first attempt has ended; with UP, until one has succeeded, or there will be no other."""
        await self.tried.wait()
        while up and self._state == "retrying":
            await self._changed.wait()

    @property
    def capabilities(self) -> Json | None:
        """What the server said last that it can do; None if it was never connected."""
        return None if self._opened is None else as_object(self._opened.get("capabilities"))

    @property
    def instructions(self) -> str | None:
        told = None if self._opened is None else self._opened.get("instructions")
        return told if isinstance(told, str) and told else None

    def has(self, *capabilities: str) -> bool:
        """Whether the server has declared one of these."""
        return any(each in (self.capabilities or {}) for each in capabilities)

    def notify(self, method: str, params: Json | None) -> None:
        """Send a notification, if the server is there and of the era that has such."""
        session = self._usable()
        if session is not None and session.dialect.handshake:
            session.send(compose(method, params))

    async def ask(self, ask: Callable[[Session], Awaitable[T]], *, patience: float, repeatable: bool = True) -> T:
        """What ASK gets of the session. It is repeated after a loss only if it is REPEATABLE, or was never sent."""
        for attempt in count(1):
            session = await self.available(patience)
            self.calls += 1
            try:
                return await ask(session)
            except (RequestTimeout, HttpStatusError):  # a status is an answer, although not one of MCP
                self.check_soon()
                raise
            except TransportError as error:
                self._on_call_failed(error)
                if (error.sent and not repeatable) or attempt > _MOST_REPEATS:
                    raise self._interrupted_error(error) from error
            finally:
                self.calls -= 1
        raise AssertionError("count() does not end")

    def _interrupted_error(self, error: TransportError) -> ConnectionLost:
        lost = ConnectionLost(
            f"{self.name}: {error.message}", hint="it is not known whether it was done; it has not been sent again"
        )
        lost.stderr = error.stderr
        lost.context = {**error.context, "server": self.name}
        return lost

    def _on_call_failed(self, error: TransportError) -> None:
        """A call has failed: the session is not used again before the server has answered a ping."""
        self._trusted = False
        self._last_error = error
        self._check_now.set()

    def check_soon(self) -> None:
        """See soon whether the server still answers."""
        self._check_now.set()

    def retry_now(self) -> None:
        """Try again at once, and begin with the first delay."""
        self._failures = 0
        self._retry.set()

    def _usable(self) -> Session | None:
        session = self._session
        return session if session is not None and self._trusted and not session.ended else None

    def down_error(self) -> ServerDown:
        """What is to be raised in place of a call, where the server is not connected."""
        last = self._last_error
        why = f": {last.message}" if last is not None else ""
        error = ServerDown(
            f"the server {self.name!r} is not connected{why}", hint=last.hint if last is not None else None
        )
        if last is not None:
            error.stderr = last.stderr
        error.context = {**(last.context if last is not None else {}), "server": self.name}
        return error

    # The life of the connection.

    async def run(self) -> None:
        """Keep the server connected, until we are cancelled."""
        while True:
            error = await self._connect_and_stay()
            self._last_error = error
            self._failures += 1
            hopeless = isinstance(self._spec, ConductorError)
            delay = None if hopeless else self._terms.backoff.delay(self._failures, self._terms.random)
            self._enter("down" if delay is None else "retrying")
            if delay is None:
                self.lists.clear()
                self._tell("down", error)
            self.tried.set()
            await self._pause(delay)

    def on_run_ended(self, task: "asyncio.Task[None]") -> None:
        """The task that keeps the server connected has ended, which is a bug of ours: no caller may wait for it."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._last_error = TransportError(f"internal error: {error!r}")
        self._session = None
        self._enter("down")
        self.tried.set()

    async def _connect_and_stay(self) -> ConductorError:
        """Connect, and stay connected; returns why that has ended."""
        if isinstance(self._spec, ConductorError):
            return self._spec
        try:
            async with (
                asyncio.timeout(self._terms.connect_timeout) as limit,
                connect(
                    self._spec,
                    protocol=self._spec.protocol or self._terms.protocol,
                    answers=self._terms.answers(),
                    timeout=self._terms.timeout,
                    transcript=_short_transcript(self._spec, self._terms.recording),
                    on_incoming=self._on_incoming,
                    on_unsubscribed=self._on_unsubscribed,
                    on_reopened=self._on_reopened,
                    client_info=self._terms.client_info,
                    auth=(self._terms.auth or {}).get(self.name),
                    validate=self._terms.validate,
                    on_request=self._on_request if self._terms.on_request is not None else None,
                ) as session,
            ):
                await self._prepare(session)
                limit.reschedule(None)
                await self._stay(session)
        except ConductorError as error:
            return error
        except TimeoutError:
            return TransportError(f"{self.name} was not connected within {self._terms.connect_timeout:g} s")
        raise AssertionError("a connection does not end by itself")

    async def _prepare(self, session: Session) -> None:
        """List what the server has, and subscribe to what was subscribed to before."""
        await self.lists.read_all(session)
        await self._listen(session)

    async def _listen(self, session: Session) -> None:
        """Subscribe to the resources of our callers, and to changes of lists."""
        self._stream_ended = False
        for uri in sorted(self.subscriptions):
            await unless_refused(session.subscribe(uri))
        if not session.dialect.handshake:
            wanted = [kind for kind in KINDS if _tells_changes(session, kind)]
            if wanted:
                await unless_refused(session.listen({f"{kind}ListChanged": True for kind in wanted}))

    def _on_unsubscribed(self, lost: bool) -> None:
        """A stream of notifications has ended. If the server ended it, it is opened again, but not at once."""
        self._stream_ended = True
        if lost:
            self._check_now.set()

    async def _on_reopened(self, session: Session) -> None:
        """A new session over HTTP, which begins where the server has ended the old one, knows no subscriptions."""
        await self._listen(session)
        self.lists.changed(*KINDS)

    async def _stay(self, session: Session) -> None:
        """Offer the session to callers as long as it lasts; raises why it is lost."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._session, self._opened, self._last_error = session, session.opened, None
        self._trusted = True
        self._check_now.clear()
        self._enter("up")
        self._tell("connected")
        self.tried.set()
        self.lists.follow(session)
        try:
            await self._watch(session)
        except ConductorError as error:
            # Told before the process of the server is ended, which may take some seconds.
            self._last_error = error
            if loop.time() - began >= self._terms.backoff.settled:
                self._failures = 0
            self._enter("retrying")
            self._tell("lost", error)
            raise
        finally:
            self._session = None
            self.lists.stop()

    async def _watch(self, session: Session) -> None:
        """Watch whether the server answers; raises why it does not."""
        gone = asyncio.ensure_future(session.wait_until_gone())
        silence = 0
        try:
            while True:
                await self._wait_for_a_reason(gone)
                if gone.done():
                    gone.result()
                silence = silence + 1 if await self._is_silent(session) else 0
                # A server may be silent because it is busy: calls that are under way have their own deadlines.
                if silence >= _MOST_SILENCE and not self.calls:
                    raise ConnectionLost(f"{self.name} has not answered {silence} times in a row")
                self._trusted = silence == 0
                if self._trusted:
                    self._last_error = None
                    if self._stream_ended:
                        await self._listen(session)
                        self.lists.changed(*KINDS)
                else:
                    self._check_now.set()
                self._announce()
        finally:
            gone.cancel()

    async def _wait_for_a_reason(self, gone: "asyncio.Future[None]") -> None:
        looking = asyncio.ensure_future(self._check_now.wait())
        reasons: set[asyncio.Future[Any]] = {gone, looking}
        try:
            await asyncio.wait(reasons, timeout=self._terms.health_interval, return_when=asyncio.FIRST_COMPLETED)
        finally:
            looking.cancel()
        self._check_now.clear()

    async def _is_silent(self, session: Session) -> bool:
        """Whether the server does not answer a ping. An error is an answer."""
        try:
            await session.ping(timeout=self._terms.health_timeout)
        except RequestTimeout:
            return True
        except (MethodError, ProtocolError):
            return False
        return False

    async def _pause(self, delay: float | None) -> None:
        """Wait before the next try; not for long while a call waits, since the server may be back by now."""
        self._retry.clear()
        short = None if delay is None else min(delay, _SHORT_PAUSE)
        if await self._retried(short) or delay is None or self._waiting:
            return
        self._resting = True
        try:
            await self._retried(delay - _SHORT_PAUSE)
        finally:
            self._resting = False

    async def _retried(self, seconds: float | None) -> bool:
        """Whether another try is asked for within SECONDS."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._retry.wait()
        return False

    def _enter(self, state: State) -> None:
        self._state = state
        self._announce()

    def _announce(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _tell(self, kind: EventKind, error: ConductorError | None = None, uri: str = "") -> None:
        self._terms.tell(BridgeEvent(kind, self.name, error, uri))

    def _on_incoming(self, incoming: Incoming) -> None:
        message = incoming.message
        if message.kind != "notification":
            return
        match message.method.split("/"):
            case ["notifications", ("tools" | "resources" | "prompts") as kind, "list_changed"]:
                self.lists.changed(kind)
            case ["notifications", "resources", "updated"]:
                uri = message.params.get("uri")
                if isinstance(uri, str) and uri in self.subscriptions:
                    self._tell("resource_updated", uri=uri)
        if self._terms.on_notification is not None:
            self._terms.on_notification(self.name, message)

    def _on_request(self, session: Session, message: Message) -> None:
        assert self._terms.on_request is not None
        self._terms.on_request(self.name, session, message)

    def _on_lists(self, kind: EventKind) -> None:
        self._tell(kind)
        self._announce()


def _short_transcript(spec: ServerSpec, recording: "RecordingWriter | None") -> Transcript:
    budgets = replace(spec.budgets, transcript_bytes=_KEPT_BYTES)
    if recording is None:
        return Transcript(spec.secrets(), budgets=budgets, keeps_newest=False)
    from mcp_conductor.recording.format import server_of

    session = recording.session(server_of(spec))
    return Transcript(spec.secrets(), session.take, budgets, recording.redactor, keeps_newest=False)


def _tells_changes(session: Session, kind: str) -> bool:
    declared = session.capabilities.get(kind)
    return isinstance(declared, dict) and declared.get("listChanged") is True
