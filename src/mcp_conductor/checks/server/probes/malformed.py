"""How a server answers malformed input: text that is not JSON, JSON that is not a message, params that do not fit."""

from collections.abc import AsyncIterator

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.openings import context
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.reactions import reaction, reactions
from mcp_conductor.checks.engine.replies import code_of
from mcp_conductor.errors import RequestTimeout, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from mcp_conductor.protocol.message import compact
from mcp_conductor.report.model import Finding

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
