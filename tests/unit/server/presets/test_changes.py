import pytest
from tests.unit.server.harness import ERAS, MODERN, Conversation, failure_of, made, text_of

LISTS = frozenset({"tools", "resources", "prompts"})


def open_talk(*presets, **options):
    return Conversation(*presets, **{"list_changed": LISTS, "subscriptions": True, **options})


async def names(talk, kind):
    return [entry["name"] for entry in (await talk.result(f"{kind}/list"))[kind]]


@pytest.mark.parametrize("version", ERAS)
async def test_add_resource_adds_one_that_can_be_read(version):
    talk = open_talk("add_resource", version=version)
    arguments = {"uri": "test://new", "name": "new", "description": "d", "mimeType": "text/x", "text": "t"}
    assert text_of(await talk.call("add_resource", arguments)) == "Resource test://new added"
    listed = await talk.listed("resources/list")
    assert listed == {"uri": "test://new", "name": "new", "description": "d", "mimeType": "text/x"}
    read = await talk.result("resources/read", {"uri": "test://new"})
    assert read == {"contents": [{"uri": "test://new", "mimeType": "text/x", "text": "t"}]}


async def test_add_resource_needs_no_more_than_uri_and_name():
    talk = open_talk("add_resource")
    assert (await talk.listed())["inputSchema"]["required"] == ["uri", "name"]
    await talk.call("add_resource", {"uri": "test://new", "name": "new"})
    assert await talk.listed("resources/list") == {"uri": "test://new", "name": "new"}
    (content,) = (await talk.result("resources/read", {"uri": "test://new"}))["contents"]
    assert content == {"uri": "test://new", "mimeType": "text/plain", "text": ""}


async def test_remove_resource_removes_one():
    talk = open_talk("remove_resource", *made("numbered_resources", count=2))
    said = text_of(await talk.call("remove_resource", {"uri": "test://resource_1"}))
    assert said == "Resource test://resource_1 removed"
    assert await names(talk, "resources") == ["resource_2"]
    assert talk.notified("notifications/resources/list_changed") == [{}]


async def test_update_resource_changes_what_is_read_and_tells_the_subscribers_only():
    talk = open_talk("update_resource", *made("numbered_resources", count=2))
    await talk.result("resources/subscribe", {"uri": "test://resource_1"})
    said = text_of(await talk.call("update_resource", {"uri": "test://resource_1", "text": "new"}))
    assert said == "Resource test://resource_1 updated"
    await talk.call("update_resource", {"uri": "test://resource_2", "text": "new"})
    (content,) = (await talk.result("resources/read", {"uri": "test://resource_1"}))["contents"]
    assert content == {"uri": "test://resource_1", "mimeType": "text/plain", "text": "new"}
    assert [message["method"] for message in talk.heard] == ["notifications/resources/updated"]
    assert talk.notified("notifications/resources/updated") == [{"uri": "test://resource_1"}]


async def test_update_resource_tells_a_listener_of_the_modern_era():
    talk = open_talk("update_resource", *made("numbered_resources", count=1), version=MODERN)
    wanted = {"resourceSubscriptions": ["test://resource_1"], "toolsListChanged": True}
    listening = talk.begin("subscriptions/listen", {"notifications": wanted})
    await talk.until(lambda: talk.heard)
    await talk.call("update_resource", {"uri": "test://resource_1", "text": "new"})
    (updated,) = talk.notified("notifications/resources/updated")
    assert updated["uri"] == "test://resource_1"
    talk.server.stop()
    assert await listening is not None


@pytest.mark.parametrize("version", ERAS)
async def test_add_tool_adds_one_that_can_be_called(version):
    talk = open_talk("add_tool", version=version)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    arguments = {"name": "new", "description": "d", "inputSchema": schema}
    assert text_of(await talk.call("add_tool", arguments)) == "Tool new added"
    listed = (await talk.result("tools/list"))["tools"][-1]
    assert listed == arguments
    assert text_of(await talk.call("new", {"n": 1})) == "Tool new executed"
    assert failure_of(await talk.call("new", {"n": "x"}))


async def test_add_tool_makes_up_a_schema_without_arguments():
    talk = open_talk("add_tool")
    await talk.call("add_tool", {"name": "new", "description": "d"})
    assert (await talk.result("tools/list"))["tools"][-1]["inputSchema"]["type"] == "object"
    assert text_of(await talk.call("new")) == "Tool new executed"


@pytest.mark.parametrize(
    "arguments", [{"inputSchema": "x"}, {"inputSchema": {}}, {"inputSchema": {"type": "string"}}, {"name": ""}]
)
async def test_add_tool_refuses_what_could_not_be_called(arguments):
    talk = open_talk("add_tool")
    assert failure_of(await talk.call("add_tool", {"name": "new", "description": "d", **arguments}))
    assert talk.heard == []


async def test_remove_tool_can_remove_itself():
    talk = open_talk("remove_tool")
    assert text_of(await talk.call("remove_tool", {"name": "remove_tool"})) == "Tool remove_tool removed"
    assert await talk.result("tools/list") == {"tools": []}
    assert talk.notified("notifications/tools/list_changed") == [{}]


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (
            {
                "type": "object",
                "properties": {"who": {"type": "string", "description": "Name"}, "how": {}},
                "required": ["who"],
            },
            [{"name": "who", "description": "Name", "required": True}, {"name": "how", "required": False}],
        ),
        ([{"name": "who", "required": True}], [{"name": "who", "required": True}]),
    ],
)
async def test_add_prompt_takes_arguments_as_a_schema_or_as_a_list(schema, arguments):
    talk = open_talk("add_prompt")
    given = {"name": "new", "description": "d", "promptString": "Hello {who}, {nobody}", "argsSchema": schema}
    assert text_of(await talk.call("add_prompt", given)) == "Prompt new added"
    assert await talk.listed("prompts/list") == {"name": "new", "description": "d", "arguments": arguments}
    got = await talk.result("prompts/get", {"name": "new", "arguments": {"who": "Ann"}})
    message = {"role": "user", "content": {"type": "text", "text": "Hello Ann, {nobody}"}}
    assert got == {"messages": [message]}
    assert (await talk.error("prompts/get", {"name": "new"}))["code"] == -32602


async def test_add_prompt_needs_no_more_than_name_and_text():
    talk = open_talk("add_prompt")
    await talk.call("add_prompt", {"name": "new", "promptString": "Hello"})
    assert await talk.listed("prompts/list") == {"name": "new"}


@pytest.mark.parametrize("schema", ["x", {}, [{"description": "no name"}], ["who"]])
async def test_add_prompt_refuses_arguments_that_are_none(schema):
    talk = open_talk("add_prompt")
    arguments = {"name": "new", "promptString": "Hello", "argsSchema": schema}
    assert failure_of(await talk.call("add_prompt", arguments)).startswith("argsSchema must be")
    assert talk.heard == []


async def test_remove_prompt_removes_one():
    talk = open_talk("remove_prompt", "simple_prompt")
    assert text_of(await talk.call("remove_prompt", {"name": "simple_prompt"})) == "Prompt simple_prompt removed"
    assert await talk.result("prompts/list") == {"prompts": []}


ADDITIONS = [
    ("add_resource", {"uri": "test://new", "name": "new"}, "Resource test://new already exists", "resources"),
    ("add_tool", {"name": "new", "description": "d"}, "Tool new already exists", "tools"),
    ("add_prompt", {"name": "new", "promptString": "p"}, "Prompt new already exists", "prompts"),
]


@pytest.mark.parametrize(("tool", "arguments", "said", "kind"), ADDITIONS)
async def test_what_is_there_already_is_not_added_again_and_told_once(tool, arguments, said, kind):
    talk = open_talk(tool)
    await talk.call(tool, arguments)
    assert failure_of(await talk.call(tool, arguments)) == said
    assert [message["method"] for message in talk.heard] == [f"notifications/{kind}/list_changed"]


@pytest.mark.parametrize(("tool", "arguments", "said", "kind"), ADDITIONS)
async def test_nobody_is_told_where_the_config_does_not_declare_it(tool, arguments, said, kind):
    talk = Conversation(tool, "simple_prompt", "architecture")
    assert "added" in text_of(await talk.call(tool, arguments))
    assert "new" in await names(talk, kind)
    assert talk.heard == []


@pytest.mark.parametrize(("tool", "arguments", "said", "kind"), ADDITIONS)
async def test_a_listener_of_the_modern_era_is_told(tool, arguments, said, kind):
    talk = open_talk(tool, version=MODERN)
    listening = talk.begin("subscriptions/listen", {"notifications": {f"{kind}ListChanged": True}})
    await talk.until(lambda: talk.heard)
    await talk.call(tool, arguments)
    assert len(talk.notified(f"notifications/{kind}/list_changed")) == 1
    talk.server.stop()
    assert await listening is not None


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("remove_resource", {"uri": "test://no"}, "Resource with URI test://no not found"),
        ("update_resource", {"uri": "test://no", "text": ""}, "Resource with URI test://no not found"),
        ("remove_tool", {"name": "no"}, "Tool no not found"),
        ("remove_prompt", {"name": "no"}, "Prompt no not found"),
    ],
)
async def test_what_is_not_there_cannot_change_and_nobody_is_told(tool, arguments, said):
    talk = open_talk(tool)
    assert failure_of(await talk.call(tool, arguments)) == said
    assert talk.heard == []
