"""Session as a library, on real processes: correlation, time-outs, the server's questions, and what is left of it all."""

import asyncio
import os
import sys

import pytest

from mcp_conductor import (
    Answers,
    ConnectionLost,
    MethodError,
    ProtocolError,
    RequestTimeout,
    StdioSpec,
    Transcript,
    TransportError,
    UsageError,
    connect,
    posix,
)
from mcp_conductor.transport import children, process_tree


@pytest.fixture
def spec(serve, environment, survivors):
    """The spec of a server from a few lines of Python; nothing of it may survive the test."""

    def make(code, **more):
        return StdioSpec(command=serve(code), env=environment, **more)

    yield make
    assert survivors() == []


async def test_replies_are_matched_by_id_in_any_order(spec):
    server = spec("""
        hello()
        requests = [hear() for _ in range(20)]
        for request in reversed(requests):
            result(request, {"echo": request["params"]["n"]})
        hear()
    """)
    async with connect(server) as session:
        results = await asyncio.gather(*(session.request("echo", {"n": n}) for n in range(20)))
    assert [result["echo"] for result in results] == list(range(20))


async def test_ids_are_never_used_twice(spec):
    async with connect(spec("hello(); serve({'x': {}})")) as session:
        for _ in range(5):
            await session.request("x")
        sent = [message.id for message in session.transcript.messages("client") if message.kind == "request"]
    assert len(set(sent)) == len(sent) == 6


async def test_an_error_reply_is_raised_by_request_and_returned_by_exchange(spec):
    async with connect(spec("hello(); serve({})")) as session:
        with pytest.raises(MethodError) as raised:
            await session.request("nope")
        assert (raised.value.code, raised.value.method) == (-32601, "nope")
        exchange = await session.exchange({"jsonrpc": "2.0", "id": "mine", "method": "nope"})
        assert exchange.reply.error == {"code": -32601, "message": "Method not found"}
        assert exchange.seconds > 0


async def test_a_request_that_times_out_is_cancelled_and_its_late_answer_ignored(spec):
    server = spec("""
        hello()
        slow = hear()
        cancelled = hear()
        result(slow, {"late": True})
        request = hear()
        result(request, cancelled["params"])
        hear()
    """)
    async with connect(server) as session:
        with pytest.raises(RequestTimeout) as raised:
            await session.request("slow", timeout=0.2)
        assert (raised.value.method, raised.value.seconds) == ("slow", 0.2)
        assert await session.request("next") == {"requestId": 2, "reason": "timed out"}
        assert session.transcript.notes() == []


async def test_initialize_is_never_cancelled(spec):
    transcript = Transcript()
    with pytest.raises(RequestTimeout):
        async with connect(spec("hear(); hear()"), timeout=0.2, transcript=transcript):
            raise AssertionError("it did not open")
    assert [message.method for message in transcript.messages("client")] == ["initialize"]


async def test_progress_starts_the_time_of_its_request_again(spec):
    server = spec("""
        hello()
        request = hear()
        for step in range(6):
            time.sleep(0.1)
            notify("notifications/progress", progressToken="t", progress=step)
        result(request, {"done": True})
        hear()
    """)
    async with connect(server) as session:
        meta = {"_meta": {"progressToken": "t"}}
        assert await session.request("work", meta, timeout=0.35) == {"done": True}
        exchange = session.transcript.exchanges()[-1]
        assert [notice.params["progress"] for notice in exchange.notices] == list(range(6))


async def test_progress_of_another_request_does_not_help(spec):
    server = spec("""
        hello()
        request = hear()
        for step in range(6):
            time.sleep(0.1)
            notify("notifications/progress", progressToken="other", progress=step)
        hear()
    """)
    async with connect(server) as session:
        with pytest.raises(RequestTimeout):
            await session.request("work", {"_meta": {"progressToken": "t"}}, timeout=0.35)


class _Undeclared(Answers):
    """Answers that the server is not told about."""

    def capabilities(self, dialect):  # noqa: ARG002
        return {}


async def test_a_server_that_was_told_of_no_roots_is_not_told_that_they_changed(spec):
    server = spec("""
        hello()
        request = hear()
        result(request, {"heard": request["method"]})
    """)
    async with connect(server, answers=_Undeclared(roots=[])) as session:
        assert await session.request("first") == {"heard": "first"}


async def test_the_server_is_answered_while_a_request_is_under_way(spec):
    server = spec("""
        client = hello()
        assert hear()["method"] == "notifications/roots/list_changed"
        request = hear()
        sampled = ask("s", "sampling/createMessage", messages=[], maxTokens=5)["result"]
        rooted = ask("r", "roots/list")["result"]
        asked = ask("e", "elicitation/create", message="?", requestedSchema={"type": "object", "properties": {
            "n": {"type": "integer", "minimum": 2}, "c": {"type": "string", "default": "red"}}, "required": ["n"]})["result"]
        url = ask("u", "elicitation/create", mode="url", message="?", url="https://example.com", elicitationId="1")["result"]
        result(request, {"client": client["capabilities"], "sampled": sampled, "rooted": rooted, "asked": asked, "url": url})
        hear()
    """)
    message = {"model": "m", "role": "assistant", "content": {"type": "text", "text": "4"}}
    answers = Answers(roots=[{"uri": "file:///x"}], sampling=message, elicitation="auto")
    async with connect(server, answers=answers) as session:
        heard = await session.request("ask")
    assert heard == {
        "client": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
        "sampled": message,
        "rooted": {"roots": [{"uri": "file:///x"}]},
        "asked": {"action": "accept", "content": {"n": 2, "c": "red"}},
        "url": {"action": "accept"},
    }


async def test_an_elicitation_answer_that_does_not_fit_is_our_error_and_is_not_sent(spec):
    server = spec("""
        hello()
        request = hear()
        reply = ask(1, "elicitation/create", message="?", requestedSchema={
            "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
        assert "content" not in str(reply)
        hear()
    """)
    transcript = Transcript()
    with pytest.raises(UsageError):
        async with connect(server, answers=Answers(elicitation={"n": "x"}), transcript=transcript) as session:
            await session.request("ask")
    assert not any('"x"' in message.text for message in transcript.messages("client"))


async def test_what_is_open_when_the_server_dies_fails_with_its_last_words(spec):
    server = spec("hello(); hear(); hear(); sys.stderr.write('out of memory\\n'); sys.exit(137)")
    async with connect(server) as session:
        results = await asyncio.gather(session.request("a"), session.request("b"), return_exceptions=True)
        assert [type(error) for error in results] == [ConnectionLost, ConnectionLost]
        assert results[0].stderr == ("out of memory",)
        with pytest.raises(TransportError):
            await session.request("c")


async def test_pages_are_followed_to_the_end(spec):
    server = spec("""
        hello()
        def page(params):
            number = int(params.get("cursor", 0))
            return {"tools": [{"name": str(number)}], **({"nextCursor": str(number + 1)} if number < 4 else {})}
        serve({"tools/list": page})
    """)
    async with connect(server) as session:
        everything = await session.everything("tools/list")
    assert everything == {"tools": [{"name": str(number)} for number in range(5)]}


async def test_an_empty_cursor_ends_a_list_of_the_handshake_era(spec):
    async with connect(spec("hello(); serve({'tools/list': {'tools': [1], 'nextCursor': ''}})")) as session:
        assert await session.everything("tools/list") == {"tools": [1]}
        assert session.transcript.notes() == []


async def test_an_empty_cursor_is_a_cursor_in_the_modern_era(spec):
    server = spec("""
        def page(params):
            return {"tools": [2]} if params.get("cursor") == "" else {"tools": [1], "nextCursor": ""}
        serve({"server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}}, "tools/list": page})
    """)
    async with connect(server, protocol="modern") as session:
        assert (await session.everything("tools/list"))["tools"] == [1, 2]


async def test_raw_text_goes_out_as_it_is_and_its_answer_comes_back(spec):
    server = spec("""
        hello()
        for _ in range(3):
            line = sys.stdin.readline()
            say({"id": None, "error": {"code": -32700, "message": line.strip()}})
        sys.stdin.readline()
    """)
    async with connect(server) as session:
        for text in ("{not json", "[]", '{"jsonrpc":"1.0","id":null,"method":"x"}'):
            reply = await session.say(text)
            assert reply.error["message"] == text
        assert await session.say('{"jsonrpc":"2.0","method":"notifications/x"}') is None


async def test_a_late_answer_to_a_request_that_was_given_up_is_no_answer_to_raw_text(spec):
    server = spec("""
        hello()
        slow = hear()
        hear()
        sys.stdin.readline()
        result(slow, {"late": True})
        error({"id": None}, -32700, "Parse error")
        hear()
    """)
    async with connect(server) as session:
        with pytest.raises(RequestTimeout):
            await session.request("slow", timeout=0.2)
        assert (await session.say('{"a":')).error["code"] == -32700


async def test_an_unknown_result_type_is_no_result(spec):
    server = spec("""
        serve({"server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}}, "tools/call": {"resultType": "magic"}})
    """)
    async with connect(server, protocol="2026-07-28") as session:
        with pytest.raises(ProtocolError):
            await session.request("tools/call", {"name": "x"})


async def test_state_without_questions_means_ask_again(spec):
    server = spec("""
        rounds = 0
        def call(params):
            global rounds
            rounds += 1
            assert params.get("requestState") == (None if rounds == 1 else rounds - 1)
            return {"resultType": "complete", "rounds": rounds} if rounds == 3 else {"resultType": "input_required", "requestState": rounds}
        serve({"server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}}, "tools/call": call})
    """)
    async with connect(server, protocol="modern") as session:
        assert (await session.request("tools/call", {"name": "x"}))["rounds"] == 3


async def test_cancelling_the_caller_ends_the_server_before_the_cancellation_goes_on(spec, survivors):
    opened = asyncio.Event()

    async def use():
        async with connect(
            spec("signal.signal(signal.SIGTERM, signal.SIG_IGN); hello(); hear(); signal.pause()")
        ) as session:
            opened.set()
            await session.request("never")

    task = asyncio.create_task(use())
    await asyncio.wait_for(opened.wait(), 5)
    for _ in range(3):  # impatience changes nothing
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(task), 10)
    assert survivors() == []


async def test_many_servers_can_be_talked_to_at_once(spec):
    async def one(number):
        async with connect(server) as session:
            return (await session.request("pid", {"n": number}))["pid"]

    server = spec("hello(); serve({'pid': {'pid': os.getpid()}})")
    assert len(set(await asyncio.gather(*(one(number) for number in range(8))))) == 8


@pytest.mark.parametrize("platform", ["emscripten", "wasi", "ios"])
async def test_a_platform_without_processes_says_so(spec, monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(TransportError) as raised:
        async with connect(spec("hello()")):
            raise AssertionError("it did not open")
    assert platform in raised.value.message
    assert raised.value.hint == "use a server with a url"


async def test_without_process_groups_the_child_itself_is_ended(spec, monkeypatch):
    monkeypatch.setattr(posix, "HAS_SESSIONS", False)
    monkeypatch.delattr(os, "killpg")
    async with connect(spec("hello(); answer(hear(), {'ping': {}}); signal.pause()")) as session:
        assert await session.request("ping") == {}


async def test_without_proc_a_whole_group_is_ended_all_the_same(spec, monkeypatch):
    monkeypatch.setattr(process_tree, "PROC", False)
    monkeypatch.setattr(children, "PROC", False)
    async with connect(spec("subprocess.Popen(['sleep', '60']); hello(); serve({'ping': {}})")) as session:
        assert await session.request("ping") == {}
