"""A pair of streams: each side reads and writes one message at a time.

We did not open them, so we do not close them either.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from inspect import isawaitable

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.errors import ConfigError
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.in_process_spec import StreamsSpec
from mcp_conductor.protocol.message import Message, decode
from mcp_conductor.transport import Authorize, Listener, finish, opens

GOODBYE_SECONDS = 2.0  # for what must still be said when we leave


@opens("streams")
@asynccontextmanager
async def open_streams(
    spec: StreamsSpec, listener: Listener, _: Authorize | None = None
) -> AsyncIterator["StreamsTransport"]:
    """Listen to one stream and speak on the other; on leaving, stop doing so."""
    transport = StreamsTransport(spec, listener)
    try:
        yield transport
    finally:
        await finish(transport.end())


class StreamsTransport:
    """Messages by way of two streams."""

    cancels_by_closing = False

    def __init__(self, spec: StreamsSpec, listener: Listener) -> None:
        self._spec = spec
        self._listener = listener
        self._outbox: deque[Message] = deque()
        self._more = asyncio.Event()
        self._gone = False
        if not any(hasattr(spec.write, way) for way in ("send", "write")):
            raise ConfigError(f"{spec}: nothing can be written to {type(spec.write).__name__}")
        self._reading = asyncio.create_task(self._read())
        self._writing = asyncio.create_task(self._write())

    def speak(self, dialect: Dialect) -> None:
        """Nothing on a stream depends on the revision."""

    def send(self, message: Message) -> None:
        self._outbox.append(message)
        self._more.set()

    def abandon(self, request_id: Id) -> None:
        """All replies share one stream; there is nothing to close."""

    def unsent(self) -> int:
        return sum(len(message.text) for message in self._outbox)

    async def end(self) -> None:
        """Let what we said last go out, if the other side reads it."""
        self._gone = True
        self._more.set()
        if not self._writing.done():
            await asyncio.wait({self._writing}, timeout=GOODBYE_SECONDS)
        for task in (self._reading, self._writing):
            task.cancel()
        await asyncio.gather(self._reading, self._writing, return_exceptions=True)

    async def _read(self) -> None:
        why = "the server closed its stream"
        try:
            pace = Pace(self._listener)
            async for item in self._spec.read:
                self._hear(item)
                await pace.keep()
        except Exception as error:  # noqa: BLE001  # a stream of any kind may break in any way
            why = f"the server's stream broke: {error!r}"
        self._tell_gone(why)

    def _hear(self, item: object) -> None:
        line = self._spec.decode(item)
        if not isinstance(line, (str, bytes)):
            self._tell_gone(
                f"the server's stream gave {type(line).__name__}, which is not a line of JSON: give `decode`"
            )
            return
        data = line.encode(errors="surrogateescape") if isinstance(line, str) else line
        if data.strip() and not self._gone:
            self._listener.heard(decode(data.strip(b"\r\n"), self._spec.budgets))

    async def _write(self) -> None:
        try:
            while self._outbox or not self._gone:
                if not self._outbox:
                    self._more.clear()
                    await self._more.wait()
                    continue
                await self._put(self._spec.encode(self._outbox[0].text))
                self._outbox.popleft()
        except Exception as error:  # noqa: BLE001  # see _read
            self._tell_gone(f"the server's stream accepts nothing more: {error!r}")

    async def _put(self, item: object) -> None:
        """Write ITEM, in the manner of anyio (`send`) or of asyncio (`write`, then `drain`)."""
        send, drain = getattr(self._spec.write, "send", None), getattr(self._spec.write, "drain", None)
        done = send(item) if send is not None else self._spec.write.write(item)  # type: ignore[attr-defined]
        if isawaitable(done):
            await done
        if send is None and drain is not None:
            await drain()

    def _tell_gone(self, why: str) -> None:
        if not self._gone:
            self._gone = True
            self._listener.gone(why)
