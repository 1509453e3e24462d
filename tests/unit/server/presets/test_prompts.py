import pytest
from tests.unit.server.harness import Conversation, made

from mcp_conductor.server.params import BadParam
from mcp_conductor.server.presets.content import PNG


async def said(talk, name, arguments=None):
    result = await talk.result("prompts/get", {"name": name, **({"arguments": arguments} if arguments else {})})
    assert list(result) == ["messages"]
    (message,) = result["messages"]
    assert message["role"] == "user"
    return message["content"]


async def test_simple_prompt_is_one_text():
    talk = Conversation("simple_prompt")
    listed = {"name": "simple_prompt", "description": "A simple prompt for testing"}
    assert await talk.listed("prompts/list") == listed
    text = "This is a simple prompt for testing purposes."
    assert await said(talk, "simple_prompt") == {"type": "text", "text": text}


async def test_args_prompt_fills_in_its_arguments():
    talk = Conversation("args_prompt")
    assert await talk.listed("prompts/list") == {
        "name": "args_prompt",
        "description": "A prompt that accepts arguments for testing",
        "arguments": [
            {"name": "city", "description": "City name", "required": True},
            {"name": "state", "description": "State name", "required": True},
        ],
    }
    text = (await said(talk, "args_prompt", {"city": "{state}", "state": "NY"}))["text"]
    assert text == "This is a prompt with arguments: city={state}, state=NY"


async def test_args_prompt_refuses_to_do_without_an_argument():
    talk = Conversation("args_prompt")
    error = await talk.error("prompts/get", {"name": "args_prompt", "arguments": {"city": "Rome"}})
    assert error["code"] == -32602


async def test_args_prompt_completes_what_its_params_say():
    talk = Conversation(*made("args_prompt", completions={"city": ["New York", "Newark", "Rome"]}))
    params = {"ref": {"type": "ref/prompt", "name": "args_prompt"}, "argument": {"name": "city", "value": "new"}}
    completion = (await talk.result("completion/complete", params))["completion"]
    assert completion == {"values": ["New York", "Newark"], "total": 2, "hasMore": False}


@pytest.mark.parametrize("completions", [{"town": ["Rome"]}, {"city": "Rome"}, {"city": [None]}])
def test_completions_must_be_lists_of_strings_for_arguments_that_there_are(completions):
    with pytest.raises(BadParam, match="completions"):
        made("args_prompt", completions=completions)


async def test_numbered_prompts_count_from_one():
    talk = Conversation(*made("numbered_prompts", count=2))
    first, _ = (await talk.result("prompts/list"))["prompts"]
    assert first == {"name": "prompt_1", "description": "Test prompt number 1"}
    assert await said(talk, "prompt_2") == {"type": "text", "text": "This is prompt 2"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("titled_prompt", {"title": "A Titled Prompt"}),
        (
            "icon_prompt",
            {"icons": [{"src": f"data:image/png;base64,{PNG}", "mimeType": "image/png", "sizes": ["1x1"]}]},
        ),
    ],
)
async def test_a_list_shows_what_a_prompt_says_of_itself(name, shown):
    talk = Conversation(name)
    listed = await talk.listed("prompts/list")
    assert {key: listed[key] for key in shown} == shown
    assert (await said(talk, name))["type"] == "text"


async def test_image_prompt_is_an_image():
    talk = Conversation("image_prompt")
    assert await said(talk, "image_prompt") == {"type": "image", "data": PNG, "mimeType": "image/png"}


async def test_embedded_resource_prompt_has_a_resource_inside():
    content = await said(Conversation("embedded_resource_prompt"), "embedded_resource_prompt")
    assert content["type"] == "resource"
    assert content["resource"]["mimeType"] == "text/plain"
