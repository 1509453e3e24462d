import json

import pytest
from tests.unit.server.harness import HANDSHAKE, MODERN, Conversation, made, text_of

from mcp_conductor.protocol.dialect import RELATED_TASK
from mcp_conductor.server.params import BadParam

CORE = {"version": HANDSHAKE, "tasks": frozenset({"list", "cancel"})}
EXTENSION = {"version": MODERN, "tasks_extension": True}
MESSAGE = {"message": {"type": "string", "description": "Optional message parameter"}}
APPROVE = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Approve this task before it continues?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "approved": {"type": "boolean", "title": "Approved", "description": "Whether to proceed with the task"}
            },
            "required": ["approved"],
        },
    },
}
APPROVED = {"action": "accept", "content": {"approved": True}}


async def start(talk, tool, arguments=None, **params):
    """The id of a task of 2025-11-25."""
    made_ = await talk.result("tools/call", {"name": tool, "arguments": arguments or {}, "task": {}, **params})
    return made_["task"]["taskId"]


async def start_by_extension(talk, tool, arguments=None):
    made_ = await talk.result("tools/call", {"name": tool, "arguments": arguments or {}})
    assert made_["resultType"] == "task"
    return made_["taskId"]


async def look(talk, identity):
    return await talk.result("tasks/get", {"taskId": identity})


async def ended(talk, identity):
    """The task, once it is not working any more."""
    await talk.settle()
    task = await look(talk, identity)
    assert task["status"] != "working"
    return task


@pytest.mark.parametrize(
    ("name", "support"),
    [
        ("simple_task", "required"),
        ("progress_task", "required"),
        ("elicitation_task", "required"),
        ("sampling_task", "required"),
        ("optional_task", "optional"),
        ("forbidden_task", None),
        ("immediate_return_task", None),
    ],
)
async def test_the_list_says_whether_a_tool_runs_as_a_task(name, support):
    listed = await Conversation(name, **CORE).listed()
    assert listed["inputSchema"]["properties"] == MESSAGE
    assert "required" not in listed["inputSchema"]
    assert listed.get("execution") == (None if support is None else {"taskSupport": support})
    if support is None:
        assert listed["description"] == "A tool that completes immediately without creating a task"
    else:
        assert listed["description"] == "A flexible task tool supporting progress, elicitation, and sampling"


@pytest.mark.parametrize("name", ["simple_task", "optional_task"])
async def test_a_task_completes_with_its_message_and_its_id(name):
    talk = Conversation(*made(name, delayMs=0), **CORE)
    identity = await start(talk, name, {"message": "hi"})
    result = await talk.result("tasks/result", {"taskId": identity})
    assert json.loads(text_of(result)) == {"message": "Task completed: hi", "taskId": identity}
    statuses = [params["status"] for params in talk.notified("notifications/tasks/status")]
    assert statuses == ["completed"]


async def test_a_task_without_a_message_says_so():
    talk = Conversation(*made("simple_task", name="mine", delayMs=0), **CORE)
    identity = await start(talk, "mine")
    said = text_of(await talk.result("tasks/result", {"taskId": identity}))
    assert said == f'{{"message":"Task completed: no message","taskId":"{identity}"}}'


async def test_a_task_takes_its_time_and_can_be_cancelled_meanwhile():
    talk = Conversation("simple_task", **CORE)
    identity = await start(talk, "simple_task")
    assert (await look(talk, identity))["status"] == "working"
    assert (await talk.result("tasks/cancel", {"taskId": identity}))["status"] == "cancelled"
    await talk.until(lambda: talk.notified("notifications/tasks/status"))
    assert (await look(talk, identity))["status"] == "cancelled"


async def test_a_task_that_is_required_refuses_to_run_otherwise():
    talk = Conversation(*made("simple_task", delayMs=0), **CORE)
    assert (await talk.error("tools/call", {"name": "simple_task"}))["code"] == -32601


async def test_an_optional_task_answers_at_once_when_nobody_asks_for_a_task():
    talk = Conversation(*made("optional_task", delayMs=0), **CORE)
    assert text_of(await talk.call("optional_task")) == '{"message":"Task completed: no message"}'


@pytest.mark.parametrize("version", ["2025-06-18", HANDSHAKE, MODERN])
async def test_a_task_tool_is_any_other_tool_where_there_are_no_tasks(version):
    talk = Conversation(*made("simple_task", delayMs=0), version=version)
    assert text_of(await talk.call("simple_task", {"message": "hi"})) == '{"message":"Task completed: hi"}'


@pytest.mark.parametrize("name", ["forbidden_task", "immediate_return_task"])
@pytest.mark.parametrize("where", [CORE, EXTENSION])
async def test_a_tool_that_is_no_task_answers_in_the_same_request(name, where):
    talk = Conversation(*made(name, delayMs=0), **where)
    assert text_of(await talk.call(name)) == "Task completed immediately: no message"
    assert text_of(await talk.call(name, {"message": "hi"})) == "Task completed immediately: hi"


async def test_a_tool_that_is_no_task_refuses_to_be_one():
    talk = Conversation("forbidden_task", **CORE)
    assert (await talk.error("tools/call", {"name": "forbidden_task", "task": {}}))["code"] == -32601


async def test_progress_task_reports_progress_that_belongs_to_the_task():
    talk = Conversation(*made("progress_task", delayMs=0, progressUnits=2), **CORE)
    identity = await start(talk, "progress_task", _meta={"progressToken": "t"})
    await talk.result("tasks/result", {"taskId": identity})
    related = {RELATED_TASK: {"taskId": identity}}
    assert talk.notified("notifications/progress") == [
        {"progressToken": "t", "progress": 1, "total": 2, "message": "Processing... 1/2", "_meta": related},
        {"progressToken": "t", "progress": 2, "total": 2, "message": "Processing... 2/2", "_meta": related},
    ]


async def test_progress_task_may_have_no_progress_but_not_less():
    talk = Conversation(*made("progress_task", delayMs=0, progressUnits=0), version=HANDSHAKE)
    assert "no message" in text_of(await talk.call("progress_task"))
    with pytest.raises(BadParam, match="progressUnits.*at least 0"):
        made("progress_task", progressUnits=-1)


async def test_elicitation_task_asks_by_way_of_the_task():
    talk = Conversation("elicitation_task", **CORE)
    identity = await start(talk, "elicitation_task")
    result = await talk.result("tasks/result", {"taskId": identity})
    assert json.loads(text_of(result))["taskId"] == identity
    (question,) = talk.asked
    assert question["params"] == {
        "mode": "form",
        "message": f"Please provide input for task {identity}",
        "requestedSchema": {
            "type": "object",
            "properties": {"input": {"type": "string", "description": "User input required for task"}},
            "required": ["input"],
        },
        "_meta": {RELATED_TASK: {"taskId": identity}},
    }
    statuses = [params["status"] for params in talk.notified("notifications/tasks/status")]
    assert statuses == ["input_required", "working", "completed"]


async def test_sampling_task_asks_the_model_by_way_of_the_task():
    talk = Conversation(*made("sampling_task", samplingText="Well?"), **CORE)
    identity = await start(talk, "sampling_task")
    assert identity in text_of(await talk.result("tasks/result", {"taskId": identity}))
    (question,) = talk.asked
    assert question["method"] == "sampling/createMessage"
    assert question["params"]["maxTokens"] == 100
    assert question["params"]["messages"] == [{"role": "user", "content": {"type": "text", "text": "Well?"}}]


async def test_a_task_fails_when_the_client_cannot_be_asked():
    talk = Conversation("elicitation_task", capabilities={}, **CORE)
    identity = await start(talk, "elicitation_task")
    result = await talk.result("tasks/result", {"taskId": identity})
    assert result["isError"] is True
    assert (await look(talk, identity))["status"] == "failed"


@pytest.mark.parametrize("name", ["elicitation_task", "sampling_task"])
async def test_a_task_of_the_extension_is_answered_by_an_update(name):
    talk = Conversation(name, **EXTENSION)
    identity = await start_by_extension(talk, name, {"message": "hi"})
    task = await ended(talk, identity)
    assert task["status"] == "input_required"
    await talk.result("tasks/update", {"taskId": identity, **talk.answered({"inputRequests": task["inputRequests"]})})
    task = await ended(talk, identity)
    assert task["status"] == "completed"
    assert json.loads(text_of(task["result"])) == {"message": "Task completed: hi", "taskId": identity}


async def test_elicitation_task_asks_in_rounds_where_there_are_no_tasks():
    talk = Conversation("elicitation_task", version=MODERN)
    assert text_of(await talk.call("elicitation_task")) == '{"message":"Task completed: no message"}'
    assert talk.asked[0]["params"]["message"] == "Please provide input"


async def test_modern_task_is_completed_on_the_third_look():
    talk = Conversation("modern_task", **EXTENSION)
    listed = await talk.listed()
    assert "execution" not in listed
    assert list(listed["inputSchema"]["properties"]) == ["message"]
    identity = await start_by_extension(talk, "modern_task", {"message": "hi"})
    looks = [await look(talk, identity)]
    for _ in range(2):
        await talk.settle()
        looks.append(await look(talk, identity))
    assert [task["status"] for task in looks] == ["working", "working", "completed"]
    assert text_of(looks[-1]["result"]) == f'Modern task {identity} completed (args={{"message":"hi"}}).'


async def test_modern_input_task_completes_with_what_it_was_told():
    talk = Conversation("modern_input_task", answers={"elicitation/create": APPROVED}, **EXTENSION)
    identity = await start_by_extension(talk, "modern_input_task")
    task = await ended(talk, identity)
    assert task["status"] == "input_required"
    assert task["inputRequests"] == {"confirm": APPROVE}
    await talk.result("tasks/update", {"taskId": identity, "inputResponses": {"confirm": APPROVED}})
    task = await ended(talk, identity)
    said = json.dumps({"confirm": APPROVED}, separators=(",", ":"))
    assert text_of(task["result"]) == f"Modern task {identity} completed (input={said})."


async def test_modern_loop_task_asks_again_under_another_key_until_it_is_cancelled():
    talk = Conversation("modern_loop_task", **EXTENSION)
    identity = await start_by_extension(talk, "modern_loop_task")
    keys = []
    for _ in range(3):
        task = await ended(talk, identity)
        assert task["status"] == "input_required"
        keys += task["inputRequests"]
        await talk.result(
            "tasks/update", {"taskId": identity, **talk.answered({"inputRequests": task["inputRequests"]})}
        )
    assert keys == ["confirm", "confirm-2", "confirm-3"]
    await talk.result("tasks/cancel", {"taskId": identity})
    await talk.settle()
    assert (await look(talk, identity))["status"] == "cancelled"


@pytest.mark.parametrize(
    "where", [{"version": HANDSHAKE}, {"version": MODERN}, {**EXTENSION, "capabilities": {"elicitation": {}}}]
)
async def test_the_tasks_of_the_extension_answer_at_once_where_there_are_no_tasks(where):
    talk = Conversation("modern_task", "modern_input_task", "modern_loop_task", **where)
    assert text_of(await talk.call("modern_task")) == "Modern task completed (args={})."
    assert text_of(await talk.call("modern_input_task")).startswith('Modern task completed (input={"confirm":')
    assert text_of(await talk.call("modern_loop_task")).startswith("Modern task completed")


async def test_modern_task_does_not_wait_for_looks_of_2025_11_25():
    talk = Conversation("modern_task", **CORE)
    identity = await start(talk, "modern_task")
    assert identity in text_of(await talk.result("tasks/result", {"taskId": identity}))
