"""Every check of servers has an example that keeps the requirement, and one that breaks it.

They are JSON-RPC of their revision. The judge finds nothing in the first and something in the second.
"""

import json

import pytest

from mcp_conductor.checks.engine.check import CHECKS
from mcp_conductor.checks.engine.judging import apply_judge
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.harness.scenario import WATCHED
from mcp_conductor.checks.requirements import requirements
from mcp_conductor.checks.requirements.examples import counterexamples, examples
from mcp_conductor.protocol.dialect import DIALECTS, META
from mcp_conductor.protocol.message import parse
from mcp_conductor.protocol.transcript import Transcript

SERVERS = [name for name, _ in CHECKS.items() if requirements()[name].subject == "server"]
JUDGED = [name for name in SERVERS if CHECKS.get(name).judge is not None]
EVERYTHING = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "logging": {},
    "completions": {},
}
OPENINGS = {"initialize", "server/discover"}
# These look at servers that do not declare what they do; one that declares it keeps the rule, and is not looked at.
ABSENT = {
    "tools-listchanged-needs-capability",
    "resources-listchanged-needs-capability",
    "prompts-listchanged-needs-capability",
}


def messages(example, mark):
    """What one side says in an example that is a message."""
    return [parse(line[2:]) for line in example.lines if line.startswith(f"{mark} {{")]


def conversation(name, example):
    """The example as a record, opened by a server that declares everything, unless it has an opening of its own."""
    dialect = DIALECTS[example.version]
    transport = requirements()[name].transports[0].replace("any", "stdio")
    transcript, opened = Transcript(), {"capabilities": EVERYTHING}
    asked = {message.id: message.method for message in messages(example, ">") if message.kind == "request"}
    for message in messages(example, "<"):
        if message.kind == "result" and asked.get(message.id) in OPENINGS:
            opened = message.result
    for second, line in enumerate(example.lines):
        source, text = frame(line, transport)
        if source is not None:
            transcript.add(float(second), source, text)
    return Record(transcript, dialect, transport, opened)


def frame(line, transport):
    """Who says a line of an example, and what; what is no message belongs to HTTP, if that is spoken at all."""
    mark, text = line.split(" ", 1)
    if mark == "#":
        stderr = "on stderr: "
        return ("stderr", text.removeprefix(stderr)) if text.startswith(stderr) else (None, text)
    event = "event: message, data: "
    if text.startswith(("{", "[", event)) or transport == "stdio":
        return {">": "client", "<": "server"}[mark], text.removeprefix(event)
    return "http", text.replace(", ", "\n")


def test_every_check_of_servers_has_both_examples_and_no_example_is_left_over():
    clients = {name for name, _ in WATCHED.items()}
    assert set(examples()) - clients == set(SERVERS)
    assert set(counterexamples()) - clients == set(SERVERS)


def test_the_line_that_breaks_a_requirement_is_marked():
    for name, broken in counterexamples().items():
        kept = examples()[name]
        assert broken.wrong, name
        assert broken.lines != kept.lines, name
        assert all(line.startswith(("> ", "< ", "# ")) for line in (*kept.lines, *broken.lines)), name


@pytest.mark.parametrize("name", SERVERS)
def test_the_example_is_json_rpc_of_a_revision_in_which_the_requirement_holds(name):
    example = examples()[name]
    dialect = DIALECTS[example.version]
    assert example.version in requirements()[name].revisions
    asked, questions = [], []
    for line in example.lines:
        mark, text = line.split(" ", 1)
        if mark == "#" or not text.startswith("{") or '"jsonrpc": "2.0"' not in text:
            continue
        if mark == ">" and _is_half(text):
            continue
        message = parse(text)
        assert message.problem is None, line
        if message.kind == "request":
            (asked if mark == ">" else questions).append(message.id)
            if mark == ">" and not dialect.handshake and message.method != "initialize" and "_meta" in message.params:
                assert {f"{META}protocolVersion", f"{META}clientCapabilities"} <= set(message.params["_meta"])
        elif message.kind in ("result", "error") and message.id is not None:
            known = [
                *asked,
                *(json.loads(each[2:])["id"] for each in example.lines if each.startswith('> {"jsonrpc": "1')),
            ]
            assert message.id in (known if mark == "<" else questions), line


def _is_half(text):
    """Whether a text is sent although it is no JSON."""
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("name", JUDGED)
def test_the_judge_finds_something_to_look_at_in_the_example_and_nothing_wrong(name):
    seen = apply_judge(CHECKS.get(name), conversation(name, examples()[name]))
    assert seen.findings == []
    assert seen.reason is None or name in ABSENT


@pytest.mark.parametrize("name", JUDGED)
def test_the_judge_finds_what_is_wrong_in_the_example_that_breaks_the_requirement(name):
    assert apply_judge(CHECKS.get(name), conversation(name, counterexamples()[name])).findings
