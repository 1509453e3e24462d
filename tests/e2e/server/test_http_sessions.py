"""Streamable HTTP in the handshake era: sessions, streams, resumption, and questions to the client."""

import pytest
from tests.e2e.server.http_wire import EVENTS
from tests.e2e.server.wire import (
    HANDSHAKE,
    INITIALIZED,
    MODERN,
    NEWEST,
    call,
    code_of,
    echo,
    initialize,
    notification,
    ping,
    request,
    result,
    slow,
)

JSON = "application/json"
HTTP = {"type": "streamable-http", "port": 0}
SOON = 2.5  # seconds within which a server ends that was told to
FORM = {"message": "Who?", "schema": {"type": "object", "properties": {"name": {"type": "string"}}}}
ACCEPTED = {"action": "accept", "content": {"name": "x"}}
BATCHING = "2025-03-26"
UNPRIMED = HANDSHAKE[:-1]


def kinds(messages) -> list:
    return [message.get("method", message.get("id")) for message in messages]


# How a session begins and ends.


@pytest.mark.parametrize("version", HANDSHAKE)
def test_session_begins_with_initialize_and_has_an_id(shared, version):
    session = shared.session(version)
    (reply,) = session.opening.messages
    assert (reply["id"], reply["result"]["protocolVersion"]) == (0, version)
    assert session.id.isascii()
    assert session.id.isprintable()
    assert session.ask(ping(1)) == result(1, {})
    assert session.post(ping(2)).headers["mcp-session-id"] == session.id


@pytest.mark.parametrize("version", ["1.0.0", MODERN])
def test_unknown_version_is_countered_with_the_newest(shared, version):
    (reply,) = shared.post(initialize(version)).messages
    assert reply["result"]["protocolVersion"] == NEWEST


def test_incomplete_initialize_begins_no_session(shared):
    answer = shared.post(request(1, "initialize", {}))
    assert (answer.status, answer.code, answer.json["id"]) == (400, -32602, 1)
    assert answer.headers["mcp-session-id"] is None


def test_session_is_not_begun_twice(shared):
    session = shared.session()
    assert session.post(initialize()).status == 400
    assert session.ask(ping(1)) == result(1, {})


@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
def test_request_without_a_session_is_bad_and_with_an_unknown_one_not_found(shared, verb):
    message = ping(1) if verb == "POST" else None
    assert shared.send(verb, message).status == 400
    for identity in ("nobody", "", "x" * 1000):
        assert shared.send(verb, message, {"Mcp-Session-Id": identity}).status == 404


def test_session_ends_with_delete(shared):
    session, other = shared.session(), shared.session()
    stream = session.get()
    running = session.begin(slow(1, 30_000, "token"))
    assert running.hear()["params"]["progress"] == 1
    answer = session.delete()
    assert (answer.status, answer.body) == (200, b"")
    assert [event for event in stream.rest() + running.rest() if event.data] == []
    assert session.post(ping(1)).status == 404
    assert session.delete().status == 404
    assert other.ask(ping(1)) == result(1, {})


def test_initialize_in_an_ended_session_is_not_found(shared):
    session = shared.session()
    session.delete()
    assert session.post(initialize()).status == 404


# What the version header says.


@pytest.mark.parametrize("version", [None, *HANDSHAKE])
def test_version_header_may_be_missing_or_any_of_the_era(shared, version):
    assert shared.session().post(ping(1), MCP_Protocol_Version=version).status == 200


@pytest.mark.parametrize("version", ["1.0.0", "", "2025-03-27"])
def test_request_with_an_unknown_version_in_the_header_is_bad(shared, version):
    assert shared.session().post(ping(1), MCP_Protocol_Version=version).status == 400


@pytest.mark.parametrize("message", [INITIALIZED, None], ids=["notification", "get"])
def test_whatever_else_has_an_unknown_version_in_the_header_is_bad(shared, message):
    session = shared.session()
    session.headers["MCP-Protocol-Version"] = "1.0.0"
    verb = "GET" if message is None else "POST"
    assert shared.send(verb, message, session.headers).status == 400


def test_version_that_the_config_leaves_out_is_bad(web):
    server = web(protocolVersions=["2025-06-18", NEWEST])
    assert server.session("2025-06-18").post(ping(1), MCP_Protocol_Version=BATCHING).status == 400


# Answers.


@pytest.mark.parametrize("version", HANDSHAKE)
def test_priming_event_and_retry_are_there_in_2025_11_25_only(shared, version):
    session = shared.session(version)
    first, *rest = session.post(echo(1)).events
    if version == NEWEST:
        assert (first.data, first.retry, first.kind) == ("", "250", None)
        assert first.id
        (first,) = rest
    assert (first.retry, first.kind, first.message["id"]) == (None, "message", 1)
    assert first.id


def test_stream_is_not_primed_where_nothing_can_be_resumed(web):
    session = web(transport={**HTTP, "resumable": False}).session()
    (event,) = session.post(echo(1)).events
    assert (event.id, event.retry) == (None, None)


def test_notifications_of_a_request_come_before_its_answer(shared):
    session = shared.session()
    answer = session.post(slow(1, 1, "token"))
    assert kinds(answer.messages) == ["notifications/progress", "notifications/progress", 1]
    assert len({event.id for event in answer.events}) == 4


@pytest.mark.parametrize(
    "message",
    [
        INITIALIZED,
        notification("no/such"),
        result(99, {}),
        {"jsonrpc": "2.0", "id": 9, "error": {"code": 1, "message": ""}},
    ],
    ids=["initialized", "unknown", "result", "error"],
)
def test_notifications_and_answers_are_accepted(shared, message):
    answer = shared.session().post(message)
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize("identity", [{}, [], [[]]], ids=repr)
def test_cancellation_with_an_impossible_id_is_accepted(shared, identity):
    session = shared.session()
    assert session.post(notification("notifications/cancelled", {"requestId": identity})).status == 202


def test_error_of_a_request_has_the_status_of_success(shared):
    session = shared.session()
    assert code_of(session.ask(request(1, "no/such"))) == -32601
    assert code_of(session.ask({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": []})) == -32602
    assert code_of(session.ask(request(3, "tools/list", {"cursor": "nonsense"}))) == -32602


def test_pages_are_turned_by_cursors_that_cannot_be_made_up(web):
    server = web(tools=[{"preset": "numbered_tools", "params": {"count": 5}}], maxPageSize={"tools": 2})
    session, pages, cursor = server.session(), [], None
    while True:
        page = session.ask(request(1, "tools/list", {} if cursor is None else {"cursor": cursor}))["result"]
        pages.append([tool["name"] for tool in page["tools"]])
        if (cursor := page.get("nextCursor")) is None:
            break
        for wrong in (cursor + "x", cursor[:-2], cursor.lower(), "2", "", 2, None):
            if wrong is not None:
                assert code_of(session.ask(request(2, "tools/list", {"cursor": wrong}))) == -32602
        assert code_of(session.ask(request(3, "resources/list", {"cursor": cursor}))) == -32602
    assert pages == [["tool_1", "tool_2"], ["tool_3", "tool_4"], ["tool_5"]]


def test_cancelled_request_ends_its_stream_without_an_answer(shared):
    session = shared.session()
    stream = session.begin(slow(1, 30_000, "token"))
    assert stream.hear()["params"]["progress"] == 1
    session.post(notification("notifications/cancelled", {"requestId": 1}))
    assert stream.rest() == []


# Batches.


def test_batch_of_2025_03_26_is_answered_message_by_message(shared):
    session = shared.session(BATCHING)
    answer = session.post([ping(1), INITIALIZED, echo(2), request(3, "no/such"), slow(4, 10, "t")])
    assert sorted(kinds(answer.messages), key=str) == [1, 2, 3, 4, *["notifications/progress"] * 2]
    assert session.post([INITIALIZED, result(9, {})]).status == 202
    assert session.post([ping(1), 5]).status == 400
    assert session.post([]).status == 400


def test_batch_of_2025_03_26_is_answered_with_a_batch_in_json_mode(web):
    session = web(transport={**HTTP, "json": True}).session(BATCHING)
    assert kinds(session.post([ping(1), echo(2), request(3, "no/such")]).json) == [1, 2, 3]
    assert kinds(session.post([ping(1)]).json) == [1]


@pytest.mark.parametrize("version", [version for version in HANDSHAKE if version != BATCHING])
def test_batch_is_bad_in_every_other_revision(shared, version):
    answer = shared.session(version).post([ping(1)])
    assert (answer.status, answer.code) == (400, -32600)


def test_initialize_in_a_batch_does_not_swallow_the_rest(shared):
    session = shared.session(BATCHING)
    answer = session.post([initialize(BATCHING, identity=1), ping(2)])
    assert answer.status == 400 or sorted(kinds(answer.messages)) == [1, 2]


# The GET stream.


@pytest.mark.parametrize("accept", [None, JSON, "text/html"])
def test_get_wants_to_be_told_that_events_are_acceptable(shared, accept):
    session = shared.session()
    assert shared.send("GET", None, {**session.headers, "Accept": accept}).status == 406


def test_session_has_one_get_stream_at_a_time(shared):
    session = shared.session()
    first = session.get()
    assert (first.status, first.headers["content-type"]) == (200, EVENTS)
    assert first.headers["mcp-session-id"] == session.id
    assert session.get().status == 409
    assert shared.session().get().status == 200


def test_get_stream_can_be_opened_again_when_it_was_closed(web):
    session = web().session()
    session.get().close()
    assert any(session.get().status == 200 for _ in range(1000)), "as soon as the server has noticed"


@pytest.mark.parametrize("version", HANDSHAKE)
def test_changes_come_on_the_get_stream_whether_it_is_open_or_not_yet(web, version):
    server = web()
    session = server.session(version)
    session.ask(request(1, "resources/subscribe", {"uri": "test://resource_1"}))
    update = call(2, "update_resource", {"uri": "test://resource_1", "text": "x"})
    assert kinds(session.post(update).messages) == [2]
    stream = session.get()
    assert kinds([stream.hear()]) == ["notifications/resources/updated"]
    session.post(call(3, "remove_tool", {"name": "add"}))
    session.post(call(4, "update_resource", {"uri": "test://resource_2", "text": "x"}))
    session.post(update)
    assert kinds([stream.hear(), stream.hear()]) == [
        "notifications/tools/list_changed",
        "notifications/resources/updated",
    ]
    session.ask(request(5, "resources/unsubscribe", {"uri": "test://resource_1"}))
    session.post(update)
    session.delete()
    assert stream.rest() == []


def test_changes_come_to_every_session_that_is_initialized(web):
    server = web()
    sessions = [server.session() for _ in range(3)]
    server.post(initialize())
    streams = [session.get() for session in sessions]
    sessions[0].post(call(1, "remove_tool", {"name": "add"}))
    assert [stream.hear() for stream in streams] == [notification("notifications/tools/list_changed")] * 3


# Resumption.


def test_stream_goes_on_after_the_last_event_that_was_seen(shared):
    session = shared.session()
    stream = session.begin(slow(1, 200, "token"))
    primed, seen = stream.next(), stream.next()
    stream.close()
    again = session.get(seen.id)
    assert kinds(event.message for event in again.rest()) == ["notifications/progress", 1]
    whole = session.get(primed.id).rest()
    assert kinds(event.message for event in whole) == ["notifications/progress", "notifications/progress", 1]
    assert whole[0] == seen
    assert session.get(whole[-1].id).rest() == []


def test_get_stream_goes_on_after_the_last_event_that_was_seen(web):
    server = web()
    session = server.session()
    stream = session.get()
    primed = stream.next()
    session.post(call(1, "remove_tool", {"name": "add"}))
    first = stream.next()
    session.post(call(2, "remove_tool", {"name": "echo"}))
    again = session.get(first.id)
    assert kinds([again.hear()]) == ["notifications/tools/list_changed"]
    assert stream.rest()[1:] == [], "whoever read before has to stop"
    once_more = session.get(primed.id)
    assert once_more.next() == first
