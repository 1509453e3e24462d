"""Errors tell programs where they happened, alike on every transport; they can be pickled, and know no flags."""

import os
import pickle
import subprocess
import sys

import pytest
from tests.e2e.library.ten_servers import Served
from tests.servers.oauth_server import oauth_server

import mcp_conductor
from mcp_conductor import (
    Bridge,
    Budgets,
    ConductorError,
    ConfigError,
    ConnectionLost,
    HttpStatusError,
    MethodError,
    ProtocolError,
    RequestTimeout,
    StdioSpec,
    TransportError,
    connect,
)


def errors():
    found = [getattr(mcp_conductor, name) for name in mcp_conductor.__all__ if name[0].isupper()]
    made = [each("what happened", hint="what to do") for each in found if _is_plain(each)]
    made += [
        HttpStatusError("tools/list", 503, [("Retry-After", "3")], "busy", session=True),
        MethodError("tools/call", {"code": -32602, "message": "no", "data": [1]}),
        ProtocolError("odd", heard={"x": 1}),
        RequestTimeout("ping", 2.5),
    ]
    for error in made:
        error.stderr, error.context = ("last words",), {"server": "x", "serverConfig": {"command": "y"}}
    return made


def _is_plain(each):
    special = (HttpStatusError, MethodError, ProtocolError, RequestTimeout)
    return isinstance(each, type) and issubclass(each, ConductorError) and each not in special


@pytest.mark.parametrize("error", errors(), ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_after_it_was_pickled(error):
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert (again.args, again.kind, again.code) == (error.args, error.kind, error.code)


async def test_the_context_has_the_config_without_its_secrets(serve, environment):
    words = serve("hello(); hear(); sys.exit(3)")
    config = {"command": words[0], "args": list(words[1:]), "env": {**environment, "API_KEY": "s3cr3t-of-mine"}}
    async with connect(config) as session:
        with pytest.raises(ConnectionLost) as raised:
            await session.ping()
    context = raised.value.context
    assert context["serverConfig"]["command"].endswith(os.path.basename(words[0]))
    assert context["serverConfig"]["env"]["API_KEY"] == "[redacted]"
    assert (context["platform"], context["supportedTransports"]) == (sys.platform, ["stdio", "sse", "http"])
    assert "s3cr3t" not in repr(context)


async def test_a_url_that_cannot_be_reached_has_its_config_in_the_context():
    target = {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": "s3cr3t-of-mine"}}
    with pytest.raises(TransportError) as raised:
        async with connect(target):
            pass
    shown = raised.value.context["serverConfig"]
    assert shown == {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": "[redacted]"}}


BAD = {"name": "both", "url": "http://127.0.0.1:9/mcp", "command": "x", "env": {"KEY": "s3cr3t-of-mine"}}


async def test_a_bad_config_is_in_the_context_too():
    with pytest.raises(ConfigError) as raised:
        async with connect(BAD):
            pass
    context = raised.value.context
    assert (context["server"], context["serverConfig"]) == ("both", {**BAD, "env": {"KEY": "[redacted]"}})
    assert (context["platform"], context["supportedTransports"]) == (sys.platform, ["stdio", "sse", "http"])


@pytest.mark.parametrize("wrap", [lambda config: {"b": config}, lambda config: {"mcpServers": {"b": config}}])
async def test_the_errors_of_a_bridge_have_the_same_context(wrap):
    config = {key: value for key, value in BAD.items() if key != "name"}
    async with Bridge(wrap(config), patience=0.1) as bridge:
        with pytest.raises(TransportError) as raised:
            await bridge.call_tool("b/x")
    context = raised.value.context
    assert context["server"] == "b"
    assert context["serverConfig"] == {**config, "env": {"KEY": "[redacted]"}}
    assert (context["platform"], context["supportedTransports"]) == (sys.platform, ["stdio", "sse", "http"])


@pytest.mark.parametrize("kind", ["stdio", "streamable-http", "sse"])
async def test_a_server_that_goes_away_is_the_same_error_and_state_on_every_transport(kind, serve, environment):
    if kind == "stdio":
        mortal = StdioSpec(command=serve("hello(); hear(); sys.exit(3)"), env=environment)
        async with connect(mortal, timeout=10) as session:
            await assert_it_is_lost(session)
        return
    served = Served(kind, environment)
    try:
        async with connect(served.url, timeout=10) as session:
            await session.ping()
            served.stop()
            await assert_it_is_lost(session)
    finally:
        served.stop()


async def assert_it_is_lost(session):
    for _ in range(2):
        with pytest.raises(ConnectionLost) as raised:
            await session.ping()
        assert session.ended
        assert session.how_it_ended
    assert raised.value.context["serverConfig"]


async def test_a_connection_that_breaks_within_an_answer_is_lost_too(environment):
    """The server dies while it works on a call."""
    code = (
        "import http.server, json, os\n"
        "class R(http.server.BaseHTTPRequestHandler):\n"
        "    def do_POST(self):\n"
        "        asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))\n"
        "        if asked['method'] == 'tools/call': os._exit(7)\n"
        "        info = {'name': 's', 'version': '1'}\n"
        "        result = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': info}\n"
        "        body = json.dumps({'jsonrpc': '2.0', 'id': asked.get('id'), 'result': result}).encode()\n"
        "        self.send_response(200 if 'id' in asked else 202)\n"
        "        self.send_header('Content-Type', 'application/json')\n"
        "        self.send_header('Content-Length', str(len(body) if 'id' in asked else 0))\n"
        "        self.end_headers()\n"
        "        'id' in asked and self.wfile.write(body)\n"
        "    def do_GET(self): self.send_error(405)\n"
        "    def log_message(self, *_): pass\n"
        "server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), R)\n"
        "print(server.server_port, flush=True)\n"
        "server.serve_forever()\n"
    )
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: ASYNC220
        async with connect(f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp", timeout=10) as session:
            with pytest.raises(ConnectionLost):
                await session.call_tool("x")
            assert session.ended
        assert process.wait(10) == 7


async def test_a_library_does_not_speak_of_flags(serve, environment):
    """What a program can do about it stands in the words of the library."""
    with oauth_server() as guarded, pytest.raises(HttpStatusError) as raised:
        async with connect(guarded.url):
            pass
    assert "auth=" in raised.value.hint
    old = StdioSpec(command=serve("hello('2025-06-18')"), env=environment)
    with pytest.raises(ProtocolError) as refused:
        async with connect(old, protocol="2025-11-25"):
            pass
    assert refused.value.hint.startswith('protocol="handshake"')
    asks = """
        hello()
        request = hear()
        ask("s", "sampling/createMessage", messages=[], maxTokens=5)
        ask("e", "elicitation/create", message="?", requestedSchema={"type": "object"})
        ask("r", "roots/list")
        result(request, {"text": "x" * 5000})
        hear()
    """
    narrow = Budgets(message_bytes=1000)
    async with connect(StdioSpec(command=serve(asks), env=environment), budgets=narrow, timeout=10) as session:
        with pytest.raises(ConductorError) as long:
            await session.request("x")
    told = " ".join([*session.transcript.notes(), str(long.value), long.value.hint or ""])
    assert "sampling=" in told
    assert "elicitation=" in told
    assert "roots=" in told
    assert "Budgets(message_bytes=…)" in told
    assert " --" not in told
    assert "(--" not in told
