"""For every mistake of an HTTP server: the right exit code, a message that names the step, nothing hung, nothing left."""

import gzip
import json
import socket
import subprocess
import threading
import time
import zlib

import pytest
from tests.e2e.http_manners import assert_failed
from tests.e2e.listing import LIST, assert_listed
from tests.e2e.suites.conftest import CONDUCTOR

JSON = "application/json"
TOOLS = {"tools": []}


def test_a_good_server_is_a_good_server(cli, http):
    assert_listed(cli(http().url, *LIST))


# Reaching it.


def test_a_refused_connection_is_named(cli):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    run = cli(f"http://127.0.0.1:{port}/mcp", *LIST)
    assert_failed(run, f"cannot connect to 127.0.0.1:{port}: Connection refused", "is the server running?")


@pytest.mark.parametrize(
    ("status", "kind", "body", "told"),
    [
        (200, "text/html", "<html>hi</html>", "initialize was answered with text/html (status 200): '<html>hi</html>'"),
        (404, "text/html", "<html>no</html>", "initialize was answered with status 404: '<html>no</html>'"),
        (501, "text/html", "<html>no</html>", "initialize was answered with status 501: '<html>no</html>'"),
        (200, JSON, '{"status": "ok"}', 'with a message that is not its answer: \'{"status": "ok"}\''),
    ],
)
def test_what_is_no_mcp_endpoint_is_said_to_be_none_and_what_it_answers_with(cli, http, status, kind, body, told):
    server = http({"GET": lambda call: call.reply(404), "POST": lambda call: call.reply(status, body, kind)})
    shown = "JSON" if kind == JSON else kind
    hint = f"this is not an MCP endpoint, it answers with {shown}: is the port right, and the path? It is often /mcp"
    assert_failed(cli(server.url, *LIST), told, f"  hint: {hint}\n")


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [(502, "text/html", "<html>bad gateway</html>"), (200, "text/plain", '{"jsonrpc": "2.0", "id": 1, "result": {}}')],
)
def test_an_mcp_server_behind_a_proxy_or_with_a_mistake_is_not_said_to_be_none(cli, http, status, kind, body):
    run = cli(http({"POST": lambda call: call.reply(status, body, kind)}).url, *LIST)
    assert_failed(run, str(status))
    assert "not an MCP endpoint" not in run.err


def test_a_port_that_does_not_speak_http_is_said_to_be_the_wrong_one(cli):
    def greet(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")
            connection.recv(1 << 16)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=greet, args=(listener,))
        thread.start()
        run = cli(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", *LIST)
        thread.join()
    assert_failed(run, "illegal status line 'SSH-2.0-OpenSSH_9.6'", "is the port right? It seems not to be one of HTTP")


def test_a_server_that_dies_instead_of_answering_is_said_to_have_gone_away(cli, environment, tmp_path):
    faults = [{"fault": "crash", "when": {"method": "tools/list"}}]
    transport = {"type": "streamable-http"}
    config = {"serverInfo": {"name": "x", "version": "1"}, "transport": transport, "faults": faults}
    (tmp_path / "server.json").write_text(json.dumps(config))
    command = (*CONDUCTOR, "serve", "server.json", "--port", "0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path, env=environment, text=True) as server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1]
        run = cli(url, *LIST)
    # The stream of the answer and the one that the server pushes on are tried again; the first that gives up tells.
    assert_failed(run, "went away (Connection refused)")


def test_an_unknown_host_is_named(cli):
    assert_failed(cli("http://nowhere.invalid/mcp", *LIST), "cannot resolve the name 'nowhere.invalid': ")


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/mcp", "http://[::1/mcp", "http:///mcp", "http://127.0.0.1:x/"])
def test_a_url_that_is_none_is_named(cli, url):
    assert_failed(cli(url, *LIST, "--timeout", "1s"), url)


@pytest.mark.parametrize("header", ["Bad Name: x", pytest.param("X-Näme: x")])
def test_a_header_that_cannot_be_sent_is_an_error(cli, http, header):
    assert_failed(cli(http().url, *LIST, "--header", header, "--timeout", "2s"))


def test_a_header_value_beyond_ascii_is_sent_or_refused_in_good_order(cli, http):
    run = cli(http().url, *LIST, "--header", "X-City: Zürich", "--timeout", "2s")
    assert run.code in (0, 1)
    assert "internal error" not in run.err


def test_a_self_signed_certificate_is_not_trusted(cli, http, tls):
    server = http(tls=tls)
    assert_failed(cli(server.url, *LIST), "TLS with 127.0.0.1: ", "self", "certificate", "--cacert")
    assert server.calls == []


def test_a_self_signed_certificate_is_trusted_by_cacert(cli, http, tls, certificate):
    assert_listed(cli(http(tls=tls).url, *LIST, "--cacert", certificate))


def test_a_self_signed_certificate_is_trusted_by_insecure(cli, http, tls):
    assert_listed(cli(http(tls=tls).url, *LIST, "--insecure"))


def test_a_certificate_for_another_name_is_not_trusted(cli, http, tls, certificate):
    url = http(tls=tls).url.replace("127.0.0.1", "localhost")
    assert_failed(cli(url, *LIST, "--cacert", certificate), "TLS with localhost: ", "ostname mismatch")


@pytest.mark.parametrize("file", ["missing.pem", "empty.pem"])
def test_certificates_that_cannot_be_read_are_named(cli, http, tls, tmp_path, file):
    (tmp_path / "empty.pem").write_text("")
    assert_failed(cli(http(tls=tls).url, *LIST, "--cacert", file), "cannot use the certificates in", file)


def test_a_server_that_speaks_no_tls_is_named(cli):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def talk():
            connection, _ = listening.accept()
            with connection:
                connection.recv(1)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        run = cli(f"https://127.0.0.1:{port}/mcp", *LIST)
        thread.join(10)
    assert_failed(run, "TLS with 127.0.0.1")


def test_a_server_that_speaks_tls_unasked_is_named(cli, http, tls):
    assert_failed(cli(http(tls=tls).url.replace("https", "http"), *LIST), "before an answer came")


# What comes before the body.


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Ty"])
@pytest.mark.parametrize("end", ["reset", "close"])
def test_a_connection_that_ends_within_the_headers_is_reported(cli, http, sent, end):
    server = http({"tools/list": lambda call: (call.send(sent), getattr(call, end)())})
    run = cli(server.url, *LIST)
    assert_failed(run, server.url)
    assert "before an answer came" in run.err or "the headers of the answer cannot be read" in run.err


@pytest.mark.parametrize(
    "sent",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"220 mail.example ESMTP\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"HTTP/1.1 2OO OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: magic\r\n\r\n",
    ],
)
def test_headers_that_are_none_are_reported(cli, http, sent):
    server = http({"POST": lambda call: (call.send(sent), call.close())})
    assert_failed(cli(server.url, *LIST), f"{server.url}: the headers of the answer cannot be read: ")


def test_headers_without_end_are_given_up(cli, http):
    def endless(call):
        call.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            call.send(b"X-More: " + b"x" * 1000 + b"\r\n")

    assert_failed(cli(http({"tools/list": endless}).url, *LIST), "the headers of the answer cannot be read: ")


def test_headers_that_never_end_run_into_the_timeout(cli, http):
    server = http({"tools/list": lambda call: (call.send(b"HTTP/1.1 200 OK\r\nX-More: a"), call.hold())})
    run = cli(server.url, *LIST, "--timeout", "1500ms")  # on a busy machine, the handshake is part of it
    assert_failed(run, "no result within 1.5 s: tools/list was not answered", code=124)


def test_a_server_that_never_answers_runs_into_the_request_timeout(cli, http):
    run = cli(http({"initialize": lambda call: call.hold()}).url, *LIST, "--request-timeout", "500ms")
    assert_failed(run, "no answer to initialize within 0.5 s", code=124)


def test_words_before_the_answer_are_skipped(cli, http):
    def hint(call):
        call.send(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
        call.politely()

    assert_listed(cli(http({"tools/list": hint}).url, *LIST))


# The body.


@pytest.mark.parametrize("end", ["reset", "close"])
def test_a_body_that_breaks_off_is_reported(cli, http, end):
    def break_off(call):
        call.head(200, JSON, content_length=1000)
        call.send(call.text(TOOLS).encode()[:30])
        getattr(call, end)()

    server = http({"tools/list": break_off})
    run = cli(server.url, *LIST)
    assert_failed(run, server.url, "the body of the answer")


def test_a_chunk_that_breaks_off_is_reported(cli, http):
    def break_off(call):
        call.head(200, JSON, transfer_encoding="chunked")
        call.send(b"40\r\n" + call.text(TOOLS).encode()[:30])
        call.close()

    assert_failed(cli(http({"tools/list": break_off}).url, *LIST), "the body of the answer broke off")


def test_a_chunk_of_a_length_that_is_none_is_reported(cli, http):
    server = http(
        {"tools/list": lambda call: (call.head(200, JSON, transfer_encoding="chunked"), call.send(b"zz\r\n"))}
    )
    assert_failed(cli(server.url, *LIST), "the body of the answer broke off")


def test_chunks_without_end_run_into_the_timeout(cli, http):
    def endless(call):
        call.head(200, JSON, transfer_encoding="chunked")
        call.send(b"1\r\n{\r\n")
        call.hold()

    run = cli(http({"tools/list": endless}).url, *LIST, "--timeout", "1500ms")
    assert_failed(run, "no result within 1.5 s: tools/list was not answered", code=124)


def test_a_slow_drip_works(cli, http):
    def drip(call):
        body = call.text(TOOLS).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        for byte in head + body:
            call.send(bytes([byte]))
            time.sleep(0.002)  # the drip itself

    assert_listed(cli(http({"tools/list": drip}).url, *LIST))


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("identity", bytes),
    ],
)
def test_a_packed_answer_is_unpacked(cli, http, coding, pack):
    server = http(
        {"tools/list": lambda call: call.reply(200, pack(call.text(TOOLS).encode()), JSON, content_encoding=coding)}
    )
    assert_listed(cli(server.url, *LIST))


@pytest.mark.parametrize(
    ("coding", "body", "words"),
    [
        ("br", b"\x0b\x02\x80", "the answer is packed as 'br', which was not asked for"),
        ("gzip", b"not gzip at all", "the body of the answer cannot be unpacked"),
        (
            "gzip",
            gzip.compress(b"x" * 1000, mtime=0)[:-20] + b"garbage garbage garbage",
            "the body of the answer cannot be unpacked",
        ),
    ],
)
def test_an_answer_that_cannot_be_unpacked_is_reported(cli, http, coding, body, words):
    server = http({"tools/list": lambda call: call.reply(200, body, JSON, content_encoding=coding)})
    assert_failed(cli(server.url, *LIST), words)


def test_a_body_without_a_length_ends_with_the_connection(cli, http):
    server = http(
        {"tools/list": lambda call: (call.head(200, JSON), call.send(call.text(TOOLS).encode()), call.close())}
    )
    assert_listed(cli(server.url, *LIST))


def test_a_server_that_closes_after_each_answer_without_saying_so_is_asked_again(cli, http):
    server = http({"POST": lambda call: (call.politely(), call.close())})
    run = cli(server.url, *LIST)
    # What is sent in the moment in which the server closes may have been read or not: it is not sent twice, but told.
    lost = "notifications/initialized was not delivered"
    assert_listed(run, *((lost,) if lost in run.err else ()))


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "text/plain", None])
def test_a_wrong_content_type_is_reported_with_the_body(cli, http, kind):
    server = http({"tools/list": lambda call: call.reply(200, "<h1>Welcome</h1>", kind)})
    assert_failed(
        cli(server.url, *LIST), f"tools/list was answered with {(kind or 'no content type').split(';')[0]}", "Welcome"
    )


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
def test_a_content_type_may_be_spelt_in_other_ways(cli, http, kind):
    assert_listed(cli(http({"tools/list": lambda call: call.reply(200, call.text(TOOLS), kind)}).url, *LIST))


@pytest.mark.parametrize(("status", "kind"), [(200, JSON), (202, None), (204, None), (200, None)])
def test_an_empty_body_is_reported(cli, http, status, kind):
    server = http({"tools/list": lambda call: call.reply(status, b"", kind)})
    run = cli(server.url, *LIST)
    assert_failed(run, "tools/list was answered with")


@pytest.mark.parametrize("body", ["{]", "null", "7", '"text"', "\x00", '{"jsonrpc":"2.0"}'])
def test_a_body_that_is_no_message_is_reported_at_once(cli, http, body):
    server = http({"tools/list": lambda call: call.reply(200, body, JSON)})
    assert_failed(cli(server.url, *LIST, "--timeout", "2s"))


def test_a_body_that_answers_another_request_is_reported_at_once(cli, http):
    stray = json.dumps({"jsonrpc": "2.0", "id": 4711, "result": {}})
    server = http({"tools/list": lambda call: call.reply(200, stray, JSON)})
    assert_failed(cli(server.url, *LIST, "--timeout", "2s"), "4711")


def test_a_schema_of_great_depth_is_passed_on(cli, http):
    schema = {"type": "object"}
    for _ in range(300):
        schema = {"allOf": [schema]}
    tools = {"tools": [{"name": "deep", "inputSchema": schema}]}
    run = cli(http({"tools/list": lambda call: call.result(tools)}).url, *LIST, "--timeout", "2s")
    assert run.code == 0, run.err
    assert json.loads(run.out) == tools


def test_the_server_may_go_away_when_all_is_said(cli, http):
    run = cli(http({"DELETE": lambda call: call.reset()}, session="s").url, *LIST)
    assert_listed(run)


def test_a_goodbye_that_is_not_answered_does_not_keep_us(cli, http):
    run = cli(http({"DELETE": lambda call: call.hold()}, session="s").url, *LIST)
    assert_listed(run)
    assert run.seconds < 8


def test_a_second_connection_is_made_when_the_first_breaks(cli, http):
    server = http({"notifications/initialized": lambda call: (call.politely(), call.reset())})
    assert_listed(cli(server.url, *LIST))
