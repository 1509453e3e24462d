"""Every check of clients has an example that keeps the requirement, and one that breaks it.

What can be judged by what a client says alone is judged: nothing is found in the first, and something in the second.
"""

import pytest

from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.harness.client_record import ClientConnection, ClientRecord, HttpRequest
from mcp_conductor.checks.harness.scenario import PLAIN, WATCHED
from mcp_conductor.checks.requirements import requirements
from mcp_conductor.checks.requirements.examples import counterexamples, examples
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.message import parse

CLIENTS = [name for name, _ in WATCHED.items()]
# What a client says in a scenario can be judged as well if it does not matter there what our server is called to do.
ANSWERS = {
    "base-response-id-echo-client",
    "cancel-not-initialize-client",
    "elicit-capability-declared-client",
    "elicit-result-action-client",
    "elicit-result-content-client",
    "elicit-unsupported-mode-client",
    "elicit-url-accept-no-content-client",
    "http-version-header-client",
    "http-version-header-negotiated-client",
    "httpm-name-base64-client",
    "lifecycle-capabilities-declared-client",
    "lifecycle-respect-negotiated-client",
    "lifecycle-respect-negotiated-client-strict",
    "mrtr-client-answers-all",
    "mrtr-client-echoes-state",
    "mrtr-client-isolation",
    "mrtr-client-new-id",
    "mrtr-client-same-params",
    "pagination-client-opaque",
    "ping-response-client",
    "roots-capability-declared-client",
    "roots-item-name-client",
    "roots-item-uri-client",
    "roots-list-array-client",
    "roots-unsupported-error-client",
    "sampling-capability-declared-client",
    "sampling-content-types-client",
    "sampling-content-types-later-client",
    "sampling-result-fields-client",
    "sampling-result-stopreason-client",
    "sampling-unsupported-client",
}
# These are about what the client does before an example begins, or after it ends.
NOT_SAID = {
    "http-get-405-tolerated-client",
    "session-delete-client",
}
UNBREAKABLE = {"versioning-discover-optional-client"}  # it allows both
SAID = {name for name, each in WATCHED.items() if set(each.scenarios) <= {PLAIN}} - NOT_SAID - UNBREAKABLE


def record_of(name, example):
    """The example as a start of the client with a polite server."""
    transport = requirements()[name].transports[0].replace("any", "stdio")
    line = ClientConnection(transport, dialect=DIALECTS[example.version], declared={"tools": {}})
    found = ClientRecord(PLAIN, [line], exit_code=0, origin="http://127.0.0.1")
    found.plain, found.others = found, {PLAIN: found}
    for second, text in enumerate(example.lines):
        mark, said = text.split(" ", 1)
        if mark == "#":
            continue
        if not said.startswith(("{", "[")) and transport != "stdio":
            if mark == ">":
                found.http.append(request(float(second), said, line))
            continue
        # What is not UTF-8 is shown as U+FFFD, and is a lone surrogate in a transcript.
        line.transcript.add(float(second), {">": "client", "<": "server"}[mark], said.replace("\ufffd", "\udce9"))
        message = parse(said)
        if mark == ">" and found.http:
            found.http[-1].body, found.http[-1].message = said.encode(), message
        if mark == ">" and message.kind == "request" and message.method == "initialize":
            line.initialize = message.params
        elif message.kind == "result" and "protocolVersion" in message.result:
            line.dialect = DIALECTS.get(message.result["protocolVersion"])
    return found


def request(at, said, line):
    """POST /mcp, Accept: application/json, text/event-stream: what has no colon belongs to the header before it."""
    start, *rest = said.split(", ")
    method, path = start.split(" ", 1)
    headers = {}
    for each in rest:
        header, colon, value = each.partition(": ")
        if colon:
            headers[header.lower()] = [value]
        else:
            headers[list(headers)[-1]][0] += f", {each}"
    return HttpRequest(at, method, path, "", headers, connection=line, status=200)


def test_every_check_of_clients_has_both_examples():
    assert {name for name in CLIENTS if name not in examples()} == set()
    assert {name for name in CLIENTS if name not in counterexamples()} == UNBREAKABLE


def test_examples_are_of_a_revision_in_which_the_requirement_holds_and_what_they_keep_is_json_rpc():
    for name in CLIENTS:
        example = examples()[name]
        assert example.version in requirements()[name].revisions, name
        for line in example.lines:
            if '"jsonrpc"' in line and not line.startswith(("< [", "> [")):
                assert parse(line[2:]).problem is None, (name, line)


@pytest.mark.parametrize("name", sorted(SAID | ANSWERS))
def test_the_judge_finds_nothing_in_the_one_example_and_something_in_the_other(name):
    judge = WATCHED.get(name).judge
    assert list(judge(record_of(name, examples()[name]))) == []
    findings = []
    try:
        for finding in judge(record_of(name, counterexamples()[name])):
            findings.append(finding)
    except NotSeen:  # what was found before counts
        pass
    assert findings
