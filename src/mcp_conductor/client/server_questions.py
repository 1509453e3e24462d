"""How questions of the server are answered: its requests, and the questions in place of a result."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_conductor.client.callbacks import being_cancelled, cancel_soon, report_to_loop
from mcp_conductor.client.wire import Wire
from mcp_conductor.errors import ConductorError, ProtocolError, UsageError
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.answers import Answer, Answers, Incoming
from mcp_conductor.protocol.compose import compose, compose_reply
from mcp_conductor.protocol.dialect import INTERNAL_ERROR, Dialect
from mcp_conductor.protocol.message import Message, build

MOST_AT_ONCE = 1000  # questions whose answers are being made by functions of the user
_BUSY = Answer(
    error={"code": INTERNAL_ERROR, "message": "this client is busy with other requests"},
    warning=f"the server asked more than {MOST_AT_ONCE} questions at once, or two with the same id",
)


class ServerQuestions:
    """The questions of one server: answered on WIRE, and told to TELL with their answers."""

    def __init__(
        self,
        wire: Wire,
        *,
        most_unread: int,  # bytes of answers that a server may leave unread, before it gets no more
        tell: Callable[[Incoming], None],
    ) -> None:
        self._wire = wire
        self._most_unread = most_unread
        self._tell = tell
        self._unread = False  # whether a note already says that the server does not read our answers
        self._open: dict[Id, asyncio.Task[None]] = {}

    async def responses(self, questions: Any, answers: Answers, dialect: Dialect) -> Json:
        """Our answers to the inputRequests of a result or a task; raises what a function of the user raises."""
        responses: Json = {}
        for key, question in as_object(questions).items():
            method, params = str(as_object(question).get("method")), as_object(as_object(question).get("params"))
            answer = _begun(method, params, answers, dialect)
            if not isinstance(answer, Answer):
                answer = await _made(answer, method)
            if answer.warning is not None:
                self._wire.note(answer.warning)
            if answer.failure is not None:
                raise answer.failure
            if answer.result is None:
                raise ProtocolError(f"the server needs {method} to go on, and it was refused", hint=answer.warning)
            responses[key] = answer.result
            self._tell(Incoming(build(compose(method, params, identity=key)), answer))
        return responses

    def answer(self, message: Message, answers: Answers, dialect: Dialect) -> None:
        """Answer a request of the server, where DIALECT has such requests and the server reads what we send."""
        if not dialect.handshake:
            self._wire.note(
                f"the server sent the request {message.method}; {dialect.version} has no requests from servers"
            )
            return
        if self._leaves_unread():
            return
        answer = self._answer_to(message, answers, dialect) if self._may_ask(message) else _BUSY
        if isinstance(answer, Answer):
            self._reply(message, answer)
        else:
            self._reply_later(message, answer)

    def withdrawn(self, identity: object) -> None:
        """The server does not wait for the answer to this question any more."""
        if isinstance(identity, (int, str)) and (task := self._open.pop(identity, None)) is not None:
            cancel_soon(task)

    def close(self) -> "list[asyncio.Task[None]]":
        """Answer no more: what has to be waited for."""
        tasks = list(self._open.values())
        for task in tasks:
            cancel_soon(task)
        return tasks

    def _may_ask(self, message: Message) -> bool:
        """Whether a function may begin to answer MESSAGE: there are not too many, and none has the same id."""
        return len(self._open) < MOST_AT_ONCE and message.id not in self._open

    def _leaves_unread(self) -> bool:
        """Whether the server keeps asking, but does not read our answers."""
        unsent = self._wire.unsent()
        if unsent > self._most_unread and not self._unread:
            self._unread = True
            self._wire.note(
                f"the server does not read our answers: {unsent} bytes wait; further requests are not answered"
            )
        return unsent > self._most_unread

    def _answer_to(self, message: Message, answers: Answers, dialect: Dialect) -> Answer | Awaitable[Answer]:
        try:
            return _begun(message.method, message.params, answers, dialect)
        except UsageError as error:
            no_answer = {"code": INTERNAL_ERROR, "message": "this client has no answer that fits"}
            # The user's answer is wrong. If only one request is open, it is the one that cannot go on without it.
            return Answer(error=no_answer, failure=None if self._wire.fail_lone(error) else error)

    def _reply(self, message: Message, answer: Answer) -> None:
        if answer.warning is not None:
            self._wire.note(answer.warning)
        if answer.failure is not None:
            self._wire.note(f"no answer to {message.method} could be made: {answer.failure}")
            report_to_loop(f"the answer to {message.method}")(answer.failure)
        self._wire.send(build(compose_reply(message.id, answer.members)))
        self._tell(Incoming(message, answer))

    def _reply_later(self, message: Message, answer: Awaitable[Answer]) -> None:
        identity = message.id
        assert identity is not None  # it is a request
        self._wire.pause()
        task = self._open[identity] = asyncio.ensure_future(self._reply_when_made(message, answer))
        task.add_done_callback(lambda _: self._made(identity, task))

    async def _reply_when_made(self, message: Message, answer: Awaitable[Answer]) -> None:
        made = await _made(answer, message.method)
        if self._wire.how_it_ended is None:
            self._reply(message, made)

    def _made(self, identity: Id, task: "asyncio.Task[None]") -> None:
        if self._open.get(identity) is task:
            del self._open[identity]
        self._wire.resume()
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error  # a mistake of ours: the loop is told


def _begun(method: str, params: Json, answers: Answers, dialect: Dialect) -> Answer | Awaitable[Answer]:
    """The answer to METHOD, or what makes it; a function of the user may raise even what cancels a task."""
    try:
        return answers.to(method, params, dialect)
    except asyncio.CancelledError:
        return _cancelled(method)


async def _made(answer: Awaitable[Answer], method: str) -> Answer:
    """ANSWER when it is made. If what the function waits for was cancelled, it has failed; our own task was not."""
    try:
        return await answer
    except asyncio.CancelledError:
        if being_cancelled():
            raise
        return _cancelled(method)


def _cancelled(method: str) -> Answer:
    reply = {"code": INTERNAL_ERROR, "message": f"this client failed to answer {method}: it was cancelled"}
    return Answer(error=reply, failure=ConductorError(f"the function that answers {method} was cancelled"))


def as_object(value: Any) -> Json:
    """VALUE if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
