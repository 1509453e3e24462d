"""Questions in results (2026-07-28): what a client answers when it sends its request again."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.answers import FORM, SAMPLING
from mcp_conductor.checks.harness.client_record import ClientRecord, capabilities_in
from mcp_conductor.checks.harness.input_rounds import ANSWERED, given_answers, retried_rounds, rounds
from mcp_conductor.checks.harness.scenario import MODERNS, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.report.model import Finding

_ASKED: dict[str, Json] = {
    "roots": {"method": "roots/list", "params": {}},
    "sampling": {"method": "sampling/createMessage", "params": SAMPLING},
    "elicitation": {"method": "elicitation/create", "params": {"mode": "form", **FORM}},
}
_STATE = 'state of {}: Größe, 世界, "quoted" \\ and\ttabbed ' + "x" * 4000
_MOST_ROUNDS = 30
_CALLS = ("tools/call", "prompts/get", "resources/read")


@scenario("input-rounds", revisions=MODERNS, needs="tools/call")
class InputRounds(ServerScript):
    """Each tool is answered with questions of all kinds that the client declares, and with a state to be sent back."""

    async def call_tool(self, call: ScriptCall) -> Json:
        wanted = {f"key-{name}": question for name, question in _ASKED.items() if name in capabilities_in(call.request)}
        if {"inputResponses", "requestState"} & set(call.params) or not wanted:
            return await super().call_tool(call)
        self.did("asked")
        state = _STATE.format(call.params.get("name"))
        return {"resultType": "input_required", "inputRequests": wanted, "requestState": state}


@scenario("stateless-round", revisions=MODERNS, needs="tools/call", together="results")
class StatelessRound(ServerScript):
    """Each tool is answered with a question, and with no state."""

    async def call_tool(self, call: ScriptCall) -> Json:
        declared = capabilities_in(call.request)
        if "inputResponses" in call.params or "elicitation" not in declared:
            return await super().call_tool(call)
        self.did("asked")
        return {"resultType": "input_required", "inputRequests": {"form": _ASKED["elicitation"]}}


@scenario("state-only", revisions=MODERNS, needs="tools/call", together="loops")
class StateOnly(ServerScript):
    """Each tool is answered twice with nothing but a state."""

    async def call_tool(self, call: ScriptCall) -> Json:
        state = call.params.get("requestState")
        if state == "2":
            return await super().call_tool(call)
        self.did("asked")
        return {"resultType": "input_required", "requestState": "2" if state == "1" else "1"}


@scenario("endless-rounds", revisions=MODERNS, needs="tools/call")
class EndlessRounds(ServerScript):
    """Each tool asks without end."""

    def __init__(self, record: ClientRecord, version: str | None) -> None:
        super().__init__(record, version)
        self.rounds = 0

    async def call_tool(self, call: ScriptCall) -> Json:
        if "elicitation" not in capabilities_in(call.request) or self.rounds >= _MOST_ROUNDS:
            return await super().call_tool(call)
        self.did("asked")
        self.rounds += 1
        return {"resultType": "input_required", "inputRequests": {"form": _ASKED["elicitation"]}, "requestState": "x"}


@watched("mrtr-client-answers-all", scenario="input-rounds", recorded="conversation")
def every_question_is_answered(record: ClientRecord) -> Iterator[Finding]:
    """Ask for all that the client declares: each key is in inputResponses, with a bare result."""
    for each, retry in retried_rounds(record):
        missing = set(each.asked) - set(each.answers)
        if missing:
            yield fault(f"{', '.join(sorted(missing))} was not answered", retry.raw, path="params.inputResponses")
        for key, value in each.answers.items():
            if not isinstance(value, dict) or {"jsonrpc", "result", "id"} & set(value):
                yield fault(f"the answer to {key} is not a bare result", retry.raw, path=f"params.inputResponses.{key}")


@watched("mrtr-client-echoes-state", scenario=("input-rounds", "stateless-round"), recorded="conversation")
def the_state_comes_back(record: ClientRecord) -> Iterator[Finding]:
    """Give a long and odd requestState, or none: the client sends it back unchanged, or sends none."""
    for each, retry in retried_rounds(record):
        state = retry.params.get("requestState")
        if each.state is None and "requestState" in retry.params:
            yield fault("requestState was sent, but the server gave none", retry.raw, path="params.requestState")
        elif state != each.state and not (
            isinstance(state, str) and state.startswith("state of ") and _is_swapped(record)
        ):
            yield fault("requestState was changed before it was sent back", retry.raw, path="params.requestState")


def _is_swapped(record: ClientRecord) -> bool:
    """Whether a state came back that belongs to another request: that is another requirement."""
    known = [each.state for each in rounds(record)]
    return any(
        retry.params.get("requestState") in [state for state in known if state != each.state]
        for each, retry in retried_rounds(record)
    )


@watched("mrtr-client-isolation", scenario="input-rounds", recorded="conversation")
def states_are_not_mixed(record: ClientRecord) -> Iterator[Finding]:
    """Give each call a state of its own: no call is sent with the state of another."""
    owners: dict[str, list[object]] = {}
    for each in rounds(record):
        if isinstance(each.state, str):
            owners.setdefault(each.state, []).append(each.request.params.get("name"))
    for request in record.requests(*_CALLS):
        state = request.params.get("requestState")
        # A server may give the same state to all: then it says nothing about whose it is.
        (owner, *others) = owners.get(state, [None]) if isinstance(state, str) else [None]
        is_its_own = all(other == owner for other in others)
        if owner is not None and is_its_own and owner != request.params.get("name"):
            yield fault(f"the state of {owner} was sent with another request", request.raw, path="params.requestState")


@watched("mrtr-client-new-id", scenario="input-rounds", recorded="conversation")
def retries_have_their_own_id(record: ClientRecord) -> Iterator[Finding]:
    """Look at the request that is sent again: it has a new id."""
    for each, retry in retried_rounds(record):
        if retry.id == each.request.id:
            yield fault(f"the id {compact(retry.id)} was used again", retry.raw, path="id")


@watched("mrtr-client-same-params", scenario="input-rounds", recorded="conversation")
def retries_say_the_same(record: ClientRecord) -> Iterator[Finding]:
    """Look at the request that is sent again: only the answers and the state in its params are new."""
    for each, retry in retried_rounds(record):
        before = {key: value for key, value in each.request.params.items() if key not in ANSWERED}
        after = {key: value for key, value in retry.params.items() if key not in ANSWERED}
        if retry.method != each.request.method or before != after:
            yield fault("the request was changed when it was sent again", retry.raw, path="params")


@watched("mrtr-client-state-only", scenario="state-only")
def a_state_alone_is_sent_back(record: ClientRecord) -> Iterator[Finding]:
    """Give a state and ask nothing, twice: the client sends it back until there is a result."""
    yield from record.survived("a result that has only a state", "asked")


@watched("mrtr-client-round-limit", scenario="endless-rounds")
def rounds_come_to_an_end(record: ClientRecord) -> Iterator[Finding]:
    """Ask without end: the client gives up."""
    answered = len(rounds(record))
    if answered >= _MOST_ROUNDS:
        yield fault(f"the client answered {answered} times and did not stop")


@watched("mrtr-client-decline", scenario="input-rounds")
def refusals_do_not_hang(record: ClientRecord) -> Iterator[Finding]:
    """Ask something: the client does not hang, whether it answers or not."""
    rounds(record)
    record.be_sure()
    if record.hangs:
        yield fault("the client hangs after it was asked", record.last_words())
    if record.exit_code is None:
        raise NotSeen("the client does not end by itself")


@watched("sampling-max-tokens-client", scenario="input-rounds")
def sampled_texts_are_short(record: ClientRecord) -> Iterator[Finding]:
    """Ask for sampling of a few tokens: the answer does not have more words than that."""
    for params, result, raw in given_answers(record, "sampling"):
        content = result.get("content") if isinstance(result, dict) else None
        words = str(content.get("text", "") if isinstance(content, dict) else "").split()
        if len(words) > params["maxTokens"]:
            yield fault(f"the answer has {len(words)} words, but maxTokens is {params['maxTokens']}", raw)
