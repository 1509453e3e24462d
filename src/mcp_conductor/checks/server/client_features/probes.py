"""What a server asks of clients that declare something else, or answer in another way."""

from collections.abc import AsyncIterator
from typing import Any

from mcp_conductor.checks.engine.asking_tools import Declaring, asking, called_again
from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.questions import ELICITATION, ROOTS, SAMPLING, asked, asked_for
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import is_number
from mcp_conductor.errors import ConductorError, RequestTimeout, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding


async def _record_without_capabilities(probe: Probe) -> Record:
    """What the server says to a client that declares nothing, when tools are called during which it asks."""
    return await probe.once("unable", lambda: called_again(probe, asking(probe), Declaring({})))


async def _undeclared_questions(probe: Probe, method: str, capability: str) -> AsyncIterator[Finding]:
    asked_for(probe.record(), method)
    record = await _record_without_capabilities(probe)
    for name, _, evidence in asked(record):
        if name == method:
            told = f"{method} is sent to a client that does not declare {capability}"
            yield fault(told, evidence, beside=record.opening[-1:])


# Roots.


@probed("roots-request-server", alone=True)
async def roots_are_asked_of_those_who_have_them(probe: Probe) -> AsyncIterator[Finding]:
    """Connect without declaring roots, and call the tools that ask for them: roots/list is not asked."""
    async for finding in _undeclared_questions(probe, ROOTS, "roots"):
        yield finding


@probed("roots-listchanged-handled-server", alone=True)
async def changed_roots_do_no_harm(probe: Probe) -> AsyncIterator[Finding]:
    """Say that the roots have changed: the server goes on."""
    async with probe.polite_session(answers=probe.session.answers) as other:
        await other.session.notify("notifications/roots/list_changed")
        if not await other.alive():
            yield fault("the server stops answering after notifications/roots/list_changed")


# Sampling.


@probed("sampling-request-server", alone=True)
async def sampling_requests_are_whole(probe: Probe) -> AsyncIterator[Finding]:
    """Look at sampling requests: messages with role and content, maxTokens; none to clients without sampling."""
    for _, params, evidence in asked_for(probe.record(), SAMPLING):
        messages = params.get("messages")
        if not isinstance(messages, list) or not all(_is_message(each, probe.dialect) for each in messages):
            yield fault("messages is not an array of messages with role and content", evidence)
        if not is_number(params.get("maxTokens")):
            yield fault("maxTokens is not a number", evidence)
    async for finding in _undeclared_questions(probe, SAMPLING, "sampling"):
        yield finding


def _is_message(message: Any, dialect: Dialect) -> bool:
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return False
    content = message.get("content")
    # Where there are tasks or input rounds, content may be an array of blocks.
    blocks = content if isinstance(content, list) and dialect.tasks is not None else [content]
    return all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks)


@probed("sampling-content-array-server", alone=True)
async def samples_may_be_arrays(probe: Probe) -> AsyncIterator[Finding]:
    """Answer sampling with an array of content: the tool works as it does with one piece of content."""
    wanted = [params for params in asking(probe, SAMPLING) if _has_worked(probe.record(), params)]
    if not wanted:
        raise NotSeen(f"the server did not ask for {SAMPLING}")
    content = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    sample = {"model": "stub-model", "role": "assistant", "stopReason": "endTurn", "content": content}
    record = await called_again(probe, wanted, Answers(roots=[], sampling=sample, elicitation="auto"))
    for params in wanted:
        if not _has_worked(record, params):
            told = f"tool {params['name']!r} fails when the result of sampling has an array of content"
            yield fault(told, _last(record, params), beside=_answers_during(record, params))


def _outcomes(record: Record, params: Json) -> list[Message | None]:
    return [
        exchange.reply
        for exchange in record.exchanges
        if exchange.request.method == "tools/call" and exchange.request.params.get("name") == params.get("name")
    ]


def _has_worked(record: Record, params: Json) -> bool:
    """Whether a call ended in a result that is not an error."""
    results = [reply.result for reply in _outcomes(record, params) if reply is not None and reply.kind == "result"]
    return any(isinstance(each, dict) and "content" in each and each.get("isError") is not True for each in results)


def _last(record: Record, params: Json) -> Any:
    replies = [reply.raw for reply in _outcomes(record, params) if reply is not None]
    return replies[-1] if replies else None


def _answers_during(record: Record, params: Json) -> list[Any]:
    """The last call of the same tool, and what we answered to questions during it."""
    found: list[Any] = []
    name: Any = None
    for _, source, message in record.transcript.spoken():
        if source != "client":
            continue
        if message.kind == "request" and message.method == "tools/call":
            name = message.params.get("name")
            found = [message.raw] if name == params.get("name") else found
        elif message.kind == "result" and name == params.get("name"):
            found.append(message.raw)
    return found


# Elicitation, as far as it must be provoked; what requests look like is judged in `forms`.


@probed("elicit-gated-server", alone=True)
async def elicitation_is_for_those_who_declare_it(probe: Probe) -> AsyncIterator[Finding]:
    """Connect without declaring elicitation, and call the tools that elicit: nothing is elicited."""
    async for finding in _undeclared_questions(probe, ELICITATION, "elicitation"):
        yield finding


@probed("elicit-mode-gated-server", alone=True)
async def modes_are_for_those_who_declare_them(probe: Probe) -> AsyncIterator[Finding]:
    """Declare only one mode of elicitation, and call the tools that elicit: the other mode is not used."""
    asked_for(probe.record(), ELICITATION)
    wanted = asking(probe, ELICITATION)
    for mode, other in (("form", "url"), ("url", "form")):
        record = await called_again(probe, wanted, Declaring({"elicitation": {mode: {}}}))
        for method, params, evidence in asked(record):
            if method == ELICITATION and params.get("mode", "form") == other:
                told = f"mode {other} is used with a client that declares only {mode}"
                yield fault(told, evidence, beside=record.opening[-1:])


@probed("elicit-decline-handled-server", alone=True)
async def refusals_are_taken(probe: Probe) -> AsyncIterator[Finding]:
    """Decline, and cancel, what is elicited: the call still ends."""
    wanted = asking(probe, ELICITATION)
    if not wanted:
        raise NotSeen(f"the server did not ask for {ELICITATION}")
    for action in ("decline", "cancel"):
        async with probe.polite_session(answers=Answers(roots=[], sampling="auto", elicitation=action)) as other:
            for params in wanted:
                try:
                    await other.session.request("tools/call", params)
                except (RequestTimeout, TransportError) as error:
                    told = f"{action}: {error.message}"
                    yield fault(told, params, beside=_answers_during(other.record(), params))
                except ConductorError:
                    pass  # an error is an end too


class _Nonsense(Answers):
    """Accepts every form, with content that does not fit it."""

    def _accept(self, chosen: Any, schema: Any) -> Any:
        content = {name: {"no": "sense"} for name in _properties(schema)}
        return super()._accept(chosen, schema)._replace(result={"action": "accept", "content": content})


def _properties(schema: Any) -> Json:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


@probed("elicit-content-validated-server", alone=True)
async def content_is_validated(probe: Probe) -> AsyncIterator[Finding]:
    """Accept what is elicited with content that does not fit the schema: the tool does not take it."""
    forms = (params for _, params, _ in asked_for(probe.record(), ELICITATION))
    if not any(_properties(params.get("requestedSchema")) for params in forms):
        raise NotSeen("the server asked for no form with properties")
    wanted = [each for each in asking(probe, ELICITATION, mode="form") if _has_worked(probe.record(), each)]
    record = await called_again(probe, wanted, _Nonsense(roots=[], sampling="auto", elicitation="auto"))
    for params in wanted:
        if _has_worked(record, params):
            told = f"tool {params['name']!r} accepts content that does not fit the schema of its form"
            yield fault(told, _last(record, params), beside=_answers_during(record, params))
