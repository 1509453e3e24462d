"""What the hosts of one scripted server share: questions that wait for an answer, work under way, the clock."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from mcp_conductor.checks.harness.client_record import ClientConnection, ClientRecord
from mcp_conductor.checks.harness.scripted_server import Channel, ScriptCall, ServerScript
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.message import Message, build, members

_MOST_FRAMES = 5_000
_MOST_BYTES = 32 << 20  # of memory for them
_MOST_CONNECTIONS = 100


class RunState:
    """What both hosts know: the questions that wait for an answer, the calls that are worked on, and the clock."""

    def __init__(self, record: ClientRecord, script: ServerScript) -> None:
        self.record = record
        self.script = script
        self.over = False  # what the client does from now on is our doing
        self.stirred = 0.0  # when something was last said, by either side
        self.enough = asyncio.Event()  # the client says more than anybody can want to hear
        self._frames = 0
        self._bytes = 0
        self._connections = 0
        self._began = asyncio.get_running_loop().time()
        self._waiting: dict[Id, asyncio.Future[Message]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def now(self) -> float:
        self.stirred = asyncio.get_running_loop().time()
        return self.stirred - self._began

    def note(self, connection: ClientConnection, source: Any, text: str) -> None:
        if self.over:
            return
        connection.transcript.add(self.now(), source, text)
        self.count(text.__sizeof__())

    def count(self, size: int, *, connections: int = 0) -> None:
        """Count what the client says, on all its connections together: it may be too much."""
        self._frames += 1
        self._bytes += size
        self._connections += connections
        if self._frames > _MOST_FRAMES or self._bytes > _MOST_BYTES or self._connections > _MOST_CONNECTIONS:
            self.too_much()

    def too_much(self) -> None:
        """Hear no more of this client."""
        self.over = True
        self.enough.set()

    def take(self, connection: ClientConnection, message: Message, channel: Channel | None = None) -> None:
        """Take a notification, or an answer to a question of ours; VOICE is how we can say something at once."""
        if message.kind == "notification":
            self.script.heard(connection, message)
            ready = message.method == "notifications/initialized"
            if ready and channel is not None and self.script.finds_client_idle:
                self.begin(self.script.ask_idle(ScriptCall(self.record, message, connection, channel)))
        elif message.kind != "request" and message.id in self._waiting:
            future = self._waiting.pop(message.id)
            if not future.done():
                future.set_result(message)

    def hear(
        self,
        connection: ClientConnection,
        message: Message,
        channel: Channel | None,
        answer: Callable[[Message], Coroutine[Any, Any, None]],
    ) -> None:
        """Take one message, or several in a batch; requests are worked on by ANSWER."""
        for each in members(message) if message.kind == "batch" else [message]:
            if each.kind == "request":
                self.begin(answer(each))
            else:
                self.take(connection, each, channel)

    async def ask(self, say: Callable[[str], Awaitable[None]], raw: Json, seconds: float) -> Message | None:
        """What the client answers to RAW, which is said by SAY; None when it does not in time."""
        question = build(raw)
        assert question.id is not None
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[question.id] = answer
        try:
            await say(question.text)
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            return None
        finally:
            self._waiting.pop(question.id, None)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        self.over = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
