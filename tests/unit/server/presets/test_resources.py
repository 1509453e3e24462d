import json
import os
import sys

import pytest
from tests.unit.server.harness import Conversation, made

from mcp_conductor.server.params import BadParam
from mcp_conductor.server.presets.content import PNG

ANNOTATIONS = {"audience": ["user"], "priority": 0.8, "lastModified": "2025-01-12T15:00:58Z"}


async def read(talk, uri):
    (content,) = (await talk.result("resources/read", {"uri": uri}))["contents"]
    assert content["uri"] == uri
    return content


async def test_architecture_is_a_document_in_markdown():
    talk = Conversation("architecture")
    uri = "demo://resource/static/document/architecture.md"
    assert await talk.listed("resources/list") == {
        "uri": uri,
        "name": "architecture",
        "description": "Architecture documentation",
        "mimeType": "text/markdown",
    }
    content = await read(talk, uri)
    assert content["mimeType"] == "text/markdown"
    assert content["text"].startswith("# Architecture Documentation\n\n")
    assert all(f"## {part}\n" in content["text"] for part in ("Introduction", "Design", "Implementation", "Testing"))


@pytest.mark.parametrize(
    ("name", "uri", "mime", "said"),
    [
        ("test_cwd", "test://cwd", "text/plain", os.getcwd),
        (
            "test_env",
            "test://env",
            "application/json",
            lambda: json.dumps(dict(os.environ), indent=2, ensure_ascii=False),
        ),
        (
            "test_argv",
            "test://argv",
            "application/json",
            lambda: json.dumps(sys.orig_argv, indent=2, ensure_ascii=False),
        ),
    ],
)
async def test_the_process_shows_where_and_how_it_runs(name, uri, mime, said):
    talk = Conversation(name)
    listed = await talk.listed("resources/list")
    assert (listed["uri"], listed["name"], listed["mimeType"]) == (uri, name, mime)
    assert await read(talk, uri) == {"uri": uri, "mimeType": mime, "text": said()}


async def test_numbered_resources_count_from_one():
    talk = Conversation(*made("numbered_resources", count=2))
    first, _ = (await talk.result("resources/list"))["resources"]
    assert first == {
        "uri": "test://resource_1",
        "name": "resource_1",
        "description": "Test resource number 1",
        "mimeType": "text/plain",
    }
    content = await read(talk, "test://resource_2")
    assert content == {"uri": "test://resource_2", "mimeType": "text/plain", "text": "Content for resource 2"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("titled_resource", {"title": "A Titled Resource"}),
        (
            "icon_resource",
            {"icons": [{"src": f"data:image/png;base64,{PNG}", "mimeType": "image/png", "sizes": ["1x1"]}]},
        ),
        ("annotated_resource", {"annotations": ANNOTATIONS}),
    ],
)
async def test_a_list_shows_what_a_resource_says_of_itself(name, shown):
    talk = Conversation(name)
    listed = await talk.listed("resources/list")
    assert {key: listed[key] for key in shown} == shown
    assert (await read(talk, f"test://{name}"))["mimeType"] == "text/plain"


async def test_binary_resource_is_a_blob():
    talk = Conversation("binary_resource")
    assert (await talk.listed("resources/list"))["mimeType"] == "image/png"
    content = await read(talk, "test://binary_resource")
    assert content == {"uri": "test://binary_resource", "mimeType": "image/png", "blob": PNG}


async def test_file_reads_one_segment():
    talk = Conversation("file")
    assert await talk.listed("resources/templates/list") == {
        "uriTemplate": "file:///{path}",
        "name": "file",
        "description": "Read a file by path",
        "mimeType": "text/plain",
    }
    said = "Mock file content for: a b.txt\nThis is a test resource template."
    assert (await read(talk, "file:///a%20b.txt"))["text"] == said
    assert (await talk.error("resources/read", {"uri": "file:///a/b.txt"}))["code"] == -32002


async def test_user_is_json():
    talk = Conversation("user")
    assert (await talk.listed("resources/templates/list"))["uriTemplate"] == "user://{userId}"
    content = await read(talk, "user://7")
    user = {"id": "7", "name": "User 7", "email": "user7@example.com", "role": "test-user"}
    assert content == {"uri": "user://7", "mimeType": "application/json", "text": json.dumps(user, indent=2)}


async def test_numbered_templates_count_from_one():
    talk = Conversation(*made("numbered_resource_templates", count=2))
    first, _ = (await talk.result("resources/templates/list"))["resourceTemplates"]
    assert (first["uriTemplate"], first["name"]) == ("test://template_1/{param}", "template_1")
    assert first["description"] == "Test resource template number 1"
    assert (await read(talk, "test://template_2/x"))["text"] == "Content for template 2 with param x"


@pytest.mark.parametrize(
    ("uri", "template", "variables"),
    [
        ("foobar://events/foo%2Fbar", "foobar://events/{topic}", {"topic": "foo/bar"}),
        ("foobar://events?topic=a", "foobar://events{?topic}", {"topic": "a"}),
    ],
)
async def test_the_templates_of_rfc_6570_tell_how_they_were_matched(uri, template, variables):
    talk = Conversation("rfc6570_templates", "rfc6570_base")
    content = await read(talk, uri)
    assert content["mimeType"] == "application/json"
    assert json.loads(content["text"]) == {"template": template, "matchedUri": uri, "variables": variables}


async def test_the_malformed_template_is_listed_and_matches_nothing():
    _, _, malformed = made("rfc6570_templates")
    talk = Conversation(malformed)
    listed = await talk.listed("resources/templates/list")
    assert (listed["name"], listed["uriTemplate"]) == ("events_malformed", "foobar://events/{topic:abc}")
    assert (await talk.error("resources/read", {"uri": "foobar://events/abc"}))["code"] == -32002


async def test_the_resource_comes_before_the_template_that_also_matches():
    talk = Conversation("rfc6570_templates", "rfc6570_base")
    assert (await talk.listed("resources/list"))["name"] == "events"
    content = await read(talk, "foobar://events")
    assert content == {"uri": "foobar://events", "mimeType": "text/plain", "text": "All events"}


@pytest.mark.parametrize(
    ("name", "template", "argument"), [("file", "file:///{path}", "path"), ("user", "user://{userId}", "userId")]
)
async def test_a_template_completes_what_its_params_say(name, template, argument):
    talk = Conversation(*made(name, completions={argument: ["alpha", "Alps", "beta"]}))
    params = {"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": argument, "value": "al"}}
    assert (await talk.result("completion/complete", params))["completion"]["values"] == ["alpha", "Alps"]


@pytest.mark.parametrize("completions", [{"path": "a"}, {"path": [1]}, {"other": ["a"]}])
def test_completions_must_be_lists_of_strings_for_variables_that_there_are(completions):
    with pytest.raises(BadParam, match="completions"):
        made("file", completions=completions)
