"""Definitions, steps and faults of plugins that fail: the client gets an answer, and stderr the line of the plugin."""

import sys
from random import Random

import pytest
from tests.unit.server.harness import Conversation, text_of
from tests.unit.server.test_steps import tool

from mcp_conductor.errors import CannotTellError, MethodError, UsageError
from mcp_conductor.protocol.dialect import INTERNAL_ERROR
from mcp_conductor.protocol.message import build
from mcp_conductor.server.faults import Fault, Faults
from mcp_conductor.server.presets import Preset
from mcp_conductor.server.presets.described import described
from mcp_conductor.server.spoiled_reply import SpoiledReply
from mcp_conductor.server.steps import STEPS, _of_plugin


def exits(_):
    sys.exit(3)


def counts(_):
    return 17


def is_not_json(_):
    return {"content": {1, 2}}


async def raises_later(_):
    raise BaseException("odd")  # noqa: TRY002  # what few expect


def preset(**members):
    return described({"name": "ours", **members}, Preset("ours", "tool", counts))


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        ({"code": -32002, "message": "no such book"}, {"code": -32002, "message": "no such book"}),
        ({"code": 7, "message": "lost", "data": {"a": 1}}, {"code": 7, "message": "lost", "data": {"a": 1}}),
        ({"code": "7", "message": "lost"}, {"code": INTERNAL_ERROR, "message": "Internal error: MethodError"}),
        (None, {"code": INTERNAL_ERROR, "message": "Internal error: MethodError"}),
    ],
)
async def test_a_definition_that_raises_a_method_error_is_answered_with_it(error, answer):
    async def refuses(_):
        raise MethodError("tools/call", error)

    assert await Conversation(preset(run=refuses)).error("tools/call", {"name": "ours", "arguments": {}}) == answer


@pytest.mark.parametrize(
    ("run", "error", "told"),
    [
        (exits, "SystemExit", "SystemExit: 3"),
        (raises_later, "BaseException", "BaseException: odd"),
        (counts, "TypeError", "the function for tools/call returns 17, but must return a text"),
        (is_not_json, "TypeError", "the result of the function for tools/call raises TypeError: "),
    ],
)
async def test_a_definition_that_fails_is_answered_and_told(run, error, told):
    talk = Conversation(preset(run=run))
    complaints: list[str] = []
    talk.server.complain = complaints.append
    answer = await talk.error("tools/call", {"name": "ours", "arguments": {}})
    assert (answer["code"], answer["message"]) == (INTERNAL_ERROR, f"Internal error: {error}")
    (complaint,) = complaints
    assert complaint.startswith("tools/call failed: ")
    assert told in complaint


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"run": lambda: ""}, "'run' of the preset 'ours' cannot be called"),
        ({"run": counts, "icons": object()}, "the preset 'ours' returns what is not JSON"),
    ],
)
def test_a_definition_that_cannot_work_is_refused_when_the_file_is_read(members, told):
    with pytest.raises(UsageError) as refused:
        preset(**members)
    assert refused.value.message.startswith(told)
    assert refused.value.where is not None


def at_once(_given, _script):
    """Do nothing that takes time."""
    return lambda scope: scope.call.log("info", "at once")


def without_function(_given, _script):
    """Forget to return something."""


@pytest.fixture
def steps(monkeypatch):
    known = dict(STEPS.items())
    monkeypatch.setattr(STEPS, "_things", {**known, "ours": _of_plugin(at_once), "empty": _of_plugin(without_function)})


@pytest.mark.usefixtures("steps")
async def test_a_step_of_a_plugin_need_not_wait():
    talk = Conversation(tool({"ours": 1}), logging=True)
    assert text_of(await talk.call("tool")) == "done"
    assert talk.notified("notifications/message")[0]["data"] == "at once"


@pytest.mark.usefixtures("steps")
def test_a_step_that_returns_no_function_is_refused_when_the_file_is_read():
    with pytest.raises(CannotTellError) as refused:
        tool({"empty": 1})
    assert refused.value.message.startswith(
        "the step 'without_function' returns NoneType, but must return the function"
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (exits, "a change that a fault makes raises SystemExit: 3 at "),
        (counts, "a change that a fault makes returns 17, but must return dict ("),
    ],
)
def test_a_change_that_fails_leaves_the_reply_as_it_is(change, told):
    complaints: list[str] = []
    spoiled = SpoiledReply(Random(0), changes=[change], complain=complaints.append)
    assert spoiled.changed({"id": 1}) == {"id": 1}
    (complaint,) = complaints
    assert complaint.startswith(told)
    assert complaint.endswith("; the reply is sent without it")


def test_a_fault_that_fails_leaves_the_reply_as_it_is():
    def act(_):
        raise CannotTellError("the fault 'ours' raises KeyError")

    complaints: list[str] = []
    request = build({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    spoiled = Faults((Fault(name="ours", act=act),), 0, complaints.append).spoiled_reply(request)
    assert spoiled is not None
    assert spoiled.changed({"id": 1}) == {"id": 1}
    assert complaints == ["the fault 'ours' raises KeyError; the reply is sent without it"]
