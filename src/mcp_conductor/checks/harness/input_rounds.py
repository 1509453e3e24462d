"""Questions in place of a result (input rounds): what was asked, the request that came again, and its answers."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.harness.answers import form_problems, root_problems, sampling_problems
from mcp_conductor.checks.harness.client_record import ClientRecord, seen
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding


class Round:
    """A request that was answered with questions, what came of it, and the request after it."""

    def __init__(self, request: Message, result: Json, retry: Message | None) -> None:
        self.request = request
        self.asked: Json = result.get("inputRequests") or {}
        self.state = result.get("requestState")
        self.retry = retry

    @property
    def answers(self) -> Json:
        given = self.retry.params.get("inputResponses") if self.retry is not None else None
        return given if isinstance(given, dict) else {}


def rounds(record: ClientRecord) -> list[Round]:
    """The questions of this scenario; NotSeen if the client was not asked anything."""
    found = []
    for connection in record.connections:
        exchanges = {id(each.request): each for each in connection.exchanges}
        for exchange in exchanges.values():
            reply = exchange.reply
            result = reply.result if reply is not None and reply.kind == "result" else None
            if isinstance(result, dict) and result.get("resultType") == "input_required":
                found.append(Round(exchange.request, result, _retry_of(connection.requests(), exchange.request)))
    return seen(found, "the client calls no tool, or declares nothing that it can be asked")


def _retry_of(requests: list[Message], first: Message) -> Message | None:
    at = next(index for index, each in enumerate(requests) if each.id == first.id and each.text == first.text)
    for each in requests[at + 1 :]:
        again = {"inputResponses", "requestState"} & set(each.params)
        if each.method == first.method and again and each.params.get("name") == first.params.get("name"):
            return each
    return next((each for each in requests[at + 1 :] if {"inputResponses", "requestState"} & set(each.params)), None)


def retried_rounds(record: ClientRecord) -> list[tuple[Round, Message]]:
    found = [(each, each.retry) for each in rounds(record) if each.retry is not None]
    return seen(found, "the client did not send the request again")


def given_answers(record: ClientRecord, name: str) -> list[tuple[Json, Any, Any]]:
    """What one kind of question was answered with: its params, the result, and the message."""
    key = f"key-{name}"
    found = [
        (each.asked[key].get("params", {}), each.answers[key], retry.raw)
        for each, retry in retried_rounds(record)
        if key in each.asked and key in each.answers
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
