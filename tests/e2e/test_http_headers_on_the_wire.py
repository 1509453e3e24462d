"""What our requests carry over HTTP: sessions and versions after a handshake, routing headers without one, secrets always."""

import json
from base64 import b64encode

import pytest
from tests.e2e.http_manners import assert_failed, in_turn, polite
from tests.e2e.listing import LIST, assert_listed

MODERN = ("--protocol", "modern")
TOKEN = "very-secret-token-0123456789"
KEY = "another-secret-key-9876543210"
SECRETS = ("--token", TOKEN, "--header", f"X-Api-Key: {KEY}")


def test_every_request_of_a_session_carries_its_id_and_the_version(cli, http):
    server = http(session="session-1")
    assert_listed(cli(server.url, *LIST))
    first, *others = server.calls
    assert first.method == "initialize"
    assert not {"mcp-session-id", "mcp-protocol-version"} & set(first.headers)
    assert {"notifications/initialized", "GET", "tools/list", "DELETE"} <= {call.what for call in others}
    for call in others:
        assert (call.headers["mcp-session-id"], call.headers["mcp-protocol-version"]) == ("session-1", "2025-11-25"), (
            call.what
        )


def test_the_name_and_the_password_of_a_url_are_sent_with_every_request_and_shown_nowhere(cli, http, tmp_path):
    server = http(session="session-1")
    url = server.url.replace("://", "://ada:pass%20word%2F1@")
    assert_listed(cli(url, *LIST))
    run = cli(url, *LIST, "--verbose", "--record", "said.jsonl")
    sent = b64encode(b"ada:pass word/1").decode()
    assert {call.headers.get("authorization") for call in server.calls} == {f"Basic {sent}"}
    shown = run.err + (tmp_path / "said.jsonl").read_text()
    assert not [secret for secret in ("pass%20word", "pass word", sent) if secret in shown]
    run = cli(url, *LIST, "--header", "Authorization: Other x")
    assert server.calls[-1].headers["authorization"] == "Other x"


def test_the_session_is_ended_last_and_once(cli, http):
    server = http(session="session-1")
    assert_listed(cli(server.url, *LIST))
    assert [call.what for call in server.calls].count("DELETE") == 1
    assert server.calls[-1].what == "DELETE"


@pytest.mark.parametrize(("options", "code"), [(("--timeout", "700ms"), 124), (("--request-timeout", "700ms"), 124)])
def test_the_session_is_ended_also_after_a_timeout(cli, http, options, code):
    server = http({"tools/list": lambda call: call.hold()}, session="session-1")
    assert_failed(cli(server.url, *LIST, *options), code=code)
    assert server.calls[-1].what == "DELETE"


def test_the_session_is_ended_also_after_an_error(cli, http):
    server = http({"tools/list": lambda call: call.error(-32603, "no")}, session="session-1")
    assert cli(server.url, *LIST).code == 2
    assert server.calls[-1].what == "DELETE"


def test_without_a_session_there_is_none_to_name_or_end(cli, http):
    server = http()
    assert_listed(cli(server.url, *LIST))
    assert server.asked("DELETE") == []
    assert not any("mcp-session-id" in call.headers for call in server.calls)


@pytest.mark.parametrize(
    ("version", "header"), [("2025-03-26", None), ("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25")]
)
def test_the_version_in_the_header_is_the_one_agreed_on(cli, http, version, header):
    server = http(version=version)
    assert_listed(cli(server.url, *LIST))
    assert server.asked("tools/list")[0].headers.get("mcp-protocol-version") == header


def test_a_request_says_what_it_is_and_what_it_takes(cli, http):
    server = http()
    assert_listed(cli(server.url, *LIST))
    for call in server.asked("POST"):
        assert call.headers["content-type"] == "application/json"
        assert {kind.strip() for kind in call.headers["accept"].split(",")} == {"application/json", "text/event-stream"}
        assert call.headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize("session", ["!~visible-ascii~!", "with space", pytest.param("é")])
def test_a_session_id_of_any_kind_is_sent_back_or_refused_in_good_order(cli, http, session):
    run = cli(http(session=session).url, *LIST, "--timeout", "2s")
    assert run.code in (0, 1), run
    assert "internal error" not in run.err


# Sessions that die.


@pytest.mark.parametrize(
    "refusal",
    [
        "nothing",
        "page",
        pytest.param("error without id"),
        pytest.param("error"),
    ],
)
def test_a_dead_session_is_replaced_by_a_new_one(cli, http, refusal):
    def dead(call):
        server.session = "session-2"
        body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Session not found"}}
        match refusal:
            case "nothing":
                call.reply(404)
            case "page":
                call.reply(404, "<h1>Not found</h1>", "text/html")
            case "error without id":
                call.reply(404, json.dumps(body), "application/json")
            case "error":
                call.reply(404, json.dumps({**body, "id": call.id}), "application/json")

    server = http({"tools/list": in_turn(dead, polite)}, session="session-1")
    assert_listed(cli(server.url, *LIST), "warning: the server has ended the session; a new one is opened")
    again = server.asked("initialize")[1]
    assert "mcp-session-id" not in again.headers
    assert [call.headers["mcp-session-id"] for call in server.asked("tools/list")] == ["session-1", "session-2"]
    assert server.asked("DELETE")[-1].headers["mcp-session-id"] == "session-2"


def test_a_session_that_dies_again_is_reported(cli, http):
    server = http({"tools/list": lambda call: call.reply(404)}, session="session-1")
    assert_failed(cli(server.url, *LIST), "tools/list was answered with status 404", "the server has ended the session")
    assert len(server.asked("tools/list")) == 2


def test_a_404_without_a_session_is_a_404(cli, http):
    server = http({"tools/list": lambda call: call.reply(404)})
    assert_failed(cli(server.url, *LIST), "tools/list was answered with status 404")
    assert len(server.asked("initialize")) == 1


def test_an_error_in_a_404_is_no_dead_session_in_the_modern_era(cli, http):
    server = http({"tools/list": lambda call: call.error(-32601, "no tools", 404)}, modern=True)
    assert cli(server.url, *LIST, *MODERN).code == 2
    assert [call.method for call in server.calls] == ["server/discover", "tools/list"]


# The modern era.


def test_modern_requests_carry_version_and_method_and_no_session(cli, http):
    server = http(modern=True)
    assert cli(server.url, *LIST, *MODERN).code == 0
    assert [call.headers["mcp-method"] for call in server.calls] == ["server/discover", "tools/list"]
    for call in server.calls:
        assert call.headers["mcp-protocol-version"] == "2026-07-28"
        assert not {"mcp-session-id", "mcp-name", "last-event-id"} & set(call.headers)


def test_a_session_id_is_ignored_in_the_modern_era(cli, http):
    tools = {"resultType": "complete", "tools": [], "nextCursor": "2"}
    server = http(
        {"tools/list": in_turn(lambda call: call.result(tools, Mcp_Session_Id="mine"), polite)},
        modern=True,
    )
    assert cli(server.url, *LIST, *MODERN).code == 0
    assert [call.what for call in server.calls] == ["server/discover", "tools/list", "tools/list"]
    assert not any("mcp-session-id" in call.headers for call in server.calls)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--method", "tools/call", "--tool-name", "add", "--tool-args-json", "{}"), "add"),
        (("--method", "prompts/get", "--prompt-name", "greet"), "greet"),
        (("--method", "resources/read", "--uri", "file:///a b"), "file:///a b"),
        (("--method", "prompts/get", "--prompt-name", "grüß"), "=?base64?Z3LDvMOf?="),
        (("--method", "prompts/get", "--prompt-name", "=?base64?YQ==?="), "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
    ],
)
def test_modern_requests_for_one_thing_name_it(cli, http, words, name):
    server = http({words[1]: lambda call: call.result({"resultType": "complete", "content": []})}, modern=True)
    assert cli(server.url, *words, *MODERN).code == 0
    (call,) = server.asked(words[1])
    assert (call.headers["mcp-method"], call.headers["mcp-name"]) == (words[1], name)


TOOL = {
    "name": "t",
    "inputSchema": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "at": {"type": "object", "properties": {"zone": {"type": "integer", "x-mcp-header": "Zone"}}},
        },
    },
}


@pytest.mark.parametrize("kind", ["json", "events"])
def test_arguments_that_a_tool_wants_in_headers_are_there(cli, http, kind):
    def listed(call):
        result = {"resultType": "complete", "tools": [TOOL]}
        if kind == "json":
            call.result(result)
        else:
            call.stream()
            call.event(result)
            call.close()

    server = http(
        {"tools/list": listed, "tools/call": lambda call: call.result({"resultType": "complete", "content": []})},
        modern=True,
    )
    call_tool = ("--method", "tools/call", "--tool-name", "t")
    run = cli(
        server.url,
        *MODERN,
        *call_tool,
        "--tool-arg",
        "region=Zürich",
        "--tool-arg",
        "dry=true",
        "--tool-arg",
        'at={"zone":7}',
    )
    assert run.code == 0, run.err
    (call,) = server.asked("tools/call")
    params = {name: value for name, value in call.headers.items() if name.startswith("mcp-param-")}
    assert params == {"mcp-param-region": "=?base64?WsO8cmljaA==?=", "mcp-param-dry": "true", "mcp-param-zone": "7"}


def test_arguments_that_a_tool_wants_in_headers_are_there_however_they_were_given(cli, http):
    server = http(
        {
            "tools/list": lambda call: call.result({"resultType": "complete", "tools": [TOOL]}),
            "tools/call": lambda call: (
                call.result({"resultType": "complete", "content": []})
                if "mcp-param-region" in call.headers
                else call.error(-32020, "Header mismatch", 400)
            ),
        },
        modern=True,
    )
    call_tool = ("--method", "tools/call", "--tool-name", "t", "--tool-args-json", '{"region": "eu"}')
    run = cli(server.url, *MODERN, *call_tool)
    assert run.code == 0, run.out
    assert server.asked("tools/call")[-1].headers["mcp-param-region"] == "eu"


def test_a_tool_that_wants_headers_in_a_way_that_is_not_allowed_is_not_called_silently(cli, http):
    bad = {"name": "t", "inputSchema": {"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}}}
    server = http(
        {
            "tools/list": lambda call: call.result({"resultType": "complete", "tools": [bad]}),
            "tools/call": lambda call: call.result({"resultType": "complete", "content": []}),
        },
        modern=True,
    )
    run = cli(server.url, *MODERN, "--method", "tools/call", "--tool-name", "t", "--tool-arg", "n=1")
    assert "x-mcp-header" in run.err


def test_the_handshake_era_knows_no_routing_headers(cli, http):
    server = http({"prompts/get": lambda call: call.result({"messages": []})})
    assert cli(server.url, "--method", "prompts/get", "--prompt-name", "p").code == 0
    assert not any(name in call.headers for call in server.calls for name in ("mcp-method", "mcp-name"))


# Secrets.


def carried(server):
    return {(call.headers.get("authorization"), call.headers.get("x-api-key")) for call in server.calls}


def unseen(*texts):
    return not any(secret[:12] in text for secret in (TOKEN, KEY) for text in texts)


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
def test_secrets_are_sent_to_the_server_only(cli, http, tmp_path, modern):
    server = http(modern=modern, session=None if modern else "s")
    run = cli(server.url, *LIST, *SECRETS, "--verbose", "--record", "r.jsonl", *(MODERN if modern else ()))
    assert run.code == 0
    assert carried(server) == {(f"Bearer {TOKEN}", KEY)}
    recorded = (tmp_path / "r.jsonl").read_text()
    assert "POST" in run.err
    assert "POST" in recorded
    assert unseen(run.err, recorded, run.out)


def echo(call):
    return f"{call.headers['authorization']} {call.headers['x-api-key']}"


@pytest.mark.parametrize(
    "manner",
    [
        lambda call: call.reply(403, f"not with {echo(call)}"),
        lambda call: call.reply(200, f"<p>{echo(call)}</p>", "text/html"),
        lambda call: call.reply(307, "", location=f"https://elsewhere.invalid/?{echo(call).replace(' ', '+')}"),
        lambda call: call.reply(429, "", retry_after=echo(call)),
        lambda call: call.reply(200, b"", "application/json", content_encoding=echo(call)),
        lambda call: call.reply(200, call.text(TOKEN + KEY) + "garbage", "application/json", X_Echo=echo(call)),
        lambda call: call.reply(500, "", "text/plain", X_Echo=echo(call), Set_Cookie=f"a={TOKEN}"),
    ],
    ids=["status", "content type", "redirect", "retry-after", "encoding", "not JSON", "headers"],
)
def test_secrets_that_a_server_repeats_are_not_shown(cli, http, tmp_path, manner):
    server = http({"tools/list": manner})
    run = cli(server.url, *LIST, *SECRETS, "--verbose", "--record", "r.jsonl", "--timeout", "2s")
    assert run.code in (1, 124)
    assert unseen(run.err, (tmp_path / "r.jsonl").read_text(), run.out)


@pytest.mark.parametrize("before", [185, 190])
@pytest.mark.parametrize("status", [200, 500])
def test_secrets_are_not_shown_also_if_an_excerpt_ends_within_them(cli, http, status, before):
    server = http({"tools/list": lambda call: call.reply(status, "x" * before + TOKEN, "text/html")})
    run = cli(server.url, *LIST, *SECRETS)
    assert_failed(run, "xxx")
    assert TOKEN[:10] not in run.err
