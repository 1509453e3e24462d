"""Definitions written out in a config file: what they list, what they give, and what is refused."""

import json
import time
from pathlib import Path

import pytest
from tests.unit.server.harness import HANDSHAKE, MODERN, Conversation, config_of, failure_of, text_of

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.protocol.dialect import DIALECTS, INVALID_PARAMS
from mcp_conductor.protocol.message import build
from mcp_conductor.server import inline
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import Client
from mcp_conductor.server.config_file import load
from mcp_conductor.server.server import Server
from mcp_conductor.server.transport_file import Overrides

EXAMPLES = Path(__file__).parents[3] / "examples" / "servers"


def field(text: str) -> Field:
    return Field.root(parse(text, "server.yaml"), {})


def call(**arguments) -> Call:
    message = build({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": arguments}})
    return Call(Server(config_of()), Client(print, DIALECTS[HANDSHAKE]), message, print)


def refusal(read, text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        read(field(text))
    assert caught.value.where is not None
    return caught.value


# Tools.


async def test_a_tool_lists_what_mcp_lists_and_nothing_else():
    tool = inline.tool(
        field("""
            name: greet
            title: Greet
            description: Greets
            inputSchema: {type: object, properties: {name: {type: string}}}
            outputSchema: {type: object}
            annotations: {readOnlyHint: true}
            icons: [{src: "data:,"}]
            _meta: {"a/b": "{{ not a placeholder }}"}
            checked: false
            steps: [log: hello]
            result: hi
        """)
    )
    assert await Conversation(tool).listed() == {
        "name": "greet",
        "title": "Greet",
        "description": "Greets",
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "icons": [{"src": "data:,"}],
        "_meta": {"a/b": "{{ not a placeholder }}"},
    }


def test_a_tool_without_a_schema_takes_no_arguments():
    assert inline.tool(field("name: t")).listed == {"name": "t", "inputSchema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("Hello, {{ arguments.n }}!", {"content": [{"type": "text", "text": "Hello, 1!"}]}),
        ("'{{ arguments.n }}'", {"content": [{"type": "text", "text": "1"}]}),
        ("[{type: text, text: a}, '{{ arguments.block }}']", {"content": [{"type": "text", "text": "a"}, {"b": 1}]}),
        (
            "{content: [], structuredContent: {n: '{{ arguments.n }}'}, isError: true, _meta: {a: 1}, mine: 2}",
            {"content": [], "structuredContent": {"n": 1}, "isError": True, "_meta": {"a": 1}, "mine": 2},
        ),
        ("{}", {}),
    ],
)
def test_a_result_is_a_text_or_the_content_or_everything(result, expected):
    tool = inline.tool(field(f"{{name: t, result: {result}}}" if result[0] in "['{" else f"name: t\nresult: {result}"))
    assert tool.run(call(n=1, block={"b": 1})) == expected


def test_a_tool_without_a_result_gives_no_content():
    assert inline.tool(field("name: t")).run(call()) == {"content": []}


def test_a_result_without_placeholders_is_made_once():
    run = inline.tool(field("name: t\nresult: fixed")).run
    assert run(call()) is run(call())


async def test_arguments_and_output_are_checked():
    tool = inline.tool(
        field("""
            name: t
            inputSchema: {type: object, properties: {n: {type: integer}}, required: [n]}
            outputSchema: {type: object, properties: {n: {type: integer, minimum: 5}}}
            result: {content: [], structuredContent: {n: "{{ arguments.n }}"}}
        """)
    )
    talk = Conversation(tool)
    assert "n" in failure_of(await talk.call("t", {"n": "x"}))
    assert "Output validation" in failure_of(await talk.call("t", {"n": 4}))
    assert (await talk.call("t", {"n": 5}))["structuredContent"] == {"n": 5}


async def test_nothing_is_checked_by_a_schema_that_may_be_unusable():
    tool = inline.tool(field("{name: t, checked: false, inputSchema: {type: 5}, outputSchema: {type: 5}, result: x}"))
    talk = Conversation(tool)
    assert text_of(await talk.call("t", {"anything": 1})) == "x"
    assert (await talk.listed())["inputSchema"] == {"type": 5}


@pytest.mark.parametrize("key", ["inputSchema", "outputSchema"])
@pytest.mark.parametrize("schema", ["{type: 5}", "{$ref: '#/nowhere'}", "{pattern: '('}", "[]", "text"])
def test_an_unusable_schema_is_refused(key, schema):
    refusal(inline.tool, f"{{name: t, {key}: {schema}}}")


@pytest.mark.parametrize(
    "schema", ["{}", "{type: string}", "{not: {}}", "{enum: [1]}", "{type: object, required: [a]}"]
)
def test_a_schema_that_fits_nothing_is_usable_all_the_same(schema):
    inline.tool(field(f"{{name: t, inputSchema: {schema}}}"))


@pytest.mark.parametrize(
    ("written", "task", "listed"),
    [
        ("task: required", "required", {"taskSupport": "required"}),
        ("task: optional", "optional", {"taskSupport": "optional"}),
        ("execution: {taskSupport: optional}", "optional", {"taskSupport": "optional"}),
        ("execution: {taskSupport: forbidden}", None, {"taskSupport": "forbidden"}),
        ("execution: {taskSupport: forbidden}, task: required", "required", {"taskSupport": "forbidden"}),
        ("execution: {other: 1}, task: required", "required", {"taskSupport": "required", "other": 1}),
    ],
)
def test_whether_a_tool_runs_as_a_task_is_listed(written, task, listed):
    tool = inline.tool(field(f"{{name: t, {written}}}"))
    assert (tool.task, tool.listed["execution"]) == (task, listed)


BEFORE = """
    name: t
    task: required
    before:
      - elicit: {message: m, schema: {type: object, properties: {}}, as: colour}
    steps:
      - list_roots: {as: places}
    result: "{{ answers.colour.content.value }} {{ answers.places.roots | count }} {{ task.id | count }}"
"""


async def test_what_comes_before_the_task_is_asked_in_the_request_and_known_to_the_task():
    talk = Conversation(inline.tool(field(BEFORE)), version=MODERN, tasks_extension=True)
    made = await talk.call("t")
    assert made["resultType"] == "task"
    assert [question["method"] for question in talk.asked] == ["elicitation/create"]
    task = {"taskId": made["taskId"]}
    await talk.settle()
    answers = {"places": {"roots": [{"uri": "file:///a"}]}}
    await talk.result("tasks/update", {**task, "inputResponses": answers})
    await talk.settle()
    assert text_of((await talk.result("tasks/get", task))["result"]) == "blue 1 36"


async def test_what_comes_before_is_part_of_a_task_of_the_handshake_era():
    talk = Conversation(inline.tool(field(BEFORE)), version=HANDSHAKE, tasks=frozenset({"list"}))
    made = await talk.call("t", task={})
    assert talk.asked == []
    assert text_of(await talk.result("tasks/result", {"taskId": made["task"]["taskId"]})) == "blue 1 36"


async def test_what_comes_before_is_simply_first_where_there_are_no_tasks():
    talk = Conversation(inline.tool(field(BEFORE)), version=HANDSHAKE)
    assert text_of(await talk.call("t")) == "blue 1 0"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{name: t, resutl: x}", "did you mean 'result'?"),
        ("{name: t, inputschema: {}}", "did you mean 'inputSchema'?"),
        ("{name: t, result: '{{ argumnets.a }}'}", "did you mean 'arguments'?"),
        ("{name: t, result: [{type: text, text: '{{ answers.a }}'}]}", "it has no members here"),
    ],
)
def test_an_unknown_name_in_a_tool_is_refused_with_the_nearest(text, hint):
    assert refusal(inline.tool, text).hint == hint


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{result: x}",
        "{name: ''}",
        "{name: 5}",
        "{name: t, result: 5}",
        "{name: t, task: sometimes}",
        "{name: t, execution: yes}",
        "{name: t, checked: maybe}",
        "{name: t, steps: {log: x}}",
    ],
)
def test_a_tool_that_makes_no_sense_is_refused(text):
    refusal(inline.tool, text)


def test_a_mistake_is_shown_where_it_stands():
    where = refusal(inline.tool, "name: t\nresult:\n  - type: text\n    text: '{{ nope }}'\n").where
    assert (where.file, where.line, where.column) == ("server.yaml", 4, 5)


# Resources and templates.


async def test_a_resource_lists_and_gives_what_it_says():
    talk = Conversation(
        inline.resource(field("{uri: 'test://a', name: A, size: 3, mimeType: text/x, text: 'a{{ params.uri }}'}"))
    )
    assert await talk.listed("resources/list") == {"uri": "test://a", "name": "A", "size": 3, "mimeType": "text/x"}
    content = {"uri": "test://a", "mimeType": "text/x", "text": "atest://a"}
    assert await talk.result("resources/read", {"uri": "test://a"}) == {"contents": [content]}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("blob: aGk=", [{"uri": "test://a", "blob": "aGk="}]),
        ("contents: [{uri: 'test://b', text: x}, {any: thing}]", [{"uri": "test://b", "text": "x"}, {"any": "thing"}]),
        ("contents: []", []),
    ],
)
def test_a_resource_is_a_blob_or_any_contents(written, expected):
    resource = inline.resource(field(f"{{uri: 'test://a', {written}}}"))
    assert resource.listed == {"name": "test://a", "uri": "test://a"}
    assert resource.read(call()) == {"contents": expected}


async def test_a_resource_may_have_steps():
    text = "{uri: 'test://a', steps: [list_roots], text: '{{ answers.list_roots_1.roots | count }}'}"
    read = await Conversation(inline.resource(field(text))).result("resources/read", {"uri": "test://a"})
    assert read["contents"][0]["text"] == "1"


@pytest.mark.parametrize(
    "text",
    [
        "{text: x}",
        "{uri: 'test://a'}",
        "{uri: 'test://a', text: x, blob: aGk=}",
        "{uri: 'test://a', blob: 'no base64'}",
        "{uri: 'test://a', text: 5}",
        "{uri: 'test://a', contents: x}",
        "{uri: 'test://a', txt: x}",
    ],
)
def test_a_resource_that_makes_no_sense_is_refused(text):
    refusal(inline.resource, text)


async def test_a_template_gives_the_uri_that_was_asked_for_and_its_variables():
    template = inline.template(
        field(
            "{uriTemplate: 'test://{a}/{b}', name: T, mimeType: text/x, text: '{{ variables.b }}', completions: {a: [x, y]}}"
        )
    )
    talk = Conversation(template)
    listed = {"name": "T", "uriTemplate": "test://{a}/{b}", "mimeType": "text/x"}
    assert await talk.listed("resources/templates/list") == listed
    content = {"uri": "test://1/2", "mimeType": "text/x", "text": "2"}
    assert await talk.result("resources/read", {"uri": "test://1/2"}) == {"contents": [content]}
    ref = {"type": "ref/resource", "uri": "test://{a}/{b}"}
    found = await talk.result("completion/complete", {"ref": ref, "argument": {"name": "a", "value": "x"}})
    assert found["completion"]["values"] == ["x"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{uriTemplate: 'test://{name}', text: '{{ variables.nmae }}'}", "did you mean 'name'?"),
        ("{uriTemplate: 'test://{name}', text: x, completions: {nmae: []}}", "did you mean 'name'?"),
        ("{uriTemplate: 'test://{name', text: x}", None),
        ("{uriTemplate: 'test://{name}', text: x, completions: {name: x}}", None),
        ("{uriTemplate: 'test://{name}'}", None),
    ],
)
def test_a_template_that_makes_no_sense_is_refused(text, hint):
    assert refusal(inline.template, text).hint == hint


# Prompts.

PROMPT = """
    name: p
    title: P
    arguments:
      - {name: a, description: A, required: true, complete: [one, two]}
      - {name: b}
    messages:
      - {role: assistant, content: {type: text, text: "{{ arguments.a }} {{ arguments.b ?? 0 }}"}}
"""


async def test_a_prompt_lists_its_arguments_without_their_completions():
    talk = Conversation(inline.prompt(field(PROMPT)))
    assert await talk.listed("prompts/list") == {
        "name": "p",
        "title": "P",
        "arguments": [{"name": "a", "description": "A", "required": True}, {"name": "b"}],
    }
    ref = {"type": "ref/prompt", "name": "p"}
    found = await talk.result("completion/complete", {"ref": ref, "argument": {"name": "a", "value": "t"}})
    assert found["completion"]["values"] == ["two"]


async def test_a_prompt_gives_its_messages():
    talk = Conversation(inline.prompt(field(PROMPT)))
    message = {"role": "assistant", "content": {"type": "text", "text": "x 0"}}
    assert await talk.result("prompts/get", {"name": "p", "arguments": {"a": "x"}}) == {"messages": [message]}
    assert (await talk.error("prompts/get", {"name": "p"}))["code"] == INVALID_PARAMS


async def test_a_prompt_that_is_a_text_is_one_message_of_the_user():
    text = "{name: p, steps: [list_roots], text: '{{ answers.list_roots_1.roots | count }}'}"
    message = {"role": "user", "content": {"type": "text", "text": "1"}}
    assert await Conversation(inline.prompt(field(text))).result("prompts/get", {"name": "p"}) == {
        "messages": [message]
    }


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{name: p, text: x, mesages: []}", "did you mean 'messages'?"),
        ("{name: p, text: x, arguments: [{name: a, requierd: true}]}", "did you mean 'required'?"),
        ("{name: p, text: '{{ arguments.nmae }}', arguments: [{name: name}]}", "did you mean 'name'?"),
        ("{name: p}", None),
        ("{name: p, text: x, messages: []}", None),
        ("{name: p, messages: x}", None),
        ("{name: p, text: x, arguments: [{}]}", None),
        ("{text: x}", None),
    ],
)
def test_a_prompt_that_makes_no_sense_is_refused(text, hint):
    assert refusal(inline.prompt, text).hint == hint


@pytest.mark.parametrize("name", ["conformance.yaml", "inline.yaml"])
def test_the_examples_can_be_loaded(name):
    config = load(str(EXAMPLES / name), environ={}, over=Overrides())
    assert config.tools
    assert config.resources
    assert config.templates
    assert config.prompts


def test_a_json_file_with_very_many_mistakes_is_told_of_at_once(tmp_path):
    file = tmp_path / "server.json"
    tools = [{"name": f"t{number}", "result": number} for number in range(2_000)]
    file.write_text(
        json.dumps({"serverInfo": {"name": "x", "version": "1"}, "transport": {"type": "stdio"}, "tools": tools})
    )
    began = time.process_time()
    with pytest.raises(UsageError) as caught:
        load(str(file), environ={}, over=Overrides())
    assert len(caught.value.more) + caught.value.left_out == 1_999
    assert time.process_time() - began < 10  # each place is looked up, not searched for
