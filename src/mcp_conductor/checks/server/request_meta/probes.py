"""Requests that stand by themselves (2026-07-28): what `_meta` must say, and that nothing is remembered in between."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.http_probe import HttpResponse, http_session
from mcp_conductor.checks.engine.openings import (
    CAPABILITIES,
    CLIENT_INFO,
    LISTS,
    VERSION,
    context,
    declared_lists,
    initialize,
    with_meta,
)
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.replies import code_of, data_of, result_of
from mcp_conductor.checks.engine.tool_calls import explored_calls
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    MISSING_CLIENT_CAPABILITY,
    NEWEST_HANDSHAKE,
)
from mcp_conductor.protocol.input_rounds import next_round
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.report.model import Finding

_UNABLE = "without clientCapabilities"
_NO_OBJECT = "whose _meta is a string"
_MOST_PAGES = 20
_MEMBERS = {method: name for name, method in LISTS.items()}


def _incomplete(probe: Probe) -> dict[str, Json]:
    """Requests each of which lacks something in `_meta`, by what that is."""
    whole = context(probe)
    params: dict[str, Json] = {
        _UNABLE: {"_meta": _without(whole, CAPABILITIES)},
        _NO_OBJECT: {"_meta": "conductor"},
        # Last: a server of both eras may take this for the handshake era, and stay there.
        "without a protocolVersion": {"_meta": _without(whole, VERSION)},
        "without _meta": {},
    }
    return {
        what: compose("server/discover", each, identity=f"conductor-{number}")
        for number, (what, each) in enumerate(params.items())
    }


def _without(meta: Json, key: str) -> Json:
    return {name: value for name, value in meta.items() if name != key}


@probed("meta-missing-rejected", alone=True, spoils=True)
async def incomplete_meta_is_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Call server/discover without `_meta`, or without one of its two mandatory keys: the error has the code -32602.

    With a `_meta` that is a string it is not served; how it is refused is left to the server.
    """
    # Over HTTP the header says what the body does not, which is an error of its own.
    fitting = (INVALID_PARAMS, HEADER_MISMATCH) if probe.transport == "http" else (INVALID_PARAMS,)
    for what, reply in await _refusals(probe):
        if code_of(reply) in fitting or (what == _NO_OBJECT and (reply is None or reply.kind != "result")):
            continue
        # Without a version it may be taken for a request of the handshake era, by a server that knows it.
        refused = reply is not None and reply.kind == "error"
        if what != _UNABLE and refused and await _knows_the_handshake(probe):
            continue
        shown = _incomplete(probe)[what] if reply is None else reply.raw
        yield fault(f"a request {what} is not answered with {INVALID_PARAMS}", shown)


async def _refusals(probe: Probe) -> list[tuple[str, Message | None]]:
    if probe.transport == "http":
        return [(what, answer.message) for what, answer in await _post_incomplete(probe)]
    async with probe.polite_session(second=True) as other:
        return [(what, await other.say(compact(raw))) for what, raw in _incomplete(probe).items()]


async def _post_incomplete(probe: Probe) -> list[tuple[str, HttpResponse]]:
    headers = {"MCP-Protocol-Version": probe.dialect.version, "Mcp-Method": "server/discover"}
    async with http_session(probe) as http:
        return [(what, await http.post(raw, headers)) for what, raw in _incomplete(probe).items()]


async def _knows_the_handshake(probe: Probe) -> bool:
    try:
        async with probe.unopened(NEWEST_HANDSHAKE) as fresh:
            return (await initialize(fresh, probe.patience)).kind == "result"
    except ConductorError:
        return False


@probed("meta-missing-http-400", alone=True)
async def incomplete_meta_has_status_400(probe: Probe) -> AsyncIterator[Finding]:
    """POST server/discover without `_meta`, or without one of its mandatory keys: an error comes with status 400."""
    for what, answer in await _post_incomplete(probe):
        message = answer.message
        if what != _NO_OBJECT and message is not None and message.kind == "error" and answer.status != 400:
            yield fault(f"the refusal of a request {what} has status {answer.status}, not 400", message.raw)


@probed("meta-client-info-not-required")
async def clients_may_be_nameless(probe: Probe) -> AsyncIterator[Finding]:
    """Send server/discover and a list method without clientInfo: they are served."""
    for method in ("server/discover", *declared_lists(probe)[:1]):
        reply = await with_meta(probe, method, _without(context(probe), CLIENT_INFO))
        if reply.kind == "error" and (await probe.ask(method)).kind == "result":
            yield fault(f"{method} without clientInfo is refused", reply.raw)


# Capabilities of the client.


def _asking_calls(probe: Probe) -> list[Json]:
    """Calls of the exploration that were answered with questions."""
    found = [params for params, result in explored_calls(probe) if _asks(result)]
    if not found:
        raise NotSeen("no tool that was called asked for anything")
    return found


def _asks(result: Json | None) -> bool:
    return (result or {}).get("resultType") == "input_required" and bool((result or {}).get("inputRequests"))


def _able() -> Answers:
    return Answers(roots=[], sampling="auto", elicitation="auto")


@probed("meta-missing-capability-error", alone=True)
async def what_the_client_cannot_do_is_named(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools that ask something, without capabilities: an error -32021 names what is missing."""
    for params in _asking_calls(probe):
        async with probe.polite_session() as other:
            reply = await other.ask("tools/call", params)
        if _asks(result_of(reply)):
            yield fault(f"tool {params['name']!r} asks a client that declares no capabilities", reply.raw)
        elif code_of(reply) == MISSING_CLIENT_CAPABILITY and not _names_capabilities(reply):
            path = "error.data.requiredCapabilities"
            yield fault("data.requiredCapabilities is not an object of capabilities", reply.raw, path=path)


def _names_capabilities(reply: Message) -> bool:
    required = data_of(reply).get("requiredCapabilities")
    return isinstance(required, dict) and bool(required) and all(isinstance(each, dict) for each in required.values())


@probed("meta-missing-capability-http-400", alone=True)
async def missing_capabilities_have_status_400(probe: Probe) -> AsyncIterator[Finding]:
    """POST a call of a tool that asks something, without capabilities: the error -32021 comes with status 400."""
    seen = False
    async with http_session(probe) as http:
        for number, params in enumerate(_asking_calls(probe)):
            asked = {**params, "_meta": context(probe)}
            answer = await http.post(compose("tools/call", asked, identity=f"conductor-{number}"))
            if code_of(answer.message) == MISSING_CLIENT_CAPABILITY:
                seen = True
                if answer.status != 400:
                    status = f"{MISSING_CLIENT_CAPABILITY} comes with status {answer.status}, not 400"
                    yield fault(status, answer.shown())
    if not seen:
        raise NotSeen(f"no call was refused with {MISSING_CLIENT_CAPABILITY}")


@probed("meta-no-carry-over", alone=True)
async def nothing_is_remembered(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool that asks something with capabilities, then without, on one connection: the second asks nothing."""
    asking = _asking_calls(probe)
    async with probe.new_session(answers=_able()) as other:
        for params in asking:
            if _asks(result_of(await with_meta(other, "tools/call", context(other), params))):
                continue  # it asks anybody, which is another matter
            able = await other.ask("tools/call", params)
            reply = await with_meta(other, "tools/call", context(other), params)
            if _asks(result_of(reply)):
                told = f"tool {params['name']!r} asks for what only an earlier request declared"
                yield fault(told, reply.raw, beside=[able.raw])


# Connections and identities.


@probed("meta-identity-not-behaviour-server", follows="meta-client-info-not-required")
async def names_change_nothing(probe: Probe) -> AsyncIterator[Finding]:
    """Ask for a list under another name and without one: it is the same."""
    methods = declared_lists(probe)
    if not methods:
        raise NotSeen("the server declares no lists")
    for method in methods:
        first = await with_meta(probe, method, context(probe))
        usual = _listed_names(first, method)
        other = {**context(probe), CLIENT_INFO: {"name": "another-client", "version": "0.0.1"}}
        for meta in (other, _without(other, CLIENT_INFO)):
            reply = await with_meta(probe, method, meta)
            if (
                _listed_names(reply, method) != usual
                and _listed_names(await with_meta(probe, method, context(probe)), method) == usual
            ):
                yield fault(f"{method}: the result depends on clientInfo", reply.raw, beside=[first.raw])


def _listed_names(reply: Message, method: str) -> list[str] | None:
    return _sorted_names((result_of(reply) or {}).get(_MEMBERS[method]))


def _sorted_names(items: Any) -> list[str] | None:
    return sorted(compact(item) for item in items) if isinstance(items, list) else None


@probed("stateless-lists-connection-independent", alone=True)
async def lists_are_the_same_on_every_connection(probe: Probe) -> AsyncIterator[Finding]:
    """Fetch all lists on two new connections, and once more after other requests: they are the same."""
    methods = declared_lists(probe)
    if not methods:
        raise NotSeen("the server declares no lists")
    async with probe.polite_session() as one, probe.polite_session(second=True) as other:
        for method in methods:
            before, there, after = [_names_in(await _everything(each, method), method) for each in (one, other, one)]
            if before == there == after:
                continue
            # Lists may change with time; what changes by itself cannot be told from what it should not depend on.
            lists = [await _everything(each, method) for each in (one, other)]
            again, there_again = [_names_in(each, method) for each in lists]
            if after == again != there_again == there:
                told = f"{method}: the result depends on the connection"
                yield fault(told, {"one": again, "other": there_again}, beside=lists)


async def _everything(probe: Probe, method: str) -> Json | None:
    """The pages of a list, the first of very many, as one result; None if it is not served, which is told elsewhere."""
    name, whole = _MEMBERS[method], None
    cursor: Any = None
    for _ in range(_MOST_PAGES):
        page = await probe.result(method, None if cursor is None else {"cursor": cursor})
        if page is None or not isinstance(page.get(name), list):
            return None
        whole = page if whole is None else {**whole, name: [*whole[name], *page[name]]}
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            break
    return whole


def _names_in(whole: Any, method: str) -> list[str] | None:
    return _sorted_names(whole.get(_MEMBERS[method])) if isinstance(whole, dict) else None


@probed("stateless-no-connection-affinity", alone=True)
async def the_next_step_may_take_another_connection(probe: Probe) -> AsyncIterator[Finding]:
    """Fetch the second page of a list, and answer a tool's questions, on a new connection: it goes on there."""
    paged = [(each.request.method, result["nextCursor"]) for each, result in _results_with_next_page(probe.record())]
    asking = [params for params, result in explored_calls(probe) if _asks(result)]
    if not paged and not asking:
        raise NotSeen("there is neither a list of several pages nor a tool that asks")
    for method, cursor in paged[:1]:
        async with probe.polite_session() as other:
            reply = await other.ask(method, {"cursor": cursor})
            if reply.kind == "error":
                yield fault(f"{method}: the next page is refused on a new connection", reply.raw)
    for params in asking[:1]:
        async with (
            probe.polite_session(answers=_able()) as one,
            probe.polite_session(answers=_able(), second=True) as other,
        ):
            asked = result_of(await one.ask("tools/call", params)) or {}
            responses = await one.session.input_responses(asked.get("inputRequests"))
            reply = await other.ask("tools/call", next_round(params, asked, responses))
            if reply.kind == "error":
                yield fault(f"tool {params['name']!r}: the answers are refused on a new connection", reply.raw)


def _results_with_next_page(record: Record) -> Iterator[tuple[Any, Json]]:
    for exchange, result in record.complete(*LISTS.values()):
        if isinstance(result.get("nextCursor"), str) and "cursor" not in exchange.request.params:
            yield exchange, result


@probed("stateless-interleaving", alone=True)
async def requests_at_once_are_independent(probe: Probe) -> AsyncIterator[Finding]:
    """Send requests of different clients and versions at once: each is answered by what it says itself."""
    whole = context(probe)
    metas = [
        whole,
        {**whole, VERSION: "1900-01-01"},
        {**whole, CLIENT_INFO: {"name": "another-client", "version": "0.0.1"}},
        _without(whole, CLIENT_INFO),
    ]
    async with probe.polite_session() as other:
        alone = [await with_meta(other, "server/discover", meta) for meta in metas]
        together = await asyncio.gather(*(with_meta(other, "server/discover", meta) for meta in metas))
    for by_itself, among_others in zip(alone, together, strict=True):
        if by_itself.kind != among_others.kind or code_of(by_itself) != code_of(among_others):
            told = "a request is answered differently when others are sent with it"
            yield fault(told, among_others.raw, beside=[by_itself.raw])
