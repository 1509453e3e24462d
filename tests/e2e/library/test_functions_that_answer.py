"""Functions given to connect(): they answer what a server asks; one that fails harms no other."""

import asyncio
import json

import pytest

from mcp_conductor import Answers, ConductorError, MethodError, Refused, StdioSpec, UsageError, connect

MODERN = """
    def opened(params):
        return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private", "_meta": {META + "serverInfo": {"name": "s", "version": "1"}}}
    QUESTIONS = {
        "s": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}},
        "e": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object"}}},
        "r": {"method": "roots/list", "params": {}},
    }
"""
ROUNDS = (
    MODERN
    + """
    def call(params):
        if "inputResponses" not in params:
            return {"resultType": "input_required", "inputRequests": QUESTIONS, "requestState": "x"}
        text = json.dumps(params["inputResponses"])
        return {"resultType": "complete", "content": [{"type": "text", "text": text}]}
    serve({"server/discover": opened, "tools/call": call})
"""
)
ASKS_ALL = """
    hello()
    hear()
    request = hear()
    sampled = ask("s", "sampling/createMessage", maxTokens=5, systemPrompt="be brief", messages=[
        {"role": "user", "content": {"type": "text", "text": "2 + 2"}}])
    elicited = ask("e", "elicitation/create", message="who?", requestedSchema={
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
    rooted = ask("r", "roots/list")
    result(request, {"sampled": sampled, "elicited": elicited, "rooted": rooted})
    hear()
"""


@pytest.fixture
def spec(serve, environment, survivors):
    def make(code):
        return StdioSpec(command=serve(code), env=environment)

    yield make
    assert survivors() == []


@pytest.fixture
async def reported():
    """What the event loop was told of: exceptions that had no caller."""
    found = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: found.append(context.get("exception")))
    yield found
    asyncio.get_running_loop().set_exception_handler(None)


def sample(request):
    return f"{request.system_prompt}: {request.messages[0].text} in {request.max_tokens}"


def fill_in(request):
    assert (request.mode, request.message, request.schema["required"]) == ("form", "who?", ["name"])
    return {"name": "Ada"}


def roots():
    return [{"uri": "file:///home"}]


def slowly(function):
    async def later(*asked):
        await asyncio.sleep(0)
        return function(*asked)

    return later


@pytest.mark.parametrize("made", [lambda function: function, slowly], ids=["sync", "async"])
async def test_a_function_answers_the_server(spec, made):
    async with connect(
        spec(ASKS_ALL), sampling=made(sample), elicitation=made(fill_in), roots=made(roots), timeout=10
    ) as session:
        heard = await session.request("ask")
    message = heard["sampled"]["result"]
    assert (message["role"], message["content"]) == ("assistant", {"type": "text", "text": "be brief: 2 + 2 in 5"})
    assert message["model"]
    assert heard["elicited"]["result"] == {"action": "accept", "content": {"name": "Ada"}}
    assert heard["rooted"]["result"] == {"roots": [{"uri": "file:///home"}]}


@pytest.mark.parametrize("made", [lambda function: function, slowly], ids=["sync", "async"])
async def test_a_function_answers_in_the_rounds_of_the_modern_era(spec, made):
    async with connect(
        spec(ROUNDS),
        protocol="modern",
        sampling=made(lambda request: "four"),
        elicitation=made(lambda request: "decline"),
        roots=made(roots),
    ) as session:
        answers = json.loads((await session.call_tool("x")).text)
    assert answers["s"]["content"]["text"] == "four"
    assert answers["e"] == {"action": "decline"}
    assert answers["r"] == {"roots": [{"uri": "file:///home"}]}


async def test_other_messages_go_on_while_a_function_answers(spec):
    server = spec("""
        hello()
        asking = hear()
        say({"id": "s", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}})
        other = hear()
        result(other, {})
        answered = hear()
        result(asking, {"text": answered["result"]["content"]["text"]})
        hear()
    """)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def sampling(request):
        begun.set()
        await go_on.wait()
        return "at last"

    async with connect(server, sampling=sampling, timeout=10) as session:
        asking = asyncio.create_task(session.request("ask"))
        await begun.wait()
        await session.request("other")
        go_on.set()
        assert await asking == {"text": "at last"}


async def test_no_time_passes_for_a_request_while_a_function_answers(spec):
    server = spec("""
        hello()
        asking = hear()
        answered = ask("s", "sampling/createMessage", messages=[], maxTokens=5)
        result(asking, {})
        hear()
    """)

    async def sampling(request):
        await asyncio.sleep(0.3)
        return "slow"

    async with connect(server, sampling=sampling) as session:
        assert await session.request("ask", timeout=0.2) == {}


async def test_a_question_that_is_withdrawn_is_not_answered(spec):
    server = spec("""
        hello()
        asking = hear()
        say({"id": 7, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}})
        notify("notifications/cancelled", requestId=7)
        result(asking, {})
        result(hear(), {})
        hear()
    """)
    ended = asyncio.Event()

    async def sampling(request):
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with connect(server, sampling=sampling, timeout=10) as session:
        await session.request("ask")
        await session.request("next")
        await asyncio.wait_for(ended.wait(), 10)
        assert not any(message.kind == "result" for message in session.transcript.messages("client"))


@pytest.mark.parametrize("made", [lambda function: function, slowly], ids=["sync", "async"])
async def test_a_function_that_raises_is_an_error_for_the_server_and_told_to_the_loop(spec, made, reported):
    def fail(*_):
        raise KeyError("secret")

    async with connect(
        spec(ASKS_ALL), sampling=made(fail), elicitation=made(fail), roots=made(fail), timeout=10
    ) as session:
        heard = await session.request("ask")
    assert [heard[each]["error"]["code"] for each in ("sampled", "elicited", "rooted")] == [-32603] * 3
    assert "secret" not in json.dumps(heard)
    assert [type(error) for error in reported] == [KeyError] * 3


@pytest.mark.parametrize("made", [lambda function: function, slowly], ids=["sync", "async"])
async def test_in_the_modern_era_the_call_raises_what_a_function_raises(spec, made, reported):
    def fail(*_):
        raise KeyError("x")

    async with connect(spec(ROUNDS), protocol="modern", sampling=made(fail), elicitation=made(fail)) as session:
        with pytest.raises(KeyError):
            await session.call_tool("x")
        assert not session.ended
    assert reported == []


async def cancelled(*_):
    """Wait for something that was cancelled, as a function of the user may; the session goes on."""
    waiting = asyncio.ensure_future(asyncio.Event().wait())
    waiting.cancel()
    await waiting


def cancelled_at_once(*_):
    raise asyncio.CancelledError


@pytest.mark.parametrize("function", [cancelled, cancelled_at_once])
async def test_a_function_that_is_cancelled_by_what_it_waits_for_is_one_that_failed(spec, function, reported):
    options = {"sampling": function, "elicitation": function, "roots": function, "timeout": 10}
    async with connect(spec(ASKS_ALL), **options) as session:
        heard = await session.request("ask")
    assert [heard[each]["error"]["code"] for each in ("sampled", "elicited", "rooted")] == [-32603] * 3
    assert [str(error) for error in reported] == [
        f"the function that answers {method} was cancelled"
        for method in ("sampling/createMessage", "elicitation/create", "roots/list")
    ]
    async with connect(spec(ROUNDS), protocol="modern", **options) as session:
        with pytest.raises(ConductorError, match="the function that answers sampling/createMessage was cancelled"):
            await session.call_tool("x")


async def test_a_function_can_refuse(spec, reported):
    def refuse(*_):
        raise Refused("the user said no")

    async with connect(spec(ASKS_ALL), sampling=refuse, elicitation=refuse, roots=refuse, timeout=10) as session:
        heard = await session.request("ask")
    assert heard["sampled"]["error"] == {"code": -1, "message": "the user said no"}
    assert heard["elicited"]["result"] == {"action": "decline"}
    assert heard["rooted"]["error"] == {"code": -1, "message": "the user said no"}
    assert reported == []


async def test_a_method_error_of_a_function_reaches_the_server_as_it_is(spec, reported):
    error = {"code": -32042, "message": "elsewhere", "data": {"why": [1]}}

    def pass_on(*_):
        raise MethodError("sampling/createMessage", error)

    async with connect(spec(ASKS_ALL), sampling=pass_on, elicitation=pass_on, roots=pass_on, timeout=10) as session:
        heard = await session.request("ask")
    assert [heard[each]["error"] for each in ("sampled", "elicited", "rooted")] == [error] * 3
    assert reported == []


@pytest.mark.parametrize(
    ("sampling", "elicitation", "roots"),
    [
        (lambda request: None, lambda request: None, lambda: None),
        (lambda request: {"role": "assistant"}, lambda request: {"name": 7}, lambda: ["file:///x"]),
    ],
)
async def test_what_a_function_returns_must_be_an_answer(spec, sampling, elicitation, roots, reported):
    async with connect(spec(ASKS_ALL), sampling=sampling, elicitation=elicitation, roots=roots, timeout=10) as session:
        heard = await session.request("ask")
    assert [heard[each]["error"]["code"] for each in ("sampled", "elicited", "rooted")] == [-32603] * 3
    assert [type(error) for error in reported] == [UsageError] * 3


async def test_a_function_that_still_runs_at_the_end_is_cancelled(spec):
    server = spec("""
        hello()
        request = hear()
        say({"id": "s", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}})
        notify("notifications/message", level="info", data=1)
        result(request, {})
        hear()
    """)
    ended = []

    async def wait(_):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async with connect(server, sampling=wait, on_log=wait, timeout=10) as session:
        await session.request("x")
        await asyncio.sleep(0)
    assert ended == [True, True]


async def test_answers_are_given_in_one_way_only(spec):
    with pytest.raises(UsageError):
        async with connect(spec("hello()"), answers=Answers(roots=[]), sampling=lambda request: ""):
            pass


async def test_a_wrong_elicitation_answer_fails_no_other_call(spec, reported):
    server = spec("""
        hello()
        first, second = hear(), hear()
        reply = ask("e", "elicitation/create", message="?", requestedSchema={
            "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
        result(first, {"code": reply["error"]["code"]})
        result(second, {})
        hear()
    """)
    async with connect(server, answers=Answers(elicitation={"n": "x"}), timeout=10) as session:
        assert await asyncio.gather(session.request("x"), session.request("y")) == [{"code": -32603}, {}]
    assert [type(error) for error in reported] == [UsageError]
