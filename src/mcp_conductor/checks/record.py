"""A conversation, as judges see it: who said what, in order, and what answered what."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.transcript import Frame, Transcript


class Record:
    """What was recorded of one conversation."""

    def __init__(self, transcript: Transcript, dialect: Dialect, transport: str, opened: Json) -> None:
        self.transcript = transcript
        self.dialect = dialect
        self.transport = transport  # stdio, http or sse
        self.opened = opened  # the result of initialize or server/discover
        capabilities = opened.get("capabilities")
        self.capabilities: Json = capabilities if isinstance(capabilities, dict) else {}

    @property
    def frames(self) -> list[Frame]:
        return self.transcript.since(0)

    @cached_property
    def sent(self) -> list[Message]:
        """What the client said."""
        return list(self.transcript.messages("client"))

    @cached_property
    def heard(self) -> list[Message]:
        """What the server said, usable or not."""
        return list(self.transcript.messages("server"))

    @cached_property
    def exchanges(self) -> list[Exchange]:
        return self.transcript.exchanges()

    def notifications(self, method: str | None = None) -> Iterator[Message]:
        """Notifications of the server."""
        for message in self.heard:
            if message.kind == "notification" and method in (None, message.method):
                yield message

    def questions(self, method: str | None = None) -> Iterator[Message]:
        """Requests of the server."""
        for message in self.heard:
            if message.kind == "request" and method in (None, message.method):
                yield message

    def results(self, *methods: str) -> Iterator[tuple[Exchange, Json]]:
        """Requests that were answered with a result, which is an object; all of them, or those of METHODS."""
        for exchange in self.exchanges:
            if methods and exchange.request.method not in methods:
                continue
            reply = exchange.reply
            if reply is not None and reply.kind == "result" and isinstance(reply.result, dict):
                yield exchange, reply.result

    def complete(self, *methods: str) -> Iterator[tuple[Exchange, Json]]:
        """The same, without results that are questions or tasks in place of an answer."""
        for exchange, result in self.results(*methods):
            if result.get("resultType", "complete") == "complete" and "task" not in result:
                yield exchange, result

    def errors(self, *methods: str) -> Iterator[tuple[Exchange, Json]]:
        """Requests that were answered with an error, which is an object."""
        for exchange in self.exchanges:
            reply = exchange.reply
            if reply is None or reply.kind != "error" or not isinstance(reply.error, dict):
                continue
            if not methods or exchange.request.method in methods:
                yield exchange, reply.error

    def items(self, method: str, member: str) -> Iterator[tuple[str, Any]]:
        """The items of a list in all its pages, each with its path: tools[0]."""
        for _, result in self.complete(method):
            listed = result.get(member)
            for index, item in enumerate(listed if isinstance(listed, list) else []):
                yield f"{member}[{index}]", item

    def declares(self, capability: str) -> bool:
        """Whether the server declares a capability: tools, or resources.subscribe."""
        found: Any = self.capabilities
        for step in capability.split("."):
            if not isinstance(found, dict) or step not in found:
                return False
            found = found[step]
        return found is not False
