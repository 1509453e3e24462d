"""Questions in place of a result (input rounds): what was asked, the request that came again, and its answers."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.harness.answers import form_problems, root_problems, sampling_problems
from mcp_conductor.checks.harness.client_record import ClientConnection, ClientRecord, seen
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

ANSWERED = ("inputResponses", "requestState", "_meta")  # members that differ when a request is sent again
_AGAIN = {"inputResponses", "requestState"}
_METHODS = {"roots": "roots/list", "sampling": "sampling/createMessage", "elicitation": "elicitation/create"}


class Round:
    """A request that was answered with questions, what came of it, and the request after it."""

    def __init__(self, request: Message, result: Json, retry: Message | None) -> None:
        self.request = request
        asked = result.get("inputRequests")
        self.asked: Json = asked if isinstance(asked, dict) else {}
        self.state = result.get("requestState")
        self.retry = retry

    @property
    def answers(self) -> Json:
        given = self.retry.params.get("inputResponses") if self.retry is not None else None
        return given if isinstance(given, dict) else {}


def rounds(record: ClientRecord) -> list[Round]:
    """The questions of this scenario; NotSeen if the client was not asked anything."""
    found = [each for connection in record.connections for each in _rounds_on(connection)]
    return seen(found, "the client calls no tool, or declares nothing that it can be asked")


def _rounds_on(connection: ClientConnection) -> list[Round]:
    """The questions on one connection, each with the request that answers it, if there is one."""
    asked = [each for each in connection.exchanges if _is_question(each.reply)]
    requests, taken = connection.requests(), set[int]()
    places = {id(each.request): _place(requests, each.request) for each in asked}
    retries: dict[int, Message] = {}
    # What fits exactly comes first: a question that was left open must not take the answer to another.
    for fits in (_is_exact, _is_same, _is_alike, _is_any):
        for each in asked:
            if id(each.request) in retries:
                continue
            for at in range(places[id(each.request)] + 1, len(requests)):
                if at not in taken and _AGAIN & set(requests[at].params) and fits(each, requests[at]):
                    retries[id(each.request)] = requests[at]
                    taken.add(at)
                    break
    return [Round(each.request, _result(each), retries.get(id(each.request))) for each in asked]


def _is_question(reply: Message | None) -> bool:
    return (
        reply is not None
        and reply.kind == "result"
        and isinstance(reply.result, dict)
        and reply.result.get("resultType") == "input_required"
    )


def _result(exchange: Exchange) -> Json:
    result: Json = exchange.reply.result if exchange.reply is not None else {}
    return result


def _place(requests: list[Message], first: Message) -> int:
    return next(index for index, each in enumerate(requests) if each.id == first.id and each.text == first.text)


def _is_exact(asked: Exchange, again: Message) -> bool:
    """Whether AGAIN is the same request, with the state that was given."""
    return _is_same(asked, again) and again.params.get("requestState") == _result(asked).get("requestState")


def _is_same(asked: Exchange, again: Message) -> bool:
    before, after = (
        {key: value for key, value in each.params.items() if key not in ANSWERED} for each in (asked.request, again)
    )
    return again.method == asked.request.method and before == after


def _is_alike(asked: Exchange, again: Message) -> bool:
    before, after = asked.request.params, again.params
    same = all(before.get(member) == after.get(member) for member in ("name", "uri"))
    return again.method == asked.request.method and same


def _is_any(asked: Exchange, again: Message) -> bool:
    del asked, again
    return True


def retried_rounds(record: ClientRecord) -> list[tuple[Round, Message]]:
    found = [(each, each.retry) for each in rounds(record) if each.retry is not None]
    return seen(found, "the client did not send the request again")


def given_answers(record: ClientRecord, name: str) -> list[tuple[Json, Any, Any]]:
    """What one kind of question was answered with: its params, the result, and the message."""
    found = [
        (question.get("params", {}), each.answers[key], retry.raw)
        for each, retry in retried_rounds(record)
        for key, question in each.asked.items()
        if isinstance(question, dict) and question.get("method") == _METHODS[name] and key in each.answers
    ]
    return seen(found, f"the client does not declare {name}")


def modern_roots(record: ClientRecord, member: str) -> Iterator[Finding]:
    for _, result, raw in given_answers(record, "roots"):
        if member == "roots":
            if not isinstance(result, dict) or not isinstance(result.get("roots"), list):
                yield fault("the answer to roots/list has no roots", raw)
        else:
            yield from root_problems(result, member, raw)


def modern_sampling(record: ClientRecord, what: str) -> Iterator[Finding]:
    for _, result, raw in given_answers(record, "sampling"):
        yield from sampling_problems(result, what, raw, several=True)


def modern_action(record: ClientRecord) -> Iterator[Finding]:
    for _, result, raw in given_answers(record, "elicitation"):
        if not isinstance(result, dict) or result.get("action") not in ("accept", "decline", "cancel"):
            yield fault("action is not accept, decline or cancel", raw)


def modern_content(record: ClientRecord, *, defaults: bool = False) -> Iterator[Finding]:
    yield from form_problems(given_answers(record, "elicitation"), defaults=defaults)
