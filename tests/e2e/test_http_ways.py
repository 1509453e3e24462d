"""Ways that HTTP can take: through a proxy, with batches, to two schemes in one run, and to a server that goes away."""

import json
import subprocess
import threading

import pytest
from tests.conftest import MCP_CLI
from tests.e2e.listing import LIST, assert_listed
from tests.servers.http_raw import HttpServer

from mcp_conductor.transport.http_client import HttpClient


def test_a_proxy_of_the_environment_is_used_and_gets_the_whole_url(cli, http):
    proxy = http({})
    run = cli("http://mcp.invalid/mcp", *LIST, http_proxy=proxy.url.removesuffix("/mcp"))
    assert_listed(run)
    assert {call.path for call in proxy.asked("tools/list")} == {"http://mcp.invalid/mcp"}


@pytest.mark.parametrize("exception", ["mcp.invalid", ".invalid", "*"])
def test_no_proxy_is_used_where_the_environment_says_so(cli, http, exception):
    proxy = http({})
    run = cli("http://mcp.invalid/mcp", *LIST, http_proxy=proxy.url.removesuffix("/mcp"), no_proxy=exception)
    assert run.code == 1
    assert "cannot resolve the name 'mcp.invalid'" in run.err
    assert proxy.asked("initialize") == []


def test_a_proxy_that_refuses_is_named(cli, http):
    proxy = http({"CONNECT": lambda call: call.reply(403, "not that one")})
    run = cli("https://mcp.invalid/mcp", *LIST, https_proxy=proxy.url.removesuffix("/mcp"))
    assert run.code == 1
    assert "the proxy refused: 403" in run.err


def test_a_batch_is_unpacked_over_http_too(cli, http):
    def batch(call):
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
        answer = {"jsonrpc": "2.0", "id": call.id, "result": {"tools": []}}
        call.reply(200, json.dumps([note, answer]), "application/json")

    assert_listed(cli(http({"tools/list": batch}).url, *LIST, "--protocol", "2025-03-26"))


async def test_what_is_trusted_for_tls_does_not_depend_on_what_was_asked_first(http, tls):
    client = HttpClient(verify=False, environ={})
    for server in (http(), http(tls=tls), http()):
        response, _ = await client.fetch("GET", server.url)
        assert response.status == 405
    await client.aclose()


def test_following_ends_when_the_server_is_gone(environment):
    opened = threading.Event()

    def stream(call):
        call.stream(": \n\n")
        opened.set()
        call.hold()

    server = HttpServer({"GET": stream})
    process = subprocess.Popen(
        [*MCP_CLI, server.url, "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    )
    try:
        assert opened.wait(10)
        server.stop()
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "went away (Connection refused)" in err
