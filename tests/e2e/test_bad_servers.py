"""For every mistake of a server: the right exit code, a message that says what happened, nothing hung, nothing left.

The fixture `cli` asserts after each run that no process is left and that no traceback was printed.
"""

import json
import os

from tests.e2e.listing import ANSWERS, LIST, assert_listed


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


def test_a_server_that_closes_its_stdout_is_reported(cli, serve):
    run = cli(*serve("hello(); hear(); os.close(1); hear()"), *LIST, "--timeout", "10s")
    assert run.code == 1
    assert "the server closed its stdout before it answered tools/list" in run.err
    assert run.seconds < 6


def test_a_server_that_closes_its_stdin_can_still_answer(cli, serve):
    server = serve("""
        hello()
        request = hear()
        os.close(0)
        time.sleep(0.8)  # longer than we wait for the last words of the dead
        result(request, {"tools": []})
        sys.stdout.flush()
        os._exit(0)
    """)
    assert_listed(cli(*server, *LIST))


def test_a_server_that_closed_its_stdin_cannot_be_asked_again(cli, serve):
    server = serve("""
        hello()
        request = hear()
        os.close(0)
        result(request, {"tools": [], "nextCursor": "2"})
        signal.pause()
    """)
    run = cli(*server, *LIST, "--timeout", "10s")
    assert run.code == 1
    assert "the server closed its stdin before it answered tools/list" in run.err


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


def test_a_server_that_does_not_read_its_stdin_runs_into_the_timeout(cli, serve, tmp_path):
    (tmp_path / "arguments.json").write_text(json.dumps({"text": "x" * 5_000_000}))
    call = ("--method", "tools/call", "--tool-name", "t", "--tool-args-json", "@arguments.json")
    run = cli(*serve("hello(); signal.pause()"), *call, "--request-timeout", "500ms")
    assert run.code == 124
    assert "no answer to tools/call within 0.5 s" in run.err
    assert "the server does not read its stdin" in run.err
    assert run.seconds < 8


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


def test_the_environment_of_the_server_is_ours_with_additions(cli, serve):
    server = serve("hello(); serve({'tools/list': {'tools': [os.environ['HOME'], os.environ['EXTRA']]}})")
    run = cli(*server, *LIST, "-e", "EXTRA=more")
    assert json.loads(run.out)["tools"] == [os.environ["HOME"], "more"]
