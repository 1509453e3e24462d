"""How much a client may send, keep open and leave unread, and for how long: a server in this process, with small limits."""

import asyncio
import json
import re
import select
from contextlib import asynccontextmanager

import pytest
from tests.e2e.server.http_wire import BOTH, routing
from tests.e2e.server.wire import INITIALIZED, NEWEST, config, echo, initialize, modern, ping, request, slow

from mcp_conductor.server.config_file import load
from mcp_conductor.server.http.limits import LIMITS, Limits
from mcp_conductor.server.http.serving import serve_http
from mcp_conductor.server.server import Server
from mcp_conductor.server.transport_file import Overrides

PATIENCE = 20
DISCOVER = modern(request(1, "server/discover"))


class Client:
    """A connection to a server with limits."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    def say(self, data):
        self.writer.write(data)

    async def answers(self):
        """The statuses of all answers, until the server closes the connection."""
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) [A-Z]", await self.reader.read())]

    async def head(self):
        return (await self.reader.readuntil(b"\r\n\r\n")).decode()

    async def status(self):
        """The status of the next answer, of which the body is read, too."""
        head = await self.head()
        await self.reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))
        return int(head.split()[1])


@pytest.fixture
def limited(tmp_path):
    """Serve with these limits: a function that connects."""

    @asynccontextmanager
    async def serve(host="127.0.0.1", **limits):
        file = tmp_path / "server.json"
        file.write_text(json.dumps(config({"type": "streamable-http", "port": 0, "host": host})))
        given = load(str(file), environ={}, over=Overrides())
        stop, urls, clients = asyncio.Event(), asyncio.Queue(), []
        work = serve_http(Server(given), given.transport, stop, urls.put_nowait, limits=Limits(**limits))
        serving = asyncio.create_task(work)

        async def connect(host="127.0.0.1", **options):
            clients.append(Client(*await asyncio.open_connection(host, port, **options)))
            return clients[-1]

        async with asyncio.timeout(PATIENCE):
            port = int((await urls.get()).split(":")[2].split("/")[0])
            yield connect
            for client in clients:
                client.writer.transport.abort()
            stop.set()
            assert await serving == 0

    return serve


def head(message=DISCOVER, *, length=None, **headers):
    routed = routing(message) if "_meta" in message.get("params", {}) else {}
    lines = {"Host": "127.0.0.1", "Accept": BOTH, "Content-Type": "application/json", **routed, **headers}
    lines |= {"Content-Length": str(length)} if length is not None else {"Transfer-Encoding": "chunked"}
    return "\r\n".join(["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items()), "", ""]).encode()


def post(message=DISCOVER, **headers):
    body = json.dumps(message).encode()
    return head(message, length=len(body), **headers) + body


async def test_a_connection_that_nobody_uses_is_closed_and_the_server_goes_on(limited):
    async with limited(idle_seconds=0.1) as connect:
        for _ in range(2):
            assert await (await connect()).answers() == []


async def test_a_head_that_never_ends_is_told_so_and_closed(limited):
    async with limited(head_seconds=0.1) as connect:
        client = await connect()
        client.say(post() + b"POST /mcp HTTP/1.1\r\n")
        assert await client.status() == 200
        client.say(b"X: y\r\n")
        assert await client.answers() == [408]


async def test_bytes_that_say_nothing_do_not_keep_a_connection(limited):
    async with limited(head_seconds=0.1) as connect:
        client = await connect()
        client.say(b"\r\n")
        assert await client.answers() == [408]


async def test_a_body_that_stalls_is_told_so_and_closed(limited):
    async with limited(body_seconds=0.1) as connect:
        client = await connect()
        client.say(head(length=1000) + b"{")
        assert await client.answers() == [408]


async def test_a_body_that_comes_byte_by_byte_for_ever_is_told_so_and_closed(limited):
    async with limited(body_seconds=0.1) as connect:
        client = await connect()
        client.say(head(length=10**6))
        answers = asyncio.ensure_future(client.answers())
        while not answers.done():  # noqa: ASYNC110  # it is a client that never stops by itself
            client.say(b" ")
            await asyncio.sleep(0.01)
        assert await answers == [408]


async def test_a_slow_body_that_makes_progress_is_read_to_its_end(limited):
    async with limited(body_seconds=0.2, body_progress=10) as connect:
        client, body = await connect(), json.dumps(DISCOVER).encode()
        client.say(head(length=len(body)))
        for place in range(0, len(body), 40):
            client.say(body[place : place + 40])
            await asyncio.sleep(0.07)
        assert await client.status() == 200


async def test_a_stalled_body_of_a_request_that_was_refused_ends_the_connection(limited):
    async with limited(body_seconds=0.1) as connect:
        client = await connect()
        client.say(head(length=1000, Origin="http://evil.example"))
        assert await client.answers() == [403]


@pytest.mark.parametrize("length", [1001, None], ids=["announced", "in chunks"])
async def test_a_body_that_is_too_large_is_refused_and_closed(limited, length):
    async with limited(body_bytes=1000) as connect:
        client = await connect()
        client.say(head(length=length) + (b"" if length else b"800\r\n" + b" " * 0x800))
        assert await client.answers() == [413]


async def test_a_client_that_sends_all_of_a_body_first_still_reads_why_it_was_refused(limited):
    async with limited(body_bytes=1000) as connect:
        client = await connect()
        client.say(head(length=2 << 20) + b" " * (2 << 20))
        await client.writer.drain()
        assert await client.answers() == [413]


async def test_bodies_that_are_too_much_together_are_refused_and_those_that_ended_do_not_count(limited):
    async with limited(held_bytes=3000) as connect:
        first = await connect()
        for _ in range(20):
            first.say(post(modern(echo(1, "x" * 1000))))
            assert await first.status() == 200
        first.say(head(length=4000) + b" " * 2000)
        second = await connect()
        second.say(head(length=4000) + b" " * 2000)
        done, _ = await asyncio.wait(
            {asyncio.ensure_future(each.answers()) for each in (first, second)},
            timeout=5,
            return_when="FIRST_COMPLETED",
        )
        assert [each.result() for each in done] == [[503]]


@pytest.mark.parametrize(
    ("begin", "more"),
    [(b"2\r\n{}\r\n0\r\n", b"X: y\r\n" * 20), (b"2;x=", b"y" * 100)],
    ids=["trailers", "an extension"],
)
async def test_what_stands_around_a_body_without_end_is_refused_and_closed(limited, begin, more):
    async with limited(framing_bytes=1000) as connect:
        client = await connect()
        client.say(head() + begin)
        answers = asyncio.ensure_future(client.answers())
        while not answers.done():  # noqa: ASYNC110  # it is a client that never stops by itself
            client.say(more)
            await asyncio.sleep(0.005)
        assert await answers == [400]


@pytest.mark.parametrize(
    ("start", "status"),
    [(b"POST /" + b"x" * 9000 + b" HTTP/1.1\r\n", 414), (b"POST / HTTP/1.1\r\nX: " + b"x" * 70_000, 431)],
)
async def test_a_target_or_a_head_that_is_too_large_is_refused_and_closed(limited, start, status):
    async with limited() as connect:
        client = await connect()
        client.say(start)
        assert await client.answers() == [status]


async def test_connections_that_are_too_many_are_told_so_and_there_is_room_again_when_one_ends(limited):
    async with limited(connections=2) as connect:
        first, second = await connect(), await connect()
        for client in (first, second):
            client.say(post() + head(length=1000))  # the second request is never complete
            assert await client.status() == 200
        assert await (await connect()).answers() == [503]
        first.writer.transport.abort()
        second.say(b"x" * 1000)  # which the server hears after the end of the first
        assert await second.status() == 400
        third = await connect()
        third.say(post())
        assert await third.status() == 200


async def test_a_new_connection_takes_the_place_of_the_one_that_said_nothing_for_the_longest_time(limited):
    async with limited(connections=3) as connect:
        silent, slow_one, used = await connect(), await connect(), await connect()
        slow_one.say(b"POST /mcp HTTP/1.1\r\n")
        used.say(post())
        assert await used.status() == 200
        for late in (await connect(), await connect()):
            late.say(post())
            assert await late.status() == 200
        assert await silent.answers() == await slow_one.answers() == []
        used.say(post())
        assert await used.status() == 200


async def test_a_client_that_does_not_read_its_answers_is_cut_off(limited):
    async with limited(unread_seconds=0.2) as connect:
        client = await connect(limit=1)
        client.say(post(modern(echo(1, "x" * (8 << 20)))))
        await client.reader.readexactly(1)
        poll = select.poll()
        poll.register(client.writer.get_extra_info("socket").fileno(), 0)  # nothing but its end
        assert await asyncio.to_thread(poll.poll, 5000)


async def test_a_client_that_waits_long_for_its_answer_is_not_cut_off(limited):
    async with limited(idle_seconds=0.1, head_seconds=0.1, body_seconds=0.1, unread_seconds=0.1) as connect:
        client = await connect()
        client.say(post(modern(slow(1, 300))))
        assert await client.status() == 200


async def test_a_session_that_is_idle_for_too_long_ends_and_its_id_is_refused(limited):
    async with limited(session_seconds=0.2) as connect:
        client = await connect()
        session = await opened(client)
        client.say(post(ping(1), **session))
        assert (await client.head()).startswith("HTTP/1.1 200")
        await client.reader.readuntil(b"0\r\n\r\n")
        await asyncio.sleep(0.4)  # the time that the test is about
        client.say(post(ping(2), **session))
        assert await client.status() == 404


@pytest.mark.parametrize("busy_with", ["a GET stream", "a request", "a request whose client has left"])
async def test_a_session_with_an_open_stream_or_request_is_not_idle(limited, busy_with):
    async with limited(session_seconds=0.1) as connect:
        client, other = await connect(), await connect()
        session = await opened(client)
        if busy_with == "a GET stream":
            lines = {"Host": "127.0.0.1", "Accept": "text/event-stream", **session}
            other.say("\r\n".join(["GET /mcp HTTP/1.1", *map(": ".join, lines.items()), "", ""]).encode())
        else:
            other.say(post(slow(1, 1000, "token"), **session))
        assert (await other.head()).startswith("HTTP/1.1 200")
        if busy_with == "a request whose client has left":
            other.writer.transport.abort()
        await asyncio.sleep(0.4)  # the time that the test is about
        client.say(post(INITIALIZED, **session))
        assert await client.status() == 202


async def opened(client):
    """The headers of a new session."""
    client.say(post(initialize()))
    head = await client.head()
    await client.reader.readuntil(b"0\r\n\r\n")
    session = {"Mcp-Session-Id": re.search(r"Mcp-Session-Id: (\S+)", head)[1], "MCP-Protocol-Version": NEWEST}
    client.say(post(INITIALIZED, **session))
    assert await client.status() == 202
    return session


async def test_hosts_are_checked_on_every_address(limited):
    async with limited(host="127.0.0.2") as connect:
        client = await connect(host="127.0.0.2")
        for host, status in {"127.0.0.2": 200, "127.0.0.1": 421, "localhost": 421, "evil.example": 421}.items():
            client.say(post(Host=host))
            assert await client.status() == status
        client.say(post(Host="127.0.0.2", Origin="http://evil.example"))
        assert await client.status() == 403
    async with limited(host="0.0.0.0") as connect:  # only 127.0.0.1 is connected to
        client = await connect()
        for host, status in {"192.0.2.1:80": 200, "[2001:db8::1]": 200, "localhost": 200, "evil.example": 421}.items():
            client.say(post(Host=host))
            assert await client.status() == status
        client.say(post(Host="192.0.2.1", Origin="http://192.0.2.2"))
        assert await client.status() == 403


def test_the_body_limit_is_that_of_a_message():
    assert LIMITS.body_bytes == 64 << 20
