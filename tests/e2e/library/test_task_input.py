"""Functions given to connect() answer tasks that wait for input, in both models of tasks."""

import asyncio

import pytest
from tests.e2e.library.test_functions_that_answer import MODERN, roots, slowly

from mcp_conductor import StdioSpec, connect


@pytest.fixture
def spec(serve, environment, survivors):
    def make(code):
        return StdioSpec(command=serve(code), env=environment)

    yield make
    assert survivors() == []


TASK = (
    MODERN
    + """
    answers = None
    def get(params):
        task = {"resultType": "complete", "taskId": "t1", "pollIntervalMs": 10}
        if answers is None:
            return {**task, "status": "input_required", "inputRequests": QUESTIONS}
        return {**task, "status": "completed", "result": {"content": [], "structuredContent": answers}}
    def update(params):
        global answers
        answers = params["inputResponses"]
        return {"resultType": "complete"}
    started = {"resultType": "task", "taskId": "t1", "status": "working", "ttlMs": 1000, "pollIntervalMs": 10}
    serve({"server/discover": opened, "tools/call": started, "tasks/get": get, "tasks/update": update})
"""
)


@pytest.mark.parametrize("made", [lambda function: function, slowly], ids=["sync", "async"])
async def test_a_function_answers_a_task_that_waits_for_input(spec, made):
    async with connect(
        spec(TASK),
        protocol="modern",
        extensions={"io.modelcontextprotocol/tasks": {}},
        sampling=made(lambda request: "four"),
        elicitation=made(lambda request: "cancel"),
        roots=made(roots),
    ) as session:
        named = {"taskId": (await session.call_tool("slow")).raw["taskId"]}
        asked = await session.request("tasks/get", named)
        answers = await session.input_responses(asked["inputRequests"])
        await session.request("tasks/update", {**named, "inputResponses": answers})
        ended = await session.request("tasks/get", named)
    told = ended["result"]["structuredContent"]
    assert (told["s"]["content"]["text"], told["e"]) == ("four", {"action": "cancel"})
    assert told["r"] == {"roots": [{"uri": "file:///home"}]}


async def test_a_function_answers_while_the_result_of_a_task_is_waited_for(spec):
    server = spec("""
        hello()
        call = hear()
        result(call, {"task": {"taskId": "t1", "status": "input_required"}})
        wanted = hear()
        answered = ask("s", "sampling/createMessage", messages=[], maxTokens=5)
        result(wanted, {"content": [], "structuredContent": {"said": answered["result"]["content"]["text"]}})
        hear()
    """)

    async def sampling(request):
        await asyncio.sleep(0)
        return "four"

    async with connect(server, sampling=sampling, timeout=10) as session:
        await session.request("tools/call", {"name": "slow", "task": {}})
        ended = await session.request("tasks/result", {"taskId": "t1"})
    assert ended["structuredContent"] == {"said": "four"}
