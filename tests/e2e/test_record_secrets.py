"""`conductor record URL`: what lets a client in passes, and is not in the recording."""

import json

from tests.e2e.test_record_http import proxied, texts  # noqa: F401  # a fixture


def test_what_lets_a_client_in_is_not_kept_where_the_server_says_it_again(http, proxied):  # noqa: F811  # the fixture
    def echo(call):
        said = json.dumps({"headers": dict(call.headers.items()), "path": call.path})
        call.result({"content": [{"type": "text", "text": said}]})

    proxy = proxied(http({"POST": echo}).url)
    secrets = [f"secret-of-client-{number}" for number in range(5)]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}
    _, _, body = proxy.ask(
        message=asked,
        Authorization=f"Bearer {secrets[0]}",
        Cookie=f"sid={secrets[1]}; theme=dark",
        X_Custom_Auth=secrets[2],
        X_Goog_Api_Key=secrets[3],
        path=f"/mcp?api_key={secrets[4]}",
    )
    assert [secret for secret in secrets if secret not in body.decode()] == []
    (said,) = texts(proxy.end(), "server")
    assert [secret for secret in secrets if secret in proxy.file.read_text()] == []
    assert "tools/call" in proxy.file.read_text()
    assert said.count("[redacted]") == 5


def test_a_credential_is_not_kept_however_many_others_there_were(http, proxied):  # noqa: F811  # the fixture
    proxy = proxied(http({"POST": lambda call: call.result({"said": call.headers["authorization"]})}).url)
    for number in range(130):
        _, _, body = proxy.ask(Authorization=f"Bearer token-{number:06}-abcdefgh")
        assert f"token-{number:06}" in body.decode()
    proxy.process.terminate()
    _, told = proxy.process.communicate(timeout=30)
    assert told.decode() == (
        "clients sent more than 100 credentials: each more is looked for only in what belongs to its request\n"
    )
    assert "abcdefgh" not in proxy.file.read_text()


def test_secrets_in_the_address_that_a_server_sends_a_client_to_are_not_kept(http, proxied):  # noqa: F811  # the fixture
    there = "http://127.0.0.1/back?access_token=abcdefgh-secret&tab=1"
    proxy = proxied(http({"POST": lambda call: call.reply(200, b"{}", "application/json", Location=there)}).url)
    _, headers, _ = proxy.ask()
    assert headers["location"] == there
    (_, answer) = texts(proxy.end(), "http")
    assert "location: http://127.0.0.1/back?access_token=[redacted]&tab=1" in answer.lower()


def test_what_is_no_message_of_mcp_passes_and_is_not_kept(http, proxied):  # noqa: F811  # the fixture
    token = b'{"access_token": "abcdefgh-secret"}'
    server = http({"POST": lambda call: call.reply(200, token, "application/json")})
    proxy = proxied(server.url)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    _, _, body = proxy.ask(message=b"grant_type=x&client_secret=ijklmnop-secret", path="/token", **form)
    assert body == token
    recording = proxy.end()
    assert "-secret" not in proxy.file.read_text()
    assert texts(recording, "client", "server") == []
    assert texts(recording, "note") == [
        "a body of 42 bytes that is no message of MCP is not kept",
        "a body of 35 bytes that is no message of MCP is not kept",
    ]
