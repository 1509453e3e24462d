"""Every check of servers has an example: it is JSON-RPC of its revision, and the judge finds nothing in it."""

import json

import pytest

from mcp_conductor.checks import CHECKS
from mcp_conductor.checks.examples import examples
from mcp_conductor.checks.judging import judged
from mcp_conductor.checks.record import Record
from mcp_conductor.checks.requirements import requirements
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
# And what is on stderr is no part of the examples.
ABSENT = {
    "stdio-stderr-logging-server",
    "tools-listchanged-needs-capability",
    "resources-listchanged-needs-capability",
    "prompts-listchanged-needs-capability",
}


def messages(example, mark):
    """What one side says in an example that is a message."""
    return [parse(line[2:]) for line in example.lines if line.startswith(f"{mark} {{")]


def conversation(name):
    """The example as a record, opened by a server that declares everything, unless it has an opening of its own."""
    example = examples()[name]
    dialect = DIALECTS[example.version]
    transcript, opened = Transcript(), {"capabilities": EVERYTHING}
    asked = {message.id: message.method for message in messages(example, ">") if message.kind == "request"}
    for message in messages(example, "<"):
        if message.kind == "result" and asked.get(message.id) in OPENINGS:
            opened = message.result
    for line in example.lines:
        mark, text = line.split(" ", 1)
        if mark != "#":
            source = {">": "client", "<": "server"}[mark] if text.startswith(("{", "[")) else "http"
            transcript.add(0.0, source, text.replace(", ", "\n") if source == "http" else text)
    transport = requirements()[name].transports[0]
    return Record(transcript, dialect, "stdio" if transport == "any" else transport, opened)


def test_every_check_of_servers_has_an_example_and_no_example_is_left_over():
    assert set(examples()) == set(SERVERS)


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
    seen = judged(CHECKS.get(name), conversation(name))
    assert seen.findings == []
    assert seen.reason is None or name in ABSENT
