"""Tools that need several rounds of questions and answers (2026-07-28, basic/patterns/mrtr).

A client of the handshake era is asked by requests in between, so that these tools work with it too.
"""

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import InputRequired, Tool, error_result, text_result
from mcp_conductor.server.identity import new_uuid
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.making import form, sample, string, tool
from mcp_conductor.server.rounds import Rounds

_MOST_ROUNDS = 100


@preset("tool")
def mrtr_confirm() -> Tool:
    """One round: the user confirms an action."""

    async def run(call: Call) -> Json:
        action = call.arguments["action"]
        question = form(f"Confirm: {action}?", {"confirm": {"type": "boolean", "title": "Confirm"}})
        answers = await call.ask({"confirm": question})
        return text_result(f'MRTR complete — confirmation for "{action}": {compact(answers["confirm"])}')

    return tool(
        "mrtr_confirm",
        "Multi round-trip tool: asks the client to confirm an action via an embedded elicitation, then completes.",
        {"action": string("The action to confirm before the tool completes")},
        run,
    )


@preset("tool")
def mrtr_two_step() -> Tool:
    """Two rounds: one value, then another."""

    async def run(call: Call) -> Json:
        await call.ask({"first": form("Step 1: enter the first value", _value("First"))})
        answers = await call.ask({"second": form("Step 2: enter the second value", _value("Second"))})
        return text_result(f"MRTR two-step complete — final answer: {compact(answers['second'])}")

    description = "Two-round MRTR tool: collects a first value, then a second value, then completes."
    return tool("mrtr_two_step", description, {}, run)


@preset("tool")
def mrtr_roots() -> Tool:
    """One round: the client lists its roots."""

    async def run(call: Call) -> Json:
        roots = (await call.ask({"roots": {"method": "roots/list"}}))["roots"].get("roots")
        return text_result(
            f"MRTR roots complete — client reported {len(roots) if isinstance(roots, list) else 0} root(s)"
        )

    description = "MRTR tool that asks the client for its roots, then completes reporting the count."
    return tool("mrtr_roots", description, {}, run)


@preset("tool")
def mrtr_sample() -> Tool:
    """One round: the client's model says hello."""

    async def run(call: Call) -> Json:
        answers = await call.ask({"sample": sample("Say hello.", 64)})
        return text_result(f"MRTR sample complete — echoed: {compact(answers['sample'])}")

    description = "MRTR tool that asks the client to sample an LLM completion, then completes."
    return tool("mrtr_sample", description, {}, run)


@preset("tool")
def mrtr_loop() -> Tool:
    """Rounds without end: a client must give up by itself (in the handshake era the tool does, after 100)."""
    question = form("Answer again (this never completes)", _value("Value"), required=[])

    async def run(call: Call) -> Json:
        for _ in range(_MOST_ROUNDS):
            await call.ask({"again": question})
            if call.rounds is not None:
                raise InputRequired({"again": question}, _state(call.rounds))
        return error_result(f"MRTR loop ended after {_MOST_ROUNDS} rounds")

    description = "Pathological MRTR tool that never completes — always returns input_required."
    return tool("mrtr_loop", description, {}, run)


@preset("tool")
def mrtr_edge() -> Tool:
    """The two bare forms of a round: questions without requestState, then requestState without questions."""
    question = form("Edge round 1: enter a note", _value("Note"), required=[])

    async def run(call: Call) -> Json:
        try:
            await call.ask({"note": question})
        except InputRequired as asked:
            raise InputRequired(asked.requests, None) from None
        if call.rounds is not None and "requestState" not in call.params:
            raise InputRequired(None, _state(call.rounds))
        return text_result("MRTR edge complete")

    description = "MRTR tool covering the inputRequests-only and requestState-only round shapes."
    return tool("mrtr_edge", description, {}, run)


@preset("tool")
def mrtr_empty() -> Tool:
    """One round, and then a result without any content."""

    async def run(call: Call) -> Json:
        await call.ask({"ack": form("Acknowledge to complete with no content", {})})
        return {"content": []}

    description = "MRTR tool that asks for an acknowledgement, then completes with empty content."
    return tool("mrtr_empty", description, {}, run)


def _value(title: str) -> Json:
    return {"value": {"type": "string", "title": title}}


def _state(rounds: Rounds) -> str | None:
    """What to remember of the rounds so far: it comes with any question that has no answer yet."""
    try:
        rounds.answers({new_uuid(): {}})
    except InputRequired as asked:
        return asked.state
    return None
