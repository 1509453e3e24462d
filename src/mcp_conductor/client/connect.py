"""How a conversation opens: which era, which revision, and what to do when the server disagrees.

| choice      | what happens                                                                                          |
|-------------|-------------------------------------------------------------------------------------------------------|
| `handshake` | initialize; a server that refuses because it is of the modern era only is spoken to in that           |
| `auto`      | server/discover; no answer soon: initialize right behind it; the first usable answer decides          |
| `modern`    | the newest modern revision, no handshake                                                              |
| a version   | exactly that one                                                                                      |
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mcp_conductor import __version__
from mcp_conductor.client.session import DEFAULT_TIMEOUT, Session, SessionOptions
from mcp_conductor.errors import (
    ConductorError,
    HttpStatusError,
    MethodError,
    ProtocolError,
    RequestTimeout,
    TransportError,
    UsageError,
)
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answers, Incoming
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    HANDSHAKE,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MODERN,
    MODERN_CODES,
    NEWEST_HANDSHAKE,
    NEWEST_MODERN,
    PROTOCOL_CHOICES,
    UNSUPPORTED_VERSION,
    Dialect,
    newest_common,
)
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.protocol.server_spec import (
    AnySpec,
    HttpSpec,
    StdioSpec,
    StreamsSpec,
    secrets_of_server,
    supported_transports,
)
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.transport import Authorize, open_transport

if TYPE_CHECKING:
    from mcp_conductor.client.targets import Target

CLIENT = {"name": "mcp-conductor", "version": __version__}
# How long `auto` waits for an answer to server/discover before it sends initialize as well: long enough for a server
# that is up, short enough that nobody notices on one that never answers what it does not know.
PROBE_SECONDS = 0.3
# What a server of HTTP+SSE answers to the POST of a newer client (basic/transports#backwards-compatibility).
_OLD_STATUSES = (400, 404, 405)
OLD_SECONDS = 3.0  # for the first event, where HTTP+SSE is only a guess
_READING_SECONDS = 0.02  # for a server that takes what it reads at once for one message
NONE = "none"  # no opening at all: for those who send their own `initialize`


@asynccontextmanager
async def connect(
    target: "Target",
    *,
    protocol: str | None = None,
    answers: Answers | None = None,
    timeout: float = DEFAULT_TIMEOUT,  # for each request
    transcript: Transcript | None = None,
    extensions: Json | None = None,
    on_incoming: Callable[[Incoming], None] | None = None,
    authorize: Authorize | None = None,
    lenient: bool = False,
    needs_version: bool = True,
    budgets: Budgets | None = None,
    on_unsubscribed: Callable[[bool], None] | None = None,
    on_reopened: Callable[[Session], Awaitable[None]] | None = None,
) -> AsyncIterator[Session]:
    """Reach the server, open the conversation, and end both on leaving.

    TARGET is a spec, a config (`{"url": …}` or `{"command": …, "args": […]}`), a URL, a command as text or as words, an
    ASGI application, or a pair of streams. LENIENT opens it as mcp-aegis does: a server may leave things out of its
    answer, hears `initialized` by its old name too, and gets time to read each of these messages by itself.
    One that NEEDS_VERSION is refused where it names none; otherwise it is taken to speak what it was asked for.
    BUDGETS limit how much is taken in of what the server says. ON_UNSUBSCRIBED hears when a subscription of the modern
    era is over, and whether it was lost; ON_REOPENED, when a server at a URL ended its session and a new one has begun.
    """
    context: Json = {"platform": sys.platform, "supportedTransports": list(supported_transports(sys.platform))}
    with _told_with(context):
        spec = _spec(target)
    if budgets is not None:
        spec = replace(spec, budgets=budgets)
    choice = protocol or spec.protocol or "handshake"
    if choice not in PROTOCOL_CHOICES and choice != NONE:
        raise UsageError(f"unknown protocol {choice!r}", hint=f"known: {', '.join(PROTOCOL_CHOICES)}")
    transcript = Transcript(secrets_of_server(spec), budgets=spec.budgets) if transcript is None else transcript
    options = SessionOptions(
        client=CLIENT,
        answers=answers or Answers(),
        timeout=timeout,
        transcript=transcript,
        context={"server": transcript.redact(str(spec)), **context},
        extensions=extensions or {},
        budgets=spec.budgets,
        lenient=lenient,
        needs_version=needs_version,
        on_incoming=on_incoming,
        on_unsubscribed=on_unsubscribed,
        on_reopened=on_reopened,
    )
    way = _Way(spec, choice, authorize)
    async with AsyncExitStack() as stack:
        with _told_with(options.context, transcript.redact):
            session = await _open_somehow(options, way, stack)
        yield session


@dataclass(frozen=True, slots=True)
class _Way:
    """How to reach a server, and how to open the conversation with it."""

    spec: AnySpec
    choice: str
    authorize: Authorize | None


def _spec(target: "Target") -> AnySpec:
    if isinstance(target, (StdioSpec, HttpSpec, StreamsSpec)):
        return target
    from mcp_conductor.client.targets import spec_of

    return spec_of(target)


@contextmanager
def _told_with(context: Json, redact: Callable[[str], str] = str) -> Iterator[None]:
    """What goes wrong in here is told with CONTEXT, and without what REDACT takes out."""
    try:
        yield
    except ConductorError as error:
        error.tell_with(context, redact)
        raise


async def _open_somehow(options: SessionOptions, way: _Way, stack: AsyncExitStack) -> Session:
    """Open, and once more in another way where the first was refused as older servers refuse it."""
    spec = way.spec
    try:
        return await stack.enter_async_context(_session(options, way))
    except HttpStatusError as error:
        if not isinstance(spec, HttpSpec) or spec.sse or not spec.fall_back or error.status not in _OLD_STATUSES:
            raise
        old = replace(spec, sse=True, endpoint_timeout=OLD_SECONDS)
        return await _open_old(options, replace(way, spec=old), stack, error)
    except TransportError as error:
        late = isinstance(error.__cause__, RequestTimeout)  # one that says nothing would say nothing again
        if late or way.choice != "auto" or not isinstance(spec, StdioSpec) or not options.transcript.mark:
            raise
        again = _session(options, replace(way, choice="handshake"))
        again.note("the server went away when it was asked for server/discover; it is started again without that")
        options.transcript.begin_process()
        return await stack.enter_async_context(again)


async def _open_old(options: SessionOptions, way: _Way, stack: AsyncExitStack, refusal: HttpStatusError) -> Session:
    """Try HTTP+SSE where Streamable HTTP was refused; if that is not it either, the refusal stands."""
    try:
        choice = "handshake" if way.choice == "auto" else way.choice
        return await stack.enter_async_context(_session(options, replace(way, choice=choice)))
    except TransportError:
        raise refusal from None


def _session(options: SessionOptions, way: _Way) -> Session:
    startup = way.spec.startup_timeout if isinstance(way.spec, StdioSpec) else None
    return Session(
        options,
        reach=lambda listener: open_transport(way.spec, listener, way.authorize),
        negotiate=lambda session: _opened(session, way, startup),
    )


async def _opened(session: Session, way: _Way, startup: float | None) -> None:
    try:
        await _negotiate(session, way.choice, startup)
    except RequestTimeout as error:
        if startup is None or error.seconds != startup:
            raise
        late = TransportError(f"{error.message} (startupTimeout)", hint=error.hint)
        late.stderr = error.stderr
        raise late from error


async def _negotiate(session: Session, choice: str, timeout: float | None) -> None:
    if choice == NONE:
        return
    if choice == "auto":
        await _auto(session, timeout)
    elif choice == "modern":
        await _discover(session, NEWEST_MODERN, timeout)
    elif choice in DIALECTS and not DIALECTS[choice].handshake:
        await _discover(session, DIALECTS[choice], timeout)
    else:
        await _handshake(session, choice, timeout)


async def _handshake(session: Session, choice: str, timeout: float | None) -> None:
    offered = DIALECTS.get(choice, NEWEST_HANDSHAKE)
    exchange = await _initialize(session, offered, timeout)
    error = _error(exchange)
    if error is not None and choice == "handshake":
        if error.get("code") in (METHOD_NOT_FOUND, *MODERN_CODES):
            await _discover(session, NEWEST_MODERN, timeout, instead=MethodError("initialize", error))
            return
        supported = _data(error).get("supported")
        other = newest_common(supported, HANDSHAKE) if error.get("code") == INVALID_PARAMS else None
        if other is not None and other is not offered:
            session.note(
                f"the server refused {offered.version} with an error; it should have offered {other.version} instead"
            )
            exchange = await _initialize(session, other, timeout)
    await _initialized(session, exchange, exactly=offered if choice != "handshake" else None)


async def _initialize(session: Session, dialect: Dialect, timeout: float | None) -> Exchange:
    session.assume(dialect)
    params = {
        "protocolVersion": dialect.version,
        "capabilities": session.client_capabilities(dialect),
        "clientInfo": session.client,
    }
    raw = {"jsonrpc": "2.0", "id": session.next_id(), "method": "initialize", "params": params}
    return await session.exchange(raw, timeout=timeout)


async def _initialized(session: Session, exchange: Exchange, exactly: Dialect | None = None) -> None:
    """Take the server's answer to initialize, and tell it so; or say why we cannot."""
    result = _result(exchange)
    version = result.get("protocolVersion")
    named = isinstance(version, str) or session.needs_version
    if not named or (session.lenient and version not in HANDSHAKE):
        session.note(f"initialize: protocol version {render(version)} is taken for {session.dialect.version}")
        version = session.dialect.version
    if exactly is not None and version != exactly.version:
        raise ProtocolError(
            f"the server offers protocol version {render(version)}, not {exactly.version}, which was asked for",
            hint="--protocol handshake takes what the server offers",
        )
    if not isinstance(version, str) or version not in HANDSHAKE:
        raise ProtocolError(
            f"the server offers protocol version {render(version)}, which this client does not speak",
            hint=f"this client speaks {', '.join(HANDSHAKE)} after a handshake, and {', '.join(MODERN)} without",
        )
    session.settle(DIALECTS[version], result)
    for member in ("capabilities", "serverInfo"):
        if not isinstance(result.get(member), dict):
            session.note(f"initialize: the result has no object {member!r}")
    await session.notify("notifications/initialized")
    if session.lenient:
        await asyncio.sleep(_READING_SECONDS)
        await session.notify("initialized")
        await asyncio.sleep(_READING_SECONDS)
    # What was declared counts: answers may be at hand that the server was not told about.
    if session.client_capabilities(session.dialect).get("roots", {}).get("listChanged"):
        await session.notify("notifications/roots/list_changed")


async def _discover(
    session: Session, dialect: Dialect, timeout: float | None, instead: MethodError | None = None
) -> None:
    """Open in the modern era. If the server cannot, that is our error, or INSTEAD the one that brought us here."""
    exchange = await _probe(session, dialect, timeout)
    error = _error(exchange)
    if error is None:
        _modern(session, exchange, dialect)
        return
    if instead is not None:
        raise instead
    raise MethodError(
        "server/discover",
        error,
        hint=f"does the server speak {dialect.version}? --protocol handshake is for older ones",
    )


async def _probe(session: Session, dialect: Dialect, timeout: float | None) -> Exchange:
    """Ask for server/discover; a server that refuses the version, but lists one that we speak, is asked once more."""
    exchange = await _ask_discover(session, dialect, timeout)
    common = newest_common(_data(_error(exchange) or {}).get("supported"), MODERN)
    if _error_code(exchange) != UNSUPPORTED_VERSION or common is None:
        return exchange
    return await _ask_discover(session, common, timeout)


async def _ask_discover(session: Session, dialect: Dialect, timeout: float | None) -> Exchange:
    params = {"_meta": dialect.context(session.client, session.client_capabilities(dialect))}
    raw = {"jsonrpc": "2.0", "id": session.next_id(), "method": "server/discover", "params": params}
    return await session.exchange(raw, timeout=timeout)


def _modern(session: Session, exchange: Exchange, dialect: Dialect) -> None:
    result = _result(exchange)
    versions = result.get("supportedVersions")
    if newest_common(versions, (dialect.version,)) is None:
        raise ProtocolError(f"the server does not list {dialect.version} among its versions: {render(versions)}")
    session.settle(dialect, result)


async def _auto(session: Session, timeout: float | None) -> None:
    """Ask for server/discover; if no answer comes soon, send initialize too: who answers first decides."""
    probe = asyncio.ensure_future(_probe(session, NEWEST_MODERN, timeout))
    hello: asyncio.Future[Exchange] | None = None
    try:
        await asyncio.wait({probe}, timeout=PROBE_SECONDS)
        if not probe.done():
            hello = asyncio.ensure_future(_initialize(session, NEWEST_HANDSHAKE, timeout))
            await asyncio.wait({probe, hello}, return_when=asyncio.FIRST_COMPLETED)
            if not probe.done() and _error_code(hello.result()) in MODERN_CODES:
                await asyncio.wait({probe})  # a slow server, but a modern one
        answer = _probed(probe)
        if answer is not None and _speaks_modern(answer):
            _take_modern(session, answer)
            return
        hello = hello or asyncio.ensure_future(_initialize(session, NEWEST_HANDSHAKE, timeout))
        await _initialized(session, await hello)
    finally:
        await _drop(probe, hello)


def _probed(probe: "asyncio.Future[Exchange]") -> Exchange | None:
    """The answer to server/discover, if there is one; a mere HTTP status is the answer of an older server."""
    try:
        return probe.result() if probe.done() else None
    except HttpStatusError:
        return None


async def _drop(*tasks: "asyncio.Future[Exchange] | None") -> None:
    """The loser of the race is forgotten; its outcome, good or bad, is of no interest."""
    for task in tasks:
        if task is not None:
            task.cancel()
    await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)


def _speaks_modern(exchange: Exchange) -> bool:
    """Any error but the three modern ones, whatever its code, means the handshake era (basic/versioning)."""
    reply = exchange.reply
    if reply is None or reply.kind != "result" or not isinstance(reply.result, dict):
        return _error_code(exchange) in MODERN_CODES
    return newest_common(reply.result.get("supportedVersions"), MODERN) is not None


def _take_modern(session: Session, exchange: Exchange) -> None:
    error = _error(exchange)
    if error is None:
        _modern(session, exchange, NEWEST_MODERN)
    elif error.get("code") == UNSUPPORTED_VERSION:
        supported = render(_data(error).get("supported"))
        raise ProtocolError(f"the server speaks none of our modern revisions ({', '.join(MODERN)}), only {supported}")
    else:
        session.settle(NEWEST_MODERN, {})


def _error(exchange: Exchange) -> Json | None:
    reply = exchange.reply
    if reply is None or reply.kind != "error":
        return None
    return reply.error if isinstance(reply.error, dict) else {}


def _error_code(exchange: Exchange) -> Any:
    return (_error(exchange) or {}).get("code")


def _data(error: Json) -> Json:
    data = error.get("data")
    return data if isinstance(data, dict) else {}


def _result(exchange: Exchange) -> Json:
    reply: Message | None = exchange.reply
    method = exchange.request.method
    if reply is not None and reply.kind == "error":
        raise MethodError(method, reply.error)
    if reply is None or reply.kind != "result" or not isinstance(reply.result, dict):
        problem = (reply and reply.problem) or "its result is not an object"
        raise ProtocolError(f"the answer to {method} cannot be used: {problem}", heard=reply)
    return reply.result
