"""Questions in place of a result (2026-07-28): what comes of every way to answer them."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from mcp_conductor.checks.engine.asking_tools import Declaring, asking, called_again
from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.questions import CAPABILITIES, QUESTION, asked
from mcp_conductor.errors import ConductorError, ProtocolError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.input_rounds import next_round
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

ABANDONED = 10  # calls that are never answered, to see whether the server minds


@probed("mrtr-capability-respected", alone=True)
async def only_what_is_declared_is_asked(probe: Probe) -> AsyncIterator[Finding]:
    """Call the tools that ask with no capabilities, and with one at a time: nothing else is asked."""
    wanted = asking(probe)
    if not wanted:
        raise NotSeen("no result was a question")
    subsets: list[Json] = [{}, *({each: {}} for each in CAPABILITIES.values())]
    for declared in subsets:
        record = await called_again(probe, wanted, Declaring(declared))
        requests = {message.method for message in record.questions()}  # which there should not be at all
        for method, _, evidence in asked(record):
            if CAPABILITIES.get(method, method) not in declared and method not in requests:
                said = next(iter(declared), "nothing")
                yield fault(f"{method} is sent to a client that declares {said}", evidence)


# What comes of answers.


class _Round:
    """A call that was answered with a question, and the ways to go on with it."""

    def __init__(self, params: Json, question: Json, responses: Json) -> None:
        self.params = params
        self.question = question
        self.responses = responses

    def following(self, responses: Json | None = None, **changes: Any) -> Json:
        """The params of the next round; RESPONSES in place of the right ones, CHANGES to other members."""
        params = next_round(self.params, self.question, self.responses if responses is None else responses)
        return {key: value for key, value in {**params, **changes}.items() if value is not None}


async def _asks(probe: Probe) -> list[_Round]:
    """Fresh questions, one for each tool that asks."""
    rounds = []
    for params in asking(probe):
        result = await probe.result("tools/call", params)
        if result is not None and result.get("resultType") == QUESTION:
            with suppress(UsageError, ProtocolError):  # a question that we have no answer to
                responses = await probe.session.input_responses(result.get("inputRequests"))
                rounds.append(_Round(params, result, responses))
    if not rounds:
        raise NotSeen("no result was a question")
    return rounds


def _kind(reply: Message) -> str:
    """error, complete, failed (a tool result that is an error), or another resultType."""
    if reply.kind != "result" or not isinstance(reply.result, dict):
        return "error"
    kind = str(reply.result.get("resultType", "complete"))
    return "failed" if kind == "complete" and reply.result.get("isError") is True else kind


@probed("mrtr-retry-completes")
async def answers_are_enough(probe: Probe) -> AsyncIterator[Finding]:
    """Answer a question on another connection (on stdio: on the same one): a result comes, or the next question."""
    for each in await _asks(probe):
        if probe.transport == "stdio":
            reply = await probe.ask("tools/call", each.following())
        else:
            async with probe.new_session(answers=probe.session.answers) as other:
                reply = await other.ask("tools/call", each.following())
        if reply.kind != "result":
            yield fault(f"tool {each.params['name']!r} refuses the answers that it asked for", reply.raw)


@probed("mrtr-state-tamper-rejected")
async def a_state_that_was_changed_is_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Change requestState where the server needs it to go on: the call does not succeed."""
    tried = False
    for each in await _asks(probe):
        state = each.question.get("requestState")
        if not isinstance(state, str) or len(state) < 2:
            continue
        # A state without which the call succeeds as well influences nothing, and need not be protected.
        if _kind(await probe.ask("tools/call", each.following(requestState=None))) == "complete":
            continue
        tried = True
        reply = await probe.ask("tools/call", each.following(requestState=_changed(state)))
        if _kind(reply) == "complete":
            yield fault(f"tool {each.params['name']!r} accepts a requestState that was changed", reply.raw)
    if not tried:
        raise NotSeen("no requestState has an influence")


def _changed(state: str) -> str:
    middle = len(state) // 2
    return state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]


@probed("mrtr-missing-response-rerequested")
async def missing_answers_are_asked_for_again(probe: Probe) -> AsyncIterator[Finding]:
    """Go on without the answers: the question comes again."""
    for each in await _asks(probe):
        if each.responses:
            reply = await probe.ask("tools/call", each.following({}))
            if _kind(reply) != QUESTION:
                yield fault(f"tool {each.params['name']!r} does not ask again for answers that are missing", reply.raw)


@probed("mrtr-unknown-keys-ignored")
async def unknown_answers_are_ignored(probe: Probe) -> AsyncIterator[Finding]:
    """Answer more than was asked: the result is the same."""
    for each in await _asks(probe):
        usual = _kind(await probe.ask("tools/call", each.following()))
        extra = {**each.responses, "conductor-unknown": {"action": "cancel"}}
        reply = await probe.ask("tools/call", each.following(extra))
        if usual in ("complete", QUESTION) and _kind(reply) != usual:
            yield fault(f"tool {each.params['name']!r} does not ignore an answer that it did not ask for", reply.raw)


@probed("mrtr-invalid-responses-error")
async def answers_that_are_none_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Answer with numbers in place of objects: an error comes, or the question once more."""
    for each in await _asks(probe):
        if each.responses:
            reply = await probe.ask("tools/call", each.following(dict.fromkeys(each.responses, 5)))
            if _kind(reply) == "complete":
                yield fault(f"tool {each.params['name']!r} accepts numbers as answers", reply.raw)


@probed("mrtr-no-abandon-assumption", alone=True)
async def questions_may_stay_unanswered(probe: Probe) -> AsyncIterator[Finding]:
    """Leave ten questions unanswered: the server goes on, and asks the same of the next one."""
    wanted = asking(probe)
    if not wanted:
        raise NotSeen("no result was a question")
    async with probe.polite_session(answers=probe.session.answers) as other:
        try:
            for _ in range(ABANDONED):
                await other.ask("tools/call", wanted[0])
        except ConductorError as error:
            yield fault(f"after questions that were left unanswered: {error.message}", wanted[0])
            return
        if not await other.alive():
            yield fault("the server stops answering after questions that were left unanswered")
