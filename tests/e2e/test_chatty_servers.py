"""Servers that say too much: budgets hold, order is kept, and the event loop turns meanwhile."""

import asyncio
import gzip
import json
import time

import pytest
from tests.e2e.listing import LIST, assert_listed
from tests.servers.http_raw import event

from mcp_conductor import Budgets, ProtocolError, StdioSpec, StreamsSpec, connect

LONGEST_LADDER = 6.5  # until a server that does not end by itself is ended


@pytest.fixture
def spec(serve, environment, survivors):
    def make(code, **more):
        return StdioSpec(command=serve(code), env=environment, **more)

    yield make
    assert survivors() == []


FLOODS = {
    "stderr": "os.write(2, b'noise ' * 10_000 + b'\\n')",
    "notifications": 'shout(\'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\\n\' * 1000)',
    "batches": "shout('[' + ','.join(['{\"jsonrpc\":\"1.0\"}'] * 200_000) + ']\\n')",
    "large notifications": "notify('notifications/message', level='info', data='x' * 8_000_000)",
}


@pytest.mark.parametrize("flood", FLOODS)
def test_the_timeout_holds_however_much_a_server_says(cli, serve, flood):
    server = serve(f"from select import select\nhello(); hear()\nwhile not select([0], [], [], 0)[0]: {FLOODS[flood]}")
    began = time.monotonic()
    run = cli(*server, *LIST, "--timeout", "700ms")
    assert run.code == 124
    assert "tools/list was not answered" in run.err
    assert time.monotonic() - began < 0.7 + LONGEST_LADDER


def test_a_reply_with_too_many_values_fails_at_once_and_says_why(cli, serve):
    run = cli(
        *serve("hello(); result(hear(), {'tools': [1] * 2000}); serve({})"), *LIST, "--max-message-values", "1000"
    )
    assert run.code == 1
    assert "the answer to tools/list cannot be used: more than 1000 values (--max-message-values)" in run.err
    assert run.seconds < 10


def test_a_large_message_that_is_no_answer_is_noted_and_survived(cli, serve):
    server = serve("hello(); request = hear(); notify('x', data=[1] * 2000); result(request, {'tools': []}); serve({})")
    assert_listed(
        cli(*server, *LIST, "--max-message-values", "1000"),
        "a message that is too large to be read: more than 1000 values",
    )


def test_a_line_over_the_budget_is_the_end_of_the_connection(cli, serve):
    run = cli(*serve("hello(); hear(); shout('x' * 200_000); hear()"), *LIST, "--max-message-size", "100kB")
    assert run.code == 1
    assert "the server sent a line longer than 100 kB (--max-message-size) before it answered tools/list" in run.err


@pytest.mark.parametrize("written", ["0", "much", "-1MB"])
def test_a_size_that_is_none_is_refused(cli, serve, written):
    run = cli(*serve("serve({})"), *LIST, f"--max-message-size={written}")
    assert run.code == 1
    assert "--max-message-size takes a size above 0, such as 64MB" in run.err


async def test_what_comes_after_a_large_batch_is_taken_after_its_members(spec):
    server = spec("""
        hello()
        request = hear()
        note = lambda n: {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": n}}
        shout(json.dumps([note(n) for n in range(30_000)] + [{"jsonrpc": "2.0", "id": request["id"], "result": {}}]) + "\\n")
        shout(json.dumps(note(30_000)) + "\\n")
        hear()
    """)
    heard: list[int] = []
    async with connect(server, on_incoming=lambda each: heard.append(each.message.params["data"])) as session:
        asked = asyncio.ensure_future(session.request("x"))
        longest, last = 0.0, time.process_time()
        while not heard or heard[-1] != 30_000:
            await asyncio.sleep(0)
            longest, last = max(longest, time.process_time() - last), time.process_time()
        assert await asked == {}
    assert heard == list(range(30_001))
    assert longest < 1.0  # without slices it would be all of it, on this machine or any other


async def test_a_server_that_ends_after_a_batch_has_said_all_of_it(spec):
    server = spec("""
        hello()
        request = hear()
        notes = [{"jsonrpc": "2.0", "method": "x"}] * 20_000
        shout(json.dumps(notes + [{"jsonrpc": "2.0", "id": request["id"], "result": {"last": 1}}]) + "\\n")
        sys.exit(0)
    """)
    async with connect(server) as session:
        assert await session.request("x") == {"last": 1}


async def test_progress_without_end_is_not_kept_without_end(spec):
    server = spec("""
        hello()
        request = hear()
        for _ in range(60):
            notify("notifications/progress", progressToken="t", progress=1, message="x" * 50_000)
        result(request, {})
        hear()
    """)
    params = {"_meta": {"progressToken": "t"}}
    async with connect(server) as session:
        exchange = await session.exchange({"jsonrpc": "2.0", "id": 7, "method": "x", "params": params})
    assert 0 < len(exchange.notices) < 60


async def test_budgets_are_given_to_the_library_too(spec):
    server = spec("hello(); result(hear(), [1] * 2000); sys.stderr.write('y' * 50 + '\\n'); serve({})")
    async with connect(server, budgets=Budgets(message_values=1000, transcript_bytes=5000)) as session:
        with pytest.raises(ProtocolError, match="more than 1000 values"):
            await session.request("x")
        assert sum(frame.size for frame in session.transcript.frames) <= 5000
        assert str(session.transcript.forgotten)


def test_a_body_over_the_budget_is_told_as_such(cli, http):
    server = http({"tools/list": lambda call: call.reply(200, b'{"x":"' + b"y" * 200_000 + b'"}', "application/json")})
    run = cli(server.url, *LIST, "--max-message-size", "100kB")
    assert run.code == 1
    assert "the body of the answer is longer than 100 kB" in run.err
    assert "--max-message-size SIZE allows more" in run.err


def test_a_body_that_is_small_only_while_it_is_packed_is_bounded_too(cli, http):
    def bomb(call):
        body = gzip.compress(b" " * 20_000_000)
        call.head(200, "application/json", content_encoding="gzip", content_length=len(body))
        call.send(body)

    run = cli(http({"tools/list": bomb}).url, *LIST, "--max-message-size", "1MiB")
    assert run.code == 1
    assert "the body of the answer is longer than 1 MiB" in run.err


def test_an_event_over_the_budget_is_told_as_such(cli, http):
    def stream(call):
        call.stream(b"data: " + b"x" * 200_000)

    run = cli(http({"tools/list": stream}).url, *LIST, "--max-message-size", "100kB")
    assert run.code == 1
    assert "an event is longer than 100 kB" in run.err


def test_an_answer_behind_many_events_is_found(cli, http):
    def stream(call):
        call.stream(event({"method": "notifications/message", "params": {}}) * 5000)
        call.event({"tools": []})
        call.close()

    assert_listed(cli(http({"tools/list": stream}).url, *LIST))


async def test_a_stream_that_never_waits_does_not_keep_the_loop(environment):
    async def endless():
        request = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        while True:
            yield request

    class Sink:
        async def send(self, item: object) -> None: ...

    with pytest.raises(TimeoutError):
        async with (
            asyncio.timeout(0.5),
            connect(StreamsSpec(read=endless(), write=Sink(), budgets=Budgets(transcript_bytes=1_000_000))),
        ):
            pass
