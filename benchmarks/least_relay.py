"""The least that a relay on asyncio can be: every byte passes both ways, nothing is looked at or kept.

usage: least_relay.py COMMAND…             between stdio and a server that it starts
       least_relay.py --tcp HOST PORT      between connections and those to HOST and PORT; it prints its own port
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


async def tcp(host: str, port: str) -> int:
    """Pass on all connections until stdin ends."""

    async def connected(client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        server, forth = await asyncio.open_connection(host, port)
        await asyncio.gather(passed(client, forth), passed(server, back))

    door = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(door.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    return 0


async def passed(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(CHUNK):
        sink.write(data)
        await sink.drain()
    sink.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(tcp(*sys.argv[2:]) if sys.argv[1] == "--tcp" else main()))
