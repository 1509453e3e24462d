"""mcp-cli uses what the sample configs have, and says the same on every transport."""

import json
import re
import subprocess
from contextlib import contextmanager

import pytest
from tests.conftest import MCP_CLI
from tests.e2e.server.peers import DATA, PATIENCE, SOUND, TRANSPORTS, Servers, eras, ways

UNIQUE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z")


@pytest.fixture(scope="module")
def servers():
    pool = Servers()
    yield pool
    pool.stop()


@pytest.fixture
def ask(cli, servers):
    """Run mcp-cli on a sample."""

    def run(name, transport, era, *flags):
        return cli("--protocol", era, *flags, "--", *servers.words(name, transport))

    return run


def call(tool, *flags, **arguments):
    given = (word for pair in arguments.items() for word in ("--tool-arg", "=".join(pair)))
    return "--method", "tools/call", "--tool-name", tool, *given, *flags


def read(uri):
    return "--method", "resources/read", "--uri", uri


def prompt(name, **arguments):
    given = (word for pair in arguments.items() for word in ("--prompt-arg", "=".join(pair)))
    return "--method", "prompts/get", "--prompt-name", name, *given


def complete(ref, name, value):
    words = ("--completion-ref", ref, "--argument-name", name, "--argument-value", value)
    return "--method", "completion/complete", *words


POLL = ("--run-as-task", "--poll", "--poll-interval", "20ms")
ELICIT = "--handle-elicitation"
SAMPLE = ("--handle-sampling", '{"model": "m", "role": "assistant", "content": {"type": "text", "text": "forty-two"}}')
URL = {"message": "Visit", "url": "https://example.com/"}

ANY = '{"message": "Who?", "schema": {"type": "object", "properties": {"who": {"type": "string"}}}}'

# What is asked of each sample, and what stands in the answer: the first in every way, the others in one era each.
USES = {
    "asking.yaml": [
        (call("collect_sample", *SAMPLE, text="hi"), "forty-two"),
        (call("list_roots", "--roots", "file:///tmp=Temp"), "file:///tmp"),
        (call("collect_elicitation", "--tool-args-json", ANY, ELICIT, '{"who": "Ada"}'), "Ada"),
        (call("collect_url_elicitation", ELICIT, "auto", **URL), '\\"action\\":\\"accept\\"'),
        (call("mrtr_two_step", ELICIT, '[{"value": "one"}, {"value": "two"}]'), '\\"value\\":\\"two\\"'),
        (call("mrtr_confirm", ELICIT, "reject", action="x"), '\\"action\\":\\"decline\\"'),
    ],
    "completions.yaml": [
        (complete("ref/prompt/args_prompt", "city", "U"), "Utrecht"),
        (complete("ref/resource/file:///{path}", "path", "rep"), "report.txt"),
    ],
    "conformance.yaml": [
        (call("test_multiple_content_types"), "test://mixed-content-resource"),
        (call("test_elicitation_sep1330_enums", ELICIT, "auto"), "action=accept"),
        (read("test://template/7/data"), "Data for ID: 7"),
    ],
    "content.yaml": [
        (call("get_temp", "--output-schema-validate", city="Ulm", units="C"), '"temperature": 25'),
        (read("test://binary_resource"), '"blob"'),
        (prompt("image_prompt"), '"image/png"'),
    ],
    "demo-http.json": [(call("echo", message="12"), "Echo: 12")],
    "demo-sse.json": [(call("add", a="2", b="40"), "42")],
    "demo.json": [
        (call("tool_5", message="hi"), "Tool 5: hi"),
        (read("user://7"), "user7@example.com"),
        (prompt("args_prompt", city="Ulm", state="Bavaria"), "city=Ulm, state=Bavaria"),
    ],
    "headers.yaml": [(call("get_weather", city="Ulm"), "Weather in Ulm")],
    "inline.yaml": [
        (call("way", **{"from": "1", "to": "2"}), '"to": 2'),
        (call("introduce", *SAMPLE, "--roots", "file:///a"), "forty-two (1 places)"),
        (complete("ref/prompt/letter", "to", "Al"), "Alan"),
    ],
    "list-changed.json": [(call("echo", message="hi"), "Echo: hi")],
    "logging.yaml": [(call("send_progress", "--progress-token", "p", units="2", delayMs="1"), "Completed 2")],
    "old-server.yaml": [(read("demo://resource/static/document/architecture.md"), "Architecture")],
    "pagination.json": [(prompt("prompt_3"), "This is prompt 3")],
    "stateless.yaml": [(call("add", a="0.5", b="1"), "1.5")],
    "subscriptions.yaml": [(call("update_resource", uri="test://resource_1", text="x"), "updated")],
    "tasks-extension.json": [
        (call("modern_task", *POLL, message="hi"), '"status": "completed"'),
        (call("modern_input_task", *POLL, ELICIT, '{"approved": true}'), '\\"approved\\":true'),
    ],
    "tasks-only.json": [(call("forbidden_task", message="hi"), "Task completed immediately: hi")],
}
TASKS = [  # of 2025-11-25
    (call("simple_task", *POLL, message="hi"), "Task completed: hi"),
    (call("progress_task", *POLL, "--progress-token", "p"), '"status": "completed"'),
    (call("elicitation_task", *POLL, ELICIT, "auto"), '"status": "completed"'),
    (call("sampling_task", *POLL, *SAMPLE), '"status": "completed"'),
]
FAILURES = {
    "conformance.yaml": (call("test_error_handling"), "This tool intentionally returns an error"),
    "headers.yaml": (call("trigger_invalid_params"), "-32602"),
    "inline.yaml": (call("burn"), "1050"),
    "old-server.yaml": (call("none"), "Tool none not found"),
    "pagination.json": (read("test://none"), "Resource not found"),
}


def said_on_each_transport(ask, name, era, flags, code=0, but=None):
    """What mcp-cli prints, which is the same on each transport; ids and times aside."""
    usable = TRANSPORTS if era == "handshake" else ("stdio", "streamable-http")
    runs = {way: ask(name, way, era, *flags) for way in usable if way != but}
    said = {(run.code, UNIQUE.sub("*", run.out)) for run in runs.values()}
    assert len(said) == 1, {way: (run.code, run.out, run.err) for way, run in runs.items()}
    ((ended, out),) = said
    assert ended == code, runs
    return out


def test_every_sample_is_used():
    assert set(USES) == set(SOUND)


# One test for all that is asked of a sample, so that its servers are started by one worker only.
@pytest.mark.parametrize("name", SOUND)
def test_lists_answers_and_failures_are_the_same_on_each_transport(ask, name):
    member = "tools" if "tools" in DATA[name] else "prompts"
    for era in eras(name):
        assert json.loads(said_on_each_transport(ask, name, era, ("--method", f"{member}/list")))[member]
        flags, said = USES[name][0]
        assert said in said_on_each_transport(ask, name, era, flags)
        if name in FAILURES:
            flags, said = FAILURES[name]
            assert said in said_on_each_transport(ask, name, era, flags, code=2, but="sse")
    for number, (flags, said) in enumerate(USES[name][1:]):
        era = eras(name)[number % len(eras(name))]
        assert said in said_on_each_transport(ask, name, era, flags, but="sse")


def test_tasks_end_in_the_same_way_on_each_transport(ask):
    for flags, said in TASKS:
        assert said in said_on_each_transport(ask, "tasks-only.json", "handshake", flags, but="sse")


@pytest.mark.parametrize(
    ("name", "version"),
    [("demo-http.json", "2025-11-25"), ("old-server.yaml", "2024-11-05"), ("stateless.yaml", "2026-07-28")],
)
def test_the_best_era_is_found(ask, name, version):
    shown = json.loads(said_on_each_transport(ask, name, "auto", ("--method", "server/info")))
    assert (shown["name"], shown["protocolVersion"]) == (DATA[name]["serverInfo"]["name"], version)


@pytest.mark.parametrize(("name", "transport", "era"), ways("logging.yaml"))
def test_progress_is_shown(ask, name, transport, era):
    run = ask(name, transport, era, *call("send_progress", "--progress-token", "p", units="3", delayMs="1"))
    assert (run.code, run.err.count("progress: ")) == (0, 3), run.err


def test_the_stderr_of_the_server_is_shown(ask):
    run = ask("logging.yaml", "stdio", "handshake", "-v", *call("write_to_stderr", message="woe"))
    assert run.code == 0
    assert "stderr: woe\n" in run.err


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
def test_a_task_is_found_again_by_the_next_run(ask, transport):
    def say(*flags):
        run = ask("tasks-only.json", transport, "handshake", *flags)
        assert run.code == 0, run.err
        return json.loads(run.out)

    made = say(*call("elicitation_task", "--run-as-task", "--task-ttl", "1m", ELICIT, "auto"))
    named = ("--task-id", made["taskId"])
    assert made["ttl"] == 60_000
    assert made["taskId"] in [task["taskId"] for task in say("--method", "tasks/list")["tasks"]]
    assert say("--method", "tasks/get", *named)["status"] == "input_required"
    assert say("--method", "tasks/cancel", *named)["status"] == "cancelled"
    assert say("--method", "tasks/get", *named)["status"] == "cancelled"


# Following.


@pytest.fixture
def meanwhile(servers, tmp_path):
    """Run mcp-cli beside another."""

    def run(name, transport, era, *flags):
        words = [*MCP_CLI, "--protocol", era, *flags, "--", *servers.words(name, transport)]
        subprocess.run(words, stdout=subprocess.DEVNULL, cwd=tmp_path, timeout=PATIENCE, check=True)

    return run


@pytest.fixture
def follow(servers, environment, tmp_path, survivors):
    """mcp-cli with --follow in the background; it ends when nobody reads what it prints."""

    @contextmanager
    def start(name, transport, era, *flags):
        words = [*MCP_CLI, "--protocol", era, *flags, "--follow", "--timeout", f"{PATIENCE:g}s", "--"]
        process = subprocess.Popen(
            [*words, *servers.words(name, transport)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment,
            text=True,
        )
        try:
            yield (json.loads(line) for line in process.stdout if line.startswith('{"event":'))
            process.stdout.close()
            assert (process.wait(PATIENCE), process.stderr.read()) == (0, "")
        finally:
            process.kill()
            process.wait(PATIENCE)
            process.stdout.close()
            process.stderr.close()

    yield start
    assert survivors() == []


@pytest.mark.parametrize(
    ("transport", "era"), [("streamable-http", "handshake"), ("streamable-http", "modern"), ("sse", "handshake")]
)
def test_a_follower_sees_its_resource_change_and_no_other(follow, meanwhile, transport, era):
    name, uri = "subscriptions.yaml", "test://resource_1"
    with follow(name, transport, era, "--method", "resources/subscribe", "--uri", uri) as events:
        assert any(event == {"event": "subscribed", "uri": uri} for event in events)
        for changed in ("test://resource_2", uri):
            meanwhile(name, transport, era, *call("update_resource", uri=changed, text=f"news of {changed}"))
        seen = []
        for event in events:
            seen.append(event)
            if event["event"] == "updated":
                break
    updates = [event for event in seen if event.get("method") != "notifications/subscriptions/acknowledged"]
    assert [event["event"] for event in updates] == ["notification", "updated"]
    assert updates[0]["params"]["uri"] == uri
    assert updates[1]["contents"][0]["text"] == f"news of {uri}"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_follower_sees_what_its_call_logs(follow, transport):
    words = call("send_notification", message="hi", level="error")
    with follow("logging.yaml", transport, "handshake", *words) as events:
        logged = next(event for event in events if event["method"] == "notifications/message")
    assert logged["params"] == {"level": "error", "logger": "test-server", "data": {"message": "hi"}}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_follower_sees_that_its_call_changed_a_list(follow, transport):
    words = call("add_prompt", name="one more", promptString="x")
    with follow("list-changed.json", transport, "handshake", *words) as events:
        assert next(events)["method"] == "notifications/prompts/list_changed"


def test_a_follower_of_the_modern_era_sees_that_somebody_changed_a_list(follow, meanwhile):
    way = ("list-changed.json", "streamable-http", "modern")
    with follow(*way, "--method", "server/info") as events:
        assert next(events)["method"] == "notifications/subscriptions/acknowledged"
        meanwhile(*way, *call("add_prompt", name="yet one more", promptString="x"))
        assert next(events)["method"] == "notifications/prompts/list_changed"
