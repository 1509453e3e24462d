"""`conductor proxy --faults URL`: each fault, as clients and the server at a URL see it."""

import json
import re
import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, IncompleteRead, RemoteDisconnected

import pytest
from tests.e2e.proxy.web import CALL, fault
from tests.e2e.proxy.wire import SOON
from tests.servers.http_raw import event

RESULT = {"jsonrpc": "2.0", "id": 5, "result": {"a": 1, "b": "x"}}


def as_json(call):
    call.reply(200, call.text({"a": 1, "b": "x"}), "application/json; charset=utf-8", X_Odd="1")


def as_stream(call):
    call.stream("id: 1\nretry: 5\ndata: \n\n", event({"method": "notifications/progress"}, id="2"))
    call.send(f"id: 3\r\nevent: message\r\ndata: {call.text({'a': 1, 'b': 'x'})}\r\n\r\n".encode())
    call.close()


def messages(body, kind):
    """What is said in BODY."""
    if kind == "json":
        return [body.decode()]
    return [data for data in re.findall(r"^data: ?(.*?)\r?$", body.decode(), re.MULTILINE) if data]


NOTICE = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress"})


@pytest.mark.parametrize("kind", ["json", "stream"])
@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("wrong_id", {"id": 6}, ['{"jsonrpc":"2.0","id":6,"result":{"a":1,"b":"x"}}']),
        ("malformed_json", {}, [json.dumps(RESULT)[:-1]]),
        ("drop_field", {"path": "result.b"}, ['{"jsonrpc":"2.0","id":5,"result":{"a":1}}']),
        ("answer_twice", {}, [json.dumps(RESULT)] * 2),
    ],
)
def test_a_reply_is_spoiled_and_the_next_is_not(http, proxied, kind, name, params, said):
    server = http({"tools/call": as_json if kind == "json" else as_stream})
    proxy = proxied(server.url, fault(name, {"nth": 1}, **params))
    status, headers, body = proxy.ask()
    said = ["".join(said)] if kind == "json" else [NOTICE, *said]
    assert (status, messages(body, kind)) == (200, said)
    assert headers["content-type"] == ("application/json; charset=utf-8" if kind == "json" else "text/event-stream")
    _, _, again = proxy.ask()
    direct = http_answer(server)
    assert again == direct
    err = proxy.end()
    assert err[0].endswith(f" s: fault {name} strikes tools/call 'a' (id 5)")
    assert err[1:] == [f"fault {name} (tools/call): struck 1 of 2 such requests"]
    assert proxy.recorded("server")[: len(said)] == said
    assert proxy.recorded("note") == [f"fault {name} strikes tools/call 'a' (id 5)"]


def http_answer(server):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=SOON)
    connection.request("POST", "/mcp", json.dumps(CALL))
    body = connection.getresponse().read()
    connection.close()
    return body


def test_a_status_is_answered_and_the_server_is_not_asked(http, proxied):
    server = http({"tools/call": as_json})
    proxy = proxied(server.url, fault("http_status", {"nth": 1}, status=503, retryAfter=7))
    status, headers, body = proxy.ask()
    assert (status, headers["retry-after"], body) == (503, "7", b"")
    assert server.calls == []
    assert proxy.ask()[0] == 200
    proxy.end()
    assert proxy.recorded("http")[1] == "HTTP 503\nRetry-After: 7"


@pytest.mark.parametrize("kind", ["json", "stream"])
def test_the_content_type_is_another(http, proxied, kind):
    proxy = proxied(http({"tools/call": as_json if kind == "json" else as_stream}).url, fault("wrong_content_type"))
    status, headers, body = proxy.ask()
    assert (status, headers.get_all("content-type")) == (200, ["text/html"])
    assert messages(body, kind)[-1] == json.dumps(RESULT)
    proxy.end()
    assert "content-type: text/html" in proxy.recorded("http")[1].lower()


def test_a_late_reply_does_not_hold_up_others(http, proxied):
    proxy = proxied(http({"tools/call": as_json}).url, fault("delay", {"nth": 1}, time="600ms"))
    took = []

    def ask():
        began = time.monotonic()
        assert proxy.ask()[0] == 200
        took.append(time.monotonic() - began)

    late = threading.Thread(target=ask)
    late.start()
    assert b"fault delay strikes" in proxy.process.stderr.readline()
    ask()
    late.join()
    assert took[1] >= 0.6 > took[0]


@pytest.mark.parametrize("kind", ["json", "stream"])
def test_a_reply_that_never_comes_leaves_the_client_waiting(http, proxied, kind):
    proxy = proxied(http({"tools/call": as_json if kind == "json" else as_stream}).url, fault("never_answer"))
    connection = socket.create_connection((proxy.url.hostname, proxy.url.port), SOON)
    body = json.dumps(CALL).encode()
    connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    connection.settimeout(0.5)
    heard = b""
    with suppress(TimeoutError):
        while data := connection.recv(65536):
            heard += data
        pytest.fail("the connection was closed")
    assert (b"notifications/progress" in heard) == (kind == "stream")
    assert b'"result"' not in heard
    connection.close()
    proxy.end()


@pytest.mark.parametrize("kind", ["json", "stream"])
def test_the_connection_is_closed_in_place_of_the_reply(http, proxied, kind):
    proxy = proxied(
        http({"tools/call": as_json if kind == "json" else as_stream}).url, fault("close_stdout", {"nth": 1})
    )
    with pytest.raises((RemoteDisconnected, IncompleteRead)) as broken:
        proxy.ask()
    if kind == "stream":
        assert b"notifications/progress" in broken.value.partial
    assert proxy.ask()[0] == 200
    proxy.end()


@pytest.mark.parametrize("kind", ["json", "stream"])
@pytest.mark.parametrize(("name", "part"), [("crash", b""), ("half_a_line_then_exit", b'{"jsonrpc": "2.0", "id": 5')])
def test_a_fault_that_ends_the_process_ends_the_proxy_with_its_code(http, proxied, kind, name, part):
    server = http({"tools/call": as_json if kind == "json" else as_stream})
    proxy = proxied(server.url, fault(name, code=9))
    with pytest.raises((RemoteDisconnected, IncompleteRead, ConnectionResetError)) as broken:
        proxy.ask()
    if part:
        assert broken.value.partial.rpartition(b"data: ")[2].startswith(part)
        assert b"}}" not in broken.value.partial
    assert proxy.process.wait(SOON) == 9
    err = proxy.process.stderr.read().decode().splitlines()
    assert err[-1] == f"fault {name} (tools/call): struck 1 of 1 such request"


@pytest.mark.parametrize(("after", "heard"), [(0, []), (1, [NOTICE])])
def test_a_stream_breaks_off_and_can_be_resumed_or_not(http, proxied, after, heard):
    def resume(call):
        call.stream(event(json.loads(call.server.asked("tools/call")[0].text({"rest": True})), id="4"))
        call.close()

    server = http({"tools/call": as_stream, "GET": resume})
    faults = fault("cut_stream", {"nth": 1}, after=after), fault("cut_stream", {"nth": 2}, after=after, resumable=False)
    proxy = proxied(server.url, *faults)
    for last, status in ((str(after + 1), 200), (str(after + 1), 400)):
        with pytest.raises(IncompleteRead) as broken:
            proxy.ask(Mcp_Session_Id="s")
        assert messages(broken.value.partial, "stream") == heard
        assert b"retry: 5" in broken.value.partial
        found, _, body = proxy.ask("GET", Mcp_Session_Id="s", Last_Event_ID=last)
        assert found == status
        if status == 200:
            assert json.loads(messages(body, "stream")[0])["result"] == {"rest": True}
    assert len(proxy.end()) == 4


def test_a_fault_of_streams_does_not_strike_an_answer_without_one(http, proxied):
    proxy = proxied(http({"tools/call": as_json}).url, fault("cut_stream", {"nth": 1}))
    assert proxy.ask()[2] == json.dumps(RESULT).encode()
    assert proxy.end() == ["fault cut_stream (tools/call): never struck: it needs an event stream, which is not there"]
    assert proxy.recorded("note") == []


def test_a_session_expires_with_its_streams_and_a_new_one_does_not(http, proxied):
    def listen(call):
        call.stream(event({"method": "notifications/a"}))
        call.hold()

    server = http({"tools/call": as_json, "GET": listen})
    proxy = proxied(server.url, fault("expire_session", {"nth": 1}))
    stream, connection = proxy.open("GET", Mcp_Session_Id="old")
    assert b"notifications/a" in stream.readline()
    assert proxy.ask(Mcp_Session_Id="old")[0] == 404
    assert stream.read() == b"\n"  # the stream has ended in good order
    connection.close()
    assert proxy.ask(Mcp_Session_Id="old", message={"jsonrpc": "2.0", "id": 6, "method": "ping"})[0] == 404
    assert proxy.ask(Mcp_Session_Id="new")[0] == 200
    assert proxy.ask()[0] == 200
    assert [call.headers.get("mcp-session-id") for call in server.asked("tools/call")] == ["new", None]
    assert proxy.end()[1:] == ["fault expire_session (tools/call): struck 1 of 2 such requests"]
