"""`conductor discover` does not lead a server out to the network: what names another host is sent only if a person gave it."""

import json

import pytest

from mcp_conductor.files.source import load

RECORD = "--record-expectations"
WRITES = "--include-writes"


@pytest.fixture
def discover(conductor, tmp_path):
    """Discover a server; the suite must pass on it: what discover said, and the tests by their names."""

    def run(server, *flags):
        found = conductor("discover", "--output", "a.test.mcp.yml", *flags, "--", *server)
        assert found.code == 0, found.all
        done = conductor("test", "a.test.mcp.yml", "--", *server)
        assert done.code == 0, done.all
        return found, {test["it"]: test for test in load(str(tmp_path / "a.test.mcp.yml")).data["tests"]}

    return run


# A server that writes down what it is called with; its addresses must not be passed on, or be left to it.
OUT = "https://example.invalid/a.zip"
FETCHES = f"""
from raw import hear, hello, json, result
reads = {{"readOnlyHint": True}}
def tool(name, required=True, annotations=reads, description="", **schema):
    props = {{"type": "object", "properties": {{"data": {{"type": "string", **schema}}}}, "required": ["data"] * required}}
    return {{"name": name, "inputSchema": props, "annotations": annotations, "description": description}}
tools = [
    tool("by_default", default="{OUT}"),
    tool("by_itself", required=False, default="{OUT}"),
    tool("by_example", examples=["{OUT}"]),
    tool("by_enum", enum=["{OUT}"]),
    tool("by_const", const="{OUT}"),
    tool("by_description", description="for example '{OUT}'"),
    tool("writes", annotations={{}}, default="{OUT}"),
    tool("stays", default="http://127.0.0.1:9/"),
    {{"name": "lists", "inputSchema": {{"type": "object"}}, "annotations": reads}},
    {{"name": "gets", "annotations": reads, "inputSchema":
        {{"type": "object", "properties": {{"listed_uri": {{"type": "string"}}}}, "required": ["listed_uri"]}}}},
]
prompt = {{"name": "asks", "arguments": [{{"name": "page", "required": True, "description": "e.g. '{OUT}'"}}]}}
hello(tools={{}}, prompts={{}})
while request := hear():
    if "id" not in request:
        continue
    if request["method"] == "tools/list":
        result(request, {{"tools": tools}})
    elif request["method"] == "prompts/list":
        result(request, {{"prompts": [prompt]}})
    elif request["method"] == "prompts/get":
        open("calls.txt", "a").write(json.dumps(request["params"]) + "\\n")
        result(request, {{"messages": []}})
    else:
        open("calls.txt", "a").write(json.dumps(request["params"]) + "\\n")
        result(request, {{"content": [], "structuredContent": {{"listed_uri": "{OUT}"}}}})
"""


@pytest.mark.parametrize("flags", [(), (WRITES,), (RECORD, WRITES)], ids="_".join)
def test_no_tool_is_called_with_the_address_of_another_host(discover, serve, tmp_path, flags):
    found, tests = discover(serve(FETCHES), *flags)
    calls = (tmp_path / "calls.txt").read_text()
    assert "example.invalid" not in calls
    called = {json.loads(line)["name"] for line in calls.splitlines()}
    assert {"stays", "lists", "gets", "asks"} <= called
    kept = {"by_default", "by_itself", "by_example", "by_enum", "by_const", "writes"}
    assert not kept & called
    for name in kept:
        assert tests[f"calls {name}"]["skip"] == (
            f"data would lead to another host ({OUT}): give it with --arg {name}.data=…, or put in another and remove this line"
        )
    assert f"skipped: tool 'by_default': data would lead to another host ({OUT})" in found.err


def test_an_address_that_a_person_gave_is_passed_on(discover, serve, tmp_path):
    discover(serve(FETCHES), "--arg", f"by_default.data={OUT}", "--arg", "by_itself.data=here")
    calls = [json.loads(line) for line in (tmp_path / "calls.txt").read_text().splitlines()]
    sent = {each["name"]: each["arguments"] for each in calls if each["name"].startswith("by_")}
    assert sent["by_default"] == {"data": OUT}
    assert sent["by_itself"] == {"data": "here"}
    assert "by_example" not in sent
