"""Streamable HTTP in the handshake era: connections that break off, questions to the client, and other modes."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.e2e.server.wire import (
    HANDSHAKE,
    INITIALIZED,
    MODERN,
    NEWEST,
    PATIENCE,
    call,
    code_of,
    echo,
    initialize,
    modern,
    notification,
    ping,
    request,
    result,
    slow,
    text_of,
)

HTTP = {"type": "streamable-http", "port": 0}
SOON = 2.5  # seconds within which a server ends that was told to
FORM = {"message": "Who?", "schema": {"type": "object", "properties": {"name": {"type": "string"}}}}
ACCEPTED = {"action": "accept", "content": {"name": "x"}}


def kinds(messages) -> list:
    return [message.get("method", message.get("id")) for message in messages]


# Streams that break off.


@pytest.mark.parametrize("last", ["nonsense", "", "_", "1", "99_1", "1_x", "-1_1"])
def test_event_that_never_was_cannot_be_gone_on_from(shared, last):
    assert shared.session().get(last).status == 400


@pytest.mark.parametrize("number", ["999", "9" * 5000], ids=["beyond", "endless"])
def test_event_that_is_yet_to_come_cannot_be_gone_on_from(shared, number):
    session = shared.session()
    stream = session.get()
    name = stream.next().id.partition("_")[0]
    assert session.get(f"{name}_{number}").status == 400


def test_event_of_another_session_cannot_be_gone_on_from(shared):
    other = shared.session()
    last = [other.post(echo(1)).events[0].id for _ in range(3)][-1]
    assert shared.session().get(last).status == 400


CLOSING = {"name": "close", "steps": ["close_stream", {"sleep": "50ms"}], "result": "here it is"}


def test_stream_that_the_server_closes_is_polled_for_the_answer(web):
    session = web(transport={**HTTP, "retry": 10}, tools=[CLOSING]).session()
    stream = session.begin(call(1, "close"))
    (primed,) = stream.rest()
    assert (primed.data, primed.retry) == ("", "10")
    (event,) = session.get(primed.id).rest()
    assert text_of(event.message) == "here it is"


def test_closing_the_stream_means_nothing_where_there_is_none(web):
    session = web(transport={**HTTP, "json": True}, tools=[CLOSING]).session()
    assert text_of(session.ask(call(1, "close"))) == "here it is"


def test_closing_the_stream_means_nothing_in_the_modern_era(web):
    server = web(tools=[CLOSING])
    assert text_of(server.modern(modern(call(1, "close"))).json) == "here it is"


UPDATING = {
    "name": "update_later",
    "steps": [{"progress": {"progress": 1}}, {"sleep": "100ms"}, {"update_resource": {"uri": "test://resource_1"}}],
    "result": "updated",
}


@pytest.mark.parametrize("version", HANDSHAKE)
def test_client_that_goes_away_has_not_cancelled_its_request(web, version):
    session = web(tools=[UPDATING]).session(version)
    session.ask(request(1, "resources/subscribe", {"uri": "test://resource_1"}))
    listener = session.get()
    stream = session.begin(call(2, "update_later", _meta={"progressToken": "t"}))
    while not (seen := stream.next()).data:
        pass
    stream.close()
    assert kinds([listener.hear()]) == ["notifications/resources/updated"]
    assert kinds(event.message for event in session.get(seen.id).rest()) == [2]


# Questions.


def answered(session, question, answer) -> None:
    assert session.post(result(question["id"], answer)).status == 202


@pytest.mark.parametrize("version", ["2025-06-18", NEWEST])
def test_elicitation_comes_on_the_stream_of_the_call(shared, version):
    session = shared.session(version, elicitation={})
    stream = session.begin(call(1, "collect_elicitation", FORM))
    question = stream.hear()
    assert (question["method"], question["params"]["message"]) == ("elicitation/create", "Who?")
    assert question["params"].get("mode") == (None if version == "2025-06-18" else "form")
    answered(session, question, ACCEPTED)
    assert '"name":"x"' in text_of(stream.hear())
    assert stream.rest() == []


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"action": "accept", "content": {"name": 5}}, "name: 5 is not of type"),
        ({"action": "accept"}, "it has no content"),
        ({"action": "perhaps"}, "its action is 'perhaps', not accept, decline or cancel"),
    ],
)
def test_an_elicitation_answered_otherwise_than_asked_fails_the_call_with_the_reason(shared, answer, complaint):
    session = shared.session(elicitation={})
    stream = session.begin(call(1, "collect_elicitation", FORM))
    answered(session, stream.hear(), answer)
    reply = stream.hear()
    assert reply["result"]["isError"] is True
    assert text_of(reply).startswith("the client's answer to elicitation/create is wrong: " + complaint)


@pytest.mark.parametrize("answer", [{"action": "decline"}, {"action": "cancel", "content": {"name": 5}}])
def test_an_elicitation_that_is_declined_needs_no_content(shared, answer):
    session = shared.session(elicitation={})
    stream = session.begin(call(1, "collect_elicitation", FORM))
    answered(session, stream.hear(), answer)
    assert text_of(stream.hear()).startswith("Elicitation response: ")


@pytest.mark.parametrize("version", HANDSHAKE)
def test_sampling_and_roots_come_on_the_streams_of_their_calls(shared, version):
    session = shared.session(version, sampling={}, roots={})
    sampling = session.begin(call(1, "collect_sample", {"text": "hi"}))
    roots = session.begin(call(2, "list_roots"))
    questions = sampling.hear(), roots.hear()
    assert kinds(questions) == ["sampling/createMessage", "roots/list"]
    assert questions[0]["id"] != questions[1]["id"]
    answered(session, questions[1], {"roots": [{"uri": "file:///x"}]})
    assert "file:///x" in text_of(roots.hear())
    answered(session, questions[0], {"role": "assistant", "content": {"type": "text", "text": "yo"}, "model": "m"})
    assert "yo" in text_of(sampling.hear())


def test_refusal_and_nonsense_for_an_answer_fail_the_tool_alone(shared):
    session = shared.session(elicitation={})
    for wrong in ({"error": {"code": -1, "message": "no"}}, {"error": 5}, {"result": 5}, {"result": None}):
        stream = session.begin(call(1, "collect_elicitation", FORM))
        question = stream.hear()
        session.post({"jsonrpc": "2.0", "id": question["id"], **wrong})
        assert stream.hear()["result"]["isError"] is True


def test_question_that_the_client_cannot_answer_is_not_asked(shared):
    session = shared.session("2025-03-26", elicitation={})
    assert session.ask(call(1, "collect_elicitation", FORM))["result"]["isError"] is True
    session = shared.session()
    assert session.ask(call(1, "collect_sample", {"text": "hi"}))["result"]["isError"] is True


def test_questions_come_on_the_get_stream_in_json_mode(web):
    session = web(transport={**HTTP, "json": True}).session(elicitation={}, sampling={})
    listener = session.get()
    with ThreadPoolExecutor(2) as pool:
        form = pool.submit(session.ask, call(1, "collect_elicitation", FORM))
        question = listener.hear()
        assert question["method"] == "elicitation/create"
        answered(session, question, ACCEPTED)
        assert '"name":"x"' in text_of(form.result(PATIENCE))
        progress = pool.submit(session.ask, slow(2, 1, "token"))
        assert kinds([listener.hear(), listener.hear()]) == ["notifications/progress"] * 2
        assert progress.result(PATIENCE)["id"] == 2


def test_question_is_taken_back_when_its_request_is_cancelled(shared):
    session = shared.session(elicitation={})
    stream = session.begin(call(1, "collect_elicitation", FORM))
    question = stream.hear()
    session.post(notification("notifications/cancelled", {"requestId": 1}))
    assert stream.hear() == notification("notifications/cancelled", {"requestId": question["id"]})
    assert stream.rest() == []


# Other modes.


def test_json_mode_answers_with_json(web):
    server = web(transport={**HTTP, "json": True})
    opening = server.post(initialize(), Accept="application/json")
    assert opening.json["result"]["protocolVersion"] == NEWEST
    headers = {"Mcp_Session_Id": opening.headers["mcp-session-id"], "Accept": "application/json"}
    assert server.post(INITIALIZED, **headers).status == 202
    assert server.post(slow(1, 1), **headers).json["id"] == 1
    assert server.post(request(2, "no/such"), **headers).code == -32601


def test_cancelled_request_is_accepted_without_an_answer_in_json_mode(web):
    session = web(transport={**HTTP, "json": True}).session()
    listener = session.get()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(session.post, slow(1, 30_000, "token"))
        listener.hear()
        session.post(notification("notifications/cancelled", {"requestId": 1}))
        assert (answer.result(PATIENCE).status, answer.result().body) == (202, b"")


def test_stateless_mode_has_no_sessions(web):
    server = web(transport={**HTTP, "stateless": True})
    opening = server.post(initialize("2025-06-18"))
    assert opening.headers["mcp-session-id"] is None
    assert opening.messages[0]["result"]["protocolVersion"] == "2025-06-18"
    assert server.post(INITIALIZED).status == 202
    assert server.post(echo(1)).messages[-1]["id"] == 1
    assert server.post(echo(2), Mcp_Session_Id="whatever", MCP_Protocol_Version=NEWEST).messages[-1]["id"] == 2
    assert server.post(call(3, "collect_sample", {"text": "hi"})).messages[-1]["result"]["isError"] is True
    for verb in ("GET", "DELETE"):
        assert server.send(verb, None, {"MCP-Protocol-Version": NEWEST}).status == 405


def test_stateless_mode_takes_the_revision_from_the_header(web):
    server = web(transport={**HTTP, "stateless": True, "json": True})
    assert kinds(server.post([ping(1), ping(2)]).json) == [1, 2], "without a header it is 2025-03-26"
    assert server.post([ping(1)], MCP_Protocol_Version=NEWEST).code == -32600
    missing = request(1, "tools/call", {"name": "echo", "arguments": {}})
    assert code_of(server.post(missing, MCP_Protocol_Version="2025-06-18").json) == -32602
    assert server.post(missing, MCP_Protocol_Version=NEWEST).json["result"]["isError"] is True


def test_stateless_mode_refuses_a_version_that_is_not_offered(web):
    server = web(transport={**HTTP, "stateless": True}, protocolVersions=[NEWEST])
    assert server.post(ping(1), MCP_Protocol_Version="2025-06-18").status == 400


def test_stateless_mode_declares_only_what_works_without_state(web):
    members = {"listChanged": {"tools": True, "prompts": True}, "subscriptions": True, "logging": True}
    server = web(
        transport={**HTTP, "stateless": True, "json": True}, tools=[{"preset": "send_notification"}], **members
    )
    opened = server.post(initialize()).json["result"]
    assert opened["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}}
    headers = {"MCP_Protocol_Version": NEWEST}
    for method, params in (
        ("logging/setLevel", {"level": "error"}),
        ("resources/subscribe", {"uri": "test://resource_1"}),
    ):
        assert server.post(request(1, method, params), **headers).code == -32601
    discovered = server.modern(modern(request(1, "server/discover"))).json["result"]["capabilities"]
    assert discovered == {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True},
        "prompts": {"listChanged": True},
        "logging": {},
    }


def test_stateless_mode_sends_no_log_messages_since_no_client_can_set_their_level(web):
    server = web(transport={**HTTP, "stateless": True}, tools=[{"preset": "send_notification"}])
    said = server.post(call(1, "send_notification", {"message": "hi"}), MCP_Protocol_Version=NEWEST).messages
    assert [each.get("id") for each in said] == [1]


@pytest.mark.parametrize("message", [initialize(), echo(1)], ids=["initialize", "a call"])
@pytest.mark.parametrize("version", [None, "2025-06-18"])
def test_client_of_another_era_is_told_which_versions_are_served(web, message, version):
    server = web(transport={**HTTP, "modern": {"legacy": "reject"}})
    answer = server.post(message, **({} if version is None else {"MCP_Protocol_Version": version}))
    assert (answer.status, answer.code, answer.json["error"]["data"]["supported"]) == (400, -32022, [MODERN])
    named = message["params"].get("protocolVersion") or version
    assert answer.json["error"]["data"].get("requested") == named
    assert answer.json["id"] == message["id"]


def test_request_of_the_modern_era_without_its_introduction_has_invalid_params(web):
    server = web(transport={**HTTP, "modern": {"legacy": "reject"}})
    assert server.post(echo(1), MCP_Protocol_Version=MODERN, Mcp_Method="tools/call").code == -32602


# Many, and the end.


def test_two_hundred_sessions_at_once_are_kept_apart(web):
    server = web()
    with ThreadPoolExecutor(16) as pool:
        sessions = list(pool.map(lambda _: server.session(elicitation={}), range(200)))
        assert len({session.id for session in sessions}) == 200
        streams = list(pool.map(lambda session: session.begin(call(1, "collect_elicitation", FORM)), sessions))
        questions = list(pool.map(lambda stream: stream.hear(), streams))
        for number, (session, question) in enumerate(zip(sessions, questions, strict=True)):
            answered(session, question, {"action": "accept", "content": {"name": f"<{number}>"}})
        for number, stream in enumerate(streams):
            assert f"<{number}>" in text_of(stream.hear())


@pytest.mark.parametrize("stateless", [False, pytest.param(True)], ids=["sessions", "stateless"])
def test_signal_ends_the_server_whatever_is_open(web, stateless):
    server = web(transport={**HTTP, "stateless": stateless})
    if stateless:
        server.begin("POST", slow(1, 30_000, "token")).hear()
    else:
        session = server.session(elicitation={})
        session.get().next()
        session.begin(slow(1, 30_000, "token")).hear()
        session.begin(call(2, "collect_elicitation", FORM)).hear()
    assert server.signal(signal.SIGTERM, SOON) == 0
    assert server.errors == ""
