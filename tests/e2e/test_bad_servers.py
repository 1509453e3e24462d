"""Whatever a server does wrong: the right exit code, a message that says what happened, nothing hung, nothing left."""

import json

LIST = ("--method", "tools/list")


def test_a_missing_command_is_named(cli):
    run = cli("no-such-command-anywhere", *LIST)
    assert run.code == 1
    assert "cannot start 'no-such-command-anywhere': No such file or directory" in run.err


def test_a_server_that_exits_at_once_is_reported_with_its_stderr(cli, serve):
    run = cli(*serve("sys.stderr.write('no database\\nbye\\n'); sys.exit(3)"), *LIST)
    assert run.code == 1
    assert "exited with code 3 before it answered initialize" in run.err
    assert "    | no database\n    | bye" in run.err
    assert run.out == ""


def test_a_good_server_is_a_good_server(cli, serve):
    run = cli(*serve("hello(); serve({'tools/list': {'tools': []}})"), *LIST)
    assert (run.code, json.loads(run.out), run.err) == (0, {"tools": []}, "")
