"""What we answer when the server asks: requests of its own, or questions in place of a result."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from mcp_conductor.client.deadlines import Waiting
from mcp_conductor.errors import ProtocolError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answer, Answers, Incoming
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import Message, build
from mcp_conductor.transport import Transport


class Answering(ABC):
    """The part of a session that answers."""

    dialect: Dialect
    answers: Answers
    transport: Transport
    _waiting: Waiting
    _on_incoming: Callable[[Incoming], None] | None
    budgets: Budgets
    _unread = False  # whether the server was said not to read our answers

    @abstractmethod
    def note(self, text: str) -> None: ...

    @abstractmethod
    def _send(self, message: Message) -> None: ...

    def input_responses(self, questions: Any) -> Json:
        """Our answers to the inputRequests of a result or a task."""
        responses: Json = {}
        for key, question in as_object(questions).items():
            method, params = str(as_object(question).get("method")), as_object(as_object(question).get("params"))
            answer = self.answers.to(method, params, self.dialect)
            if answer.warning is not None:
                self.note(answer.warning)
            if answer.result is None:
                raise ProtocolError(f"the server needs {method} to go on, and it was refused", hint=answer.warning)
            responses[key] = answer.result
            self._tell(Incoming(build({"jsonrpc": "2.0", "id": key, "method": method, "params": params}), answer))
        return responses

    def _asked(self, message: Message) -> None:
        if not self.dialect.handshake:
            self.note(
                f"the server sent the request {message.method}; {self.dialect.version} has no requests from servers"
            )
            return
        if self._leaves_unread():
            return
        answer = self._answer(message.method, message.params)
        self._send(build({"jsonrpc": "2.0", "id": message.id, **answer.members}))
        self._tell(Incoming(message, answer))

    def _leaves_unread(self) -> bool:
        """Whether the server asks and asks, but does not read what we answer."""
        unsent = self.transport.unsent()
        if unsent > self.budgets.message_bytes and not self._unread:
            self._unread = True
            self.note(f"the server does not read our answers: {unsent} bytes wait; further requests are not answered")
        return unsent > self.budgets.message_bytes

    def _answer(self, method: str, params: Json) -> Answer:
        try:
            answer = self.answers.to(method, params, self.dialect)
        except UsageError as error:
            # The user's answer is wrong, so nothing that waits for it can go on.
            wrong: Exception = error
            self._waiting.fail_all(lambda _: wrong)
            return Answer(error={"code": -32603, "message": "this client has no answer that fits"})
        if answer.warning is not None:
            self.note(answer.warning)
        return answer

    def _tell(self, incoming: Incoming) -> None:
        if self._on_incoming is not None:
            self._on_incoming(incoming)


def as_object(value: Any) -> Json:
    """VALUE if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
