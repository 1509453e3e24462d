"""The base protocol, tried: ids of all types, unknown methods and capabilities. For garbage, see malformed.py."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.openings import CAPABILITIES, context, declared_lists, first, initialize
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.reactions import reaction, reactions
from mcp_conductor.checks.engine.replies import RETIRED_CODES, code_of, result_of, sent_codes, unasked_replies
from mcp_conductor.checks.engine.sessions import GRACE_SECONDS
from mcp_conductor.checks.engine.shapes import acknowledges
from mcp_conductor.errors import ConductorError, RequestTimeout, TransportError
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.dialect import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)
from mcp_conductor.protocol.message import Message, compact, render
from mcp_conductor.report.model import Finding
from mcp_conductor.transport import meanwhile

# Each type of id, and those that a careless server takes for none; each is used once in a session. None becomes the id
# of another request when its type, its sign or its upper bits are lost: an answer with a changed id is known by that.
_IDS_OF_RESULTS = ("conductor-id", 424_242, "454545", 0, "", -464_646, 2**32 + 474_747, 2**53 - 1)
_IDS_OF_ERRORS = ("conductor-error", 434_343, "484848")
# An id "SHOULD NOT contain fractional parts" (JSON-RPC 2.0). Beyond 2^53 readers of JSON need not keep every digit
# (RFC 8259, section 6).
_FRACTION, _BEYOND = 4545.5, 2**53 + 1
_NOT_UTF_8 = re.compile("[\udc80-\udcff]")
_FOREIGN_ID = "ключ-é-🎼"
_UNKNOWN_CAPABILITIES = {"experimental": {"x-conductor": {"a": 1}}, "x-conductor": {"b": [2]}}


@probed("base-notification-no-response-server", alone=True)
async def notifications_are_not_answered(probe: Probe) -> AsyncIterator[Finding]:
    """Send a notification that does not exist, then two requests: nothing but these is answered."""
    async with probe.polite_session() as other:
        await other.session.notify("notifications/conductor-unknown", {})
        for _ in range(2):
            await other.ask(other.harmless)
        for message in unasked_replies(other.record()):
            yield fault("a notification was answered", message.raw)


@probed("base-params-omitted-accepted-server")
async def params_can_be_left_out(probe: Probe) -> AsyncIterator[Finding]:
    """Send ping and all declared list methods without params: they are answered as with empty params."""
    for method in ("ping", *declared_lists(probe)):
        bare = await probe.ask(method)
        if bare.kind == "error" and (await probe.ask(method, {})).kind == "result":
            yield fault(f"{method} without params is refused", bare.raw)


@probed("base-method-not-found-server")
async def unknown_methods_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Call a method that does not exist: the error has the code -32601."""
    reply = await probe.ask("conductor/no-such-method")
    if code_of(reply) != METHOD_NOT_FOUND:
        yield fault(f"an unknown method is not answered with {METHOD_NOT_FOUND}", reply.raw)


@probed("base-response-id-echo-server", alone=True)
async def ids_are_echoed(probe: Probe) -> AsyncIterator[Finding]:
    """Ask with strings and numbers as ids, for results and for errors: each reply has the id of its request.

    A fraction may be refused. It is a remark that a fraction, or an integer beyond 2^53, comes back as another number.
    """
    ids = {probe.harmless: _IDS_OF_RESULTS, "conductor/no-such-method": _IDS_OF_ERRORS}
    async with probe.polite_session() as other:
        for method, identity in ((method, each) for method, several in ids.items() for each in several):
            problem = await _echo_problem(other, method, identity)
            if problem is not None:
                yield problem
    async with probe.odd_session() as other:
        for number in (_FRACTION, _BEYOND):
            _, changed = await _ask_with_id(other, other.harmless, number, refusable=True)
            if changed is None or changed.id is None:
                continue
            lost = "integers beyond 2^53 lose digits" if number == _BEYOND else "fractions are not kept"
            probe.found.remarks.append(f"the id {number} comes back as {render(changed.id)}: {lost} here")


async def _ask_with_id(
    probe: Probe, method: str, identity: Id, *, refusable: bool = False
) -> tuple[Message | None, Message | None]:
    """The reply to a request with this id, or else an answer with an id that no request has.

    Such an answer is seen once two later requests are answered: it takes no time-out. An id that is REFUSABLE may have
    no reply, which is not waited for.
    """
    transcript = probe.session.transcript
    mark = transcript.mark

    def changed() -> Message | None:
        known = {message.id for message in transcript.messages("client")}  # replies to earlier requests may come late
        came = (each for frame in transcript.since(mark) if frame.source == "server" for each in frame.messages())
        return next((each for each in came if each.kind in ("result", "error") and each.id not in known), None)

    async with meanwhile(probe.ask(method, id=identity)) as answer:
        await asyncio.wait({answer}, timeout=GRACE_SECONDS)
        with suppress(ConductorError):
            for _ in range(2):
                if not answer.done():
                    await probe.ask(probe.harmless)
        if not answer.done() and not refusable and changed() is None:
            await asyncio.wait({answer})
        if not answer.done():
            probe.never_cancel(identity)
        elif answer.exception() is None:
            return answer.result(), None
    return None, changed()


async def _echo_problem(probe: Probe, method: str, identity: str | int) -> Finding | None:
    reply, changed = await _ask_with_id(probe, method, identity)
    if changed is not None:
        return fault(f"{method} with the id {identity!r} has no reply with that id", changed.raw)
    if reply is None:  # that it is not answered at all is another fault
        return None
    echoed = reply.raw.get("id") if isinstance(reply.raw, dict) else None
    fits = echoed == identity and not isinstance(echoed, bool)
    return None if fits else fault(f"the reply to the id {identity!r} has another id", reply.raw)


@probed("ping-response-server", follows="base-result-is-object-server")
async def ping_is_answered(probe: Probe) -> AsyncIterator[Finding]:
    """Send ping: it is answered with a result, which is an object. The schema allows members in it."""
    reply = await probe.ask("ping")
    if not acknowledges(probe, "ping", reply):
        yield fault("ping is not answered with {}", reply.raw)


@probed("base-unknown-capabilities-tolerated-server", alone=True, hands_on=("polite too",))
async def unknown_capabilities_are_ignored(probe: Probe) -> AsyncIterator[Finding]:
    """Declare capabilities that do not exist, and add a member to params: everything goes on as usual."""
    async with probe.unopened(then="polite too") as fresh:
        if probe.dialect.handshake:
            reply = await initialize(fresh, probe.patience, capabilities=_UNKNOWN_CAPABILITIES, xConductor=True)
            if reply.kind == "result":
                await fresh.session.notify("notifications/initialized")
        else:
            meta = {**context(probe), CAPABILITIES: _UNKNOWN_CAPABILITIES}
            params = {"_meta": meta, "xConductor": True}
            reply = await first(fresh, "server/discover", params, probe.patience)
            fresh.session.settle(probe.dialect, result_of(reply) or {})
        if reply.kind != "result":
            yield fault("unknown capabilities are refused", reply.raw)
            return
        for method in declared_lists(probe)[:1]:
            params = {"xConductor": True, **({} if probe.dialect.handshake else {"_meta": meta})}
            again = await fresh.ask(method, params)
            if again.kind == "error" and (await probe.ask(method)).kind == "result":
                yield fault(f"{method} with an unknown member in params is refused", again.raw)


@probed("base-utf8-server", alone=True)
async def messages_are_utf_8(probe: Probe) -> AsyncIterator[Finding]:
    """Decode every message strictly as UTF-8; an id with letters of other scripts is sent back unchanged."""
    async with probe.polite_session() as other:
        problem = await _echo_problem(other, other.harmless, _FOREIGN_ID)
        for record in (probe.record(), other.record()):
            for frame in record.frames:
                # Bytes that are not UTF-8 are kept as lone surrogates.
                if frame.source == "server" and _NOT_UTF_8.search(frame.text):
                    shown = frame.text.encode(errors="surrogateescape").decode(errors="replace")
                    yield fault("a message is not UTF-8", shown, beside=[frame.text])
                    problem = None
        if problem is not None:
            yield problem


_NO_JSON = '{"jsonrpc": "2.0", "id": 1, "method":'
# Over HTTP a request that lacks its name lacks the header with its name, too.
# Noise, or an answer that comes again, would be taken for the answer to a text that is not a request.
CLEAN, ONCE = "stdio-stdout-clean-server", "base-response-once-server"
_REFUSALS = (INVALID_PARAMS, INVALID_REQUEST, HEADER_MISMATCH)
_MISFITS: dict[str, tuple[str, Json]] = {
    "tools": ("tools/call", {"arguments": {}}),
    "resources": ("resources/read", {}),
    "prompts": ("prompts/get", {"name": 1}),
}


@probed("base-parse-error-server", alone=True, follows=(CLEAN, ONCE))
async def no_json_is_a_parse_error(probe: Probe) -> AsyncIterator[Finding]:
    """Send half of a message: an error has the code -32700; over HTTP the status is 400. Silence breaks no rule."""
    came = await reaction(probe, _NO_JSON)
    if code_of(came.message) == PARSE_ERROR:
        if probe.transport == "http" and came.status != 400:
            yield fault(f"the status of a parse error is {came.status}, not 400", came.shown)
    elif came.message is None and came.status is None:
        raise NotSeen("text that is not JSON is not answered, which the specification does not demand")
    elif probe.transport != "sse" or not came.refused:
        yield fault(f"text that is not JSON is not answered with {PARSE_ERROR}", came.shown)


@probed("base-error-unreadable-id", alone=True)
async def unreadable_ids_are_not_invented(probe: Probe) -> AsyncIterator[Finding]:
    """Send half of a message: the error has no id, or the id null, which JSON-RPC wants and the MCP schema forbids."""
    came = await reaction(probe, _NO_JSON)
    if came.message is None or came.message.kind != "error":
        raise NotSeen("no error came")
    if came.message.raw.get("id") is not None:
        yield fault("the error has the id of a request that could not be read", came.message.raw)


@probed(
    "base-invalid-request-server",
    alone=True,
    prepared="odd",
    follows=(CLEAN, ONCE, "base-notification-no-response-server"),
)
async def what_is_no_request_is_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Send requests with jsonrpc "1.0", with the id null, and without a method: an error has the code -32600.

    Silence breaks no rule.
    """
    method = probe.harmless
    params = {} if probe.dialect.handshake else {"params": {"_meta": context(probe)}}
    wrong = {
        'a request with jsonrpc "1.0"': {"jsonrpc": "1.0", "id": "conductor-1", "method": method, **params},
        "a request with the id null": {"jsonrpc": "2.0", "id": None, "method": method, **params},
        "a message without a method": {"jsonrpc": "2.0", "id": "conductor-2", **params},
    }
    answers = await reactions(probe, [compact(raw) for raw in wrong.values()])
    if all(came.message is None and came.status is None for came in answers):
        raise NotSeen("what is not a request is not answered, which the specification does not demand")
    for what, came in zip(wrong, answers, strict=True):
        if came.message is None and came.status is None:
            continue
        if not came.refused and code_of(came.message) not in (INVALID_REQUEST, INVALID_PARAMS):
            yield fault(f"{what} is not answered with {INVALID_REQUEST}", came.shown)


@probed("base-invalid-params-server", alone=True, follows=("tools-call-missing-name", "prompts-unknown-name"))
async def params_that_do_not_fit_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool without its name, read without a URI, get a prompt by a number: the error has the code -32602."""
    offered = [each for capability, each in _MISFITS.items() if probe.declares(capability)]
    if not offered:
        raise NotSeen("the server declares neither tools, resources nor prompts")
    async with probe.polite_session() as other:
        for method, params in offered:
            reply = await other.ask(method, params)
            if code_of(reply) not in _REFUSALS:
                yield fault(f"{method} with params {compact(params)} is not answered with {INVALID_PARAMS}", reply.raw)


@probed("base-malformed-input-survival-server", alone=True)
async def garbage_is_survived(probe: Probe) -> AsyncIterator[Finding]:
    """Send garbage, then a request: it is answered as before."""
    async with probe.odd_session() as other:
        for text in ("garbage", _NO_JSON, "[]", "null"):
            other.write(text)
            try:
                await other.ask(other.harmless)
            except (RequestTimeout, TransportError) as error:
                yield fault(f"the server stops answering after {text!r}", hint=error.message)
                return


_NO_RESOURCE = "conductor://no/such/resource"


@probed("errors-retired-codes-server")
async def retired_codes_are_not_used(probe: Probe) -> AsyncIterator[Finding]:
    """Read a resource that does not exist, and look at all errors: none has the code -32002 or -32042."""
    if probe.declares("resources"):
        await probe.ask("resources/read", {"uri": _NO_RESOURCE})
    for code, _, raw in sent_codes(probe.record()):
        if code in RETIRED_CODES:
            yield fault(f"error code {code} is retired", raw)
