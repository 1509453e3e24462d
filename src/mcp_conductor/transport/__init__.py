"""How bytes move: one small interface for every transport, and the table of what opens which server.

A transport knows nothing of ids, eras or methods. It hands over whole messages, tells what the server wrote to stderr,
and says once why the server is gone.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mcp_conductor.errors import ConductorError, ConfigError
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import Message

if TYPE_CHECKING:
    import asyncio

    from mcp_conductor.protocol.server_spec import HttpSpec, ServerSpec
    from mcp_conductor.transport.http_client import HttpClient

Made = TypeVar("Made")


class Listener(Protocol):
    """Receives what a transport hears. Called from the event loop, in the order of arrival; never blocks."""

    @property
    def busy(self) -> bool:
        """Whether earlier messages are still being worked on: then no more should be read, to save memory."""

    def heard(self, message: Message, answers: Id | None = None, exchange: int | None = None) -> None:
        """A message, which came in this HTTP EXCHANGE.

        If it has no id, ANSWERS is the id of the request to which it came as the answer.
        """

    def on_stderr(self, line: str) -> None:
        """A line on the server's stderr."""

    def begin_exchange(self) -> int:
        """A number for an HTTP exchange: a request, its answer, and the messages in both."""

    def trace(self, text: str, exchange: int | None = None) -> None:
        """The head of the request or answer of an HTTP EXCHANGE; one without a number brings no messages."""

    def note(self, text: str) -> None:
        """A remark on something wrong."""

    def hide(self, secrets: Iterable[str]) -> None:
        """These must not be shown anywhere."""

    def redact(self, text: str) -> str:
        """TEXT without what must not be shown; before it is cut, so that no half of a secret is left."""

    def failed(self, request_id: Id, error: ConductorError) -> None:
        """There will be no answer to this request."""

    def ended(self, how: str) -> None:
        """The process of the server ended by itself, and not well: exited with code 1."""

    def gone(self, why: str) -> None:
        """The server can say nothing more; told at most once, and not when we closed the connection ourselves."""


class Transport(Protocol):
    """A way to one server."""

    cancels_by_closing: bool  # in the modern era, closing the stream of a request is its cancellation

    def speak(self, dialect: Dialect) -> None:
        """From here on the conversation is held in DIALECT."""

    def send(self, message: Message) -> int | None:
        """Hand MESSAGE over; never waits. If it cannot be delivered, the listener hears that the server is gone.

        Over HTTP, returns the number of the exchange in which it goes.
        """

    def abandon(self, request_id: Id) -> None:
        """This request is not waited for any more; if the transport has a stream for it, close it."""

    def unsent(self) -> int:
        """How many bytes the server has not taken yet."""


class Authorization(Protocol):
    """What answers a 401 or a 403: finds out where to get a token, gets one, and puts it into the headers."""

    version: str  # the revision whose rules hold

    @property
    def secrets(self) -> frozenset[str]:
        """What must not be shown, so far."""

    def watch(self, trace: Callable[[str], None], hide: Callable[[Iterable[str]], None]) -> None:
        """Tell TRACE of every request and answer from now on, and HIDE of the secrets in them."""

    def accepted(self) -> None:
        """The server took the token."""

    async def headers(self) -> list[tuple[str, str]]: ...

    async def challenged(self, status: int, www_authenticate: str | None) -> bool:
        """Whether to try again, now that there is a token, or a better one."""


Authorize = Callable[["HttpClient"], Authorization]


class Opener(Protocol):
    """Starts or reaches the server; leaving the context ends the connection, and the process if there is one."""

    def __call__(
        self, spec: Any, listener: Listener, authorize: Authorize | None = None, /
    ) -> AbstractAsyncContextManager[Transport]: ...


_OPENERS: dict[str, Opener] = {}
_KINDS = ("asgi", "http", "replay", "sse", "stdio", "streams")  # ours, whose modules are imported when they are needed
_OURS = "mcp_conductor."
AnyOpener = TypeVar("AnyOpener", bound=Opener)


def opens(kind: str, **schemes: "Callable[[str], ServerSpec]") -> Callable[[AnyOpener], AnyOpener]:
    """Register what opens the specs of this KIND. SCHEMES are those of the URLs that name such servers, with what makes
    a spec of a URL: `@opens("websocket", ws=WebSocketSpec.at)`.
    """

    def register(opener: AnyOpener) -> AnyOpener:
        if opener.__module__.startswith(_OURS):
            _OPENERS[kind] = opener
        else:
            _add_plugged(kind, schemes, opener)
        return opener

    return register


def _add_plugged(kind: str, schemes: "dict[str, Callable[[str], ServerSpec]]", opener: Opener) -> None:
    from mcp_conductor.plugins import when_forgotten
    from mcp_conductor.protocol.server_spec import SCHEMES

    _refuse_clash(kind, schemes, opener)
    plugged = import_module("mcp_conductor.transport.plugged")  # it is above us, as all transports are
    _OPENERS[kind] = plugged.guarded_opener(opener, kind)
    when_forgotten(lambda: _OPENERS.pop(kind))
    for scheme, make in schemes.items():
        SCHEMES[scheme] = plugged.guarded_spec(make, scheme)
        when_forgotten(partial(SCHEMES.pop, scheme))


def _refuse_clash(kind: str, schemes: Iterable[str], opener: Opener) -> None:
    """A plugin must not replace a transport that the programs already have."""
    from mcp_conductor.plugins import NameTakenError, count_registration, place_of
    from mcp_conductor.protocol.server_spec import SCHEMES

    count_registration(opener)
    if kind in _OPENERS or kind in _KINDS:
        known = f"transport {kind!r}"
    elif taken := {"http", "https", *SCHEMES}.intersection(schemes):
        known = f"scheme {min(taken)!r}"
    else:
        return
    hint = "give it a name of your own, for instance one that begins with that of your project"
    raise NameTakenError(f"the {known} exists already", hint=hint, where=place_of(opener))


def open_transport(
    spec: "ServerSpec", listener: Listener, authorize: Authorize | None = None
) -> AbstractAsyncContextManager[Transport]:
    """Start or reach the server, in the way that is registered for specs of its kind."""
    if spec.kind not in _OPENERS and spec.module is not None:
        import_module(spec.module)
    opener = _OPENERS.get(spec.kind)
    if opener is None:
        raise ConfigError(f"no transport is registered for {spec}, which is of the kind {spec.kind!r}")
    return opener(spec, listener, authorize)


def client_for(spec: "HttpSpec") -> "HttpClient":
    """What carries requests to a server by HTTP."""
    from mcp_conductor.protocol.in_process_spec import AsgiSpec

    if isinstance(spec, AsgiSpec):
        from mcp_conductor.transport.asgi_client import AsgiClient

        return AsgiClient(spec)
    from mcp_conductor.transport.http_client import HttpClient

    return HttpClient(cafile=spec.cafile, verify=not spec.insecure, largest=spec.budgets.message_bytes)


async def finish(cleanup: Coroutine[object, object, None]) -> None:
    """Run CLEANUP to its end even if we are cancelled meanwhile, once or several times; then be cancelled."""
    import asyncio  # which a program that only starts a process, and has no event loop yet, does without

    task = asyncio.ensure_future(cleanup)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


@asynccontextmanager
async def meanwhile(work: Coroutine[object, object, Made]) -> AsyncIterator["asyncio.Task[Made]"]:
    """Run WORK while this block runs; at its end WORK is cancelled, and what it raises then is ignored."""
    import asyncio

    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
