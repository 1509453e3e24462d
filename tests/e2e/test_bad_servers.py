"""Whatever a server does wrong: the right exit code, a message that says what happened, nothing hung, nothing left.

The fixture `cli` asserts after each run that no process is left and that no traceback was printed.
"""

import json
import os
import sys

import pytest

LIST = ("--method", "tools/list")
TOOLS = {"tools": []}
ANSWERS = "serve({'tools/list': {'tools': []}})"


def assert_listed(run, *warnings):
    assert (run.code, json.loads(run.out)) == (0, TOOLS), run
    for warning in warnings:
        assert warning in run.err
    if not warnings:
        assert run.err == ""


def test_a_good_server_is_a_good_server(cli, serve):
    assert_listed(cli(*serve(f"hello(); {ANSWERS}"), *LIST))


def test_a_missing_command_is_named(cli):
    run = cli("no-such-command-anywhere", *LIST)
    assert run.code == 1
    assert "cannot start 'no-such-command-anywhere': No such file or directory" in run.err


def test_a_command_that_is_not_executable_is_named(cli, tmp_path):
    (tmp_path / "server").write_text("#!/bin/sh\n")
    run = cli("./server", *LIST)
    assert run.code == 1
    assert "cannot start './server': Permission denied" in run.err


def test_a_command_in_the_wrong_format_is_named(cli, tmp_path):
    (tmp_path / "server").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "server").chmod(0o755)
    run = cli("./server", *LIST)
    assert run.code == 1
    assert "cannot start './server': " in run.err


def test_a_missing_directory_is_named(cli, serve):
    run = cli(*serve(ANSWERS), *LIST, "--cwd", "nowhere")
    assert run.code == 1
    assert "nowhere' is not a directory" in run.err


def test_a_server_that_exits_at_once_is_reported_with_its_stderr(cli, serve):
    run = cli(*serve("sys.stderr.write('no database\\nbye\\n'); sys.exit(3)"), *LIST)
    assert run.code == 1
    assert "the server exited with code 3 before it answered initialize" in run.err
    assert "    | no database\n    | bye" in run.err
    assert run.out == ""


def test_a_server_that_dies_in_the_middle_of_a_call_is_reported_with_its_signal(cli, serve):
    run = cli(*serve("hello(); hear(); os.kill(os.getpid(), signal.SIGSEGV)"), *LIST)
    assert run.code == 1
    assert "the server was killed by SIGSEGV before it answered tools/list" in run.err


def test_a_server_that_never_answers_runs_into_the_timeout(cli, serve):
    run = cli(
        *serve("sys.stderr.write('thinking\\n'); hello()\nwhile True: hear()"),
        *LIST,
        "--timeout",
        "500ms",
    )
    assert run.code == 124
    assert "no result within 0.5 s: tools/list was not answered" in run.err
    assert "    | thinking" in run.err
    assert run.seconds < 5


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
    assert_listed(run, "there is more like this")
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


def test_a_server_that_closes_its_stdout_is_reported(cli, serve):
    run = cli(*serve("hello(); hear(); os.close(1); hear()"), *LIST, "--timeout", "10s")
    assert run.code == 1
    assert "the server closed its stdout before it answered tools/list" in run.err
    assert run.seconds < 6


def test_a_server_that_ignores_end_of_file_and_sigterm_is_killed(cli, serve):
    server = serve("""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        hello()
        answer(hear(), {"tools/list": {"tools": []}})
        while True:
            signal.pause()
    """)
    run = cli(*server, *LIST)
    assert_listed(run)
    assert run.seconds < 8


def test_a_server_behind_a_shell_is_ended_with_it(cli, serve):
    python, file = serve(f"hello(); {ANSWERS}")
    assert_listed(cli(*LIST, "--", "sh", "-c", f"{python} {file}; true"))


def test_a_grandchild_that_holds_the_pipes_neither_delays_nor_survives(cli, serve):
    server = serve(f"""
        subprocess.Popen([sys.executable, "-c", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"])
        hello()
        {ANSWERS}
    """)
    run = cli(*server, *LIST)
    assert_listed(run)
    assert run.seconds < 6


def test_a_grandchild_that_holds_the_pipes_of_a_dead_server_does_not_hide_its_death(cli, serve):
    server = serve("""
        subprocess.Popen(["sleep", "60"])
        hello()
        hear()
        sys.exit(9)
    """)
    run = cli(*server, *LIST)
    assert run.code == 1
    assert "the server exited with code 9 before it answered tools/list" in run.err
    assert run.seconds < 8


def test_a_background_job_with_a_process_group_of_its_own_is_ended(cli, serve):
    server = serve(f"""
        subprocess.Popen(["sleep", "60"], process_group=0, stdout=subprocess.DEVNULL)
        hello()
        {ANSWERS}
    """)
    assert_listed(cli(*server, *LIST))


def test_a_flood_on_stderr_does_not_block_the_server(cli, serve):
    server = serve(f"""
        hello()
        for _ in range(2000):
            sys.stderr.write("x" * 5000 + "\\n")
        sys.stderr.write("y" * 3_000_000)
        sys.stderr.flush()
        {ANSWERS}
    """)
    assert_listed(cli(*server, *LIST))


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


def test_a_server_that_does_not_read_its_stdin_runs_into_the_timeout(cli, serve, tmp_path):
    (tmp_path / "arguments.json").write_text(json.dumps({"text": "x" * 5_000_000}))
    call = ("--method", "tools/call", "--tool-name", "t", "--tool-args-json", "@arguments.json")
    run = cli(*serve("hello(); signal.pause()"), *call, "--request-timeout", "500ms")
    assert run.code == 124
    assert "no answer to tools/call within 0.5 s" in run.err
    assert "the server does not read its stdin" in run.err
    assert run.seconds < 8


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
    assert 'offers protocol version "2024-11-05", not 2025-06-18' in run.err


def test_a_cursor_that_repeats_ends_the_list_with_a_warning(cli, serve):
    server = serve("hello(); serve({'tools/list': {'tools': [{'name': 'a'}], 'nextCursor': 'again'}})")
    run = cli(*server, *LIST)
    assert run.code == 0
    assert json.loads(run.out) == {"tools": [{"name": "a"}, {"name": "a"}], "nextCursor": "again"}
    assert "the server repeats the cursor 'again'" in run.err


def test_a_server_that_wants_input_for_ever_is_stopped(cli, serve):
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


def test_a_ready_pattern_that_never_comes_is_an_error(cli, serve, tmp_path):
    python, file = serve("sys.stderr.write('warming up\\n'); hello(); serve({})")
    settings = {"name": "slow", "command": python, "args": [file], "readyPattern": "listening", "startupTimeout": 400}
    (tmp_path / "conductor.config.json").write_text(json.dumps(settings))
    run = cli(*LIST)
    assert run.code == 1
    assert "no line of the server's stderr matched readyPattern 'listening' within 0.4 s" in run.err
    assert "    | warming up" in run.err


def test_a_ready_pattern_is_waited_for(cli, serve, tmp_path):
    python, file = serve(f"sys.stderr.write('listening on 3000\\n'); sys.stderr.flush(); hello(); {ANSWERS}")
    settings = {"name": "s", "command": python, "args": [file], "readyPattern": r"listening on \d+"}
    (tmp_path / "conductor.config.json").write_text(json.dumps(settings))
    assert_listed(cli(*LIST))


def test_an_endless_line_is_cut_off(cli):
    run = cli(*LIST, "--", sys.executable, "-c", "import os\nwhile True: os.write(1, b'x' * 2**20)")
    assert run.code == 1
    assert "a line longer than 256 MiB" in run.err


def test_the_environment_of_the_server_is_ours_with_additions(cli, serve):
    server = serve("hello(); serve({'tools/list': {'tools': [os.environ['HOME'], os.environ['EXTRA']]}})")
    run = cli(*server, *LIST, "-e", "EXTRA=more")
    assert json.loads(run.out)["tools"] == [os.environ["HOME"], "more"]
