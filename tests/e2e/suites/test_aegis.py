"""Files written for mcp-aegis: `--compat aegis` takes them as they are, and comes to the same verdicts as mcp-aegis."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.suites.conftest import CONDUCTOR

from mcp_conductor.suites.language.aegis import reply_passes

AEGIS = Path(__file__).parents[2] / "peers/node_modules/.bin/mcp-aegis"
ARITHMETIC = """
serverInfo: {name: numbers, version: 1.0.0}
transport: {type: stdio}
tools:
  - {name: pi, description: A number, result: {content: [{type: text, text: "3.14159"}], isError: false}}
  - {name: names, result: {content: [{type: text, text: "Ada, Alan, Grace"}], structuredContent: {names: [Ada, Alan, Grace], n: 3}}}
"""
PI = 'request: {jsonrpc: "2.0", id: a, method: tools/call, params: {name: pi, arguments: {}}}'
NAMES = PI.replace("name: pi", "name: names")
TEXT = 'expect: {response: {jsonrpc: "2.0", id: a, result: {isError: false, content: [{type: text, text: %s}]}}}'
PARTIAL = 'expect: {response: {"match:partial": {result: {structuredContent: %s}}}}'
# The tool that is called, what is expected of its reply, and whether it is so.
EXPECTED = (
    (PI, TEXT % "3.14159", False),  # a number is not a text
    (PI, TEXT % "'3.14159'", True),
    (PI, TEXT % "'match:startsWith:3.1'", True),
    (PI, TEXT % "'match:startsWith:4'", False),
    (PI, TEXT % "'match:not:contains:14'", False),
    (PI, TEXT % "'match:regex:^[0-9.]+$'", True),
    (PI, TEXT % "'match:type:string'", True),
    (NAMES, TEXT % "'match:contains:Ada'", False),  # there is more than is expected
    (NAMES, PARTIAL % "{n: 3}", True),
    (NAMES, PARTIAL % "{n: 'match:between:4:9'}", False),
    (NAMES, PARTIAL % "{names: 'match:arrayLength:3'}", True),
    (NAMES, PARTIAL % "{names: 'match:arrayContains:Alan'}", True),
    (NAMES, PARTIAL % "{names: 'match:arrayContains:Bob'}", False),
)


@pytest.fixture
def numbers(suite, write, tmp_path):
    """A file of tests, and the settings for its server as mcp-aegis has them."""
    server = write("numbers.yaml", ARITHMETIC)
    entry = {"name": "numbers", "command": CONDUCTOR[0], "args": [*CONDUCTOR[1:], "serve", str(server)]}
    write("aegis.config.json", json.dumps({**entry, "cwd": str(tmp_path), "startupTimeout": 5000}))
    tests = [f"- {{it: test {number}, {sent}, {expect}}}" for number, (sent, expect, _) in enumerate(EXPECTED)]
    return suite("\n".join(tests))


def test_the_verdicts_are_those_of_mcp_aegis(conductor, numbers, tmp_path, surroundings):
    if not AEGIS.exists():
        pytest.skip("mcp-aegis is not installed in tests/peers")
    ours = conductor("test", numbers, "--compat", "aegis", "--report", "json:report.json")
    said = subprocess.run(
        [AEGIS, numbers], cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=60, check=False
    )
    theirs = dict(re.findall(r"● (test \d+) \.\.\. . (PASS|FAIL)", said.stdout))
    wanted = {f"test {number}": passes for number, (_, _, passes) in enumerate(EXPECTED)}
    assert {title: verdict == "PASS" for title, verdict in theirs.items()} == wanted, said.stdout
    assert {title: status == "passed" for title, status in ours.statuses.items()} == wanted, ours.out
    assert (said.returncode, ours.code) == (1, 1)


NOISY = """
import json, sys

def say(text):
    print(text, flush=True)

print("ready", file=sys.stderr, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    noise = asked["method"].removeprefix("noise/")
    if noise == "before":
        say("before")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "noisy", "version": "1"}}
    say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": hello if noise == "initialize" else {}}))
    if noise == "after":
        say("after")
"""
LIKE_IT = "expect: {response: {jsonrpc: '2.0', id: %s, result: {}}}"


def test_what_is_odd_on_stdout_and_in_requests_has_the_same_verdicts(conductor, write, tmp_path, surroundings):
    if not AEGIS.exists():
        pytest.skip("mcp-aegis is not installed in tests/peers")
    entry = {
        "name": "noisy",
        "command": sys.executable,
        "args": [str(write("noisy.py", NOISY))],
        "readyPattern": "ready",
    }
    write("aegis.config.json", json.dumps(entry))
    requests = (
        ("1", "x", "{}"),
        ("2", "noise/after", "{}"),
        ("3", "noise/before", "{}"),
        ("null", "x", "{}"),
        ("4", "x", "[1]"),
    )
    tests = [
        f"- {{it: test {number}, request: {{jsonrpc: '2.0', id: {id_}, method: {method}, params: {params}}}, {LIKE_IT % id_}}}"
        for number, (id_, method, params) in enumerate(requests)
    ]
    write("a.test.mcp.yml", "\n".join(["description: d", "tests:", *tests, ""]))
    said = subprocess.run(
        [AEGIS, "a.test.mcp.yml"],
        cwd=tmp_path,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    theirs = dict(re.findall(r"● (test \d+) \.\.\. . (PASS|FAIL)", said.stdout))
    ours = conductor("test", "a.test.mcp.yml", "--compat", "aegis", "--report", "json:report.json")
    passed = {title: "PASS" if status in ("passed", "warned") else "FAIL" for title, status in ours.statuses.items()}
    assert passed == theirs, ours.out + said.stdout
    assert [*theirs.values()] == ["PASS", "PASS", "FAIL", "PASS", "PASS"]


def test_what_we_alone_find_wrong_is_a_warning_in_all_reports(conductor, numbers, tmp_path):
    # Next to `match:extractField` mcp-aegis looks at no other member.
    expect = (
        'expect: {response: {jsonrpc: "2.0", id: a, result: {match:extractField: isError, value: false, content: [1]}}}'
    )
    file = tmp_path / numbers
    file.write_text(f"description: d\ntests:\n- {{it: passes there, {PI}, {expect}}}\n")
    kinds = ("json", "junit", "tap", "github", "markdown", "events")
    reports = [word for kind in kinds for word in ("--report", f"{kind}:report.{kind}")]
    done = conductor("test", numbers, "--compat", "aegis", *reports)
    assert done.code == 0, done.all
    texts = {kind: (tmp_path / f"report.{kind}").read_text() for kind in kinds}
    silent = [kind for kind, text in {**texts, "console": done.out}.items() if "not the number 1" not in text]
    assert silent == []
    assert json.loads(texts["json"])["outcomes"][0]["status"] == "warned"
    assert conductor("test", numbers, "--compat", "aegis", "--strict").code == 1


def test_keys_that_we_do_not_know_are_warnings(conductor, numbers, tmp_path):
    file = tmp_path / numbers
    file.write_text(file.read_text().replace("tests:", "author: somebody\ntests:"))
    assert conductor("test", numbers).code == 2
    done = conductor("test", numbers, "--compat", "aegis", "--report", "json:report.json")
    assert "a.test.mcp.yml:3:1: 'author' is not a known key; it is ignored" in done.out
    assert len(done.statuses) == len(EXPECTED)


def test_the_flags_of_mcp_aegis_are_taken(conductor, numbers):
    flags = ("-d", "-t", "--syntax-only", "--group-errors", "--concise", "-c", "aegis.config.json", "-f", "TEST 1")
    done = conductor("test", numbers, "--compat", "aegis", *flags, "--report", "json:report.json")
    assert sorted(done.statuses) == sorted({"test 1", *(f"test {number}" for number in range(10, len(EXPECTED)))})
    assert 'request   {"jsonrpc"' in done.out


def test_settings_that_are_named_count_more_than_those_of_aegis(conductor, numbers, write):
    write("aegis.config.json", '{"name": "gone", "command": "/nonexistent"}')
    assert conductor("test", numbers, "--compat", "aegis").code == 3
    write("other.json", '{"name": "gone", "command": "/nowhere"}')
    assert "/nowhere" in conductor("test", numbers, "--compat", "aegis", "--config", "other.json").out


# Everything that patterns are tried on, and patterns of every kind, good and bad.
VALUES = (
    None, True, False, 0, 5, -3, 3.14, 1e21, 2.5e-7, 1700000000, 1700000000000, "", "5", "12abc", "Hello World", "[1]", "a,b",
    "2024-01-15", "2024-02-30", "2024-01-15T10:00:00Z", "2024-01-15T10:00:00.123Z", "01/15/2024", "12:30:00", "Jan 5, 2024",
    "Mon, 01 Jan 2024 00:00:00 GMT", "no date", "\U0001f600", "line\nbreak", [], [5], [1, None, "Ada"], ["b", ["c"]],
    {}, {"name": "Ada"}, [{"name": "Ada", "at": {"n": 7}}, {"name": "Bob"}], {"length": 3},
    {"a": 1, "b": 2, "c": "2024-01-15", "d": "2024-03-01", "e": "10", "f": "9", "g": None, "h": {"i": 3}, "j": True},
)  # fmt: skip
TEXTS = (
    "regex:^[0-9]+$", "regex:\\d{4}", "regex:(", "regex:o W", "length:1", "length:x", "arrayLength:1", "arrayLength:", "contains:5",
    "contains:", "contains:Ada", "containsIgnoreCase:HELLO", "containsIgnoreCase:aDA", "equalsIgnoreCase:hello world", "startsWith:He",
    "endsWith:ld", "arrayContains:5", "arrayContains:Ada", "arrayContains:name:Ada", "arrayContains:at.n:7", "arrayContains::x",
    "type:string", "type:number", "type:object", "type:array", "type:null", "type:boolean", "type:Array", "exists", "exists:no",
    "count:2", "count:9", "stringLength:2", "stringLength:notanumber", "stringLengthGreaterThan:4", "stringLengthLessThan:3",
    "stringLengthGreaterThanOrEqual:2", "stringLengthLessThanOrEqual:2", "stringLengthBetween:1:5", "stringLengthBetween:10",
    "stringEmpty", "stringEmptyish", "stringNotEmpty", "greaterThan:4", "greaterThan:abc", "greaterThanOrEqual:5", "lessThan:5",
    "lessThanOrEqual:5", "between:1:9", "between:9:1", "between:1", "between:1:2:3", "range:1:9", "equals:5", "equals:Hello",
    "notEquals:5", "approximately:3:0.2", "approximately:3", "multipleOf:5", "multipleOf:0", "divisibleBy:3", "decimalPlaces:2",
    "decimalPlaces:0", "decimalPlaces:x", "dateAfter:2024-01-10", "dateAfter:not-a-date", "dateBefore:2024-02-01", "dateAge:10x",
    "dateAge:99999d", "dateAge:1d", "dateBetween:2024-01-01:2024-12-31", "dateBetween:2020-01-01", "dateBetween:2025-01-01:2024-01-01",
    "dateValid", "dateEquals:2024-01-15", "dateFormat:iso", "dateFormat:iso-date", "dateFormat:iso-time", "dateFormat:us-date",
    "dateFormat:timestamp", "dateFormat:unknown", "crossField:a < b", "crossField:a > b", "crossField:c < d", "crossField:c == c",
    "crossField:c != d", "crossField:e > f", "crossField:a <= b", "crossField:b >= a", "crossField:g < a", "crossField:h.i > b",
    "crossField:a", "crossField:a < z", "crossField:j == j", "crossField:a < b < c", "Hello", "icontains:HELLO", "any", "un.*known",
    "[", "null", "undefined", "object", "", "partial:x", "Hello?", "oneOf:a,b",
)  # fmt: skip
REPLY = {
    "id": 1,
    "result": {
        "tools": [{"name": "a", "n": 1, "more": True}, {"name": "b", "n": 2}],
        "start": 1,
        "end": 2,
        "none": None,
    },
}
TOOLS = REPLY["result"]["tools"]
# What is expected of REPLY: special keys, alone, next to each other and next to other members.
DOCUMENTS = (
    None, "", 0, "match:exists", [], {}, REPLY, {"id": 1}, {"id": 1, "result": "match:type:object"}, {"id": "1", "result": "match:exists"},
    *(
        {"id": 1, "result": below}
        for below in (
            {"match:partial": {"start": 1}}, {"match:partial": {"start": 2}}, {"match:partial": {"tools": [{"name": "a"}]}},
            {"match:partial": {"tools": [{"name": "b"}]}}, {"match:partial": {"none": None}}, {"match:partial": {"gone": None}},
            {"match:partial": {"start": 1}, "end": 2}, {"match:partial": {"start": 1}, "end": 3}, {"match:partial": {"start": 1}, "x": 1},
            {"match:partial": {"start": 1}, "tools": [{"name": "a"}]}, {"match:partial": {"start": 1}, "match:crossField": "start > end"},
            {"match:extractField": "tools.0.name", "value": "a"}, {"match:extractField": "tools[1].name", "value": "match:regex:^b$"},
            {"match:extractField": "tools.*.name", "value": ["a", "b"]}, {"match:extractField": "tools.*.more", "value": "match:arrayLength:2"},
            {"match:extractField": "tools.*.more", "value": [True, None]}, {"match:extractField": "tools[*].n", "value": "match:arrayContains:2"},
            {"match:extractField": "tools.9.name", "value": "match:not:exists"}, {"match:extractField": "tools.0.name"},
            {"match:extractField": "none", "value": None}, {"match:extractField": "tools.0.name", "value": "a", "start": 9, "gone": 1},
            {"match:extractField": "tools.0.name", "value": "a", "match:crossField": "start > end"},
            {"match:crossField": "start < end"}, {"match:crossField": "start > end"}, {"match:crossField": "start < end", "start": 9},
            {"match:crossField": ["start < end"]}, {"match:not:crossField": "start > end"},
            {"match:not:crossField": "start > end", "tools": "match:exists", "start": 1, "end": 2, "none": None},
            {"match:not:crossField": "start < end", "tools": "match:exists", "start": 1, "end": 2, "none": None},
            {"match:partial": {"match:not:crossField": "start > end"}}, {"match:partial": {"match:not:crossField": "start < end"}},
            {"match:partial": {"tools": {"match:arrayElements": {"match:partial": {"name": "match:type:string"}}}}},
            {"match:partial": {"tools": {"match:arrayElements": {"name": "match:type:string"}}}},
            {"match:partial": {"tools": {"match:arrayElements": "match:exists", "match:extractField": "0.name", "value": "b"}}},
            {"match:partial": {"tools": {"match:extractField": "0.name", "value": "a", "gone": 1}}},
            {"match:arrayElements": {}}, {"match:contains": "a"}, {"match:partial": "match:type:object"}, {"match:partial": []},
            {"tools": TOOLS, "start": 1, "end": 2}, {"tools": TOOLS, "start": 1, "end": 2, "none": None, "gone": None},
            {"tools": TOOLS[:1], "start": 1, "end": 2, "none": None}, {"tools": "match:(", "start": 1, "end": 2, "none": None},
            {"tools": "match:not:(", "start": 1, "end": 2, "none": None}, {"tools": TOOLS, "start": True, "end": 2, "none": None},
        )
    ),
)  # fmt: skip
JUDGE = """
import { readFileSync } from 'node:fs';
const { validateWithDetailedAnalysis } = await import(process.argv[1]);
const judge = ([expected, actual]) => {
  if (!expected) return true;
  try { return validateWithDetailedAnalysis(expected, actual).passed; } catch { return false; }
};
console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(judge)));
"""


def test_every_pattern_and_special_key_is_judged_as_mcp_aegis_does():
    source = AEGIS.parents[1] / "mcp-aegis/src/test-engine/matchers/validation.js"
    if not source.exists() or shutil.which("node") is None:
        pytest.skip("mcp-aegis is not installed in tests/peers")
    pairs = [(f"match:{negated}{text}", value) for text in TEXTS for value in VALUES for negated in ("", "not:")]
    pairs += [(document, REPLY) for document in DOCUMENTS]
    said = subprocess.run(
        ["node", "--input-type=module", "-e", JUDGE, source.as_uri()],
        input=json.dumps(pairs), env={"TZ": "UTC", "PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    theirs = json.loads(said.stdout)
    assert len(theirs) == len(pairs) > 7000
    assert [pair for pair, passes in zip(pairs, theirs, strict=True) if reply_passes(*pair) is not passes] == []
