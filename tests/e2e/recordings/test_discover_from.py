"""`conductor discover --from`: what was recorded becomes a suite that passes at once."""

import json
import subprocess

import pytest
from tests import prefork
from tests.e2e.recordings.conftest import NOTES, REAL, everything, filesystem
from tests.e2e.suites.conftest import CONDUCTOR

from mcp_conductor.files.source import load

SUITE = "said.test.mcp.yml"


@pytest.fixture
def conductor(verify):
    def run(*words, **variables):
        return prefork.run(
            [*CONDUCTOR, *words], cwd=verify.folder, env=verify.environment | variables, capture_output=True,
            text=True, timeout=60,
        )  # fmt: skip

    return run


@pytest.fixture
def suite(conductor, verify):
    """Write the suite: its tests by their names, and the run."""

    def write(*flags):
        done = conductor("discover", "--from", "said.jsonl", "-o", SUITE, *flags)
        assert done.returncode == 0, done.stderr
        return {test["it"]: test for test in load(str(verify.folder / SUITE)).data["tests"]}, done

    return write


def passes(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["summary"]


def test_flows_become_captures_and_the_suite_passes_on_a_server_with_other_ids(conductor, notes, suite):
    tests, _ = suite()
    assert tests["calls add"]["capture"] == {"id": "result.structuredContent.id"}
    assert tests["calls get"]["call"] == {"tool": "get", "args": {"id": "{{ id }}"}}
    assert tests["answers resources/list"]["capture"] == {"nextCursor": "result.nextCursor"}
    assert tests["answers resources/list (2)"]["request"]["params"] == {"cursor": "{{ nextCursor }}"}
    assert tests["calls rename"]["client"] == {
        "elicitation": [{"reply": {"action": "accept", "content": {"name": "Ada"}}}]
    }


def test_the_suite_finds_a_change(conductor, suite, verify, serve, said):
    (verify.folder / "said.jsonl").write_text(said)
    tests, _ = suite()
    assert tests["calls get"]["expect"] == {
        "result": {"content": [{"type": "text", "text": "buy milk"}], "isError": False}
    }
    file = verify.folder / SUITE
    # A number that is another in each process and was not sent: one recording does not show that it changes.
    number = next(line for line in file.read_text().splitlines() if "number:" in line)
    changing = number.partition("number: ")[2].partition(",")[0].strip("} ")
    file.write_text(file.read_text().replace(f"number: {changing}", "number: match:type:number"))
    assert passes(conductor("test", SUITE, "--json", "--", *serve(NOTES)))["passed"] == 7
    upper = NOTES.replace('notes[note] = arguments["text"]', 'notes[note] = arguments["text"].upper()')
    done = conductor("test", SUITE, "--json", "--", *serve(upper))
    assert done.returncode == 1
    failed = [each["title"] for each in json.loads(done.stdout)["outcomes"] if each["status"] == "failed"]
    assert failed == ["calls get"]


def test_a_secret_becomes_a_variable_of_the_environment(suite, notes, verify):
    file = verify.folder / "said.jsonl"
    file.write_text(file.read_text().replace("buy milk", "[redacted]"))
    tests, done = suite()
    assert tests["calls add"]["call"]["args"] == {"text": "{{ env.TEXT }}"}
    assert "set TEXT in the environment: it stands for a secret" in done.stderr
    assert "[redacted]" not in (verify.folder / SUITE).read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "none.jsonl"), "cannot read none.jsonl"),
        (("--from", "said.jsonl", "--", "python"), "both a recording and a server ('python') are given"),
        (("--from", "said.jsonl", "--include-writes"), "--include-writes has no meaning with --from"),
        (("--session", "2"), "--session is for --from FILE"),
    ],
)
def test_wrong_use_is_told(conductor, notes, words, message):
    done = conductor("discover", *words)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_recording_that_makes_no_test_says_why(conductor, verify):
    said = {"client": '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', "server": '{"jsonrpc":"2.0","id":1,"result":5}'}
    lines = [json.dumps({"at": 0, "source": source, "text": text}) + "\n" for source, text in said.items()]
    (verify.folder / "said.jsonl").write_text("".join(lines))
    done = conductor("discover", "--from", "said.jsonl", "-o", SUITE)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: said.jsonl has no request that a test could send",
        "  hint: left out: request 1, tools/list: its result is not an object",
    ]


@pytest.mark.parametrize("peer", [everything, filesystem])
def test_the_suite_of_a_real_server_passes_at_once(conductor, recorded, suite, peer):
    server, flags, requests = recorded(peer)
    suite()
    assert passes(conductor("test", SUITE, "--json", *flags, "--", *server))["passed"] == requests - 1


@pytest.mark.slow
@pytest.mark.parametrize("peer", REAL)
def test_the_suite_of_a_real_server_passes_twenty_times(conductor, recorded, suite, peer):
    server, flags, requests = recorded(peer)
    suite()
    for _ in range(20):
        assert passes(conductor("test", SUITE, "--json", *flags, "--", *server))["passed"] == requests - 1


# A client that answers questions as tasks, and a server with tools for such clients alone.

TASKS = {"requests": {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}}}
LATER = """
from raw import ask, hear, hello, result
offered = hello(tools={})["capabilities"]
waits = "elicitation" in offered.get("tasks", {}).get("requests", {})
tool = {"name": "ask_later" if waits else "ask_now", "inputSchema": {"type": "object"}}
form = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
while request := hear():
    if request["method"] == "tools/list":
        result(request, {"tools": [tool]})
    elif request["method"] == "tools/call":
        task = ask("q1", "elicitation/create", task={"ttl": 1000}, **form)["result"]["task"]
        while (now := ask("q2", "tasks/get", taskId=task["taskId"])["result"])["status"] == "working":
            pass
        said = ask("q3", "tasks/result", taskId=task["taskId"])["result"]["content"]["name"]
        result(request, {"content": [{"type": "text", "text": f"{said} by {task['taskId']}: {now['status']}"}]})
"""


def record_tasks(verify, server, calls):
    """Be a client whose tasks need no time, by way of `conductor record`."""
    words = [*CONDUCTOR, "record", "-o", "said.jsonl", "--", *server]
    client = prefork.start(
        words, cwd=verify.folder, env=verify.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def say(**members):
        client.stdin.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
        client.stdin.flush()

    times = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": None}
    info = {"name": "c", "version": "1"}
    capabilities = {"elicitation": {}, "sampling": {}, "tasks": TASKS}
    opening = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
    message = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "42"}}
    answers, kept = {"elicitation/create": {"action": "accept", "content": {"name": "Ada"}}}, {}
    answers["sampling/createMessage"] = message
    for number, (method, params) in enumerate([("initialize", opening), *calls]):
        say(id=number, method=method, params=params)
        while (heard := json.loads(client.stdout.readline())).get("id") != number or "method" in heard:
            if heard.get("method") in answers:
                task = f"later-{len(kept)}-abcdef"
                kept[task] = answers[heard["method"]]
                say(id=heard["id"], result={"task": {"taskId": task, "status": "working", **times}})
            elif heard.get("method") == "tasks/get":
                say(id=heard["id"], result={"taskId": heard["params"]["taskId"], "status": "completed", **times})
            elif heard.get("method") == "tasks/result":
                meta = {"io.modelcontextprotocol/related-task": heard["params"]}
                say(id=heard["id"], result={**kept[heard["params"]["taskId"]], "_meta": meta})
        if method == "initialize":
            say(method="notifications/initialized")
    client.communicate(timeout=20)


def test_tools_for_clients_with_tasks_are_tested_with_such_a_client(conductor, verify, suite, serve):
    record_tasks(verify, serve(LATER), [("tools/list", {}), ("tools/call", {"name": "ask_later", "arguments": {}})])
    tests, _ = suite()
    assert load(str(verify.folder / SUITE)).data["client"]["tasks"] == ["sampling", "elicitation"]
    assert tests["calls ask_later"]["client"] == {
        "elicitation": [{"reply": {"action": "accept", "content": {"name": "Ada"}}}]
    }
    assert passes(conductor("test", SUITE, "--json", "--", *serve(LATER)))["passed"] == 2


@pytest.mark.slow
@pytest.mark.peers
def test_tools_of_others_for_clients_with_tasks_are_tested(conductor, verify, suite):
    server = everything(None)[0]
    names = ["trigger-elicitation-request-async", "trigger-sampling-request-async"]
    calls = [("tools/call", {"name": name, "arguments": {"prompt": "hi"}}) for name in names]
    record_tasks(verify, server, [("ping", {}), *calls])
    tests, _ = suite()
    assert {f"calls {name}" for name in names} <= set(tests)
    assert passes(conductor("test", SUITE, "--json", "--", *server))["passed"] == 3
