"""The least that a relay on asyncio can be: every byte passes both ways, nothing is looked at or kept.

usage: least_relay.py COMMAND…
"""

import asyncio
import sys
from asyncio.subprocess import PIPE

CHUNK = 1 << 16


async def main() -> int:
    """Pass on until the server has closed its output; its exit code."""
    loop = asyncio.get_running_loop()
    server = await asyncio.create_subprocess_exec(*sys.argv[1:], stdin=PIPE, stdout=PIPE)
    client = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(client), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    out = asyncio.StreamWriter(transport, protocol, None, loop)
    forth = asyncio.create_task(passed(client, server.stdin))
    await passed(server.stdout, out)
    forth.cancel()
    return await server.wait()


async def passed(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(CHUNK):
        sink.write(data)
        await sink.drain()
    sink.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
