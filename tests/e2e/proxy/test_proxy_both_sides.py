"""`conductor proxy --faults URL`: replies of the client, and the stream that all replies share (HTTP+SSE)."""

import json
import threading
from http.client import IncompleteRead, RemoteDisconnected

import pytest
from tests.e2e.proxy.web import fault
from tests.e2e.proxy.wire import SOON
from tests.servers.http_raw import event

ROOTS = {"jsonrpc": "2.0", "id": "q1", "result": {"roots": []}}


# Replies of the client.


class Asking:
    """A server that asks for roots, and notes what is posted to it."""

    def __init__(self, http):
        self.posted = []
        self.news = threading.Event()
        self.server = http({"GET": self._ask, "POST": self._take})

    def _ask(self, call):
        call.stream(event({"id": "q1", "method": "roots/list"}))
        call.hold()

    def _take(self, call):
        self.posted.append((call.body.decode(), call.headers.get("content-type")))
        self.news.set()
        call.reply(202)


@pytest.mark.parametrize(
    ("name", "params", "posted"),
    [
        ("wrong_id", {"id": 7}, ['{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}']),
        ("drop_field", {"path": "result.roots"}, ['{"jsonrpc":"2.0","id":"q1","result":{}}']),
        ("answer_twice", {}, [json.dumps(ROOTS)] * 2),
        ("wrong_content_type", {"type": "text/x"}, [json.dumps(ROOTS)]),
        ("never_answer", {}, []),
        ("delay", {"time": "300ms"}, [json.dumps(ROOTS)]),
    ],
)
def test_a_reply_of_the_client_is_spoiled(http, proxied, name, params, posted):
    asking = Asking(http)
    proxy = proxied(asking.server.url, {"fault": name, "params": params, "when": {"method": "roots/list"}})
    stream, connection = proxy.open("GET", Mcp_Session_Id="s")
    assert b"roots/list" in stream.readline()
    assert proxy.ask(message=ROOTS, Mcp_Session_Id="s")[0] == 202
    if name == "delay":
        assert asking.posted == []
    if posted:
        assert asking.news.wait(SOON)
    connection.close()
    proxy.end()
    assert [body for body, _ in asking.posted] == posted
    assert {kind for _, kind in asking.posted} <= {"text/x" if name == "wrong_content_type" else "application/json"}
    assert proxy.recorded("client") == posted
    assert proxy.recorded("note") == [f'fault {name} strikes roots/list (id "q1"), which the client answers']


def test_a_client_that_closes_by_a_fault_loses_its_streams(http, proxied):
    asking = Asking(http)
    proxy = proxied(asking.server.url, {"fault": "close_stdout", "when": {"method": "roots/list"}})
    stream, connection = proxy.open("GET", Mcp_Session_Id="s")
    stream.readline()
    with pytest.raises(RemoteDisconnected):
        proxy.ask(message=ROOTS, Mcp_Session_Id="s")
    with pytest.raises(IncompleteRead):
        stream.read()
    connection.close()
    proxy.end()
    assert asking.posted == []


# HTTP+SSE.


class OldServer:
    """A server of HTTP+SSE that answers calls on its stream."""

    def __init__(self, http):
        self.server = http({"GET": self._listen, "POST": self._post})
        self.url = f"{self.server.origin}/sse"

    def _listen(self, call):
        self._stream = call
        call.stream("event: endpoint\ndata: /messages?s=1\n\n")
        call.hold()

    def _post(self, call):
        call.reply(202)
        self._stream.send(event(json.loads(call.text({"a": 1}))).encode())


def after(number):
    return {"jsonrpc": "2.0", "id": number, "method": "ping"}


@pytest.mark.parametrize(
    ("name", "params", "ids"),
    [
        ("wrong_id", {}, ["not-5", 6]),
        ("answer_twice", {}, [5, 5, 6]),
        ("never_answer", {}, [6]),
        ("delay", {"time": "300ms"}, [6, 5]),
        ("http_status", {"status": 429}, [6]),
    ],
)
def test_a_reply_on_the_stream_of_http_sse_is_spoiled(http, proxied, name, params, ids):
    proxy = proxied(OldServer(http).url, fault(name, **params))
    stream, connection = proxy.open("GET")
    assert [stream.readline() for _ in range(3)][1] == b"data: /messages?s=1\n"
    status = 429 if name == "http_status" else 202
    assert proxy.ask(path="/messages?s=1")[0] == status
    assert proxy.ask(path="/messages?s=1", message=after(6))[0] == 202
    heard = []
    while len(heard) < len(ids):
        line = stream.readline()
        if line.startswith(b"data: "):
            heard.append(json.loads(line[6:])["id"])
    assert heard == ids
    connection.close()
    proxy.end()


@pytest.mark.parametrize(
    ("name", "params", "kept", "graceful"),
    [
        ("cut_stream", {}, 0, False),
        ("cut_stream", {"after": 1}, 1, False),
        ("close_stdout", {}, 0, False),
        ("expire_session", {}, 0, True),
    ],
)
def test_the_stream_of_http_sse_ends_by_a_fault(http, proxied, name, params, kept, graceful):
    proxy = proxied(OldServer(http).url, fault(name, **params))
    stream, connection = proxy.open("GET")
    for _ in range(3):
        stream.readline()
    assert proxy.ask(path="/messages?s=1")[0] == (404 if graceful else 202)
    if graceful:
        assert stream.read() == b""
        assert proxy.ask(path="/messages?s=1")[0] == 404
    else:
        with pytest.raises(IncompleteRead) as broken:
            stream.read()
        assert broken.value.partial.count(b'"result"') == kept
    connection.close()
    proxy.end()


def test_faults_of_other_transports_are_told_at_the_start(http, proxied):
    proxy = proxied(http().url, fault("stdout_noise"), fault("wrong_id"))
    assert "can never strike: stdout_noise needs a stdout, which is not there" in "".join(proxy.said)
    proxy.end()
