"""The client of a recording: what it said wrong is found, and what others said, or what comes later, is not held against it."""

import json
from pathlib import Path

import pytest

from mcp_conductor.checks.engine.judging import Options
from mcp_conductor.checks.harness.recorded_client import judge_client, recorded_checks
from mcp_conductor.checks.harness.scenario import WATCHED
from mcp_conductor.checks.requirements import requirements
from mcp_conductor.checks.requirements.examples import counterexamples, examples
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.format import Entry

CLIENT, SERVER = "client", "server"
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
}
FORM = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}


def opening(version="2025-11-25", client=None, server=None):
    params = {"protocolVersion": version, "capabilities": client or {}, "clientInfo": {"name": "c", "version": "1"}}
    result = {
        "protocolVersion": version,
        "capabilities": server or {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    return [
        (CLIENT, {"id": "open", "method": "initialize", "params": params}),
        (SERVER, {"id": "open", "result": result}),
        (CLIENT, {"method": "notifications/initialized"}),
    ]


CALL = [
    (
        CLIENT,
        {"id": 1, "method": "tools/call", "params": {"name": "look", "arguments": {}, "_meta": {"progressToken": "p"}}},
    ),
    (SERVER, {"id": 1, "result": {"content": []}}),
]
ASKED = opening(client={"sampling": {}, "roots": {}, "elicitation": {}})
SAMPLING = (SERVER, {"id": 7, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9}})


def frames(said):
    return [
        Entry(
            Frame(float(at), source, text if isinstance(text, str) else json.dumps({"jsonrpc": "2.0", **text})),
            1,
            *number,
        )
        for at, (source, text, *number) in enumerate(said)
    ]


def broken(said, **options):
    """The requirements that the client breaks in what was SAID."""
    return [each.id for each in judge_client(frames(said), Options(**options)).outcomes if each.findings]


def test_a_client_that_is_right_breaks_nothing():
    assert broken(opening() + CALL) == []
    statuses = {each.id: each.status for each in judge_client(frames(opening() + CALL)).outcomes}
    assert statuses["lifecycle-initialized-sent-client"] == statuses["progress-token-unique-client"] == "passed"
    assert judge_client(frames(opening())).server == {"name": "c", "version": "1"}


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ([*opening(), *CALL, *CALL], "base-request-id-unique-session-client"),
        ([(CLIENT, {"id": 0, "method": "tools/list"}), *opening()], "lifecycle-initialize-first-client"),
        ([*opening()[:2], *CALL], "lifecycle-initialized-sent-client"),
        ([opening()[0], CALL[0], *opening()[1:]], "lifecycle-client-quiet-before-init-response"),
        ([*opening(), (CLIENT, {"jsonrpc": "1.0", "id": 1, "method": "ping"})], "base-jsonrpc-envelope-client"),
        ([*opening(), CALL[0], (CLIENT, {**CALL[0][1], "id": 2})], "progress-token-unique-client"),
        ([*opening(), (CLIENT, {"id": 9, "result": {}})], "base-response-id-echo-client"),
        ([*ASKED, SAMPLING, (CLIENT, {"id": 7, "result": {"content": {"type": "text", "text": "x"}, "model": "m"}})],
         "sampling-result-fields-client"),
        ([*opening(), SAMPLING, (CLIENT, {"id": 7, "result": {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"}})],
         "sampling-capability-declared-client"),
        ([opening()[0], (CLIENT, {"method": "notifications/cancelled", "params": {"requestId": "open"}}), *opening()[1:]],
         "cancel-not-initialize-client"),
        ([*opening(), (CLIENT, {"id": 2, "method": "prompts/list"})], "lifecycle-respect-negotiated-client-strict"),
        ([*ASKED, (SERVER, {"id": 8, "method": "roots/list"}), (CLIENT, {"id": 8, "result": {"roots": [{"uri": "/tmp"}]}})],
         "roots-item-uri-client"),
        ([*ASKED, (SERVER, {"id": 8, "method": "elicitation/create", "params": FORM}),
          (CLIENT, {"id": 8, "result": {"action": "accept", "content": {"name": 5}}})], "elicit-result-content-client"),
        ([*opening(), (CLIENT, '{"jsonrpc": "2.0", "id": 3,'), (CLIENT, ' "method": "ping"}')], "stdio-newline-framing-client"),
        ([*opening(), (CLIENT, {"id": 2, "method": "tools/call", "params": {"tool": "look"}})], "tools-client-call-shape"),
    ],
)  # fmt: skip
def test_a_mutated_recording_names_what_is_broken(said, names):
    assert names in broken(said)


@pytest.mark.parametrize("odd", ["[[[]]]", "[{}]", "5", "null", '{"id": [], "result": {}}', '{"id": {}, "error": 5}'])
def test_a_message_of_an_odd_shape_does_not_end_the_judging(odd):
    assert "tools-client-call-shape" in broken(
        [*ASKED, SAMPLING, (CLIENT, odd), (CLIENT, {"id": 2, "method": "tools/call", "params": {"tool": "look"}})]
    )


def test_what_may_come_after_the_recording_is_not_missed():
    assert broken(opening()[:2]) == []
    assert broken([*ASKED, SAMPLING, (SERVER, {"id": "p", "method": "ping"}), CALL[0]]) == []


@pytest.mark.parametrize(("asked", "answered"), [(1.5, 1), (2**53 + 1, 2**53), (7.0, 7)])
def test_a_number_that_json_rpc_need_not_keep_may_come_back_changed(asked, answered):
    ping, pong = (SERVER, {"id": asked, "method": "ping"}), (CLIENT, {"id": answered, "result": {}})
    assert broken([*opening(), ping, pong]) == []


def posted(said, first=1, **headers):
    """What was SAID over HTTP, each message in an exchange of its own."""
    heads = "".join(f"\n{name}: {value}" for name, value in headers.items())
    found = []
    for number, (source, message) in enumerate(said, first):
        if source == CLIENT:
            found += [("http", f"POST /here?x=1{heads}", number), (CLIENT, message, number)]
        else:
            found += [("http", "HTTP 200", number - 1), (SERVER, message, number - 1)]
    return found


def modern(identity, method, **params):
    return CLIENT, {"id": identity, "method": method, "params": {**params, "_meta": MODERN}}


HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
}


def test_headers_are_judged_where_frames_have_them():
    said = [modern(1, "tools/call", name="look"), (SERVER, {"id": 1, "result": {"content": []}})]
    right = {**HEADERS, "Mcp-Method": "tools/call", "Mcp-Name": "look"}
    assert broken(posted(said, **right), levels=("MUST",)) == []
    assert broken(posted(said, **{**right, "Mcp-Method": "ping"})) == ["httpm-method-header-client"]
    without = {name: value for name, value in right.items() if name != "Accept"}
    assert broken(posted(said, **without)) == ["http-accept-header-client"]


def test_several_clients_without_sessions_are_not_taken_for_one():
    said = [modern(1, "tools/list"), (SERVER, {"id": 1, "result": {"tools": []}})]
    heads = {**HEADERS, "Mcp-Method": "tools/list"}
    outcomes = judge_client(frames(posted(said, **heads) + posted(said, 3, **heads))).outcomes
    assert not [each.id for each in outcomes if each.status == "failed"]
    (unique,) = [each for each in outcomes if each.id == "base-request-id-unique-inflight-client"]
    assert unique.reason == "over HTTP without a session, several clients cannot be told apart"


OLDER = {**HEADERS, "MCP-Protocol-Version": "2025-11-25", "User-Agent": "one/1"}
BARE = {name: value for name, value in OLDER.items() if name not in ("MCP-Protocol-Version", "User-Agent")}
ONE = {"User-Agent": "one/1"}


def stateless(*later, first=OLDER):
    """A client of a server without sessions, and what came LATER at the same address, before the client's last call."""
    told = [*posted(opening(), **first), ("http", "HTTP 202", 3)]
    for number, (head, message, headers) in enumerate(later, 50):
        told.append(("http", "\n".join([head, *(f"{name}: {value}" for name, value in headers.items())]), number))
        told += [] if message is None else [(CLIENT, message, number)]
        told.append(("http", "HTTP 405", number))
    return [*told, *posted(CALL, 100, **first)]


LIST = {"id": 77, "method": "tools/list"}


@pytest.mark.parametrize(
    ("head", "message", "headers"),
    [
        ("GET /here", None, {"User-Agent": "other/1", "Accept": "application/json"}),
        ("GET /here", None, {"User-Agent": "other/1", "Accept": "*/*", "MCP-Protocol-Version": "2025-06-18"}),
        ("GET /here", None, {"Accept": "application/json"}),
        ("GET /here", None, {**ONE, "Accept": "application/json"}),  # as the same client does before it begins again
        ("GET /here", None, {**ONE, "Accept": "text/event-stream"}),
        ("GET /.well-known/x", None, {**ONE, "Accept": "*/*", "MCP-Protocol-Version": "2025-11-25"}),
        ("DELETE /here", None, ONE),
        ("OPTIONS /here", None, {**ONE, "Origin": "http://127.0.0.1"}),
        ("POST /here", LIST, {"User-Agent": "curl/8"}),
        ("POST /here", '{"no": "message"}', {"User-Agent": "curl/8"}),
        ("POST /here", "not JSON", {}),
        ("POST /register", '{"redirect_uris": []}', OLDER),
        ("PUT /here", '{"no": "message"}', {"User-Agent": "curl/8"}),
    ],
)  # fmt: skip
def test_a_client_is_not_blamed_for_what_is_not_shown_to_be_its_own(head, message, headers):
    assert broken(stateless((head, message, headers))) == []


def test_a_client_that_does_not_name_itself_is_not_blamed_for_another_one():
    anonymous = {**BARE, "MCP-Protocol-Version": "2025-11-25"}
    for headers in ({}, BARE, ONE):
        assert broken(stateless(("POST /here", LIST, headers), first=anonymous)) == []
    assert broken(stateless(("GET /here", None, {"Accept": "*/*"}), first=anonymous)) == []


@pytest.mark.parametrize(
    ("head", "message", "headers", "names"),
    [
        ("GET /here", None, {**OLDER, "Accept": "application/json"}, ["http-get-accept-client"]),
        ("POST /here", LIST, {**OLDER, "Accept": "*/*"}, ["http-accept-header-client"]),
        ("POST /here", LIST, {**BARE, **ONE}, ["http-version-header-client"]),
        ("POST /here", {"id": 77, "method": "tools/call", "params": {}}, OLDER, ["tools-client-call-shape"]),
        ("PUT /here", LIST, OLDER, ["http-post-per-message-client"]),
    ],
)  # fmt: skip
def test_a_client_is_blamed_for_what_its_headers_show_to_be_its_own(head, message, headers, names):
    assert broken(stateless((head, message, headers))) == names


def test_a_client_that_never_names_the_revision_is_told_so():
    assert broken(stateless(first=BARE)) == ["http-version-header-client"]


def test_what_has_the_id_of_the_session_belongs_to_it_whoever_sends_it():
    given = [(source, f"{text}\nMcp-Session-Id: s1", *number) if text == "HTTP 200" else (source, text, *number)
             for source, text, *number in stateless(("GET /here", None, {"Mcp-Session-Id": "s1", "Accept": "*/*"}))]  # fmt: skip
    assert broken(given) == ["http-get-accept-client", "http-version-header-client"]


def test_of_several_clients_that_name_themselves_the_first_is_judged():
    said = [modern(1, "tools/list"), (SERVER, {"id": 1, "result": {"tools": []}})]
    other = json.loads(json.dumps(modern(2, "tools/call")).replace('"c"', '"d"'))
    heads = {**HEADERS, "Mcp-Method": "tools/list"}
    assert broken(posted(said, **heads) + posted([other], 5, Accept="*/*")) == []
    assert "http-accept-header-client" in broken(
        posted(said, **heads) + posted([modern(2, "tools/list")], 5, Accept="*/*")
    )


@pytest.mark.parametrize(
    ("looked", "transport"),
    [
        ([("http", "GET /.well-known/oauth-protected-resource\nAccept: */*", 8), ("http", "HTTP 404", 8)], "http"),
        ([("http", "GET /here", 8), ("http", "HTTP 200\nContent-Type: application/json", 8)], "http"),
        ([("http", "GET /here", 8), ("http", "HTTP 401", 8), ("http", "GET /here", 9), ("http", "HTTP 200\nContent-Type: text/event-stream", 9)],
         "sse"),
        ([("http", "GET /here", 8), ("http", "HTTP 200", 8)], "sse"),
        ([("http", "GET /here", 8)], "sse"),
    ],
)  # fmt: skip
def test_a_client_that_looks_what_is_there_does_not_speak_http_sse_by_that(looked, transport):
    assert judge_client(frames(looked + posted([modern(1, "tools/list")], **HEADERS))).transport == transport


def asks(identity, state, **more):
    return SERVER, {"id": identity, "result": {"resultType": "input_required", "requestState": state, **more}}


def test_a_round_that_was_left_open_does_not_take_the_answer_to_another():
    said = [
        modern(0, "server/discover"),
        (SERVER, {"id": 0, "result": {"capabilities": {"tools": {}}, "supportedVersions": ["2026-07-28"]}}),
        modern(1, "tools/call", name="x", arguments={"a": 1}), asks(1, "one"),
        modern(2, "tools/call", name="x", arguments={"a": 2}), asks(2, "two"),
        modern(3, "tools/call", name="x", arguments={"a": 2}, requestState="two"), (SERVER, {"id": 3, "result": {"content": []}}),
    ]  # fmt: skip
    assert broken(said) == []
    said[-2] = modern(3, "tools/call", name="x", arguments={"a": 2}, requestState="three")
    assert broken(said) == ["mrtr-client-echoes-state"]


# Their examples are about an opening without its answer; the mutations above break what they say.
OPENINGS = {
    "batch-initialize-excluded-client",
    "cancel-not-initialize-client",
    "lifecycle-initialize-first-client",
    "lifecycle-initialize-params-client",
    "roots-listchanged-flag-client",
    "versioning-client-caches-era",
}
ON_STDIO = {each.id for each in requirements().values() if {"any", "stdio"} & set(each.transports)}
SHOWN = sorted({name for name, each in WATCHED.items() if each.recorded is not None} & ON_STDIO - OPENINGS)


@pytest.mark.parametrize("name", SHOWN)
def test_in_the_example_that_keeps_a_requirement_it_is_kept_and_in_the_other_it_is_broken(name):
    alike = {other for other, each in WATCHED.items() if each.judge is WATCHED.get(name).judge}
    alike |= set(WATCHED.get(name).follows)
    assert not alike & set(broken(whole(examples()[name], name)))
    assert alike & set(broken(whole(counterexamples()[name], name)))


def whole(example, name):
    """An example is a part of a conversation: its opening stands before it, which declares what is asked for."""
    marks = {">": CLIENT, "<": SERVER}
    told = [line.split(" ", 1) for line in example.lines]
    said = [(marks[mark], text.replace("\ufffd", "\udce9")) for mark, text in told if mark in marks]
    if not DIALECTS[example.version].handshake:
        found = {"capabilities": {"tools": {}}, "supportedVersions": [example.version]}
        return [modern("open", "server/discover"), (SERVER, {"id": "open", "result": found}), *said]
    if any('"initialize"' in text for _, text in said):
        return said
    declared = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}
    undeclared = "-declared-" in name or "needs-capability" in name or name == "roots-unsupported-error-client"
    return [*opening(example.version, client={} if undeclared else declared), *said]


def test_only_what_can_be_seen_in_a_recording_is_judged():
    ids = {each.id for each, _ in recorded_checks(Options(), "2025-11-25", "stdio")}
    assert len(ids) > 40
    assert not {name for name in ids if "timeout" in name or "tolerat" in name or name.startswith("authc")}


def test_the_manual_says_how_many_requirements_can_be_seen_in_a_recording():
    judged = sum(each.recorded is not None for _, each in WATCHED.items())
    manual = (Path(__file__).parents[4] / "docs" / "check.md").read_text()
    assert f"({judged} of {len(WATCHED.items())})" in manual


def test_a_request_that_was_sent_again_with_a_token_is_judged_each_time():
    head = "POST http://h/mcp\nAccept: application/json, text/event-stream\nContent-Type: application/json"
    (asked, answered, _), later = opening(), "\nMCP-Protocol-Version: 2025-11-25"
    said = [
        (*asked, 1),
        ("http", head, 1),
        ("http", "HTTP 401", 1),
        ("http", head, 1),
        ("http", "HTTP 200", 1),
        (*answered, 1),
        (CLIENT, {"method": "notifications/initialized"}, 2),
        ("http", head + later, 2),
        ("http", "HTTP 202", 2),
    ]
    statuses = {each.id: each.status for each in judge_client(frames(said)).outcomes}
    assert statuses["http-accept-header-client"] == statuses["http-version-header-client"] == "passed"
    said[3] = ("http", head.replace("application/json,", ""), 1)
    assert broken(said) == ["http-accept-header-client"]
    said[3], said[7] = ("http", head, 1), ("http", head, 2)
    assert broken(said) == ["http-version-header-client"]


def test_calls_without_a_state_are_not_mixed_up_with_a_round_that_has_none():
    asked = {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create", "params": FORM}}}
    meta = {**MODERN, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    answered = {"name": "a", "arguments": {}, "inputResponses": {"a": {"action": "decline"}}, "_meta": meta}
    done = {"resultType": "complete", "content": []}
    said = [
        (CLIENT, {"id": 1, "method": "tools/call", "params": {"name": "a", "arguments": {}, "_meta": meta}}),
        (SERVER, {"id": 1, "result": asked}),
        (CLIENT, {"id": 2, "method": "tools/call", "params": answered}),
        (SERVER, {"id": 2, "result": done}),
        (CLIENT, {"id": 3, "method": "tools/call", "params": {"name": "b", "arguments": {}, "_meta": meta}}),
        (SERVER, {"id": 3, "result": done}),
    ]
    assert broken(said) == []
