"""What a reply says: its result, or the code and the data of its error."""

from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import RESOURCE_NOT_FOUND
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message

_URL_ELICITATION_REQUIRED = -32042
RETIRED_CODES = (RESOURCE_NOT_FOUND, _URL_ELICITATION_REQUIRED)


def error_of(reply: Message | None) -> Json:
    """The error of a reply, if it is one and an object."""
    error = reply.error if reply is not None and reply.kind == "error" else None
    return error if isinstance(error, dict) else {}


def error_code(reply: Message | None) -> Any:
    """The code of an error, of any type; None for a result."""
    return error_of(reply).get("code")


def code_of(reply: Message | None) -> Any:
    """The code of an error; None for a result. A code that is not an integer is a fault of its own."""
    code = error_code(reply)
    if code is not None and type(code) is not int:
        raise NotSeen("error codes are not integers: see base-error-shape-server")
    return code


def sent_codes(record: Record) -> list[tuple[int, Exchange, Json]]:
    """All error codes that are numbers, with what they answer and the whole reply."""
    found = []
    for exchange, error in record.errors():
        code = error.get("code")
        if isinstance(code, (int, float)) and not isinstance(code, bool) and exchange.reply is not None:
            found.append((int(code), exchange, exchange.reply.raw))
    if not found:
        raise NotSeen("no error was sent")
    return found


def data_of(reply: Message | None) -> Json:
    data = error_of(reply).get("data")
    return data if isinstance(data, dict) else {}


def result_of(reply: Message | None) -> Json | None:
    """The result of a reply, if it is one and an object."""
    result = reply.result if reply is not None and reply.kind == "result" else None
    return result if isinstance(result, dict) else None


def completed(reply: Message) -> Json | None:
    """The result, if it is one and answers the question: neither a question nor a task in place of an answer."""
    result = result_of(reply)
    if result is None or "task" in result or result.get("resultType", "complete") != "complete":
        return None
    return result


def unasked_replies(record: Record) -> list[Message]:
    """Answers to no request of ours."""
    asked = {message.id for message in record.sent if message.kind == "request"}
    return [message for message in record.heard if message.kind in ("result", "error") and message.id not in asked]
