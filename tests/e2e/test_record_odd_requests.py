"""`conductor record URL`: requests that few clients send pass as well, or are refused."""

import json
import socket
import time

import pytest
from tests.e2e.test_record_http import SOON, proxied, texts  # noqa: F401  # a fixture


@pytest.mark.parametrize(
    "body", [rb"\u", rb'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\u12"}}', rb'["\u0041"]']
)
def test_a_body_that_is_no_message_passes_and_is_kept(http, proxied, body):  # noqa: F811  # the fixture
    def echo(call):
        call.reply(200, call.body, "application/json")

    server = http({"POST": echo})
    proxy = proxied(server.url)
    status, _, found = proxy.ask(message=body, Content_Type="application/x-www-form-urlencoded")
    assert (status, found) == (200, body)
    assert texts(proxy.end(), "client", "server") == [body.decode(), body.decode()]


@pytest.mark.parametrize("start", ["CONNECT @127.0.0.1:1/mcp", "OPTIONS *@127.0.0.1:1/mcp", "OPTIONS *", "CONNECT 2"])
def test_what_is_not_at_a_path_of_the_server_is_refused(http, proxied, start):  # noqa: F811  # the fixture
    server = http()
    proxy = proxied(server.url)
    with socket.create_connection(proxy.address, SOON) as connection:
        connection.sendall(f"{start} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 400 ")
    assert server.calls == []
    proxy.end()


@pytest.mark.parametrize("path", ["/a%2Fb", "/x%3Fy%23z", "/a%25b", "/%7Euser", "/a%20b", "/%C3%A9", "/mcp?a=%20"])
def test_a_path_passes_as_it_was_written(http, proxied, path):  # noqa: F811  # the fixture
    server = http({"GET": lambda call: call.reply(405)})
    proxy = proxied(server.url)
    assert proxy.ask("GET", path=path)[0] == 405
    assert [call.path for call in server.calls] == [path]
    assert texts(proxy.end(), "http")[0].split("\n")[0] == f"GET {path.partition('?')[0]}"


@pytest.mark.parametrize(
    ("there", "here"), [("/other?a=1", "/other?a=1"), ("/x", "/x"), ("http://127.0.0.2:1/x", None)]
)
def test_a_redirect_passes_and_stays_at_the_proxy(http, proxied, there, here):  # noqa: F811  # the fixture
    def answer(call):
        place = there if here is None else f"http://{call.headers['host']}{there}"
        call.reply(307, b"", None, Location=place)

    server = http({"POST": answer})
    proxy = proxied(server.url, "--token", "very-secret-token")
    status, headers, _ = proxy.ask()
    assert (status, headers["location"]) == (307, here or there)
    assert [call.path for call in server.calls] == ["/mcp"]
    proxy.end()


def test_a_message_reaches_the_server_although_its_client_leaves_at_once(http, proxied):  # noqa: F811  # the fixture
    server = http({"POST": lambda call: call.reply(202)})
    proxy = proxied(server.url)
    for number in range(20):
        body = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        with socket.create_connection(proxy.address, SOON) as connection:
            head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body.encode())
    wait_until = time.monotonic() + SOON
    while len(server.calls) < 20 and time.monotonic() < wait_until:
        time.sleep(0.01)
    assert sorted(call.message["params"]["requestId"] for call in server.calls) == list(range(20))
