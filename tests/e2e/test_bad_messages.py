"""Every wrong message of a server: it is shown, it shifts no other answer, and what can be used is used.

The fixture `cli` asserts after each run that no process is left and that no traceback was printed.
"""

import json
import sys

import pytest
from tests.e2e.listing import LIST, assert_listed


def test_a_server_that_answers_twice_is_noted(cli, serve):
    server = serve("""
        hello()
        request = hear()
        result(request, {"tools": [], "nextCursor": "2"})
        result(request, {"tools": ["again"]})
        serve({"tools/list": {"tools": []}})
    """)
    assert_listed(cli(*server, *LIST), "a second answer to the request with id 2")


def test_an_answer_with_another_id_does_not_shift_the_right_one(cli, serve):
    server = serve("""
        hello()
        request = hear()
        say({"id": 999, "result": {"tools": ["wrong"]}})
        say({"id": str(request["id"]), "result": {"tools": ["also wrong"]}})
        result(request, {"tools": []})
        serve({})
    """)
    assert_listed(cli(*server, *LIST), "an answer with id 999, which no request has", 'an answer with id "2"')


def test_only_an_answer_with_another_id_is_a_timeout_with_a_warning(cli, serve):
    run = cli(*serve("hello(); hear(); say({'id': 999, 'result': {}}); serve({})"), *LIST, "--timeout", "400ms")
    assert run.code == 124
    assert "an answer with id 999, which no request has" in run.err


def test_notifications_and_requests_before_the_answer_are_dealt_with(cli, serve):
    server = serve("""
        request = hear()
        notify("notifications/message", level="info", data="early")
        assert ask("p1", "ping")["result"] == {}
        say({"id": request["id"], "result": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}}})
        hear()
        request = hear()
        notify("notifications/tools/list_changed")
        assert ask(7, "ping") == {"jsonrpc": "2.0", "id": 7, "result": {}}
        assert ask(8, "roots/list")["error"]["code"] == -32601
        result(request, {"tools": []})
        serve({})
    """)
    assert_listed(cli(*server, *LIST), "the server asked for roots/list, which this client did not offer")


def test_banners_and_garbage_on_stdout_are_shown_and_survived(cli, serve):
    server = serve("""
        shout("Server listening on stdio\\n\\n{broken\\n")
        hello()
        shout("debug: got a request\\r\\n")
        serve({"tools/list": {"tools": []}})
    """)
    assert_listed(
        cli(*server, *LIST), '"Server listening on stdio" (not JSON', '"{broken" (not JSON', '"debug: got a request"'
    )


def test_many_warnings_are_cut_short(cli, serve):
    server = serve("shout('noise\\n' * 5000); hello(); serve({'tools/list': {'tools': []}})")
    run = cli(*server, *LIST)
    assert_listed(run, "more warnings follow")
    assert run.err.count("\n") < 30


def test_half_a_line_and_then_death_is_shown(cli, serve):
    run = cli(*serve('hello(); hear(); shout(\'{"jsonrpc": "2.0", "id": 2, "resu\'); sys.exit(1)'), *LIST)
    assert run.code == 1
    assert "the answer to tools/list cannot be used: not JSON" in run.err


def test_a_last_line_without_a_line_end_is_a_message(cli, serve):
    server = serve("""
        hello()
        request = hear()
        shout(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"tools": []}}))
    """)
    assert_listed(cli(*server, *LIST))


def test_batches_within_batches_are_no_messages(cli, serve):
    server = serve("""
        hello()
        request = hear()
        shout("[" * 400 + "]" * 400 + "\\n")
        result(request, {"tools": []})
        hear()
    """)
    assert_listed(cli(*server, *LIST), "a batch within a batch")


def test_a_hundred_thousand_notifications_are_taken_in_stride(cli, serve):
    server = serve("""
        hello()
        request = hear()
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}})
        shout((line + "\\n") * 100_000)
        result(request, {"tools": []})
        serve({})
    """)
    assert_listed(cli(*server, *LIST))


def test_a_line_of_64_megabytes_is_read(cli, serve, tmp_path):
    server = serve("""
        hello()
        request = hear()
        result(request, {"tools": [{"name": "x" * 64_000_000}]})
        serve({})
    """)
    run = cli(*server, *LIST)
    assert run.code == 0
    assert len(json.loads(run.out)["tools"][0]["name"]) == 64_000_000


def test_a_message_may_come_byte_by_byte(cli, serve):
    server = serve("""
        request = hear()
        line = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "é", "version": "1"}}}, ensure_ascii=False)
        for byte in (line + "\\n").encode():
            os.write(1, bytes([byte]))
        hear()
        serve({"tools/list": {"tools": []}})
    """)
    assert_listed(cli(*server, *LIST))


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ('{"jsonrpc":"2.0","id":2,"result":{"x":' + "[" * 10_000 + "]" * 10_000 + "}}", "nested too deeply"),
        ('{"jsonrpc":"2.0","id":2,"result":{"x":NaN}}', "NaN is not a JSON value"),
        ('{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"x"}}', "has both result and error"),
        ('{"jsonrpc":"2.0","id":2}', "has neither method, result nor error"),
    ],
    ids=["deep", "NaN", "both", "neither"],
)
def test_an_answer_that_cannot_be_used_fails_at_once_and_says_why(cli, serve, reply, problem):
    run = cli(*serve(f"hello(); hear(); shout({reply!r} + chr(10)); serve({{}})"), *LIST)
    assert run.code == 1
    assert "the answer to tools/list cannot be used: " in run.err
    assert problem in run.err
    assert run.seconds < 5


def test_an_answer_that_only_lacks_the_version_of_json_rpc_is_used_and_noted(cli, serve):
    server = serve('hello(); hear(); shout(\'{"id": 2, "result": {"tools": []}}\' + chr(10)); serve({})')
    assert_listed(cli(*server, *LIST), '"jsonrpc": "2.0" is missing')


def test_lone_surrogates_and_broken_utf_8_are_printed_escaped(cli, serve):
    server = serve(r"""
        hello()
        hear()
        os.write(1, b'{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"\\ud800","title":"\xff"}]}}\n')
        serve({})
    """)
    run = cli(*server, *LIST)
    assert run.code == 0
    assert r'"name": "\ud800"' in run.out
    assert "not UTF-8: byte 0xff" in run.err


def test_an_unknown_protocol_version_ends_the_conversation(cli, serve):
    run = cli(*serve("hello('1999-12-31'); serve({})"), *LIST)
    assert run.code == 1
    assert 'the server offers protocol version "1999-12-31", which this client does not speak' in run.err


def test_a_pinned_version_takes_no_other(cli, serve):
    run = cli(*serve("hello('2024-11-05'); serve({})"), *LIST, "--protocol", "2025-06-18")
    assert run.code == 1
    assert 'offers protocol version "2024-11-05" instead of 2025-06-18' in run.err


def test_a_cursor_that_repeats_ends_the_list_with_a_warning(cli, serve):
    server = serve("hello(); serve({'tools/list': {'tools': [{'name': 'a'}], 'nextCursor': 'again'}})")
    run = cli(*server, *LIST)
    assert run.code == 0
    assert json.loads(run.out) == {"tools": [{"name": "a"}, {"name": "a"}], "nextCursor": "again"}
    assert "the server repeats the cursor 'again'" in run.err


def test_a_server_that_always_wants_more_input_is_stopped(cli, serve):
    server = serve("""
        serve({
            "server/discover": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}},
            "tools/call": {"resultType": "input_required", "requestState": "s", "inputRequests": {
                "k": {"method": "elicitation/create", "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object"}}}}},
        })
    """)
    call = ("--method", "tools/call", "--tool-name", "t", "--protocol", "modern", "--handle-elicitation", "auto")
    run = cli(*server, *call)
    assert run.code == 1
    assert "wanted more input after 10 rounds" in run.err


def test_an_endless_line_is_cut_off(cli):
    run = cli(*LIST, "--", sys.executable, "-c", "import os\nwhile True: os.write(1, b'x' * 2**20)")
    assert run.code == 1
    assert "the server sent a line longer than 64 MiB (--max-message-size)" in run.err
