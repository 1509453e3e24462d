"""Results that are questions (2026-07-28): the same request is sent again, with the answers, until it is complete."""

from mcp_conductor.errors import ProtocolError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import render


def is_final(method: str, result: Json, dialect: Dialect) -> bool:
    """Whether RESULT is the end of the matter; raises ProtocolError when its type means nothing for METHOD."""
    kind = result.get("resultType", "complete")
    if kind == "complete" or (kind == "task" and method == "tools/call"):
        return True
    if kind != "input_required" or method not in dialect.input_rounds:
        raise ProtocolError(f"{method} was answered with resultType {render(kind)}, which is unknown here")
    if "inputRequests" not in result and "requestState" not in result:
        raise ProtocolError(f"{method}: input_required came without inputRequests and without requestState")
    return False


def next_round(params: Json, result: Json, responses: Json) -> Json:
    """The params of the next round: the first ones, our answers, and the server's state exactly as it came."""
    following = {key: value for key, value in params.items() if key not in ("inputResponses", "requestState")}
    if responses:
        following["inputResponses"] = responses
    if "requestState" in result:
        following["requestState"] = result["requestState"]
    return following
