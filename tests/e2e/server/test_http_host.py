"""A composable server on HTTP: who may come in, and the modern era, where every POST stands for itself."""

import json
import signal
import socket

import pytest
from tests.e2e.server.http_wire import BOTH, EVENTS
from tests.e2e.server.wire import (
    META,
    MODERN,
    NEWEST,
    call,
    echo,
    initialize,
    listen,
    modern,
    notification,
    request,
    slow,
)

DISCOVER = modern(request(1, "server/discover"))
JSON = "application/json"
SOON = 2.5  # seconds within which a server ends that was told to


# Who may come in, and with what.


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:1", "localhost", "LOCALHOST:80", "[::1]:3000", "[::1]"])
def test_host_of_this_machine_is_served(shared, host):
    assert shared.modern(DISCOVER, Host=host).status == 200


@pytest.mark.parametrize(
    "host", ["example.com", "127.0.0.1.example.com", "localhost.example.com:80", "", "127.0.0.2", "evil"]
)
def test_host_of_another_machine_is_misdirected(shared, host):
    assert shared.modern(DISCOVER, Host=host).status == 421


@pytest.mark.parametrize("origin", [None, "http://127.0.0.1", "http://localhost:9999", "https://[::1]:1"])
def test_page_of_this_machine_may_come_in(shared, origin):
    assert shared.modern(DISCOVER, Origin=origin).status == 200


@pytest.mark.parametrize(
    "origin",
    ["http://example.com", "null", "", "http://localhost.example.com", "http://[", "http://127.0.0.1@example.com"],
)
@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE", "OPTIONS"])
def test_page_of_another_machine_may_not_come_in(shared, origin, verb):
    answer = shared.send(verb, None, {"Origin": origin})
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (403, None)


def test_hosts_and_origins_of_the_config_may_come_in(web):
    names = {"allowedHosts": ["mcp.example.com"], "allowedOrigins": ["https://app.example.com"]}
    server = web(transport={"type": "streamable-http", "port": 0, **names})
    assert server.modern(DISCOVER, Host="mcp.example.com", Origin="https://app.example.com").status == 200
    assert server.modern(DISCOVER, Host="mcp.example.com", Origin="http://app.example.com").status == 403
    assert server.modern(DISCOVER, Host="other.example.com").status == 421


@pytest.mark.parametrize("path", ["/", "/mcp/", "/mcp/x", "/MCP", "/sse", "/%2e%2e", "//mcp"])
def test_nothing_is_at_another_path(shared, path):
    assert shared.send("POST", DISCOVER, {}, path).status == 404


@pytest.mark.parametrize("verb", ["PUT", "PATCH", "OPTIONS", "HEAD", "TRACE"])
def test_verb_without_a_meaning_is_not_allowed(shared, verb):
    answer = shared.send(verb)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST, DELETE")


@pytest.mark.parametrize("accept", [None, "", "text/html", JSON, EVENTS, f"{JSON}, text/plain"])
def test_client_that_does_not_take_both_types_is_not_acceptable(shared, accept):
    assert shared.modern(DISCOVER, Accept=accept).status == 406
    assert shared.post(initialize(), Accept=accept).status == 406


@pytest.mark.parametrize(
    "accept", ["*/*", "application/*, text/*", f"{EVENTS};q=0.5,{JSON};q=1", BOTH.upper(), [JSON, EVENTS]]
)
def test_client_may_say_in_several_ways_that_it_takes_both_types(shared, accept):
    assert shared.modern(DISCOVER, Accept=accept).status == 200


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
def test_body_of_another_type_is_unsupported(shared, kind):
    assert shared.modern(DISCOVER, Content_Type=kind).status == 415


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "APPLICATION/JSON"])
def test_type_of_the_body_may_be_written_differently(shared, kind):
    assert shared.modern(DISCOVER, Content_Type=kind).status == 200


@pytest.mark.parametrize("version", [None, NEWEST, MODERN])
@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b"\xff", b'{"a":1}{'], ids=repr)
def test_body_that_is_no_json_is_a_parse_error(shared, body, version):
    answer = shared.post(body, MCP_Protocol_Version=version)
    assert (answer.status, answer.code) == (400, -32700)
    assert "id" not in answer.json


@pytest.mark.parametrize("version", [None, NEWEST, MODERN])
@pytest.mark.parametrize(
    "body", [b"null", b"5", b"[]", b"[5]", b"{}", b'{"jsonrpc":"2.0","id":null,"method":"ping"}'], ids=repr
)
def test_body_that_is_no_message_is_an_invalid_request(shared, body, version):
    answer = shared.post(body, MCP_Protocol_Version=version)
    assert (answer.status, answer.code) == (400, -32600)


def test_body_in_chunks_is_read_to_its_end(shared):
    body = json.dumps(DISCOVER).encode()
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nMcp-Method: server/discover\r\n"
    head += f"MCP-Protocol-Version: {MODERN}\r\nContent-Type: {JSON}\r\nAccept: {BOTH}\r\nConnection: close\r\n\r\n"
    with shared.socket() as connection, connection.makefile("rb") as answer:
        connection.sendall(head.encode())
        for byte in body:
            connection.sendall(b"1\r\n" + bytes([byte]) + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        assert answer.readline() == b"HTTP/1.1 200 OK\r\n"


def test_large_body_is_answered_with_one_as_large(shared):
    words = "x" * (16 << 20)
    assert shared.modern(modern(echo(1, words))).json["result"]["content"][0]["text"] == f"Echo: {words}"


# The modern era: headers and introductions.


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP_Protocol_Version": NEWEST},
        {"MCP_Protocol_Version": "1900-01-01"},
        {"MCP_Protocol_Version": [MODERN, MODERN]},
        {"MCP_Protocol_Version": None},
        {"Mcp_Method": None},
        {"Mcp_Method": "tools/list"},
        {"Mcp_Method": "TOOLS/CALL"},
        {"Mcp_Method": ["tools/call", "tools/list"]},
        {"Mcp_Name": None},
        {"Mcp_Name": "add"},
        {"Mcp_Name": "Echo"},
        {"Mcp_Name": "=?base64?!!!?="},
        {"Mcp_Name": "=?base64?YWRk?="},
    ],
    ids=str,
)
def test_header_that_differs_from_the_body_is_a_mismatch(shared, headers):
    answer = shared.modern(modern(echo("h")), **headers)
    assert (answer.status, answer.code, answer.json["id"]) == (400, -32020, "h")


@pytest.mark.parametrize(
    "headers",
    [
        {"Mcp_Name": "=?base64?ZWNobw==?="},
        {"Mcp_Name": "  echo "},
        {"Mcp_Session_Id": "ignored"},
        {"Last_Event_ID": "1_1"},
    ],
    ids=str,
)
def test_header_may_be_encoded_and_those_of_other_revisions_are_ignored(shared, headers):
    answer = shared.modern(modern(echo(1)), **headers)
    assert answer.json["result"]["content"] == [{"type": "text", "text": "Echo: hello"}]
    assert answer.headers["mcp-session-id"] is None


def test_argument_that_a_tool_wants_in_a_header_must_be_there(web):
    server = web(tools=[{"preset": "get_weather"}])
    message = modern(call(1, "get_weather", {"city": "Zürich"}))
    assert server.modern(message).code == -32020
    assert server.modern(message, Mcp_Param_City="Bern").code == -32020
    assert "result" in server.modern(message, Mcp_Param_City="=?base64?WsO8cmljaA==?=").json


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, -32602),
        ({"_meta": 5}, -32602),
        ({"_meta": {f"{META}protocolVersion": MODERN}}, -32602),
        ({"_meta": {f"{META}clientCapabilities": {}}}, -32602),
        ({"_meta": {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": 1}}, -32602),
    ],
    ids=["empty", "number", "no-capabilities", "no-version", "capabilities"],
)
def test_request_that_does_not_introduce_itself_is_refused(shared, params, code):
    headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/list"}
    answer = shared.post(request("m", "tools/list", params), **headers)
    assert (answer.status, answer.code, answer.json["id"]) == (400, code, "m")


def test_version_that_is_not_spoken_is_refused_with_those_that_are(shared):
    answer = shared.modern(modern(request(1, "tools/list"), "2099-01-01"))
    assert (answer.status, answer.code) == (400, -32022)
    assert answer.json["error"]["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


def test_statuses_tell_unknown_methods_and_missing_capabilities_from_other_errors(shared):
    for method in ("ping", "no/such", "resources/subscribe", "prompts/list"):
        answer = shared.modern(modern(request(1, method)))
        assert (answer.status, answer.code) == (404, -32601)
    form = {"message": "Who?", "schema": {"type": "object"}}
    answer = shared.modern(modern(call(2, "collect_elicitation", form)))
    assert (answer.status, answer.code) == (400, -32021)
    assert answer.json["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}
    asked = shared.modern(modern(call(2, "collect_elicitation", form), elicitation={})).json["result"]
    assert (asked["resultType"], len(asked["inputRequests"])) == ("input_required", 1)


@pytest.mark.parametrize("wrong", [{"jsonrpc": "1.0"}, {"id": 1.5}, {"result": {}}], ids=str)
def test_modern_request_that_breaks_json_rpc_has_the_status_400(shared, wrong):
    answer = shared.modern({**modern(request(1, "tools/list")), **wrong})
    assert (answer.status, answer.code) == (400, -32600)


def test_answers_and_batches_are_refused_and_notifications_are_taken(shared):
    headers = {"MCP_Protocol_Version": MODERN}
    assert shared.post({"jsonrpc": "2.0", "id": 1, "result": {}}, **headers).code == -32600
    assert shared.post([modern(request(1, "tools/list"))], **headers).code == -32600
    taken = shared.post(notification("notifications/cancelled", {"requestId": 1}), **headers)
    assert (taken.status, taken.body) == (202, b"")


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
def test_modern_era_has_no_other_verbs(shared, web, verb):
    assert shared.send(verb, None, {"MCP-Protocol-Version": MODERN}).status == 405
    alone = web(protocolVersions=[MODERN]).send(verb)
    assert (alone.status, alone.headers["allow"]) == (405, "POST")


def test_server_of_the_modern_era_alone_knows_no_handshake(web):
    server = web(protocolVersions=[MODERN])
    assert server.post(initialize()).status == 400
    assert server.post(modern(request(1, "tools/list"))).code == -32020
    assert server.modern(DISCOVER).json["result"]["supportedVersions"] == [MODERN]


def test_server_of_the_handshake_era_alone_refuses_modern_requests(web):
    answer = web(protocolVersions=[NEWEST]).modern(DISCOVER)
    assert answer.status == 400
    assert answer.code not in (-32020, -32021, -32022), "a client would take the server for a modern one"


# The modern era: answers and streams.


def test_answer_is_json_unless_something_comes_before_it(shared):
    assert shared.modern(modern(slow(1, 1))).json["id"] == 1
    answer = shared.modern(modern(slow(1, 1, "token")))
    assert [message.get("method", message.get("id")) for message in answer.messages] == [
        "notifications/progress"
    ] * 2 + [1]
    assert all(event.id is None and event.retry is None for event in answer.events), "nobody can come back here"
    assert answer.headers["x-accel-buffering"] == "no"


def test_log_messages_come_only_to_the_request_that_wants_them(web):
    server = web(tools=[{"preset": "send_notification"}])
    message = call(1, "send_notification", {"message": "careful", "level": "warning"})
    heard = {}
    for least in ("debug", "warning", "error", None):
        message["params"]["_meta"] = {} if least is None else {f"{META}logLevel": least}
        heard[least] = server.modern(modern(message)).headers["content-type"] == EVENTS
    assert heard == {"debug": True, "warning": True, "error": False, None: False}


@pytest.mark.parametrize("level", ["loud", 5, [], "WARNING"], ids=repr)
def test_log_level_that_does_not_exist_is_refused(shared, level):
    message = modern(call(1, "echo", {"message": "x"}, _meta={f"{META}logLevel": level}))
    assert shared.modern(message).code == -32602


def test_json_mode_keeps_what_comes_before_the_answer_to_itself(web):
    server = web(transport={"type": "streamable-http", "port": 0, "json": True})
    assert server.modern(modern(slow(1, 1, "token")), Accept=JSON).json["id"] == 1
    stream = server.begin_modern(listen("sub", toolsListChanged=True))
    assert stream.headers["content-type"] == EVENTS
    assert stream.hear()["method"] == "notifications/subscriptions/acknowledged"


def test_listener_hears_what_it_asked_for_and_nothing_else(web):
    server = web()
    stream = server.begin_modern(listen("sub", toolsListChanged=True, resourceSubscriptions=["test://resource_1"]))
    other = server.begin_modern(listen(7, resourceSubscriptions=["test://resource_2"]))
    assert stream.hear()["params"]["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["test://resource_1"],
    }
    assert other.hear()["params"]["_meta"] == {f"{META}subscriptionId": 7}
    server.modern(modern(call(1, "add_tool", {"name": "new", "description": "x"})))
    server.modern(modern(call(2, "update_resource", {"uri": "test://resource_1", "text": "x"})))
    server.modern(modern(call(3, "update_resource", {"uri": "test://resource_2", "text": "x"})))
    tag = {f"{META}subscriptionId": "sub"}
    assert stream.hear() == notification("notifications/tools/list_changed", {"_meta": tag})
    assert stream.hear() == notification("notifications/resources/updated", {"uri": "test://resource_1", "_meta": tag})
    assert other.hear()["params"]["uri"] == "test://resource_2"
    assert server.signal(signal.SIGTERM, SOON) == 0
    (end,) = stream.rest()
    assert (end.message["id"], end.message["result"]["_meta"][f"{META}subscriptionId"]) == ("sub", "sub")


UPDATING = {
    "name": "update_later",
    "inputSchema": {"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]},
    "steps": [{"progress": {"progress": 1}}, {"sleep": "200ms"}, {"update_resource": {"uri": "{{ arguments.uri }}"}}],
    "result": "updated",
}


@pytest.mark.parametrize("token", [None, "token"], ids=["before-the-answer", "in-the-stream"])
def test_client_that_goes_away_has_cancelled_its_request(web, token):
    server = web(tools=[UPDATING])
    uris = ["test://resource_1", "test://resource_2"]
    listener = server.begin_modern(listen("sub", resourceSubscriptions=uris))
    listener.hear()
    meta = {"_meta": {"progressToken": token}} if token else {}
    message = modern(call(1, "update_later", {"uri": uris[0]}, **meta))
    if token:
        stream = server.begin_modern(message)
        stream.hear()
        stream.close()
    else:
        with server.socket() as connection:
            body = json.dumps(message)
            head = [
                f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call"
            ]
            head += [f"Mcp-Name: update_later\r\nAccept: {BOTH}\r\nContent-Type: {JSON}\r\nContent-Length: {len(body)}"]
            connection.sendall("\r\n".join([*head, "", body]).encode())
            connection.shutdown(socket.SHUT_RDWR)
    server.modern(modern(call(2, "update_later", {"uri": uris[1]})))
    assert listener.hear()["params"]["uri"] == uris[1]


def test_two_hundred_requests_at_once_are_all_answered(web):
    server = web()
    streams = [server.begin_modern(modern(slow(number, 300, "t"))) for number in range(200)]
    for number, stream in enumerate(streams):
        assert [stream.hear().get("id") for _ in range(3)] == [None, None, number]


@pytest.mark.parametrize(
    "opened",
    ["listen", pytest.param("slow"), "idle", pytest.param("half"), "nothing"],
)
def test_signal_ends_the_server_whatever_is_open(web, opened):
    server = web()
    with server.socket() as connection:
        if opened == "listen":
            server.begin_modern(listen(1, toolsListChanged=True)).hear()
        elif opened == "slow":
            server.begin_modern(modern(slow(1, 30_000, "token"))).hear()
        elif opened == "idle":
            connection.sendall(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(1)
        elif opened == "half":
            head = f"Host: localhost\r\nAccept: {BOTH}\r\nContent-Type: {JSON}\r\nContent-Length: 100"
            connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\nExpect: 100-continue\r\n\r\n".encode())
            assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert server.signal(signal.SIGTERM, SOON) == 0
    assert server.errors == ""
