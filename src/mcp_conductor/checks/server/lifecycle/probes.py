"""The handshake: which version is agreed on, what may be said when, what is declared, and the end."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from mcp_conductor.checks.engine.capabilities import DECLARED, served_undeclared
from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NoAnswer, NotSeen, fault
from mcp_conductor.checks.engine.openings import declared_lists, first, initialize
from mcp_conductor.checks.engine.probe import HANDSHAKE_DIALECTS, Probe
from mcp_conductor.checks.engine.replies import code_of, data_of, result_of, unasked_replies
from mcp_conductor.checks.engine.tool_calls import explored_calls
from mcp_conductor.errors import ConductorError, HttpStatusError, RequestTimeout
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose, initialize_params
from mcp_conductor.protocol.dialect import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.report.model import Finding
from mcp_conductor.transport import meanwhile
from mcp_conductor.transport.stdio import StdioTransport
from mcp_conductor.values import dataclass

_UNKNOWN_VERSIONS = ("1999-01-01", "1.0.0")
_QUESTIONS = ("roots/list", "sampling/createMessage", "elicitation/create")
_AGAIN_SECONDS = 0.5  # for another answer to initialize, which no server need give
_EXIT_SECONDS = 5.0  # what "promptly" means at the end
# A request for each feature that does nothing where the feature is not there; completions have a probe of their own.
_FEATURES: dict[str, tuple[str, Json | None]] = {
    "tools": ("tools/list", None),
    "resources": ("resources/list", None),
    "prompts": ("prompts/list", None),
    "logging": ("logging/setLevel", {"level": "error"}),
}


# Versions.


@probed("lifecycle-version-server-echo", alone=True)
async def supported_versions_are_echoed(probe: Probe) -> AsyncIterator[Finding]:
    """Initialize with each known version: one that the server offers in any answer is echoed when it is asked for."""
    versions = [each.version for each in HANDSHAKE_DIALECTS]
    replies = dict(zip(versions, await _offers(probe, versions), strict=True))
    offered = {asked: _agreed_version(reply) for asked, reply in replies.items()}
    for asked, reply in replies.items():
        offering = [each.raw for version, each in replies.items() if offered[version] == asked]
        supported = data_of(reply).get("supported")
        listed = isinstance(supported, list) and asked in supported
        if offered[asked] != asked and (listed or asked in offered.values()):
            told = f"version {asked} is supported, but initialize with it is answered with another version"
            yield fault(told, reply.raw, beside=offering[:1])


@probed("lifecycle-version-server-counter", alone=True, hands_on=("leaving",))
async def unknown_versions_get_a_counter_offer(probe: Probe) -> AsyncIterator[Finding]:
    """Initialize with versions that do not exist: the result names another version, one that the server supports."""
    for asked, reply in zip(_UNKNOWN_VERSIONS, await _offers(probe, _UNKNOWN_VERSIONS), strict=True):
        agreed = _agreed_version(reply)
        if reply.kind == "error":
            hint = "the server must answer with a version that it supports; the client then decides"
            yield fault(f"version {asked} is refused with an error", reply.raw, hint=hint)
        elif not isinstance(agreed, str):
            # Where it never names a version, that is one fault, and told as such.
            if "protocolVersion" not in probe.session.opened:
                raise NotSeen("the server names no version in its answer to initialize")
            yield fault(f"version {asked} is answered without protocolVersion", reply.raw)
        elif agreed == asked:
            yield fault(f"version {asked}, which does not exist, is accepted", reply.raw)


@probed("lifecycle-version-server-counter-latest", alone=True)
async def the_counter_offer_is_the_newest(probe: Probe) -> AsyncIterator[Finding]:
    """Compare what the server offers for an unknown version with the newest version that it accepts."""
    reply = await _offer(probe, _UNKNOWN_VERSIONS[0])
    agreed = _agreed_version(reply)
    known = [each.version for each in HANDSHAKE_DIALECTS]
    if agreed not in known:
        raise NotSeen("the server made no offer that we know")
    for newer in reversed(known[known.index(agreed) + 1 :]):
        accepted = await _offer(probe, newer)
        if _agreed_version(accepted) == newer:
            yield fault(f"the server offers {agreed}, but supports {newer}", reply.raw, beside=[accepted.raw])
            return


@probed("lifecycle-version-error-data", alone=True)
async def a_refused_version_is_explained(probe: Probe) -> AsyncIterator[Finding]:
    """Initialize with an unknown version: an error -32602 lists the supported versions, and the requested one."""
    asked = _UNKNOWN_VERSIONS[0]
    reply = await _offer(probe, asked)
    if code_of(reply) != INVALID_PARAMS:
        raise NotSeen(f"unknown versions are not refused with {INVALID_PARAMS}")
    data = data_of(reply)
    supported = data.get("supported")
    if not isinstance(supported, list) or not all(isinstance(each, str) for each in supported):
        yield fault("data.supported is not an array of versions", reply.raw, path="error.data.supported")
    if data.get("requested") != asked:
        yield fault(f"data.requested is not {asked}", reply.raw, path="error.data.requested")


async def _offers(probe: Probe, versions: Iterable[str]) -> list[Message]:
    return await asyncio.gather(*(_offer(probe, version) for version in versions))


async def _offer(probe: Probe, version: str) -> Message:
    """What initialize with VERSION is answered with; asked once, each time on a connection of its own.

    On stdio that is a process of its own. So a version that is accepted where another one was asked for before is not
    asked for again.
    """

    async def ask() -> Message:
        async with probe.unopened(then="leaving" if version == _UNKNOWN_VERSIONS[1] else None) as fresh:
            return await initialize(fresh, probe.patience, version=version)

    opening = probe.record().exchanges[0]
    if opening.request.method == "initialize" and opening.request.params.get("protocolVersion") == version:
        assert opening.reply is not None
        return opening.reply
    if probe.transport == "stdio" and version != _UNKNOWN_VERSIONS[1]:
        accepted = await probe.once("versions one after the other", partial(_ask_in_turn, probe))
        if version in accepted:
            return accepted[version]
    return await probe.once(f"initialize {version}", ask)


async def _ask_in_turn(probe: Probe) -> dict[str, Message]:
    """Initialize with a version that does not exist, then with all that do: the first answer, and those that accept."""
    unknown, _ = _UNKNOWN_VERSIONS
    async with probe.unopened() as fresh:
        found = {unknown: await initialize(fresh, probe.patience, version=unknown)}
        with suppress(ConductorError):  # it need not answer this more than once
            for dialect in HANDSHAKE_DIALECTS:
                params = initialize_params(dialect, fresh.session.client, {})
                raw = compose("initialize", params, identity=fresh.session.next_id())
                reply = (await fresh.session.exchange(raw, timeout=min(_AGAIN_SECONDS, probe.timeout))).reply
                if reply is not None and _agreed_version(reply) == dialect.version:
                    found[dialect.version] = reply
        probe.sessions.forgive(fresh.session)
    return found


def _agreed_version(reply: Message) -> Any:
    return (result_of(reply) or {}).get("protocolVersion")


# What may be said when.


@dataclass(frozen=True, slots=True)
class _Beginning:
    """A handshake, step by step."""

    opening: Message  # the answer to initialize
    before: Message  # the answer to a ping before notifications/initialized
    questions: list[Message]  # what the server asked until then
    after: Message  # the answer to a ping after it
    strays: list[Message]  # answers to no request


async def _beginning(probe: Probe) -> _Beginning:
    """Shake hands step by step; once, for all probes that need it."""

    async def begin() -> _Beginning:
        capabilities = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}
        async with probe.unopened() as fresh:
            opening = await initialize(fresh, probe.patience, capabilities=capabilities)
            before = await fresh.ask("ping")
            await fresh.settled()
            questions = list(fresh.record().questions())
            after = await _send_initialized(fresh, None)
            return _Beginning(opening, before, questions, after, unasked_replies(fresh.record()))

    return await probe.once("beginning", begin)


async def _send_initialized(fresh: Probe, params: Json | None) -> Message:
    await fresh.session.notify("notifications/initialized", params)
    return await fresh.ask("ping")


@probed(
    "lifecycle-initialized-accepted-server",
    alone=True,
    hands_on=("polite",),
    follows="base-notification-no-response-server",
)
async def initialized_is_taken_silently(probe: Probe) -> AsyncIterator[Finding]:
    """Send notifications/initialized with and without params: nothing is answered, and the next request is served."""
    usual = await probe.ask("ping")
    async with meanwhile(_beginning(probe)) as beginning:
        async with probe.unopened(then="polite") as fresh:
            await initialize(fresh, probe.patience)
            reply = await _send_initialized(fresh, {})
            strays = unasked_replies(fresh.record())
        begun = await beginning
    for how, after, found in (("without params", begun.after, begun.strays), ("with empty params", reply, strays)):
        if after.kind != usual.kind:
            yield fault(f"after notifications/initialized {how} a request is not served", after.raw)
        for message in found:
            yield fault(f"notifications/initialized {how} is answered", message.raw)


@probed("lifecycle-server-quiet-before-initialized", alone=True)
async def the_server_waits_for_initialized(probe: Probe) -> AsyncIterator[Finding]:
    """Send initialize, but not notifications/initialized: the server asks nothing but ping."""
    begun = await _beginning(probe)
    for message in begun.questions:
        if message.method != "ping":
            told = f"{message.method} is sent before notifications/initialized"
            yield fault(told, message.raw, beside=[begun.opening.raw])


@probed("lifecycle-ping-during-init-server", alone=True)
async def ping_is_answered_before_initialized(probe: Probe) -> AsyncIterator[Finding]:
    """Send ping between initialize and notifications/initialized: the answer is a result."""
    reply = (await _beginning(probe)).before
    if reply.kind != "result":
        yield fault("ping is refused before notifications/initialized", reply.raw)


@probed(
    "lifecycle-server-rejects-preinit",
    alone=True,
    follows=("base-jsonrpc-envelope-server", "base-response-id-echo-server", "stdio-stdout-clean-server"),
)
async def nothing_is_served_before_initialize(probe: Probe) -> AsyncIterator[Finding]:
    """Ask for a list as the first message: the answer is an error."""
    method = next((each for each in declared_lists(probe) if not probe.unanswered.is_silent(each)), None)
    if method is None:
        raise NotSeen("the server declares no list, or answers none")
    async with probe.unopened() as fresh:
        try:
            reply = await first(fresh, method, None, probe.patience)
        except RequestTimeout:
            yield fault(f"{method} before initialize is not answered")
            return
        except (HttpStatusError, NoAnswer):
            return
        if reply.kind == "result":
            yield fault(f"{method} is served before initialize", reply.raw)


# Capabilities.


@probed("lifecycle-capabilities-declared-server", follows=DECLARED)
async def what_is_served_is_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Ask for the lists of features that are not declared: nothing is in them."""
    async for finding in served_undeclared(probe):
        yield finding


@probed(
    "lifecycle-undeclared-feature-method-not-found",
    follows=("base-method-not-found-server", "lifecycle-capabilities-declared-server", *DECLARED),
)
async def undeclared_features_do_not_exist(probe: Probe) -> AsyncIterator[Finding]:
    """Call a method of each feature that is not declared: the error has the code -32601."""
    methods = [
        _FEATURES[name]
        for name in _FEATURES
        if not probe.declares(name) and _FEATURES[name][0] in probe.dialect.methods
    ]
    if not methods:
        raise NotSeen("the server declares every feature")
    for method, params in methods:
        reply = await probe.ask(method, params)
        if code_of(reply) != METHOD_NOT_FOUND:
            yield fault(f"{method} is not answered with {METHOD_NOT_FOUND}", reply.raw)


@probed(
    "lifecycle-respect-negotiated-server",
    "lifecycle-respect-negotiated-server-strict",
    alone=True,
    follows=("roots-request-server", "sampling-request-server", "elicit-gated-server"),
)
async def only_what_the_client_can_do_is_asked(probe: Probe) -> AsyncIterator[Finding]:
    """Declare no capabilities, and call the tools that may be called: the server asks for none of them."""
    calls = [params for params, _ in explored_calls(probe)]
    async with probe.polite_session() as other:
        await other.alive()
        for params in calls:
            with suppress(RequestTimeout, NoAnswer):
                await other.ask("tools/call", params)
        record = other.record()
        asked = [message for message in record.questions() if message.method in _QUESTIONS]
        for message in asked:
            told = f"{message.method} is sent to a client that does not declare it"
            yield fault(told, message.raw, beside=record.opening[-1:])
        if not calls and not asked:
            raise NotSeen("no tool may be called without asking (--call-tools)")


# The end.


@probed("lifecycle-shutdown-stdio-server-exit", alone=True)
async def the_server_ends_with_its_stdin(probe: Probe) -> AsyncIterator[Finding]:
    """Close the server's stdin: it exits within seconds, without a signal."""
    async with probe.leaving_session() as other:
        transport = other.session.transport
        assert isinstance(transport, StdioTransport)
        probe.sessions.forgive(other.session)
        if not await transport.hang_up(max(_EXIT_SECONDS, probe.timeout)):
            left = render(transport.left_running())
            yield fault(f"the server still runs {_EXIT_SECONDS:g} s after its stdin was closed", left)
