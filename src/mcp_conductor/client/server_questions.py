"""How questions of the server are answered: its requests, and the questions in place of a result."""

from collections.abc import Callable
from typing import Any

from mcp_conductor.errors import ProtocolError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answer, Answers, Incoming
from mcp_conductor.protocol.compose import compose, compose_reply
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import Message, build


class ServerQuestions:
    """The questions of one server. Answers, notes and failures go to the functions that this was made with."""

    def __init__(
        self,
        *,
        most_unread: int,  # bytes of answers that a server may leave unread, before it gets no more
        note: Callable[[str], None],
        send: Callable[[Message], None],
        unsent: Callable[[], int],
        give_up: Callable[[Exception], None],  # all open requests
        tell: Callable[[Incoming], None],
    ) -> None:
        self._most_unread = most_unread
        self._note = note
        self._send = send
        self._unsent = unsent
        self._give_up = give_up
        self._tell = tell
        self._unread = False  # whether a note already says that the server does not read our answers

    def responses(self, questions: Any, answers: Answers, dialect: Dialect) -> Json:
        """Our answers to the inputRequests of a result or a task."""
        responses: Json = {}
        for key, question in as_object(questions).items():
            method, params = str(as_object(question).get("method")), as_object(as_object(question).get("params"))
            answer = answers.to(method, params, dialect)
            if answer.warning is not None:
                self._note(answer.warning)
            if answer.result is None:
                raise ProtocolError(f"the server needs {method} to go on, and it was refused", hint=answer.warning)
            responses[key] = answer.result
            self._tell(Incoming(build(compose(method, params, identity=key)), answer))
        return responses

    def answer(self, message: Message, answers: Answers, dialect: Dialect) -> None:
        """Answer a request of the server, where DIALECT has such requests and the server reads what we send."""
        if not dialect.handshake:
            self._note(f"the server sent the request {message.method}; {dialect.version} has no requests from servers")
            return
        if self._leaves_unread():
            return
        answer = self._answer_to(message, answers, dialect)
        self._send(build(compose_reply(message.id, answer.members)))
        self._tell(Incoming(message, answer))

    def _leaves_unread(self) -> bool:
        """Whether the server keeps asking, but does not read our answers."""
        unsent = self._unsent()
        if unsent > self._most_unread and not self._unread:
            self._unread = True
            self._note(f"the server does not read our answers: {unsent} bytes wait; further requests are not answered")
        return unsent > self._most_unread

    def _answer_to(self, message: Message, answers: Answers, dialect: Dialect) -> Answer:
        try:
            answer = answers.to(message.method, message.params, dialect)
        except UsageError as error:
            # The user's answer is wrong, so nothing that waits for it can go on.
            self._give_up(error)
            return Answer(error={"code": -32603, "message": "this client has no answer that fits"})
        if answer.warning is not None:
            self._note(answer.warning)
        return answer


def as_object(value: Any) -> Json:
    """VALUE if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
