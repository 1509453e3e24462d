"""What a server does not have counts neither for nor against it."""

import json

import pytest

from mcp_conductor.checks.engine.judging import judge
from mcp_conductor.recording.reader import recording_of

META = "io.modelcontextprotocol/"
INFO = {"name": "bare", "version": "1"}
OF_EVERY_MESSAGE = {
    "base-jsonrpc-envelope-server",
    "base-response-id-echo-server",
    "base-response-once-server",
    "base-response-result-xor-error-server",
    "base-result-is-object-server",
    "stdio-streams-server",
    "stdio-newline-framing-server",
    "stdio-stdout-clean-server",
}
OPENINGS = {
    "2025-11-25": (
        "initialize",
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO},
        {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": INFO},
        {"lifecycle-initialize-result-server", "batch-removed-server"},
    ),
    "2026-07-28": (
        "server/discover",
        {"_meta": {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}, f"{META}clientInfo": INFO}},
        {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {},
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {f"{META}serverInfo": INFO},
        },
        {
            "batch-removed-server",
            "versioning-discover-shape",
            "versioning-resulttype-present",
            "meta-server-info-results",
            "base-meta-key-format-server",
            "base-meta-reverse-dns",
            "base-meta-reserved-prefix-server",
            "stdio-no-server-requests",
            "caching-hints-present",
            "caching-ttl-valid",
            "caching-scope-valid",
            "deprecated-features-server",
        },
    ),
}


@pytest.mark.parametrize("version", OPENINGS)
def test_a_server_that_has_nothing_but_an_opening_passes_only_what_is_about_messages(version):
    """A judge that had nothing to look at has to say so: its pass would raise the score of a server without features."""
    method, params, result, expected = OPENINGS[version]
    said = [
        ("client", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
        ("server", {"jsonrpc": "2.0", "id": 1, "result": result}),
    ]
    lines = [
        json.dumps({"at": at, "source": source, "text": json.dumps(text)}) for at, (source, text) in enumerate(said)
    ]
    outcomes = judge(recording_of(lines).transcript()).outcomes
    assert {each.id for each in outcomes if each.status == "passed"} == OF_EVERY_MESSAGE | expected
    assert [each.id for each in outcomes if each.findings] == []


def passed(*said):
    lines = [json.dumps({"at": at, "source": source, "text": text}) for at, (source, text) in enumerate(said)]
    outcomes = judge(recording_of(lines).transcript()).outcomes
    assert [each.id for each in outcomes if each.findings] == []
    return {each.id for each in outcomes if each.status == "passed"}


ASKED = ("client", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": OPENINGS["2026-07-28"][1]}))


@pytest.mark.parametrize(
    "end", [[], [("stderr", "Traceback"), ("process", "exited with code 1")], [("http", "HTTP 500")]]
)
def test_a_server_that_said_nothing_passes_nothing(end):
    assert passed(ASKED, *end) == set()


def test_a_server_that_gave_no_result_passes_nothing_that_is_about_results():
    refused = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no"}})
    found = passed(ASKED, ("server", refused))
    assert "base-error-shape-server" in found
    assert not found & {"base-result-is-object-server", "meta-server-info-results"}
    assert not {each for each in found if each.startswith("versioning-")}
