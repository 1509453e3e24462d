"""How a server is reached and a conversation opened: from a target to a session, by another way where one fails.

Which messages open it, `negotiation.py` decides; here they are sent.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_conductor import __version__
from mcp_conductor.client.ids import Ids
from mcp_conductor.client.negotiation import (
    DISCOVER,
    INITIALIZE,
    NONE,
    PROBE_SECONDS,
    Answered,
    Ask,
    Event,
    Fail,
    Late,
    Method,
    Negotiation,
    Refused,
    Settle,
    Wait,
    died_of_discover,
    may_be_older_transport,
)
from mcp_conductor.client.session import DEFAULT_TIMEOUT, Session, SessionOptions
from mcp_conductor.errors import (
    ConductorError,
    HttpStatusError,
    RequestTimeout,
    TransportError,
    UsageError,
)
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answers, Incoming
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.compose import compose_in, initialize_params
from mcp_conductor.protocol.dialect import (
    PROTOCOL_CHOICES,
)
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message, compact, kind_of, read
from mcp_conductor.protocol.server_spec import ServerSpec, is_spec, supported_transports
from mcp_conductor.protocol.transcript import Frame, Source, Transcript
from mcp_conductor.text.redaction import redacted_lines
from mcp_conductor.transport import Authorize, open_transport

if TYPE_CHECKING:
    from mcp_conductor.client.auth import Auth
    from mcp_conductor.client.targets import Target
    from mcp_conductor.protocol.questions import (
        ElicitationFunction,
        LogFunction,
        NotificationFunction,
        RootsFunction,
        SamplingFunction,
    )

KEPT_BYTES = 16_000_000  # of a conversation whose transcript and budgets were left to us
CLIENT = {"name": "mcp-conductor", "version": __version__}
_MOST_FRAMES = 400  # that an error has


@asynccontextmanager
async def connect(
    target: "Target",
    *,
    protocol: str | None = None,
    answers: Answers | None = None,
    sampling: "SamplingFunction | None" = None,
    elicitation: "ElicitationFunction | None" = None,
    roots: "Sequence[Mapping[str, Any]] | RootsFunction | None" = None,
    sampling_tools: bool = False,
    timeout: float = DEFAULT_TIMEOUT,  # for each request
    transcript: Transcript | None = None,
    extensions: Json | None = None,
    on_incoming: Callable[[Incoming], Awaitable[None] | None] | None = None,
    on_log: "LogFunction | None" = None,
    on_notification: "NotificationFunction | None" = None,
    auth: "Auth | None" = None,
    client_info: Json | None = None,
    validate: bool = False,
    authorize: Authorize | None = None,
    lenient: bool = False,
    needs_version: bool = True,
    probe_seconds: float = PROBE_SECONDS,
    budgets: Budgets | None = None,
    on_unsubscribed: Callable[[bool], None] | None = None,
    on_reopened: Callable[[Session], Awaitable[None]] | None = None,
    on_request: Callable[[Session, Message], None] | None = None,
) -> AsyncIterator[Session]:
    """Reach the server, open the conversation, and end both on leaving.

    TARGET is a spec, a config (`{"url": …}` or `{"command": …, "args": […]}`), a URL, a command as text or as words, an
    ASGI application, or a pair of streams.

    SAMPLING, ELICITATION and ROOTS are functions that answer the server, ON_LOG and ON_NOTIFICATION functions that hear
    it; each may be a coroutine function. With SAMPLING_TOOLS, servers may give the model tools. ANSWERS is for answers
    that are known beforehand.

    AUTH is a token, a function that returns one, or OAuth(…). CLIENT_INFO is who the server is told that we are. With
    VALIDATE, `call_tool` raises ProtocolError for results that do not fit the output schema of their tool.

    BUDGETS limit how much is taken in of what the server says. ON_UNSUBSCRIBED hears when a subscription of the modern
    era is over, and whether it was lost.
    """
    # AUTHORIZE is the way of `mcp-cli` to a token. LENIENT opens it as mcp-aegis does: a server may leave things out of
    # its answer, hears `initialized` by its old name too, and gets time to read each of these messages by itself. One
    # that NEEDS_VERSION is refused where it names none; otherwise it is taken to speak what it was asked for.
    # PROBE_SECONDS is how long `auto` waits for an answer to server/discover before it sends initialize as well.
    # ON_REOPENED hears when a server at a URL ended its session and a new one has begun; ON_REQUEST gets the requests
    # of the server, and answers them by `session.send`.
    _check_options(timeout, on_log=on_log, on_notification=on_notification, on_incoming=on_incoming)
    context: Json = {"platform": sys.platform, "supportedTransports": list(supported_transports(sys.platform))}
    with _errors_with(context):
        spec = _spec(target)
    if budgets is not None:
        spec = replace(spec, budgets=budgets)
    choice = protocol or spec.protocol or "handshake"
    if choice not in PROTOCOL_CHOICES and choice != NONE:
        raise UsageError(f"unknown protocol {choice!r}", hint=f"known: {', '.join(PROTOCOL_CHOICES)}")
    if transcript is None:
        transcript = Transcript(spec.secrets(), budgets=spec.budgets if budgets is not None else _short(spec.budgets))
    if auth is not None:
        spec, authorize = _with_auth(spec, auth, authorize, transcript)
    options = SessionOptions(
        client=CLIENT if client_info is None else _checked_client(client_info),
        answers=_answers(answers, roots, sampling, elicitation, sampling_tools=sampling_tools),
        timeout=timeout,
        transcript=transcript,
        context={"server": transcript.redact(str(spec)), "serverConfig": _shown(spec, transcript), **context},
        extensions=dict(extensions or {}),
        budgets=spec.budgets,
        lenient=lenient,
        on_incoming=on_incoming,
        validates=validate,
        on_log=on_log,
        on_notification=on_notification,
        on_unsubscribed=on_unsubscribed,
        on_reopened=on_reopened,
        on_request=on_request,
        ids=Ids(),
        began=monotonic(),
    )
    way = _Way(spec, choice, needs_version, probe_seconds, authorize)
    async with AsyncExitStack() as stack:
        try:
            with _errors_with(options.context, transcript.redact):
                session = await _open_with_fallback(options, way, stack)
        except ConductorError as error:
            by_process = spec.started_by_us and isinstance(error, TransportError)
            error.frames = _last_frames(transcript, "process" if by_process else "note", error.message)
            raise
        yield session


def _answers(
    answers: Answers | None,
    roots: "Sequence[Mapping[str, Any]] | RootsFunction | None",
    sampling: "SamplingFunction | None",
    elicitation: "ElicitationFunction | None",
    *,
    sampling_tools: bool,
) -> Answers:
    if roots is None and sampling is None and elicitation is None and not sampling_tools:
        return answers or Answers()
    if answers is not None:
        raise UsageError("answers are given twice", hint="either answers, or roots, sampling and elicitation")
    return Answers(roots=roots, sampling=sampling, elicitation=elicitation, sampling_tools=sampling_tools)


def _with_auth(
    spec: ServerSpec, auth: "Auth", authorize: Authorize | None, transcript: Transcript
) -> tuple[ServerSpec, Authorize | None]:
    from mcp_conductor.client.auth import with_auth

    if authorize is not None:
        raise UsageError("auth and authorize are both given", hint="auth is enough")
    return with_auth(spec, auth, transcript.hide)


def _shown(spec: ServerSpec, transcript: Transcript) -> Json:
    """The config of SPEC, as an error may show it."""
    shown: Json = read(transcript.redact(compact(spec.config())))
    return shown


def _check_options(timeout: object, **functions: object) -> None:
    if not isinstance(timeout, (int, float)) or not timeout > 0:
        shown = timeout if isinstance(timeout, (int, float)) else kind_of(timeout)
        raise UsageError(f"timeout is a number of seconds above 0, not {shown}")
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise UsageError(f"{name} is a function, not {kind_of(function)}")


def _checked_client(given: Json) -> Json:
    """GIVEN, if it can be the clientInfo of a session."""
    if not isinstance(given, Mapping):
        raise UsageError(f"client_info is an object with a name and a version, not {kind_of(given)}")
    for member in ("name", "version"):
        if not isinstance(given.get(member), str) or not given[member]:
            raise UsageError(f"client_info needs a {member}, which is a text; it is {given!r}")
    return dict(given)


def _short(budgets: Budgets) -> Budgets:
    """BUDGETS for a program that does not look at the transcript: enough to explain an error."""
    return replace(budgets, transcript_bytes=min(budgets.transcript_bytes, KEPT_BYTES))


class _Way(NamedTuple):
    """How to reach a server, and how to open the conversation with it."""

    spec: ServerSpec
    choice: str
    needs_version: bool
    probe_seconds: float
    authorize: Authorize | None


def _spec(target: "Target") -> ServerSpec:
    if is_spec(target):
        return target
    from mcp_conductor.client.targets import spec_of

    return spec_of(target)


@contextmanager
def _errors_with(context: Json, redact: Callable[[str], str] = str) -> Iterator[None]:
    """Errors raised in this block get CONTEXT, and their messages are redacted."""
    try:
        yield
    except ConductorError as error:
        error.tell_with(context, redact)
        raise


def _last_frames(transcript: Transcript, source: Source, end: str) -> tuple[Frame, ...]:
    """What was said last, fit to be shown, and how it ended."""
    kept = transcript.since(transcript.mark - _MOST_FRAMES)
    stderr = iter(redacted_lines([each.text for each in kept if each.source == "stderr"], transcript.redact))
    texts = (next(stderr, "") if each.source == "stderr" else transcript.redact(each.text) for each in kept)
    shown = [each._replace(text=text) for each, text in zip(kept, texts, strict=True)]
    return (*shown, Frame(transcript.last_at, source, end))


async def _open_with_fallback(options: SessionOptions, way: _Way, stack: AsyncExitStack) -> Session:
    """Open, and once more in another way where the first was refused as older servers refuse it."""
    spec = way.spec
    try:
        return await stack.enter_async_context(_session(options, way))
    except HttpStatusError as error:
        old = spec.older()
        if old is None or not may_be_older_transport(error):
            raise
        return await _open_older_transport(options, way._replace(spec=old), stack, error)
    except TransportError as error:
        died = spec.started_by_us and options.transcript.mark and died_of_discover(way.choice, error)
        if not died:
            raise
        again = _session(options, way._replace(choice="handshake"))
        again.note("the server went away when it was asked for server/discover; it is started again without that")
        options.transcript.begin_process()
        return await stack.enter_async_context(again)


async def _open_older_transport(
    options: SessionOptions, way: _Way, stack: AsyncExitStack, refusal: HttpStatusError
) -> Session:
    """Try HTTP+SSE where Streamable HTTP was refused; if that is not it either, the refusal stands."""
    try:
        choice = "handshake" if way.choice == "auto" else way.choice
        return await stack.enter_async_context(_session(options, way._replace(choice=choice)))
    except TransportError:
        raise refusal from None


def _session(options: SessionOptions, way: _Way) -> Session:
    startup = way.spec.startup_timeout
    return Session(
        options,
        reach=lambda listener: open_transport(way.spec, listener, way.authorize),
        negotiate=lambda session: _open_conversation(session, way, startup),
    )


async def _open_conversation(session: Session, way: _Way, startup: float | None) -> None:
    try:
        if way.choice != NONE:
            negotiation = Negotiation(
                way.choice,
                lenient=session.lenient,
                needs_version=way.needs_version,
                probe_seconds=way.probe_seconds,
            )
            await _negotiate(session, negotiation, startup)
    except RequestTimeout as error:
        if startup is None or error.seconds != startup:
            raise
        late = TransportError(f"{error.message} (startupTimeout)", hint=error.hint)
        late.stderr = error.stderr
        raise late from error


async def _negotiate(session: Session, negotiation: Negotiation, timeout: float | None) -> None:
    """Do what NEGOTIATION says, and tell it what comes of that, until the conversation is open."""
    under_way: dict[Method, asyncio.Future[Exchange]] = {}
    action = negotiation.begin()
    try:
        while not isinstance(action, Settle):
            if isinstance(action, Fail):
                raise action.error
            action = negotiation.after(await _next_event(session, action, under_way, timeout))
    finally:
        if under_way:
            await _drop(under_way.values())
    for note in action.notes:
        session.note(note)
    session.settle(action.dialect, action.opened)
    for method in action.notifications:
        await session.notify(method)
        if action.pause:
            await asyncio.sleep(action.pause)
    # Only what was declared counts: there may be answers that the server was not told about.
    if session.dialect.handshake and session.client_capabilities(session.dialect).get("roots", {}).get("listChanged"):
        await session.notify("notifications/roots/list_changed")


async def _next_event(
    session: Session, action: Ask | Wait, under_way: dict[Method, asyncio.Future[Exchange]], timeout: float | None
) -> Event:
    patience = None
    if isinstance(action, Ask):
        for note in action.notes:
            session.note(note)
        patience = action.patience
        asked = _ask(session, action, timeout)
        if patience is None and not under_way:  # no need for a task, which takes its time
            return await _event_of(action.method, asked)
        under_way[action.method] = asyncio.ensure_future(asked)
    await asyncio.wait(under_way.values(), timeout=patience, return_when=asyncio.FIRST_COMPLETED)
    for method in (DISCOVER, INITIALIZE):
        if method in under_way and under_way[method].done():
            return await _event_of(method, under_way.pop(method))
    return Late()


async def _event_of(method: Method, exchange: Awaitable[Exchange]) -> Event:
    try:
        return Answered(method, (await exchange).reply)
    except HttpStatusError as error:
        return Refused(method, error)


async def _ask(session: Session, action: Ask, timeout: float | None) -> Exchange:
    dialect = action.dialect
    capabilities = session.client_capabilities(dialect)
    params = None
    if action.method == INITIALIZE:
        session.assume(dialect)
        params = initialize_params(dialect, session.client, capabilities)
    raw = compose_in(
        dialect,
        action.method,
        params,
        identity=session.next_id(),
        client=session.client,
        capabilities=capabilities,
    )
    return await session.exchange(raw, timeout=timeout)


async def _drop(requests: "Collection[asyncio.Future[Exchange]]") -> None:
    """What lost the race is forgotten; its outcome, good or bad, is of no interest."""
    for request in requests:
        request.cancel()
    await asyncio.gather(*requests, return_exceptions=True)
