"""What a test sends: each shorthand, as the request that it is short for."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.suites.language.actions import Sent, read_action
from mcp_conductor.suites.language.variables import Variables


def sent(text, **variables):
    document = parse(text, "a.test.mcp.yml")
    ((key, value),) = document.data.items()
    return read_action(key, Field(document, (key,), value), None).sent(Variables(values=variables))


@pytest.mark.parametrize(
    ("text", "method", "params"),
    [
        ("call: add", "tools/call", {"name": "add", "arguments": {}}),
        ("call: {tool: add, args: {a: 1}}", "tools/call", {"name": "add", "arguments": {"a": 1}}),
        ("call: {tool: add, args: '{{ x }}'}", "tools/call", {"name": "add", "arguments": {"b": 2}}),
        ("call: {tool: add, meta: {progressToken: 1}, task: {ttl: 5}}", "tools/call",
         {"name": "add", "arguments": {}, "_meta": {"progressToken": 1}, "task": {"ttl": 5}}),
        ("call: {tool: add, arguments: {a: 1}}", "tools/call", {"name": "add", "arguments": {"a": 1}}),
        ("call: {tool: add, arguments: '{{ x }}'}", "tools/call", {"name": "add", "arguments": {"b": 2}}),
        ("prompt: {name: letter, arguments: {to: Ada}}", "prompts/get", {"name": "letter", "arguments": {"to": "Ada"}}),
        ("read: file:///a", "resources/read", {"uri": "file:///a"}),
        ("prompt: letter", "prompts/get", {"name": "letter"}),
        ("prompt: {name: letter, args: {to: Ada}}", "prompts/get", {"name": "letter", "arguments": {"to": "Ada"}}),
        ("complete: {prompt: letter, argument: to, value: A}", "completion/complete",
         {"ref": {"type": "ref/prompt", "name": "letter"}, "argument": {"name": "to", "value": "A"}}),
        ("complete: {resource: 'x://{id}', argument: id, value: '', context: {a: b}}", "completion/complete",
         {"ref": {"type": "ref/resource", "uri": "x://{id}"}, "argument": {"name": "id", "value": ""}, "context": {"arguments": {"a": "b"}}}),
    ],
)  # fmt: skip
def test_a_shorthand_is_a_request(text, method, params):
    assert sent(text, x={"b": 2}) == Sent("request", method, params)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("list: templates", Sent("list", "resources/templates/list")),
        ("list: resourceTemplates", Sent("list", "resources/templates/list")),
        ("notify: notifications/x", Sent("notification", "notifications/x")),
        ("notify: {method: n, params: {a: 1}}", Sent("notification", "n", {"a": 1})),
        ("raw: 'a\n\n  b'", Sent("raw", text="a b")),
        ("request: {method: ping}", Sent("request", "ping", None, {"method": "ping"})),
    ],
)
def test_other_things_can_be_sent_too(text, expected):
    assert sent(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "request: {id: 1}",
        "request: {method: ping, params: []}",
        "request: ping",
        "call: {args: {}}",
        "call: {tool: add, args: [1]}",
        "call: {tool: add, args: null}",
        "call: {tool: 1}",
        "read: {uri: x}",
        "prompt: {args: {}}",
        "complete: {argument: a, value: b}",
        "complete: {prompt: a, resource: b, argument: a, value: b}",
        "complete: {prompt: a, value: b}",
        "list: toolz",
        "notify: {params: {}}",
        "raw: 5",
    ],
)
def test_what_cannot_be_sent_is_refused_at_its_place(text):
    with pytest.raises(UsageError) as refused:
        sent(text)
    assert refused.value.where is not None


@pytest.mark.parametrize(
    "text", ["call: {tool: add, args: {}, arguments: {}}", "prompt: {name: add, args: {}, arguments: {}}"]
)
def test_arguments_have_one_of_their_two_names(text):
    with pytest.raises(UsageError) as caught:
        sent(text)
    assert caught.value.message.endswith("arguments and `args` are the same")
    assert str(caught.value.where) == f"a.test.mcp.yml:1:{text.index('arguments') + 1}"


@pytest.mark.parametrize("key", ["args", "arguments"])
def test_arguments_of_either_name_are_an_object(key):
    with pytest.raises(UsageError, match="must be an object"):
        sent(f"call: {{tool: add, {key}: 5}}")
