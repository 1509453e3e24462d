"""--json: stdout has JSON, and nothing else. --errors json: so has stderr, for errors. Both in every command."""

import json
import os
from importlib import import_module
from io import BytesIO

import pytest

from mcp_conductor.cli.commands.dispatch import COMMANDS, main
from mcp_conductor.cli.commands.mcp_cli.flags import FLAGS
from mcp_conductor.cli.commands.serve import run as serve
from mcp_conductor.cli.output.terminal import Terminal

SERVER = "serverInfo: {name: one, version: '1'}\ntools: [{preset: echo}]\ntransport: {type: stdio}\n"
RECORDING = (
    '{"recording": 1}\n'
    '{"at": 0.0, "source": "client", "text": "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 1, \\"method\\": \\"ping\\"}"}\n'
    '{"at": 0.1, "source": "server", "text": "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 1, \\"result\\": {}}"}\n'
)
SUITE = "description: A\ntests:\n  - {it: first, list: tools}\n  - {it: second, list: tools}\n"


def ran(directory, *words, program=main):
    out, err = BytesIO(), BytesIO()
    environ = {"HOME": "/nonexistent", "PATH": os.environ["PATH"]}
    code = program(list(words), Terminal(out, err, BytesIO(), environ, str(directory)))
    return code, out.getvalue().decode(), err.getvalue().decode()


def composed(argv, terminal):
    return serve.main(argv, terminal, program="server-composable")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.yaml").write_text(SERVER)
    (tmp_path / "a.test.mcp.yml").write_text(SUITE)
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"books": {"command": "python3", "args": ["b.py"]}}}')
    (tmp_path / "b.py").write_text("")
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_both_flags(name):
    groups = FLAGS if name == "call" else import_module(f"mcp_conductor.cli.commands.{name}.flags").FLAGS
    assert {"--json", "--errors"} <= {flag.name for flags in groups.values() for flag in flags}


# A command line of each command that cannot be carried out.
WRONG = {
    "call": ["--method", "tools/list"],
    "bridge": ["nofile.json", "--transport", "http", "--port", "0"],
    "record": ["-o", "said.jsonl", "--config", "nofile.json"],
    "proxy": ["--faults", "nofile.yaml", "--config", "nofile.json"],
    "wrap": ["nofile.json"],
    "unwrap": ["nofile.json"],
    "show": ["nofile.jsonl"],
    "test": ["nofile.test.mcp.yml"],
    "check": ["--only", "nonsense", "--", "true"],
    "discover": ["--from", "nofile.jsonl"],
    "verify": ["nofile.jsonl", "--", "true"],
    "serve": ["nofile.yaml", "--validate"],
    "replay": ["nofile.jsonl", "--transport", "http"],
    "init": ["--server", "nobody"],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("unknown", [False, True])
def test_an_error_is_the_only_thing_on_stdout_with_json_and_a_line_of_json_on_stderr_with_errors_json(
    tmp_path, monkeypatch, name, unknown
):
    monkeypatch.chdir(tmp_path)
    words = [name, "--no-such-flag"] if unknown else [name, *WRONG[name]]
    code, out, err = ran(tmp_path, *words[:1], "--json", "--errors", "json", *words[1:])
    assert code != 0
    shown = json.loads(err.splitlines()[-1])["error"]
    assert shown["kind"].startswith("RUNTIME_MCP_")
    if not (unknown and name == "serve"):  # which may be about to serve on stdio
        assert json.loads(out)["error"] == shown
    plain = ran(tmp_path, *words)
    assert plain[0] == code
    assert plain[1] == ""
    assert plain[2].startswith("error: ")


@pytest.mark.parametrize("words", [["--version"], *([name, "--help"] for name in COMMANDS if name != "serve")])
def test_help_and_version_are_text_for_people_so_stdout_stays_empty_with_json(here, words):
    assert ran(here, *words)[::2] == (0, "")
    code, out, err = ran(here, *words, "--json")
    assert (code, out) == (0, "")
    assert err


def test_a_form_of_errors_that_does_not_exist_is_refused_everywhere(here):
    for name in COMMANDS:
        code, _, err = ran(here, name, "--errors=xml")
        assert (name, code, "xml" in err) == (name, 1 if name == "call" else 2, True)


@pytest.mark.parametrize("words", [["--", "x", "--errors", "json"], ["-k", "a", "--", "x", "--json"]])
def test_the_words_of_a_server_do_not_choose_the_form(here, words):
    code, out, err = ran(here, "test", "nofile.test.mcp.yml", *words)
    assert (code, out, err.startswith("error: ")) == (2, "", True)


def test_several_mistakes_are_one_answer(here):
    (here / "b.test.mcp.yml").write_text("tests: [{it: x, nonsense: 1}]\n")
    (here / "c.test.mcp.yml").write_text("tests: [{it: x, pong: 1, bang: 2}]\n")
    report = json.loads(ran(here, "test", "--json")[1])
    assert report["kind"] == "test"  # which has its own form: what is wrong with files is an outcome
    answer = json.loads(ran(here, "test", "--json", "--collect-only")[1])
    assert {*answer} == {"error", "more"}
    assert {error["where"].split(":")[0] for error in (answer["error"], *answer["more"])} == {
        "b.test.mcp.yml",
        "c.test.mcp.yml",
    }


def test_the_tests_that_would_run_are_an_array(here):
    code, out, _ = ran(here, "test", "--collect-only", "--json")
    assert (code, json.loads(out)) == (0, {"tests": ["a.test.mcp.yml::first", "a.test.mcp.yml::second"]})


def test_requirements_and_scenarios_are_arrays(here):
    listed = json.loads(ran(here, "check", "--list", "--json", "--only", "tools")[1])
    assert {each["group"] for each in listed} == {"tools"}
    assert listed[0].keys() >= {"id", "level", "subject", "checked", "statement"}
    assert {each["id"] for each in listed} >= {"tools-item-name"}
    text = ran(here, "check", "--list", "--only", "tools")[1]
    assert all(f" {each['id']} " in text for each in listed)
    scenarios = json.loads(ran(here, "check", "--list-scenarios", "--json")[1])
    assert scenarios[0].keys() == {"name", "description", "revisions", "transports", "needs"}


def test_wrap_and_unwrap_say_what_they_changed(here):
    code, out, _ = ran(here, "wrap", "mcp.json", "--json", "-o", "said.jsonl")
    done = {"file": "mcp.json", "server": "books", "changed": True, "recording": str(here / "said.jsonl")}
    assert (code, json.loads(out)) == (0, {**done, "backup": json.loads(out)["backup"]})
    assert (here / json.loads(out)["backup"]).is_file()
    assert json.loads(ran(here, "wrap", "mcp.json", "--json", "-o", "said.jsonl")[1]) == {**done, "changed": False}
    assert json.loads(ran(here, "unwrap", "mcp.json", "--json")[1]) == done
    assert json.loads(ran(here, "unwrap", "mcp.json", "--json")[1])["changed"] is False


def test_init_lists_what_it_finds(here):
    found = json.loads(ran(here, "init", "--list", "--json")[1])
    assert found["chosen"] == "books"
    assert found["servers"] == [{"name": "books", "command": "python3 b.py", "source": "mcp.json", "ofProject": True}]


def test_discover_says_what_it_has_written(here):
    (here / "said.jsonl").write_text(RECORDING)
    answer = json.loads(ran(here, "discover", "--from", "said.jsonl", "--json")[1])
    assert (answer["tests"], answer["skipped"], answer["leftOut"]) == (1, [], [])
    assert "ping" in answer["suite"]
    code, out, _ = ran(here, "discover", "--from", "said.jsonl", "--json", "-o", "b.test.mcp.yml")
    assert (code, json.loads(out)) == (0, {"file": "b.test.mcp.yml", "tests": 1, "skipped": [], "leftOut": []})


@pytest.mark.parametrize("program", [main, composed])
def test_serve_prints_json_where_it_validates_and_reads_by_name(here, program):
    words = ["serve"] if program is main else []
    code, out, err = ran(here, *words, "server.yaml", "--validate", "--json", program=program)
    assert (code, json.loads(out)["tools"], json.loads(out)["transport"]) == (0, ["echo"], "stdio")
    assert err == "note: --json prints JSON; --input-format json reads server.yaml as JSON\n"
    presets = json.loads(ran(here, *words, "--list-presets", "--json", program=program)[1])
    assert "echo" in {each["name"] for each in presets}


def test_a_server_file_whose_name_does_not_tell_its_format_is_read_as_json_with_json(here):
    (here / "plain").write_text('{"serverInfo": {"name": "p", "version": "1"}, "transport": {"type": "stdio"}}')
    assert json.loads(ran(here, "serve", "plain", "--validate", "--json")[1])["serverInfo"]["name"] == "p"
    assert ran(here, "serve", "plain", "--validate", "--input-format", "yaml")[1].startswith("p: ")
    assert "--input-format" in ran(here, "serve", "plain", "--validate")[2]
    (here / "text.txt").write_text(SERVER)
    code, out, _ = ran(here, "serve", "text.txt", "--validate", "--json", "--yaml")
    assert (code, json.loads(out)["tools"]) == (0, ["echo"])
    code, out, err = ran(here, "serve", "server.yaml", "--json")  # it would serve: the file is to be read as JSON
    assert (code, out, "JSON" in err) == (2, "", True)


@pytest.mark.parametrize("words", [["bridge", "mcp.json"], ["replay", "said.jsonl"]])
def test_json_is_refused_where_stdout_is_for_messages(here, words):
    (here / "said.jsonl").write_text(RECORDING)
    code, out, _ = ran(here, *words, "--json")
    assert code == 2
    assert json.loads(out)["error"]["message"] == "--json requires HTTP: on stdio, stdout is for messages"


def test_errors_of_show_is_the_form_of_errors_or_an_older_name_of_failed(here):
    (here / "said.jsonl").write_text(RECORDING)
    failed = ran(here, "show", "said.jsonl", "--failed")
    older = ran(here, "show", "said.jsonl", "--errors")
    assert failed[:2] == older[:2] == (0, "")
    assert older[2] == "note: --errors without text or json is an older name of --failed\n" + failed[2]
    code, out, _ = ran(here, "show", "said.jsonl", "--errors", "json")
    assert (code, len(out.splitlines())) == (0, 2)
