"""Schemas of a server that would take all memory or never end: a finding in seconds, in little memory."""

import json
import resource
import subprocess
import sys

import pytest
from tests.conftest import MCP_CLI

from mcp_conductor.protocol.coercion import coerce_arguments
from mcp_conductor.protocol.samples import sample_arguments
from mcp_conductor.protocol.schema import Undecided, checker, complaints, flaw, refuses

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
MULTIPLYING = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/l0"}},
    "$defs": {
        **{f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 4} for n in range(14)},
        "l14": {"type": "string"},
    },
}
SERVER = f"""
    hello(tools={{}})
    schema = json.loads({json.dumps(json.dumps(MULTIPLYING))})
    tool = {{"name": "x", "inputSchema": {{"type": "object"}}, "outputSchema": schema, "annotations": {{"readOnlyHint": True}}}}
    serve({{
        "ping": {{}},
        "tools/list": {{"tools": [tool]}},
        "tools/call": {{"content": [{{"type": "text", "text": "{{}}"}}], "structuredContent": {{"a": 5}}}},
    }})
"""


def test_what_is_too_much_is_undecided_and_is_not_tried_again():
    assert complaints({"a": "x"}, MULTIPLYING) == []  # this is found soon
    found = complaints({"a": 5}, MULTIPLYING)
    assert found == ["applying the schema takes more than 2 s"]
    assert isinstance(found[0], Undecided)
    assert not refuses(MULTIPLYING, {"a": 5})
    assert complaints({"a": 6}, MULTIPLYING) == found
    assert flaw(MULTIPLYING) is None


def test_a_pattern_that_takes_years_leaves_an_argument_as_text():
    name = "a" * 40 + "!"
    schema = {
        "patternProperties": {"^(a+)+$": {"type": "integer"}, **{f"^(a+)+{n}$": {"type": "integer"} for n in range(50)}}
    }
    assert coerce_arguments([(name, "5")], schema) == {name: "5"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$ref": "#"}, 5),
        ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, 5),
        ({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}, "type": ["array", "integer"]}, [[1], "x", 2**70]),
        ({"pattern": "^(?=.*[0-9]).{8,}$"}, "\ud800abc"),
        ({"pattern": "("}, "abc"),
        ({"$id": "https://example.com/a", "$ref": "https://example.com/b"}, 1),
        ({"items": {"type": "integer"}, "maxItems": 9}, list(range(60_000))),
    ],
)
def test_the_worker_says_what_would_be_said_here(schema, value):
    from mcp_conductor.protocol.schema import checker_here, flaw_here

    assert checker(schema)(value) == checker_here(schema)(value)
    assert flaw(schema) == flaw_here(schema)


def test_arguments_are_made_up_for_a_schema_that_only_refers_to_itself():
    assert isinstance(sample_arguments({"$ref": "#"}), dict)


def limited(*words, seconds=40):
    """Run a program of ours that, with all it starts, may take so much memory."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    return subprocess.run(words, capture_output=True, text=True, timeout=seconds, preexec_fn=limit, check=False)


@pytest.fixture
def server(serve, monkeypatch, environment):
    monkeypatch.setenv("PYTHONPATH", environment["PYTHONPATH"])
    return serve(SERVER)


def test_mcp_cli_says_that_the_result_cannot_be_validated(server):
    done = limited(*MCP_CLI, *server, "--method", "tools/call", "--tool-name", "x", "--output-schema-validate")
    assert done.returncode == 1, done.stderr
    assert "applying the schema takes more than 2 s" in done.stderr


def test_check_does_not_blame_the_server_for_it_and_goes_on(server, tmp_path):
    report = tmp_path / "report.json"
    words = ("check", "--only", "tools-structured-content-conforms", "--report", f"json:{report}", "--", *server)
    done = limited(*CONDUCTOR, *words)
    (outcome,) = json.loads(report.read_text())["outcomes"]
    why = "tool 'x': whether structuredContent fits is not known: applying the schema takes more than 2 s"
    assert (outcome["status"], outcome["reason"]) == ("skipped", why), done.stderr


@pytest.mark.slow
def test_a_suite_does_not_take_it_for_a_difference(server, tmp_path):
    file = tmp_path / "a.test.mcp.yml"
    file.write_text(
        "description: d\ntests:\n- it: differs\n  call: x\n  expect: {result: match:not:outputSchema}\n"
        "- it: is unlike\n  call: x\n  expect: {result: {'match:not': match:outputSchema}}\n"
    )
    done = limited(*CONDUCTOR, "test", str(file), "--", *server)
    assert done.returncode == 1, done.stdout
    assert "2 failed" in done.stdout
    assert "applying the schema takes more than 2 s" in done.stdout
