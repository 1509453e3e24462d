"""Functions given to connect(): they answer what a server asks, and hear what it tells; one that fails harms no other."""

import asyncio
import json

import pytest

from mcp_conductor import Answers, MethodError, Refused, StdioSpec, UsageError, connect

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


async def test_functions_hear_log_messages_and_every_notification_in_order(spec):
    server = spec("""
        hello()
        request = hear()
        for n in range(20):
            notify("notifications/message", level="info", logger="me", data=n)
        notify("notifications/tools/list_changed")
        result(request, {})
        result(hear(), {})
        hear()
    """)
    logged, told = [], []

    async def on_log(message):
        await asyncio.sleep(0)
        logged.append((message.level, message.logger, message.data))

    async with connect(
        server, on_log=on_log, on_notification=lambda message: told.append(message.method), timeout=10
    ) as session:
        await session.request("x")
        await session.request("y")
        while len(logged) < 20:  # noqa: ASYNC110  # it takes some turns of the loop
            await asyncio.sleep(0)
    assert logged == [("info", "me", n) for n in range(20)]
    assert told == ["notifications/message"] * 20 + ["notifications/tools/list_changed"]


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


# What hears the server.


async def test_a_callback_that_raises_loses_no_message(spec, reported):
    server = spec("""
        hello()
        first, second = hear(), hear()
        lines = [{"method": "notifications/message", "params": {"level": "info", "data": n}} for n in range(3)]
        lines += [{"id": first["id"], "result": {}}, {"id": second["id"], "result": {}}]
        shout("".join(json.dumps({"jsonrpc": "2.0", **line}) + "\\n" for line in lines))
        hear()
    """)
    heard = []

    def fail(incoming):
        heard.append(incoming.message.params.get("data"))
        raise ValueError("mine")

    async with connect(server, on_incoming=fail, on_log=fail_async, timeout=10) as session:
        await asyncio.gather(session.request("x"), session.request("y"))
        while len(reported) < 6:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0)
    assert heard == [0, 1, 2]
    assert [type(error) for error in reported].count(ValueError) == 3
    assert [type(error) for error in reported].count(LookupError) == 3


async def fail_async(_):
    raise LookupError("mine too")


PROGRESS = """
    hello(tools={})
    def call(request, notes):
        token = request["params"].get("_meta", {}).get("progressToken")
        lines = [{"method": "notifications/progress", "params": {"progressToken": token, "progress": n}} for n in notes]
        return "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\\n" for line in lines)
    first, second = hear(), hear()
    text = call(first, [1, 2, 3]) + call(second, [4, 5])
    shout(text)
    for request in (first, second):
        result(request, {"content": [{"type": "text", "text": "done"}]})
    hear()
"""


async def test_what_on_progress_raises_is_raised_by_its_own_call_alone(spec, reported):
    def fail(params):
        raise ValueError(params["progress"])

    told = []
    async with connect(spec(PROGRESS), timeout=10) as session:
        bad, good = await asyncio.gather(
            session.call_tool("a", on_progress=fail),
            session.call_tool("b", on_progress=told.append),
            return_exceptions=True,
        )
    assert isinstance(bad, ValueError)
    assert bad.args == (1,)
    assert good.text == "done"
    assert [params["progress"] for params in told] == [4, 5]
    assert reported == []


async def test_a_call_returns_when_an_async_on_progress_has_heard_everything(spec):
    told = []

    async def slow(params):
        await asyncio.sleep(0.01)
        told.append(params["progress"])

    async with connect(spec(PROGRESS), timeout=10) as session:
        await asyncio.gather(session.call_tool("a", on_progress=slow), session.call_tool("b"))
        assert told == [1, 2, 3]


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
