"""A server in the loop of the test itself, which says what a coroutine says: for tests of the HTTP client alone."""

import asyncio


class Talk:
    """A server in this loop: a coroutine of the test talks on each connection."""

    def __init__(self, talk, tls=None):
        self._talk = talk
        self._tls = tls
        self.connections = 0
        self.writers = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._on_connection, "127.0.0.1", 0, ssl=self._tls)
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in self.writers:
            writer.close()
        await asyncio.sleep(0)

    async def _on_connection(self, reader, writer):
        self.connections += 1
        self.writers.append(writer)
        try:
            await self._talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()


def body_of(head: bytes) -> int:
    return int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)


async def request(reader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    return head + await reader.readexactly(body_of(head))


def answer(body: bytes = b"hi") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
