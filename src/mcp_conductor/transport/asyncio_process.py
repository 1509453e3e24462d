"""A child process by asyncio's own means, for systems without sessions and process groups, such as Windows.

Only the child itself can be ended there; what it started is not known.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import cast

from mcp_conductor.transport.process_tree import Member
from mcp_conductor.transport.processes import GRACE_SECONDS, Owner, happens


class AsyncioProcess(asyncio.SubprocessProtocol):
    """The same as `processes.Process`."""

    age = 0.0  # it is never started before something listens to it

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self.was_signalled = False  # by us, because it did not end by itself
        self._exited = asyncio.Event()

    @classmethod
    async def start(
        cls, command: tuple[str, ...], *, cwd: str | None, env: Mapping[str, str] | None, owner: Owner
    ) -> "AsyncioProcess":
        process = cls(owner)
        start = asyncio.get_running_loop().subprocess_exec(lambda: process, *command, cwd=cwd, env=env)
        starting = asyncio.ensure_future(start)
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # asyncio waits for pipes if its start is cancelled; so the start is left alone, and then ended.
            with suppress(OSError, ValueError):
                await starting
                await process.end()
            raise
        return process

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._owner.received(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd != 0 or exc is not None:  # not if we closed it
            self._owner.pipe_closed(fd)

    def process_exited(self) -> None:
        self._exited.set()
        self._owner.exited()

    @property
    def pid(self) -> int:
        return self._transport.get_pid() or 0

    @property
    def returncode(self) -> int | None:
        return self._transport.get_returncode()

    async def exits(self, seconds: float = GRACE_SECONDS) -> bool:
        return await happens(self._exited, seconds)

    def pause(self, fd: int) -> None:
        cast("asyncio.ReadTransport", self._transport.get_pipe_transport(fd)).pause_reading()

    def resume(self, fd: int) -> None:
        cast("asyncio.ReadTransport", self._transport.get_pipe_transport(fd)).resume_reading()

    def close(self, fd: int) -> None:
        cast("asyncio.ReadTransport", self._transport.get_pipe_transport(fd)).close()

    def write(self, data: bytes) -> None:
        self._stdin.write(data)

    def unsent(self) -> int:
        return self._stdin.get_write_buffer_size()

    @property
    def reads(self) -> bool:
        return not self._stdin.is_closing()

    def close_stdin(self) -> None:
        self._stdin.close()

    def left_running(self) -> set[Member]:
        return set()

    async def end(self) -> set[Member]:
        self.close_stdin()
        for stop in (self._transport.terminate, self._transport.kill):
            if not await self.exits():
                self.was_signalled = True
                with suppress(ProcessLookupError):
                    stop()
        await self.exits()
        self._transport.close()
        # Let the loop close the pipes before it may itself be closed.
        await asyncio.sleep(0)
        return set()
