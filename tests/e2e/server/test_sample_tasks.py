"""The sample configs with tasks, in both manners: who decides, how long they live, how they end, and whom they ask."""

import pytest
from tests.e2e.server.peers import TRANSPORTS, Servers, call, refusal, talking, text_of

from mcp_conductor import Answers
from mcp_conductor.protocol.dialect import RELATED_TASK, TASKS_EXTENSION

CORE, EXTENSION = "tasks-only.json", "tasks-extension.json"
EXTENSIONS = {TASKS_EXTENSION: {}}


@pytest.fixture(scope="module")
def servers():
    pool = Servers()
    yield pool
    pool.stop()


async def started(session, tool, ttl=None):
    """A task that TOOL has become."""
    made = await call(session, tool, {"message": "hello"}, task={} if ttl is None else {"ttl": ttl})
    assert set(made) == {"task"}
    return made["task"]


async def state(session, task):
    return await session.request("tasks/get", {"taskId": task["taskId"]})


async def tenth_of_a_second(session):
    """Let the server's own clock run for 100 ms: that is what this tool takes when it is no task."""
    assert "Task completed" in text_of(await call(session, "optional_task"))


# The tasks of 2025-11-25.


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_tools_run_as_tasks_as_they_say(servers, transport):
    async with talking(servers.spec(CORE, transport)) as (session, _):
        tools = (await session.everything("tools/list"))["tools"]
        support = {tool["name"]: tool.get("execution", {}).get("taskSupport", "forbidden") for tool in tools}
        assert set(support.values()) == {"required", "optional", "forbidden"}
        for tool, said in support.items():
            if said == "required":
                assert await refusal(session, "tools/call", {"name": tool, "arguments": {}}) == -32601
            elif said == "forbidden":
                params = {"name": tool, "arguments": {}, "task": {}}
                assert await refusal(session, "tools/call", params) == -32601
                assert text_of(await call(session, tool)) == "Task completed immediately: no message"
        assert (await started(session, "optional_task"))["status"] == "working"
        assert "taskId" not in text_of(await call(session, "optional_task"))


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_result_is_waited_for_and_says_whose_it_is(servers, transport):
    async with talking(servers.spec(CORE, transport)) as (session, heard):
        task = await started(session, "simple_task", 60_000)
        assert (task["status"], task["ttl"], task["pollInterval"]) == ("working", 60_000, 100)
        result = await session.request("tasks/result", {"taskId": task["taskId"]})
        assert "Task completed: hello" in text_of(result)
        assert result["_meta"] == {RELATED_TASK: {"taskId": task["taskId"]}}
        ended = await state(session, task)
        assert (ended["status"], ended["createdAt"]) == ("completed", task["createdAt"])
        assert await session.request("tasks/result", {"taskId": task["taskId"]}) == result
        listed = (await session.everything("tasks/list"))["tasks"]
        assert task["taskId"] in [each["taskId"] for each in listed]
        told = await heard.until("notifications/tasks/status")
        assert (told[-1]["taskId"], told[-1]["status"]) == (task["taskId"], "completed")


async def test_a_task_is_gone_when_its_time_is_over(servers):
    async with talking(servers.spec(CORE, "stdio")) as (session, _):
        kept = await started(session, "optional_task", 60_000)
        unfinished = await started(session, "simple_task", 50)
        finished = await started(session, "optional_task", 150)
        await tenth_of_a_second(session)
        assert await refusal(session, "tasks/get", {"taskId": unfinished["taskId"]}) == -32602
        await tenth_of_a_second(session)
        assert await refusal(session, "tasks/get", {"taskId": finished["taskId"]}) == -32602
        assert await refusal(session, "tasks/result", {"taskId": finished["taskId"]}) == -32602
        assert (await state(session, kept))["status"] == "completed"
        assert [task["taskId"] for task in (await session.everything("tasks/list"))["tasks"]] == [kept["taskId"]]


async def test_what_is_cancelled_stays_cancelled(servers):
    async with talking(servers.spec(CORE, "stdio")) as (session, heard):
        task = await started(session, "simple_task")
        named = {"taskId": task["taskId"]}
        assert (await session.request("tasks/cancel", named))["status"] == "cancelled"
        for _ in range(3):  # longer than the task would have taken
            await tenth_of_a_second(session)
        assert (await state(session, task))["status"] == "cancelled"
        assert await refusal(session, "tasks/cancel", named) == -32602
        assert await refusal(session, "tasks/result", named) == -32602
    told = heard.params("notifications/tasks/status")
    assert [(params["taskId"], params["status"]) for params in told] == [(task["taskId"], "cancelled")]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("tool", "method"), [("elicitation_task", "elicitation/create"), ("sampling_task", "sampling/createMessage")]
)
async def test_a_task_asks_through_its_result_and_says_so(servers, transport, tool, method):
    answers = Answers(sampling="auto", elicitation="auto")
    async with talking(servers.spec(CORE, transport), answers=answers) as (session, heard):
        task = await started(session, tool)
        waiting = await heard.until("notifications/tasks/status")
        assert waiting[0]["status"] == "input_required"
        assert heard.params(method) == []
        result = await session.request("tasks/result", {"taskId": task["taskId"]})
        assert "Task completed: hello" in text_of(result)
        (question,) = heard.params(method)
        assert question["_meta"][RELATED_TASK] == {"taskId": task["taskId"]}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_task_reports_progress_under_the_token_of_its_request(servers, transport):
    async with talking(servers.spec(CORE, transport)) as (session, heard):
        made = await call(session, "progress_task", task={}, _meta={"progressToken": "p"})
        told = await heard.until("notifications/progress", 4)
        await session.request("tasks/result", {"taskId": made["task"]["taskId"]})
    assert [(params["progressToken"], params["progress"]) for params in told] == [("p", unit) for unit in (1, 2, 3, 4)]
    assert {params["_meta"][RELATED_TASK]["taskId"] for params in told} == {made["task"]["taskId"]}


@pytest.mark.parametrize("protocol", ["2024-11-05", "2025-06-18"])
async def test_without_tasks_in_the_revision_every_tool_answers_in_its_request(servers, protocol):
    async with talking(servers.spec(CORE, "stdio"), protocol) as (session, _):
        assert "tasks" not in session.capabilities
        assert text_of(await call(session, "simple_task")) == '{"message":"Task completed: no message"}'
        assert await refusal(session, "tasks/get", {"taskId": "1"}) == -32601


# The tasks extension of 2026-07-28.


@pytest.mark.parametrize("transport", ["stdio", "streamable-http"])
async def test_a_task_of_the_extension_is_completed_at_the_third_look(servers, transport):
    async with talking(servers.spec(EXTENSION, transport), "modern", extensions=EXTENSIONS) as (session, _):
        assert session.capabilities["extensions"] == EXTENSIONS
        made = await call(session, "modern_task", {"message": "hello"})
        assert (made["resultType"], made["status"]) == ("task", "working")
        looks = [await state(session, made) for _ in range(3)]
        assert [look["status"] for look in looks] == ["working", "working", "completed"]
        assert "hello" in text_of(looks[-1]["result"])
        assert "result" not in looks[0]


@pytest.mark.parametrize("transport", ["stdio", "streamable-http"])
async def test_a_task_of_the_extension_goes_on_when_it_is_answered(servers, transport):
    options = {"extensions": EXTENSIONS, "answers": Answers(elicitation="auto")}
    async with talking(servers.spec(EXTENSION, transport), "modern", **options) as (session, _):
        made = await call(session, "modern_input_task")
        named = {"taskId": made["taskId"]}
        asking = await state(session, made)
        assert (asking["status"], list(asking["inputRequests"])) == ("input_required", ["confirm"])
        answer = {"action": "accept", "content": {"approved": True}}
        updated = await session.request("tasks/update", {**named, "inputResponses": {"confirm": answer}})
        assert updated["resultType"] == "complete"
        ended = await state(session, made)
        assert ended["status"] == "completed"
        assert '"approved":true' in text_of(ended["result"])


async def test_a_listener_hears_of_the_tasks_that_it_names(servers):
    spec = servers.spec(EXTENSION, "streamable-http")
    async with talking(spec, "modern", extensions=EXTENSIONS) as (session, heard):
        named, other = await call(session, "modern_task"), await call(session, "modern_task")
        acknowledged = await session.listen({"taskIds": [named["taskId"], "no such task"]})
        assert acknowledged.params["notifications"] == {"taskIds": [named["taskId"]]}
        for made in (other, named):
            await session.request("tasks/cancel", {"taskId": made["taskId"]})
        told = await heard.until("notifications/tasks")
        assert [(params["taskId"], params["status"]) for params in told] == [(named["taskId"], "cancelled")]


async def test_a_cancelled_task_of_the_extension_stays_cancelled(servers):
    options = {"extensions": EXTENSIONS, "answers": Answers(elicitation="auto")}
    async with talking(servers.spec(EXTENSION, "stdio"), "modern", **options) as (session, _):
        made = await call(session, "modern_loop_task")
        named = {"taskId": made["taskId"]}
        answer = {"action": "accept", "content": {"approved": True}}
        await session.request("tasks/update", {**named, "inputResponses": {"confirm": answer}})
        assert list((await state(session, made))["inputRequests"]) == ["confirm-2"]
        await session.request("tasks/cancel", named)
        await session.request("tasks/update", {**named, "inputResponses": {"confirm-2": answer}})
        assert (await state(session, made))["status"] == "cancelled"


async def test_a_client_without_the_extension_gets_no_tasks(servers):
    async with talking(servers.spec(EXTENSION, "streamable-http"), "modern") as (session, _):
        assert text_of(await call(session, "optional_task")) == '{"message":"Task completed: no message"}'
        assert "Modern task completed" in text_of(await call(session, "modern_task"))
        assert await refusal(session, "tasks/get", {"taskId": "1"}) == -32021


async def test_an_unknown_task_is_refused(servers):
    async with talking(servers.spec(EXTENSION, "stdio"), "modern", extensions=EXTENSIONS) as (session, _):
        for method in ("tasks/get", "tasks/cancel"):
            assert await refusal(session, method, {"taskId": "none"}) == -32602
        assert await refusal(session, "tasks/update", {"taskId": "none", "inputResponses": {}}) == -32602
