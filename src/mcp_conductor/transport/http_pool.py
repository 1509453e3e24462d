"""The connections to one place: kept open between requests, limited in number, waited for in turn."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from mcp_conductor.bounded.direct import in_task
from mcp_conductor.errors import TransportError
from mcp_conductor.transport.http_connection import Connection

# One for each request in flight, and one for the stream that the server pushes on.
MOST_CONNECTIONS = 256


class Pool:
    """Connections that CONNECT makes; each is taken by one request at a time, and given back."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], most: int = MOST_CONNECTIONS) -> None:
        self._connect = connect
        self._most = most
        self._idle: list[Connection] = []  # the last is used first: it is the least likely to be closed
        self._open: set[Connection] = set()
        self._opening = 0
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._closed = False

    @property
    def has_idle(self) -> bool:
        return bool(self._idle) and not self._waiting

    def take_idle(self) -> Connection | None:
        """A connection that can be used at once, if there is one and no one waits for it."""
        while self._idle and not self._waiting:
            connection = self._idle.pop()
            if connection.usable and not connection.looks_closed():
                return connection
            self._drop(connection)
        return None

    async def take(self) -> Connection:
        """A connection for one request: an idle one, a new one, or where there are too many, the next given back."""
        connection = self.take_idle()
        if connection is None:
            if len(self._open) + self._opening < self._most:
                self._opening += 1
            else:
                connection = await self._turn()
        return await self._new() if connection is None else connection

    def give_back(self, connection: Connection) -> None:
        """CONNECTION was used; if it goes on, another request may have it."""
        if not connection.usable:
            self._drop(connection)
        elif not self._hand_over(connection):
            self._idle.append(connection)

    async def aclose(self) -> None:
        """Close all connections, those in use too."""
        self._closed = True
        closing, self._open, self._idle = self._open, set(), []
        for connection in closing:
            connection.on_idle_end = None
            connection.close()
        for end in ("politely", "at once"):
            if all(connection.lost.done() for connection in closing):
                break
            if end == "at once":  # TLS waits for the other side's goodbye
                for connection in closing:
                    connection.abort()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def _new(self) -> Connection:
        """A new connection, for which there is room, which is counted already."""
        try:
            await in_task()  # connecting has a time-out
            connection = await self._connect()
        except BaseException:
            self._leave_room()
            raise
        self._opening -= 1
        if self._closed:
            connection.abort()
            raise TransportError("the connections were closed meanwhile")
        self._open.add(connection)
        connection.on_idle_end = self._drop
        return connection

    async def _turn(self) -> Connection | None:
        """Wait for a connection; None: there is room for a new one, which counts as being opened."""
        turn: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif not turn.cancelled():
                connection = turn.result()
                if connection is None:
                    self._leave_room()
                else:
                    self.give_back(connection)
            raise

    def _leave_room(self) -> None:
        """One connection less is being opened; who has waited longest may open another."""
        if not self._hand_over(None):
            self._opening -= 1

    def _hand_over(self, connection: Connection | None) -> bool:
        """Give CONNECTION, or room for a new one, to who has waited longest; whether there was anyone."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(connection)
                return True
        return False

    def _drop(self, connection: Connection) -> None:
        """CONNECTION is not used any more."""
        connection.on_idle_end = None
        connection.abort()
        if connection in self._idle:
            self._idle.remove(connection)
        if connection in self._open:
            self._open.discard(connection)
            self._opening += 1
            self._leave_room()
