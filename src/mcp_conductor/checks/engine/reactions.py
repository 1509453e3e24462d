"""What a server does with a text that is not a request: it answers with a message, an HTTP status, or not at all."""

from typing import Any

from mcp_conductor.checks.engine.http_probe import HttpResponse, http_session
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.protocol.message import Message


class Reaction:
    """What came of a text that is not a request: a message, an HTTP status, or nothing."""

    def __init__(
        self, message: Message | None, status: int | None = None, response: HttpResponse | None = None
    ) -> None:
        self.message = message
        self.status = status
        self._response = response

    @property
    def refused(self) -> bool:
        return self.status is not None and 400 <= self.status < 500

    @property
    def shown(self) -> Any:
        if self._response is not None:
            return self._response.shown()
        return self.message.raw if self.message is not None else self.status


async def reaction(probe: Probe, text: str) -> Reaction:
    """Say TEXT in a conversation of its own; once, however many ask."""
    return (await probe.once(text, lambda: reactions(probe, [text])))[0]


async def reactions(probe: Probe, texts: list[str]) -> list[Reaction]:
    """Say TEXTS, one after the other, in a conversation of their own."""
    if probe.transport == "http":
        async with http_session(probe) as http:
            answers = [await http.post(text) for text in texts]
        return [Reaction(answer.message, answer.status, answer) for answer in answers]
    async with probe.odd_session() as other:
        return [await _react(other, text) for text in texts]


async def _react(probe: Probe, text: str) -> Reaction:
    seen = len(probe.record().frames)
    message = await probe.odd(text)
    since = probe.record().frames[seen:]
    if message is None:  # perhaps an error without an id, which answers no request in particular
        heard = [each for frame in since if frame.source == "server" for each in frame.messages()]
        message = next((each for each in heard if each.kind == "error" and each.id is None), None)
    statuses = [frame.text for frame in since if frame.source == "http"]
    refused = next((int(each.split()[1]) for each in statuses if each.startswith("HTTP 4")), None)
    return Reaction(message, refused)
