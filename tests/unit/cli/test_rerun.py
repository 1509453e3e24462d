"""What to run next after a check: command lines that can be pasted, and mean the same server; without secrets."""

import shlex

import pytest

from mcp_conductor.cli.commands.check.flags import FLAGS
from mcp_conductor.cli.flags import parse
from mcp_conductor.cli.flags.target import source_file
from mcp_conductor.cli.output.rerun import next_lines, reach
from mcp_conductor.report.formats.folding import InRevisions
from mcp_conductor.report.model import Outcome

NAME = "tools-item-name"


def shown(status="failed", name=NAME, versions=("2025-06-18", "2025-11-25"), **more) -> InRevisions:
    outcome = Outcome(id=name, title="t", group="tools", status=status, level="MUST", **more)
    return InRevisions(outcome, versions)


def again(*argv: str) -> list[str]:
    """The words of the command line that checks the first failure again."""
    _, explain, line = next_lines(parse(list(argv), FLAGS), [shown()]).splitlines()
    assert explain == f"  conductor check --explain {NAME}"
    return shlex.split(line)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["python", "server.py"], ["--only", NAME, "-vv", "--", "python", "server.py"]),
        (["--", "my server", "--flag", "it's"], ["--only", NAME, "-vv", "--", "my server", "--flag", "it's"]),
        (["--client", "run {server} 'a b'"], ["--client", "run {server} 'a b'", "--only", NAME, "-vv"]),
        (["--config", "a.json", "--server", "x"], ["--config", "a.json", "--server", "x", "--only", NAME, "-vv"]),
        (["--transcript", "a b.jsonl", "--level", "must"], ["--transcript", "a b.jsonl", "--only", NAME, "-vv"]),
        (
            ["--protocol", "all", "--only", "tools", "-q", "--json", "--timeout", "5s", "--", "s"],
            ["--timeout", "5s", "--protocol", "2025-11-25", "--only", NAME, "-vv", "--", "s"],
        ),
    ],
)
def test_the_line_names_the_same_server_and_the_requirement_alone(argv, expected):
    words = again(*argv)
    assert words == ["conductor", "check", *expected]
    assert parse(words[2:], FLAGS).words == parse(argv, FLAGS).words


@pytest.mark.parametrize(("argv", "expected"), [([], []), (["--only", "base"], ["--only", "base"])])
def test_what_came_up_in_other_checks_is_looked_for_in_all_that_were_asked_for(argv, expected):
    _, _, line = next_lines(parse([*argv, "--", "s"], FLAGS), [shown(elsewhere=True)]).splitlines()
    assert shlex.split(line) == ["conductor", "check", *expected, "-vv", "--", "s"]


def test_secrets_are_left_out():
    words = again("http://127.0.0.1:1/mcp", "--token", "abcdefghijkl", "--header", "X-Key: mnopqrstuvwx")
    assert "abcdefghijkl" not in " ".join(words)
    assert "mnopqrstuvwx" not in " ".join(words)
    assert words[-2:] == ["--", "http://127.0.0.1:1/mcp"]


def test_failures_come_before_warnings_and_where_there_is_neither_nothing_is_said():
    given = parse(["server"], FLAGS)
    assert "--explain b\n" in next_lines(given, [shown("warned", "a"), shown("failed", "b")])
    assert "--explain a\n" in next_lines(given, [shown("warned", "a"), shown("passed", "b")])
    assert next_lines(given, [shown("passed"), shown("skipped")]) == ""


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        (["python", "server.py"], "server.py"),
        (["npx", "some-server"], None),
        (["--client", "python client.py {server}"], "client.py"),
        (["--config", "other.json"], "other.json"),
        (["http://127.0.0.1:1/mcp"], None),
        ([], "conductor.config.json"),
    ],
)
def test_findings_belong_to_the_file_that_names_or_starts_the_server(tmp_path, argv, file):
    for name in ("server.py", "client.py", "other.json", "conductor.config.json"):
        (tmp_path / name).touch()
    assert source_file(parse(argv, FLAGS), str(tmp_path)) == file


@pytest.mark.parametrize(
    ("argv", "server", "expected"),
    [
        (["--", "node", "my server.js", "--port", "1"], None, "-- node 'my server.js' --port 1"),
        (["http://127.0.0.1/mcp", "--protocol", "all"], None, "-- http://127.0.0.1/mcp"),
        (["--config", "a.json"], "books", "--config a.json --server books"),
        (["--config", "a.json", "--server", "x"], "books", "--config a.json --server x"),
        (["http://127.0.0.1/mcp", "--token", "hunter2hunter2"], None, "--token '[redacted]' -- http://127.0.0.1/mcp"),
        ([], None, ""),
    ],
)
def test_mcp_cli_is_told_which_server_was_meant_and_no_secret(argv, server, expected):
    given = parse(argv, FLAGS)
    assert reach(given, given.words, server) == expected
