"""`connect()` that is cancelled: library_cancel.py timeout|cancel|twice MILLISECONDS COMMAND …

It ends with 0 when `connect()` has ended, in any way; with 3 if the server is still there then.
"""

import asyncio
import contextlib
import os
import sys
import threading
from pathlib import Path

from mcp_conductor import MethodError, StdioSpec, TransportError, connect


async def converse(command: tuple[str, ...]) -> None:
    async with connect(StdioSpec(command=command)) as session:
        while True:
            with contextlib.suppress(MethodError):
                await session.request("tools/list")


async def cancelled(way: str, seconds: float, command: tuple[str, ...]) -> None:
    if way == "timeout":
        async with asyncio.timeout(seconds):
            await converse(command)
    task = asyncio.create_task(converse(command))
    for _ in range(2 if way == "twice" else 1):
        await asyncio.sleep(seconds)
        task.cancel()
    await task


def children() -> str:
    return "".join(Path(f"/proc/self/task/{task}/children").read_text() for task in os.listdir("/proc/self/task"))


def main(way: str, milliseconds: str, *command: str) -> int:
    try:
        asyncio.run(cancelled(way, float(milliseconds) / 1000, command))
    except (TimeoutError, asyncio.CancelledError, TransportError) as error:
        print(type(error).__name__)
    if left := children():
        print("children:", left, file=sys.stderr)
        return 3
    others = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    print("threads:", others)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
