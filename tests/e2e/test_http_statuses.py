"""Statuses that are no success: reported with their number, followed where that is harmless, taken as the JSON-RPC error they carry."""

import json

import pytest
from tests.e2e.http_manners import assert_failed, in_turn, polite
from tests.e2e.listing import LIST, assert_listed

PAGE = "<!doctype html>\n<html><title>{0}</title>\n<h1>Error {0}</h1></html>"
MODERN = ("--protocol", "modern")


@pytest.mark.parametrize("status", [402, 404, 406, 415, 418, 500, 502, 503])
def test_an_error_page_is_reported_with_its_status_and_its_beginning(cli, http, status):
    server = http({"tools/list": lambda call: call.reply(status, PAGE.format(status), "text/html")})
    assert_failed(cli(server.url, *LIST), f"tools/list was answered with status {status}", f"<h1>Error {status}</h1>")


@pytest.mark.parametrize("status", [400, 404, 405, 500])
def test_an_error_page_for_every_request_is_reported_with_its_status(cli, http, status):
    server = http({verb: lambda call: call.reply(status, PAGE.format(status), "text/html") for verb in ("POST", "GET")})
    assert_failed(cli(server.url, *LIST), f"initialize was answered with status {status}")


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_place_that_takes_no_messages_is_asked_for(cli, http, status):
    server = http({verb: lambda call: call.reply(status) for verb in ("POST", "GET")})
    assert_failed(cli(server.url, *LIST), f"initialize was answered with status {status}\n  hint: is the path right?")


def test_a_status_without_a_body_is_reported(cli, http):
    run = cli(http({"tools/list": lambda call: call.reply(503)}).url, *LIST)
    assert_failed(run, "tools/list was answered with status 503\n")


def test_an_error_page_of_any_length_is_reported_in_short(cli, http):
    run = cli(http({"tools/list": lambda call: call.reply(500, "x" * 5_000_000, "text/plain")}).url, *LIST)
    assert_failed(run, "tools/list was answered with status 500")
    assert len(run.err) < 1000


def test_control_characters_of_an_error_page_do_not_reach_the_terminal(cli, http):
    run = cli(http({"tools/list": lambda call: call.reply(500, "\x1b[31mred\x07\r\n", "text/plain")}).url, *LIST)
    assert_failed(run, "status 500", "red")
    assert not {"\x1b", "\x07"} & set(run.err)


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
def test_a_server_that_wants_authorization_is_reported_with_what_to_do(cli, http, method):
    server = http({method: lambda call: call.reply(401, "", www_authenticate='Bearer realm="x"')})
    assert_failed(cli(server.url, *LIST), f"{method} was answered with status 401", "--token")


def test_a_server_that_forbids_is_reported(cli, http):
    run = cli(http({"tools/list": lambda call: call.reply(403, "not you")}).url, *LIST, "--token", "some-token")
    assert_failed(run, "tools/list was answered with status 403: 'not you'")


def test_a_server_that_is_asked_too_often_is_reported_with_its_wish(cli, http):
    run = cli(http({"tools/list": lambda call: call.reply(429, "slow down", retry_after="17")}).url, *LIST)
    assert_failed(run, "tools/list was answered with status 429: 'slow down'", "17")


def test_a_server_that_is_asked_too_often_may_have_no_wish(cli, http):
    assert_failed(cli(http({"tools/list": lambda call: call.reply(429)}).url, *LIST), "status 429", "a while")


# JSON-RPC errors behind a status.


@pytest.mark.parametrize("status", [200, 400, 403, 404, 500])
@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
def test_an_error_in_the_body_is_the_servers_error_with_every_status_but_401(cli, http, status, modern):
    server = http({"tools/list": lambda call: call.error(-32603, "no database", status, data={"x": 1})}, modern=modern)
    run = cli(server.url, *LIST, *(MODERN if modern else ()))
    assert run.code == 2
    assert json.loads(run.out) == {"error": {"code": -32603, "message": "no database", "data": {"x": 1}}}
    assert run.err == ""


def refuse(call, status=400, **identity):
    error = {"code": -32600, "message": "Bad Request"}
    call.reply(status, json.dumps({"jsonrpc": "2.0", **identity, "error": error}), "application/json")


@pytest.mark.parametrize("identity", [{}, {"id": None}])
@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
def test_an_error_without_id_in_the_body_of_a_refusal_answers_the_request(cli, http, identity, modern):
    server = http({"tools/list": lambda call: refuse(call, **identity)}, modern=modern)
    run = cli(server.url, *LIST, *(MODERN if modern else ()))
    assert (run.code, json.loads(run.out)["error"]["code"]) == (2, -32600), run


def test_an_error_with_an_id_of_its_own_in_the_body_of_a_refusal_answers_the_request(cli, http):
    server = http({"tools/list": lambda call: refuse(call, id="server-error")})
    run = cli(server.url, *LIST, "--timeout", "2s")
    assert (run.code, json.loads(run.out or "{}").get("error", {}).get("code")) == (2, -32600), run


def test_a_modern_server_that_does_not_know_a_method_says_so_with_404(cli, http):
    run = cli(http(modern=True).url, *MODERN, "--method", "prompts/list")
    assert (run.code, json.loads(run.out)["error"]["code"]) == (2, -32601), run


@pytest.mark.parametrize("code", [-32022, -32601])
@pytest.mark.parametrize("status", [400, 404])
def test_a_server_that_is_only_modern_is_spoken_to_in_that_era(cli, http, code, status):
    server = http({"initialize": lambda call: call.error(code, "no", status)}, modern=True)
    run = cli(server.url, *LIST)
    assert run.code == 0, run.err
    assert [call.method for call in server.calls] == ["initialize", "server/discover", "tools/list"]


@pytest.mark.parametrize("status", [400, 404, 405, 401, 500])
def test_auto_takes_a_mere_status_for_a_server_of_the_handshake(cli, http, status):
    server = http({"server/discover": lambda call: call.reply(status, "what?")})
    assert_listed(cli(server.url, *LIST, "--protocol", "auto"))


def test_auto_finds_a_modern_server(cli, http):
    server = http(modern=True)
    assert cli(server.url, *LIST, "--protocol", "auto").code == 0
    assert [call.method for call in server.calls] == ["server/discover", "tools/list"]


def test_a_notification_that_is_refused_is_a_warning(cli, http):
    run = cli(http({"notifications/initialized": lambda call: call.reply(400, "no")}).url, *LIST)
    assert_listed(run, "warning: notifications/initialized was not delivered", "status 400")


@pytest.mark.parametrize("status", [200, 202, 204])
def test_a_notification_is_taken_with_any_success(cli, http, status):
    assert_listed(cli(http({"notifications/initialized": lambda call: call.reply(status)}).url, *LIST))


# Redirects.


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_is_reported_and_not_followed(cli, http, status):
    elsewhere = http()
    target = f"{elsewhere.origin}/mcp"
    server = http({"POST": lambda call: call.reply(status, "", location=target)})
    run = cli(server.url, *LIST, "--token", "very-secret-token")
    assert_failed(run, f"the server redirects to {target} (status {status}), which is not followed")
    assert elsewhere.calls == []


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_turn_post_into_get_is_not_followed(cli, http, status):
    server = http({"POST": lambda call: call.reply(status, "", location="/other")})
    assert_failed(cli(server.url, *LIST), f"(status {status}), which is not followed")
    assert [call.path for call in server.calls] == ["/mcp"]


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("location", ["/other/", "other/", "{origin}/other/"])
def test_a_redirect_on_the_same_origin_is_followed_with_body_and_credentials(cli, http, status, location):
    def redirect(call):
        if call.path == "/mcp":
            call.reply(status, "", location=location.format(origin=server.origin))
        else:
            call.politely()

    server = http({"POST": redirect})
    assert_listed(cli(server.url, *LIST, "--token", "very-secret-token"))
    assert {call.path for call in server.calls} >= {"/mcp", "/other/"}
    assert {call.headers["authorization"] for call in server.calls} == {"Bearer very-secret-token"}


def test_redirects_in_a_circle_are_given_up(cli, http):
    server = http({"POST": lambda call: call.reply(307, "", location="/mcp")})
    assert_failed(cli(server.url, *LIST), "more than 3 redirects")


def test_a_redirect_to_another_scheme_is_not_followed(cli, http):
    server = http({"POST": lambda call: call.reply(307, "", location="file:///etc/passwd")})
    assert_failed(cli(server.url, *LIST), "redirects to file:///etc/passwd")


def test_a_redirect_to_nowhere_is_a_status(cli, http):
    assert_failed(
        cli(http({"POST": lambda call: call.reply(307)}).url, *LIST), "initialize was answered with status 307"
    )


@pytest.mark.parametrize("location", ["http://[broken/", "http://127.0.0.1:99999/", "http://127.0.0.1:port/"])
def test_a_redirect_to_what_is_no_url_is_reported(cli, http, location):
    server = http({"POST": lambda call: call.reply(307, "", location=location)})
    assert_failed(cli(server.url, *LIST, "--timeout", "2s"), location)


def test_a_success_after_a_failure_is_a_success(cli, http):
    server = http({"tools/list": in_turn(lambda call: call.error(-32000, "busy", 503), polite)})
    assert cli(server.url, *LIST).code == 2
    assert_listed(cli(server.url, *LIST))
