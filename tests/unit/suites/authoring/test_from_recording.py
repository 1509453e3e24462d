"""A suite from a recording."""

import pytest

from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.dialogue import Dialogue
from mcp_conductor.suites.authoring.from_recording import suite_of


def suite(*said):
    """The suite of SAID: (source, message)."""
    frames = [Frame(float(at), source, compact({"jsonrpc": "2.0", **raw})) for at, (source, raw) in enumerate(said)]
    return suite_of(Dialogue.of(frames), began=1_790_000_000.0)


def asked(identity, method, params, result):
    return ("client", {"id": identity, "method": method, "params": params}), ("server", {"id": identity, **result})


def case(*said):
    (written,) = suite(*said).found.cases
    return written


def text(words):
    return {"result": {"content": [{"type": "text", "text": words}]}}


def test_a_call_expects_what_came():
    written = case(
        *asked(1, "tools/call", {"name": "add", "arguments": {"a": 1}, "_meta": {"progressToken": 5}}, text("1"))
    )
    assert written.draft.action == {"call": {"tool": "add", "args": {"a": 1}}}
    assert written.expect == {"result": {"content": [{"type": "text", "text": "1"}]}}


def test_reads_prompts_and_other_requests_have_their_own_words():
    found = suite(
        *asked(1, "resources/read", {"uri": "a://b"}, {"result": {"contents": []}}),
        *asked(2, "prompts/get", {"name": "p"}, {"result": {"messages": []}}),
        *asked(3, "ping", {}, {"result": {}}),
        *asked(4, "ping", {}, {"result": {}}),
    ).found.cases
    assert [each.draft.action for each in found] == [
        {"read": "a://b"}, {"prompt": "p"}, {"request": {"method": "ping"}}, {"request": {"method": "ping"}},
    ]  # fmt: skip
    assert [each.draft.title for each in found] == [
        "reads a://b",
        "gets the prompt p",
        "answers ping",
        "answers ping (2)",
    ]


@pytest.mark.parametrize("cursor", ["2", "eyJvZmZzZXQiOjN9"])
def test_a_cursor_that_was_not_sent_may_be_any_text(cursor):
    listed = {"result": {"tools": [{"name": "a"}], "nextCursor": cursor}}
    written = case(*asked(1, "tools/list", {}, listed))
    assert written.expect == {"result": {"tools": [{"name": "a"}], "nextCursor": "match:type:string"}}


def test_an_error_is_expected_again():
    written = case(*asked(1, "tools/call", {"name": "x"}, {"error": {"code": -32602, "message": "unknown tool"}}))
    assert written.expect == {"error": {"code": -32602, "message": "unknown tool"}}


def test_a_value_in_a_text_is_captured_by_what_stands_before_it():
    add, get = suite(
        *asked(1, "tools/call", {"name": "add"}, text("* Saved as n-4f2a.")),
        *asked(2, "tools/call", {"name": "get", "arguments": {"uri": "note://n-4f2a/{{x}}"}}, text("ok n-4f2a")),
    ).found.cases
    assert add.draft.action["capture"] == {
        "value": {"from": "result.content[0].text", "regex": r"^(?:[^]*?\* Saved as ){1}([\w-]+)"}
    }
    assert get.draft.action["call"]["args"] == {"uri": r"note://{{ value }}/\{{x}}"}
    assert get.expect["result"]["content"][0]["text"] == "match:regex:^ok .+$"


def test_a_number_that_flows_keeps_its_type():
    add, get = suite(
        *asked(1, "tools/call", {"name": "add"}, {"result": {"structuredContent": {"id": 1234567}}}),
        *asked(2, "tools/call", {"name": "get", "arguments": {"id": 1234567}}, text("milk")),
    ).found.cases
    assert add.expect == {"result": {"structuredContent": {"id": "match:type:number"}}}
    assert get.draft.action["call"]["args"] == {"id": "{{ id }}"}


def test_what_cannot_be_a_test_is_left_out_with_the_reason():
    cancel = ("client", {"method": "notifications/cancelled", "params": {"requestId": 1}})
    found = suite(
        ("client", {"id": 1, "method": "tools/call", "params": {"name": "slow"}}), cancel,
        *asked(2, "tasks/get", {"taskId": "t"}, {"result": {"status": "working"}}),
        ("client", {"id": 3, "method": "ping"}),
    ).found  # fmt: skip
    assert [draft.gap for draft in found.left_out] == [
        "the client cancelled it",
        "how far a task has come is a matter of time",
        "the recording has no answer to it",
    ]
    assert found.written == []


def test_an_answer_that_no_test_could_expect_is_left_out_with_the_reason():
    found = suite(
        *asked(1, "tools/list", {}, {"result": 5}),
        *asked(2, "tools/call", {"name": "x"}, {"result": None}),
        *asked(3, "prompts/list", {}, {"result": {"prompts": {"name": "p"}}}),
        *asked(4, "resources/list", {}, {"result": {}}),
        *asked(5, "tools/list", {}, {"error": 5}),
        *asked(6, "tools/list", {}, {"result": {"tools": [7]}}),
    ).found  # fmt: skip
    assert [draft.gap for draft in found.left_out] == [
        "its result is not an object",
        "its result is not an object",
        "prompts of its result is not a list",
        "resources of its result is not a list",
        "its error is not an object",
    ]
    assert [each.draft.title for each in found.written] == ["answers tools/list (3)"]


def test_the_client_offers_what_the_recorded_one_offered_and_speaks_its_revision():
    capabilities = {"roots": {}, "sampling": {}}
    opened = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "s", "version": "1"}}
    found = suite(
        *asked(1, "initialize", {"capabilities": capabilities}, {"result": opened}),
        ("server", {"id": "q", "method": "roots/list"}), ("client", {"id": "q", "result": {"roots": [{"uri": "a://"}]}}),
        *asked(2, "ping", {}, {"result": {}}),
    )  # fmt: skip
    assert found.client == {"sampling": "auto", "roots": [{"uri": "a://"}]}
    assert found.protocol == "2025-06-18"
    assert found.found.server == {"name": "s", "version": "1"}


def test_a_secret_becomes_a_variable():
    found = suite(
        *asked(1, "tools/call", {"name": "x", "arguments": {"api-key": "[redacted]"}}, text("[redacted] is fine"))
    )
    assert found.found.cases[0].draft.action["call"]["args"] == {"api-key": "{{ env.API_KEY }}"}
    assert found.variables == ("API_KEY",)
    assert found.found.cases[0].expect["result"]["content"][0]["text"] == "match:type:string"


def test_an_answer_that_cannot_be_read_is_no_answer():
    """Its id can be found, though it is nested deeper than what is read."""
    said, _ = asked(1, "tools/call", {"name": "x"}, {"result": {}})
    deep = '{"jsonrpc":"2.0","id":1,"result":' + "[" * 100_000 + "]" * 100_000 + "}"
    frames = [Frame(0.0, "client", compact({"jsonrpc": "2.0", **said[1]})), Frame(1.0, "server", deep)]
    (written,) = suite_of(Dialogue.of(frames), began=0.0).found.cases
    assert written.draft.gap == "the recording has no answer to it"


def test_a_client_that_declares_nonsense_offers_nothing():
    opening = asked(0, "initialize", {"capabilities": 5, "_meta": [1]}, {"result": 7})
    assert suite(*opening, *asked(1, "ping", {}, {"result": {}})).client == {}


def test_the_time_as_a_number_in_a_text_is_not_expected_again():
    """Beside a value that flows, and alone; in seconds and in milliseconds."""
    words = '{"id": "note-4f2a", "at": 1790000000.25, "ms": 1790000000250, "size": 1790000000999999, "n": 12}'
    made, _ = suite(
        *asked(1, "tools/call", {"name": "new"}, text(words)),
        *asked(2, "tools/call", {"name": "get", "arguments": {"id": "note-4f2a"}}, text("x")),
    ).found.cases
    number = r"[0-9]{10,13}(\.[0-9]+)?"
    assert made.expect["result"]["content"][0]["text"] == (
        rf'match:regex:^\{{"id": ".+", "at": {number}, "ms": {number}, "size": 1790000000999999, "n": 12\}}$'
    )
    assert case(*asked(1, "tools/call", {"name": "t"}, text("it is 1789999000"))).expect["result"]["content"] == [
        {"type": "text", "text": f"match:regex:^it is {number}$"}
    ]
    assert case(*asked(1, "tools/call", {"name": "t"}, text("it was 1289999000"))).expect["result"]["content"] == [
        {"type": "text", "text": "it was 1289999000"}
    ]


def test_a_client_that_tried_the_modern_era_first_speaks_what_the_server_agreed_to():
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    opened = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "s", "version": "1"}}
    found = suite(
        *asked(1, "server/discover", {"_meta": meta}, {"error": {"code": -32602, "message": "unknown method"}}),
        *asked(2, "initialize", {"capabilities": {"sampling": {}}}, {"result": opened}),
        *asked(3, "tools/call", {"name": "add"}, text("1")),
    )
    assert found.protocol == "2025-11-25"
    assert found.client == {"sampling": "auto"}
    assert found.found.server == {"name": "s", "version": "1"}
    assert [each.draft.title for each in found.found.cases] == ["calls add"]
