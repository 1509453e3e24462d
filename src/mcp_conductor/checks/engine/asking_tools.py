"""Tools during whose calls a server asks its client: which these are, and what it asks another client."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.questions import KINDS
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.tool_calls import calls, carry_out
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import Message

MOST_ASKING = 12  # tools that are called again because they ask


def asking(probe: Probe, *methods: str, mode: str | None = None) -> list[Json]:
    """The params of calls during which the server asked one of METHODS, or anything; in this MODE of elicitation."""
    names: set[Any] = set()
    current: Any = None
    for frame in probe.record().frames:
        for message in frame.messages():
            if frame.source == "client" and message.kind == "request" and message.method == "tools/call":
                current = message.params.get("name")
            elif frame.source == "server":
                for method, params in _inside(message):
                    if method in (methods or KINDS) and mode in (None, params.get("mode", "form")):
                        names.add(current)
    return [params for params, _ in calls(probe) if params.get("name") in names][:MOST_ASKING]


def _inside(message: Message) -> Iterator[tuple[str, Json]]:
    """The questions in one message: methods and params."""
    if message.kind == "request":
        yield message.method, message.params
    result = message.result if message.kind == "result" else None
    requests = result.get("inputRequests") if isinstance(result, dict) else None
    for each in requests.values() if isinstance(requests, dict) else []:
        if isinstance(each, dict):
            params = each.get("params")
            yield str(each.get("method")), params if isinstance(params, dict) else {}


class Declaring(Answers):
    """Answers everything, but declares no other capabilities than it is told to."""

    def __init__(self, declared: Json) -> None:
        super().__init__(roots=[], sampling="auto", elicitation="auto")
        self._declared = declared

    def capabilities(self, dialect: Dialect) -> Json:  # noqa: ARG002  # the same in every revision
        return self._declared


async def called_again(probe: Probe, wanted: list[Json], answers: Answers) -> Record:
    """A conversation of its own in which tools are called once more, by a client that gives other ANSWERS."""
    async with probe.polite_session(answers=answers) as other:
        for params in wanted:
            await carry_out(other, params)
        await other.alive()  # time for what it still wants to say
        return other.record()
