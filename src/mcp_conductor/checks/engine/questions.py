"""What a server asks of its client: roots, sampling, elicitation; as requests, or in place of a result."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol import Json

SAMPLING, ELICITATION, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"
KINDS = (SAMPLING, ELICITATION, ROOTS)
CAPABILITIES = {ELICITATION: "elicitation", SAMPLING: "sampling", ROOTS: "roots"}
QUESTION = "input_required"  # what a result calls itself that is a question
Question = tuple[str, Json, Any]  # method, params, and the message that it came in


def asked(record: Record) -> Iterator[Question]:
    """All questions of the server, in either form."""
    for message in record.questions():
        yield message.method, message.params, message.raw
    for exchange, result in record.results():
        requests = result.get("inputRequests") if not record.dialect.handshake else None
        for each in requests.values() if isinstance(requests, dict) else []:
            if isinstance(each, dict) and isinstance(each.get("method"), str):
                params = each.get("params")
                yield each["method"], params if isinstance(params, dict) else {}, exchange.reply and exchange.reply.raw


def asked_for(record: Record, method: str) -> list[Question]:
    found = [question for question in asked(record) if question[0] == method]
    if not found:
        raise NotSeen(f"the server did not ask for {method}")
    return found
