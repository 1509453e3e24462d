"""`conductor record URL`: an address of this machine that stands for a server at a URL."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from http.client import HTTPConnection, IncompleteRead
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from tests import prefork
from tests.e2e.authorizing import browse
from tests.servers.http_raw import event
from tests.servers.oauth_server import oauth_server

from mcp_conductor import read_recording

CONDUCTOR = (sys.executable, "-m", "mcp_conductor")
MCP_CLI = (sys.executable, "-c", "from mcp_conductor.cli import mcp_cli; raise SystemExit(mcp_cli())")
SOON = 20.0
PING = {"jsonrpc": "2.0", "id": 5, "method": "ping"}


class Proxy:
    """A program that records, and the plainest client of it."""

    def __init__(self, url, directory, environment, *flags):
        words = [*CONDUCTOR, "record", url, "-o", "said.jsonl", *flags]
        self.process = subprocess.Popen(words, cwd=directory, env=environment, stderr=subprocess.PIPE)
        self.said = []
        while not (self.said and self.said[-1].startswith("Recording at")):
            self.said.append(self.process.stderr.readline().decode())
            assert self.said[-1], self.said
        self.url = re.search(r"Recording at (\S+),", self.said[-1])[1]
        self.file = directory / "said.jsonl"

    @property
    def address(self):
        return urlsplit(self.url).hostname, urlsplit(self.url).port

    def ask(self, verb="POST", message=PING, path=None, **headers):
        """An answer: its status, its headers, its body."""
        connection = HTTPConnection(*self.address, timeout=SOON)
        body = None if verb in ("GET", "DELETE") else message if isinstance(message, bytes) else json.dumps(message)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(verb, path or urlsplit(self.url).path, body, named)
        answer = connection.getresponse()
        found = answer.status, answer.headers, answer.read()
        connection.close()
        return found

    def end(self):
        """Stop it: the recording."""
        self.process.send_signal(signal.SIGTERM)
        rest = self.process.communicate(timeout=SOON)[1].decode()
        assert (self.process.returncode, rest) == (0, "")
        return read_recording(str(self.file))


@pytest.fixture
def proxied(tmp_path, environment):
    """Start a proxy before a URL."""
    started = []

    def start(url, *flags):
        started.append(Proxy(url, tmp_path, environment, *flags))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()


def texts(recording, *sources):
    return [entry.frame.text for entry in recording.entries if entry.frame.source in sources]


def test_a_request_and_its_answer_pass_as_they_are(http, proxied):
    def answer(call):
        call.reply(
            418, b'{"x": "\xff"}', "application/json; charset=x", X_Odd="caf\xe9", Mcp_Session_Id="s1", Server="raw"
        )

    server = http({"POST": answer})
    proxy = proxied(server.url)
    status, headers, body = proxy.ask(
        message=PING, MCP_Protocol_Version="2025-11-25", X_Name="caf\xe9", Content_Type="application/json"
    )
    (call,) = server.calls
    assert (call.verb, call.path, call.message) == ("POST", "/mcp", PING)
    assert (call.headers["mcp-protocol-version"], call.headers["x-name"]) == ("2025-11-25", "caf\xe9")
    assert call.headers["host"] == f"127.0.0.1:{server.port}"
    assert (status, body) == (418, b'{"x": "\xff"}')
    assert (headers["content-type"], headers["x-odd"], headers["mcp-session-id"]) == (
        "application/json; charset=x",
        "caf\xe9",
        "s1",
    )
    assert (headers["server"], headers["content-length"]) == ("raw", str(len(body)))
    recording = proxy.end()
    assert texts(recording, "client", "server") == [json.dumps(PING), '{"x": "\udcff"}']
    assert {entry.exchange for entry in recording.entries} == {1}
    assert recording.header.server == {"url": server.url}


def test_white_space_around_the_value_of_a_header_is_not_part_of_it(http, proxied):
    server = http()
    proxy = proxied(server.url)
    assert proxy.ask(Mcp_Name="  a b\t ")[0] == 200
    assert server.calls[0].headers["mcp-name"] == "a b"


@pytest.mark.parametrize(
    ("verb", "status", "body", "kind"),
    [
        ("POST", 202, b"", None),
        ("POST", 202, b"Accepted", "text/plain"),
        ("GET", 405, b"", None),
        ("DELETE", 204, b"", None),
        ("POST", 500, b"<html>oops</html>", "text/html"),
        ("POST", 200, b"no type", None),
    ],
)
def test_every_status_and_body_passes(http, proxied, verb, status, body, kind):
    server = http({"GET": (answer := lambda call: call.reply(status, body, kind)), "POST": answer, "DELETE": answer})
    proxy = proxied(server.url)
    found, headers, said = proxy.ask(verb)
    assert (found, said, headers["content-type"]) == (status, body, kind)
    assert texts(proxy.end(), "server") == []


def test_other_paths_and_queries_go_to_the_same_server(http, proxied):
    server = http({"GET": lambda call: call.reply(200, b"{}", "application/json")})
    proxy = proxied(f"{server.url}?tenant=abcd3fgh1jk")
    proxy.ask("GET", path="/.well-known/oauth-protected-resource/mcp?x=1")
    proxy.ask("GET")
    assert [call.path for call in server.calls] == [
        "/.well-known/oauth-protected-resource/mcp?x=1",
        "/mcp?tenant=abcd3fgh1jk",
    ]
    proxy.end()
    assert "abcd3fgh1jk" not in proxy.file.read_text()


def test_a_stream_is_passed_on_event_by_event(http, proxied):
    heard = threading.Event()

    def stream(call):
        call.stream(": comment\n\n", event({"method": "notifications/a"}, id="1"))
        assert heard.wait(SOON)
        call.event({})
        call.close()

    proxy = proxied(http({"ping": stream}).url)
    connection = http_connection(proxy)
    connection.request("POST", "/mcp", json.dumps(PING))
    answer = connection.getresponse()
    assert answer.headers.get_all("content-type") == ["text/event-stream"]
    first = b"".join(iter(answer.readline, b"\n")) + answer.readline() + answer.readline()
    assert b"id: 1" in first
    heard.set()
    assert b'"result"' in answer.read()
    connection.close()
    assert [json.loads(text).get("method") for text in texts(proxy.end(), "server")] == ["notifications/a", None]


def http_connection(proxy):
    return HTTPConnection(*proxy.address, timeout=SOON)


def test_a_client_that_closes_a_stream_closes_it_for_the_server(http, proxied):
    closed = threading.Event()

    def stream(call):
        call.stream(event({"method": "notifications/a"}))
        call.hold()
        closed.set()

    proxy = proxied(http({"ping": stream}).url)
    connection = http_connection(proxy)
    connection.request("POST", "/mcp", json.dumps(PING))
    connection.getresponse().readline()
    connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()
    assert closed.wait(SOON)
    proxy.end()


def test_a_stream_that_breaks_off_breaks_off_for_the_client(http, proxied):
    def stream(call):
        call.head(200, "text/event-stream", Transfer_Encoding="chunked")
        call.send(b"9\r\ndata: 1\n\n\r\n50\r\ndata")
        call.reset()

    proxy = proxied(http({"ping": stream}).url)
    connection = http_connection(proxy)
    connection.request("POST", "/mcp", json.dumps(PING))
    answer = connection.getresponse()
    with pytest.raises(IncompleteRead):
        answer.read()
    connection.close()
    assert any("the server did not answer" in text for text in texts(proxy.end(), "note"))


def test_a_server_that_is_not_there_is_a_502_that_says_why(proxied):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    proxy = proxied(f"http://127.0.0.1:{port}/mcp")
    status, _, body = proxy.ask()
    assert status == 502
    assert json.loads(body)["error"]["message"].startswith("the server did not answer: ")
    assert texts(proxy.end(), "note")


def test_the_address_for_messages_of_http_sse_is_one_of_the_proxy(http, proxied):
    server = None
    streams = {}

    def listen(call):
        number = len(streams) + 1
        streams[number] = call
        call.stream(": hello\n\n", f"event: endpoint\ndata: {server.origin}/messages?session={number}\n\n")
        call.hold()

    def post(call):
        call.reply(202, b"Accepted", "text/plain")
        streams[int(call.path[-1])].event({"n": call.message["id"]}) if call.id else None

    server = http({"GET": listen, "POST": post})
    proxy = proxied(f"{server.origin}/sse")
    readers = []
    for number in (1, 2):
        connection = http_connection(proxy)
        connection.request("GET", "/sse")
        answer = connection.getresponse()
        lines = [answer.readline().decode().strip() for _ in range(5)]
        assert lines[3] == f"data: http://127.0.0.1:{proxy.address[1]}/messages?session={number}"
        readers.append((connection, answer))
    for number in (1, 2):
        assert proxy.ask(path=f"/messages?session={number}", message={**PING, "id": number * 10})[0] == 202
    for number, (connection, answer) in enumerate(readers, 1):
        assert json.loads(answer.readline()[6:])["result"] == {"n": number * 10}
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()
    recording = proxy.end()
    assert recording.sessions() == [1, 2]
    for number in (1, 2):
        (asked,) = [e.frame.text for e in recording.entries if (e.session, e.frame.source) == (number, "client")]
        assert json.loads(asked)["id"] == number * 10
        assert len([e for e in recording.entries if (e.session, e.frame.source) == (number, "server")]) == 1


def test_our_token_goes_to_the_server_alone_and_not_into_the_recording(http, proxied):
    server = http()
    proxy = proxied(server.url, "--token", "very-secret-token", "--header", "X-Api-Key: other-secret-key")
    proxy.ask(Authorization="Bearer of-the-client")
    proxy.ask("GET", path="/elsewhere", Authorization="Bearer of-the-client")
    sent = [(call.headers.get("authorization"), call.headers.get("x-api-key")) for call in server.calls]
    assert sent == [("Bearer very-secret-token", "other-secret-key"), ("Bearer of-the-client", None)]
    proxy.end()
    said = proxy.file.read_text()
    assert "secret" not in said
    assert "of-the-client" not in said


def test_with_oauth_the_proxy_logs_in_and_the_client_needs_no_token(proxied):
    with oauth_server() as server:
        proxy = proxied(server.url, "--oauth")
        words = (*MCP_CLI, proxy.url, "--method", "tools/list")
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
            for line in proxy.process.stderr:
                if found := re.search(r"http://127\.0\.0\.\d:\d+/(?:\w+/)?authorize\?\S+", line.decode()):
                    break
            urlopen(asyncio.run(browse(found[0])), timeout=5).close()
            out, err = client.communicate(timeout=SOON)
        assert client.returncode == 0, err
        assert json.loads(out)["tools"][0]["name"] == "secret"
        assert server.tokens
        proxy.process.send_signal(signal.SIGTERM)
        assert proxy.process.wait(SOON) == 0
        said = proxy.file.read_text()
        assert [token for token in server.tokens if token in said] == []
        assert "OAuth POST" in said


def test_an_address_that_stands_for_itself_is_refused(tmp_path, environment):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*CONDUCTOR, "record", f"http://localhost:{port}/mcp", "-o", "said.jsonl", "--port", str(port)]
    done = prefork.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SOON)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: http://localhost:{port}/mcp is the address to listen on: requests would come back\n"
        "  hint: choose another port with --port; without it, any that is free is taken\n"
    )
    assert not (tmp_path / "said.jsonl").exists()


@pytest.mark.parametrize(
    ("headers", "status"), [({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)]
)
def test_pages_of_other_sites_are_refused(http, proxied, headers, status):
    server = http()
    proxy = proxied(server.url)
    assert proxy.ask(**headers)[0] == status
    assert server.calls == []


CALLS = {
    "list": ("--method", "tools/list"),
    "call": ("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi"),
    "progress": ("--method", "tools/call", "--tool-name", "send_progress", "--progress-token", "p"),
    "unknown": ("--method", "tools/call", "--tool-name", "nope"),
}


@pytest.mark.parametrize(
    ("kind", "era"), [("streamable-http", "handshake"), ("streamable-http", "modern"), ("sse", "handshake")]
)
def test_a_client_gets_the_same_with_and_without_the_proxy(tmp_path, environment, proxied, kind, era):
    transport = {"type": kind, "port": 0, **({"modern": True} if kind != "sse" else {})}
    config = {"serverInfo": {"name": "s", "version": "1"}, "tools": [{"preset": "echo"}, {"preset": "send_progress"}]}
    (tmp_path / "s.json").write_text(json.dumps({**config, "transport": transport}))
    server = prefork.start([*CONDUCTOR, "serve", "s.json"], cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    try:
        url = server.stderr.readline().decode().split()[-1]
        proxy = proxied(url)
        for words in CALLS.values():
            runs = [
                prefork.run(
                    [*MCP_CLI, each, "--protocol", era, *words], capture_output=True, timeout=SOON, env=environment
                )
                for each in (url, proxy.url)
            ]
            said = [(run.returncode, run.stdout, re.sub(rb":\d+/", b":/", run.stderr)) for run in runs]
            assert said[0] == said[1]
        recording = proxy.end()
    finally:
        server.kill()
        server.communicate()
    assert len(recording.sessions()) == (1 if era == "modern" else len(CALLS))
    words = [*CONDUCTOR, "check", "--transcript", "said.jsonl"]
    done = prefork.run(words, cwd=tmp_path, env=environment, capture_output=True, timeout=SOON)
    assert done.returncode == 0, done.stdout.decode()


def test_messages_at_another_path_than_that_of_the_url_are_kept(http, proxied):
    server = http({"POST": lambda call: call.result({})})
    proxy = proxied(server.url.removesuffix("/mcp"))
    proxy.ask(path="/mcp")
    assert [json.loads(text)["id"] for text in texts(proxy.end(), "client", "server")] == [5, 5]
