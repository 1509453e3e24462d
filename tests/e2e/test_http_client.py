"""The HTTP client by itself, on servers that say exactly what a test wants: connections kept, closed, limited, cut off."""

import asyncio
import gc
import socket
import threading

import pytest
from tests.servers.http_talk import Talk, answer, request

from mcp_conductor.errors import TransportError
from mcp_conductor.transport.http_client import HttpClient
from mcp_conductor.transport.http_pool import Pool


@pytest.fixture
async def client():
    made = HttpClient(environ={})
    yield made
    await made.aclose()


async def polite(reader, writer):
    while True:
        await request(reader)
        writer.write(answer())


async def test_one_connection_carries_request_after_request(client):
    async with Talk(polite) as server:
        for _ in range(5):
            assert (await client.fetch("POST", server.url, body=b"x"))[1] == b"hi"
        assert server.connections == 1


async def test_fifty_requests_in_flight_have_fifty_connections_which_are_used_again(client):
    async with Talk(polite) as server:
        for _ in range(3):
            done = await asyncio.gather(*(client.fetch("POST", server.url, body=b"x") for _ in range(50)))
            assert {body for _, body in done} == {b"hi"}
        assert server.connections == 50


async def test_bytes_that_come_one_by_one_are_an_answer(client):
    async def drip(reader, writer):
        while True:
            await request(reader)
            for byte in answer():
                writer.write(bytes([byte]))
                await asyncio.sleep(0)

    async with Talk(drip) as server:
        assert (await client.fetch("GET", server.url))[1] == b"hi"
        assert (await client.fetch("GET", server.url))[1] == b"hi"


async def test_what_follows_an_answer_is_not_taken_for_the_next(client):
    async def talkative(reader, writer):
        while True:
            await request(reader)
            writer.write(answer(b"one") + answer(b"forged"))

    async with Talk(talkative) as server:
        assert (await client.fetch("GET", server.url))[1] == b"one"
        assert (await client.fetch("GET", server.url))[1] == b"one"
        assert server.connections == 2


async def test_what_is_said_between_requests_is_not_taken_for_an_answer(client):
    speak, ended = asyncio.Event(), asyncio.Event()

    async def unasked(reader, writer):
        await request(reader)
        writer.write(answer(b"one"))
        await speak.wait()
        writer.write(answer(b"forged"))
        await asyncio.gather(reader.read(), return_exceptions=True)
        ended.set()

    async with Talk(unasked) as server, asyncio.timeout(10):
        assert (await client.fetch("GET", server.url))[1] == b"one"
        speak.set()
        await ended.wait()
        speak.clear()
        assert (await client.fetch("GET", server.url))[1] == b"one"
        assert server.connections == 2


async def test_an_answer_may_come_before_the_request_is_sent_whole(client):
    async def hasty(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        await reader.read()

    async with Talk(hasty) as server:
        response, body = await client.fetch("POST", server.url, body=b"x" * (32 << 20))
        assert (response.status, body) == (413, b"no")
        assert (await client.fetch("POST", server.url, body=b"x"))[0].status == 413
        assert server.connections == 2  # what was not sent whole is not gone on with


async def test_an_answer_to_head_has_no_body_and_leaves_the_connection_usable(client):
    async def bodiless(reader, writer):
        while (await request(reader)).startswith(b"HEAD"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        writer.write(answer())

    async with Talk(bodiless) as server:
        assert (await client.fetch("HEAD", server.url))[1] == b""
        assert (await client.fetch("GET", server.url))[1] == b"hi"
        assert server.connections == 1


async def test_an_answer_that_is_left_unread_closes_its_connection(client):
    ended = asyncio.Event()

    async def stream(reader, writer):
        await request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
        assert await reader.read() == b""
        ended.set()

    async with Talk(stream) as server:
        async with client.open("GET", server.url) as response:
            assert response.status == 200
        async with asyncio.timeout(10):
            await ended.wait()


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200 OK\r\nContent-", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"]
)
async def test_to_be_cancelled_closes_the_connection(client, said):
    asked, ended = asyncio.Event(), asyncio.Event()

    async def silent(reader, writer):
        await request(reader)
        writer.write(said)
        asked.set()
        await reader.read()
        ended.set()

    async with Talk(silent) as server:
        fetching = asyncio.ensure_future(client.fetch("GET", server.url))
        async with asyncio.timeout(10):
            await asked.wait()
            for _ in range(3):
                await asyncio.sleep(0)
            fetching.cancel()
            await ended.wait()
        with pytest.raises(asyncio.CancelledError):
            await fetching


@pytest.mark.parametrize("cancelled_after", range(12))
async def test_to_be_cancelled_at_any_turn_leaves_nothing_open(cancelled_after):
    client = HttpClient(environ={})
    async with Talk(polite) as server:
        fetching = asyncio.ensure_future(client.fetch("GET", server.url))
        for _ in range(cancelled_after):
            await asyncio.sleep(0)
        fetching.cancel()
        await asyncio.gather(fetching, return_exceptions=True)
        assert (await client.fetch("GET", server.url))[1] == b"hi"
        await client.aclose()
    gc.collect()  # an open socket would be a warning, which is an error here


@pytest.mark.parametrize("headers", [b"", b"Content-Length: 1\r\n", b"Transfer-Encoding: chunked\r\n\r\n0\r\n"])
async def test_no_more_is_read_than_is_taken_of_a_body_or_of_what_follows_it(client, headers):
    sent = 0

    async def flood(reader, writer):
        nonlocal sent
        await request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n")
        while sent < 64 << 20:
            writer.write(b"x" * 2**16)
            await writer.drain()
            sent += 2**16

    async with Talk(flood) as server, client.open("GET", server.url):
        before = -1
        while sent > before:  # until nothing moves any more
            before = sent
            for _ in range(50):
                await asyncio.sleep(0)
        assert sent < 32 << 20


# Connections that the server closes.


async def test_a_connection_that_was_closed_while_idle_is_not_used(client):
    closed = asyncio.Event()

    async def once(reader, writer):
        await request(reader)
        writer.write(answer())
        await closed.wait()
        writer.close()

    async with Talk(once) as server:
        await client.fetch("POST", server.url, body=b"x")
        closed.set()
        await client._way(server.url, None).pool._idle[0].lost
        await client.fetch("POST", server.url, body=b"x")
        assert server.connections == 2


class Sockets:
    """A server in a thread, so that what it does is done before the loop turns."""

    def __init__(self, talk):
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/mcp"
        self.bodies = []
        self.may_close, self.closed = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(talk,), daemon=True)
        self._thread.start()

    def _serve(self, talk):
        for _ in range(2):
            connection, _ = self._listening.accept()
            connection.settimeout(10)
            with connection:
                talk(self, connection)
                assert self.may_close.wait(10)
            self.closed.set()

    def hear(self, connection):
        self.bodies.append(connection.recv(4096).rpartition(b"\r\n")[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.may_close.set()
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._listening.close()


def answer_once(server, connection):
    server.hear(connection)
    connection.sendall(answer())


async def test_a_request_that_met_a_closed_connection_is_sent_once_more(client):
    with Sockets(answer_once) as server:
        await client.fetch("POST", server.url, body=b"one")
        server.may_close.set()
        assert server.closed.wait(10)
        # The state of the socket would tell. Where it comes a moment too late, the system refuses what we send.
        client._way(server.url, None).pool._idle[0].looks_closed = lambda: False
        await client.fetch("POST", server.url, body=b"two")
    assert server.bodies == [b"one", b"two"]


async def test_a_connection_that_was_closed_before_the_loop_turned_is_not_used(client):
    with Sockets(answer_once) as server:
        await client.fetch("POST", server.url, body=b"one")
        server.may_close.set()
        assert server.closed.wait(10)
        assert client.begin("POST", server.url, [], b"two", lambda _: None) is None
        await client.fetch("POST", server.url, body=b"two")
    assert server.bodies == [b"one", b"two"]


async def test_a_request_that_was_read_and_not_answered_is_not_sent_again(client):
    def read_and_close(server, connection):
        server.hear(connection)
        connection.sendall(answer())
        server.hear(connection)

    with Sockets(read_and_close) as server:
        server.may_close.set()
        await client.fetch("POST", server.url, body=b"one")
        with pytest.raises(TransportError, match="closed the connection before an answer came"):
            await client.fetch("POST", server.url, body=b"two")
        assert server.bodies == [b"one", b"two"]
        await client.fetch("POST", server.url, body=b"end")
        await client.aclose()


# How many there are.


async def test_no_more_connections_are_opened_than_allowed_and_who_waits_has_a_turn(client):
    async with Talk(polite) as server:
        way = client._way(server.url, None)
        pool = Pool(way.pool._connect, most=2)
        first, second = await pool.take(), await pool.take()
        order = []

        async def wait(name):
            connection = await pool.take()
            order.append(name)
            pool.give_back(connection)

        waiting = [asyncio.ensure_future(wait(name)) for name in "abc"]
        await asyncio.sleep(0)
        waiting[1].cancel()
        assert pool.take_idle() is None
        pool.give_back(first)
        await asyncio.gather(*waiting, return_exceptions=True)
        assert order == ["a", "c"]
        assert server.connections == 2

        # One that is closed leaves room for a new one.
        again = await pool.take()
        late = asyncio.ensure_future(wait("d"))
        await asyncio.sleep(0)
        again.abort()
        pool.give_back(again)
        await late
        assert order == ["a", "c", "d"]
        assert server.connections == 3
        pool.give_back(second)
        await pool.aclose()


async def test_a_connection_that_cannot_be_made_leaves_its_place_to_the_next(client):
    made = []

    async def refuse():
        await asyncio.sleep(0)
        made.append(None)
        raise TransportError("no")

    pool = Pool(refuse, most=1)
    done = await asyncio.gather(*(pool.take() for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in done] == [TransportError] * 3
    assert len(made) == 3


async def test_nothing_is_open_after_the_client_is_closed():
    client = HttpClient(environ={})
    ended = asyncio.Event()

    async def hold(reader, writer):
        await request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await reader.read()
        ended.set()

    async with Talk(hold) as server:
        opened = client.open("GET", server.url)
        await opened.__aenter__()
        await client.aclose()
        async with asyncio.timeout(10):
            await ended.wait()
        await opened.__aexit__(None, None, None)


async def test_a_connection_that_is_made_while_the_client_is_closed_is_closed_too(client):
    async with Talk(polite) as server:
        pool = Pool(client._way(server.url, None).pool._connect)
        taking = asyncio.ensure_future(pool.take())
        await asyncio.sleep(0)
        await pool.aclose()
        with pytest.raises(TransportError, match="closed meanwhile"):
            await taking
