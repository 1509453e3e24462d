"""Lines of our stdin, each as soon as it is whole: who writes them may wait for our answer before the next."""

import asyncio
import os
from collections.abc import AsyncIterator

from mcp_conductor.errors import UsageError

_AT_ONCE = 65536  # bytes that are read


async def lines_of(descriptor: int, longest: int) -> AsyncIterator[bytes]:
    """The lines that come from DESCRIPTOR, without their ends; one that is longer than LONGEST bytes is refused."""
    parts: list[bytes] = []
    waiting = 0
    while data := await _read(descriptor):
        *whole, rest = data.split(b"\n")
        for line in whole:
            yield b"".join([*parts, line])
            parts, waiting = [], 0
        parts.append(rest)
        waiting += len(rest)
        if waiting > longest:
            raise UsageError(f"stdin: a line has more than {longest // 1_000_000} MB")
    if waiting:
        yield b"".join(parts)


async def _read(descriptor: int) -> bytes:
    """The next bytes; none at the end. It waits in the event loop, so that everything else goes on."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a file, which is always ready
        return os.read(descriptor, _AT_ONCE)
    except NotImplementedError:  # Windows
        return await asyncio.to_thread(os.read, descriptor, _AT_ONCE)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    try:
        return os.read(descriptor, _AT_ONCE)
    except OSError as error:
        raise UsageError(f"cannot read stdin: {error.strerror}") from error
