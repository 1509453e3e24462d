"""How a check is carried out: few processes, bounded waits, and no verdict on what could not be seen."""

import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests import prefork
from tests.conftest import SERVERS
from tests.e2e.checks.plain_servers import PlainHttp, broken

from mcp_conductor.checks.engine.check import CHECKS
from mcp_conductor.checks.engine.first_session import start_seconds
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.checks.requirements import requirements
from mcp_conductor.client.connect import connect
from mcp_conductor.protocol.dialect import NEWEST_HANDSHAKE, NEWEST_MODERN
from mcp_conductor.protocol.server_spec import HttpSpec, StdioSpec
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.report.events import CaseFinished, CaseStarted, RunStarted
from mcp_conductor.transport.children import start_ahead

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")


def test_every_requirement_on_servers_has_a_check_or_a_reason():
    servers = {name for name, each in requirements().items() if each.subject == "server"}
    checks = {name for name, _ in CHECKS.items()}
    unseen = {name for name in servers if requirements()[name].unseen is not None}
    assert checks | unseen == servers
    assert checks & unseen == set()


COUNTED = """
    def run(self):
        with open(sys.argv[1], "a") as starts:
            starts.write("x")
        super().run()
    """


WITHOUT_QUESTIONS = """
    tools = Plain.tools
    """


@pytest.mark.parametrize(
    ("base", "body", "version", "most"),
    [
        ("Plain", COUNTED, "2025-11-25", 9),
        ("Modern", COUNTED, "2026-07-28", 12),
        ("Modern", COUNTED + WITHOUT_QUESTIONS, "2026-07-28", 5),
    ],
)
async def test_polite_probes_share_processes(verdicts_of, tmp_path, base, body, version, most):
    starts = tmp_path / "starts"
    await verdicts_of((*broken(tmp_path, base, body), str(starts)), version)
    assert 4 < len(starts.read_text()) <= most


DEAF = (
    COUNTED
    + """
    def take(self, message):
        proper = isinstance(message, dict) and message.get("jsonrpc") == "2.0" and "method" in message
        if proper and message.get("id", 0) is not None:
            super().take(message)
    """
)


async def test_what_is_wrong_and_not_answered_does_not_take_another_process(verdicts_of, tmp_path):
    starts = tmp_path / "starts"
    outcomes = await verdicts_of((*broken(tmp_path, "Plain", DEAF), str(starts)))
    outcome = outcomes["base-invalid-request-server"]
    assert (outcome.status, outcome.findings) == ("skipped", ())
    assert outcome.reason == "what is not a request is not answered, which the specification does not demand"
    assert len(starts.read_text()) <= 9


ODD_AFTERWARDS = """
    def take(self, message):
        method = message.get("method") if isinstance(message, dict) else None
        self.odd = getattr(self, "odd", False) or (method == "notifications/initialized" and "params" in message)
        if self.odd and method == "tools/call":
            message = {**message, "params": {"name": "look", **message["params"]}}
        super().take(message)
    """


async def test_what_another_probe_left_behind_is_no_finding(verdicts_of, tmp_path):
    outcomes = await verdicts_of(broken(tmp_path, "Plain", ODD_AFTERWARDS))
    assert outcomes["lifecycle-initialized-accepted-server"].status == "passed"
    assert outcomes["base-invalid-params-server"].status == "passed"


OLD_AFTER_HALF_A_REQUEST = """
    def reply(self, request):
        if self.meta_problem(request.get("params", {}).get("_meta")) is not None:
            self.old = "2.0" == request["jsonrpc"]
            return super().reply(request)
        return error(request["id"], -32600, "initialize first") if getattr(self, "old", False) else super().reply(request)
    """


async def test_what_an_incomplete_request_left_behind_is_no_finding(verdicts_of, tmp_path):
    outcomes = await verdicts_of(broken(tmp_path, "Modern", OLD_AFTER_HALF_A_REQUEST), "2026-07-28")
    assert outcomes["meta-missing-rejected"].status == "passed"
    assert outcomes["stateless-lists-connection-independent"].status == "passed"
    assert outcomes["stateless-no-connection-affinity"].status == "passed"


ONE_AT_A_TIME = """
    def run(self):
        try:
            open(sys.argv[1], "x").close()
        except FileExistsError:
            sys.exit("another one runs")
        try:
            super().run()
        finally:
            __import__("os").unlink(sys.argv[1])
    """


@pytest.mark.parametrize(
    ("base", "seen"), [("Plain", "ping-response-server"), ("Modern", "versioning-discover-implemented")]
)
def test_a_server_that_cannot_run_twice_is_checked_as_far_as_one_process_shows(tmp_path, base, seen):
    server = (*broken(tmp_path, base, ONE_AT_A_TIME), str(tmp_path / "lock"))
    outcomes = outcomes_of(server)
    assert {each["status"] for each in outcomes.values()} <= {"passed", "skipped", "warned"}
    assert outcomes[seen]["status"] == "passed"
    assert outcomes["base-utf8-server"]["reason"].startswith("another session could not be opened: ")


def test_a_server_that_cannot_run_twice_has_no_grade(tmp_path):
    server = (*broken(tmp_path, "Plain", ONE_AT_A_TIME), str(tmp_path / "lock"))
    metrics = report_of(server)["metrics"]
    assert "grade" not in metrics
    assert metrics["ungraded"].startswith("another session could not be opened, so that ")


def test_the_process_that_tells_the_revision_is_the_one_that_is_explored(tmp_path):
    starts = tmp_path / "starts"
    outcomes_of((*broken(tmp_path, "Modern", COUNTED), str(starts)), "--only", "tools-list-served")
    assert len(starts.read_text()) == 1


@pytest.mark.parametrize(
    "mistake",
    [
        ("--timeout", "soon"),
        ("--protocol", "1900-01-01"),
        ("--only", "nothing"),
        ("--report", "nothing"),
        ("--level", "never"),
        ("--trigger", "look={"),
        ("--expected-failures", "missing.json"),
    ],
)
def test_a_mistake_on_the_command_line_is_found_before_the_server_starts(tmp_path, mistake):
    starts = tmp_path / "starts"
    server = (*broken(tmp_path, "Modern", COUNTED), str(starts))
    done = prefork.run([*CONDUCTOR, "check", *mistake, "--", *server], capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert not starts.exists()


async def test_a_start_is_measured_from_its_beginning_also_where_it_was_ahead_of_the_session(tmp_path):
    command = broken(tmp_path, "Modern")
    spec = StdioSpec(command=command, env={"PYTHONPATH": str(SERVERS)})
    start_ahead(spec.command, cwd=spec.cwd, env=spec.env)
    began = time.monotonic()
    while (ahead := time.monotonic() - began) < 0.01:
        pass
    async with connect(spec, protocol=NEWEST_MODERN.version) as session:
        assert start_seconds(session) >= ahead + session.transcript.last_at


def outcomes_of(server, *flags):
    """What a check says without being told a revision, by id."""
    return {each["id"]: each for each in report_of(server, *flags)["outcomes"]}


def report_of(server, *flags):
    words = [*CONDUCTOR, "check", "--json", *flags, "--env", f"PYTHONPATH={SERVERS}", "--"]
    done = prefork.run(
        [*words, *prefork.command(server, "script")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


SILENT = """
    def take(self, message):
        if isinstance(message, dict) and message.get("method") in ("initialize", "server/discover"):
            super().take(message)
    """


async def test_a_server_that_says_nothing_after_its_opening_is_reported_and_not_waited_for(verdicts_of, tmp_path):
    began = time.monotonic()
    outcomes = await verdicts_of(broken(tmp_path, "Plain", SILENT), timeout=0.5)
    assert time.monotonic() - began < 30 * 0.5
    failed = [each for each in outcomes.values() if each.status == "failed"]
    assert len(failed) == 1
    assert "no answer to" in failed[0].findings[0].message
    assert outcomes["base-parse-error-server"].reason == (
        "the server has stopped answering: no answer to tools/list within 0.5 s"
    )


async def test_a_server_that_ignores_ping_alone_is_not_called_silent(verdicts_of, tmp_path):
    no_ping = """
        def take(self, message):
            if not isinstance(message, dict) or message.get("method") != "ping":
                super().take(message)
        """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", no_ping), timeout=0.3, only=("ping", "errors", "base"))
    outcome = outcomes["base-response-once-server"]
    # On a machine that is too busy to tell, it is said so.
    unsure = (outcomes["ping-response-server"].reason or "").startswith("inconclusive")
    assert unsure or outcome.findings[0].message.startswith("no answer to ping within 0.3 s")
    assert outcomes["base-method-not-found-server"].status == "passed"


async def test_what_needs_a_second_process_is_skipped_where_there_can_be_only_one(verdicts_of, tmp_path):
    lock = tmp_path / "lock"
    only_one = """
        def run(self):
            try:
                open(sys.argv[1], "x").close()
            except FileExistsError:
                sys.exit("another one runs")
            super().run()
        """
    outcomes = await verdicts_of((*broken(tmp_path, "Plain", only_one), str(lock)))
    assert not [each.id for each in outcomes.values() if each.status == "failed"]
    assert outcomes["base-parse-error-server"].reason == (
        "another session could not be opened: the server exited with code 1 before it answered initialize"
    )


async def test_a_question_that_we_cannot_answer_is_no_finding(verdicts_of, tmp_path):
    unanswerable = """
        tools = [
            {**Plain.tools[0], "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        ]

        def call_tool(self, params):
            # No text fits, which is known at once; a pattern would need the worker, which a busy machine may starve.
            a = {"type": "string", "minLength": 9, "maxLength": 3}
            schema = {"type": "object", "properties": {"a": a}, "required": ["a"]}
            self.ask("elicitation/create", "q", params={"message": "?", "requestedSchema": schema})
            while b'"q"' not in (line := sys.stdin.buffer.readline()):
                self.hear(line)  # a ping may come before the answer
            return super().call_tool(params)
        """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", unanswerable), only=("tools", "elicitation"))
    outcome = outcomes["tools-validate-input"]
    assert outcome.findings == ()
    # On a machine that is too busy to tell, it is said so.
    assert re.search("what we cannot answer|^inconclusive", outcome.reason or "")


async def test_an_http_server_that_never_begins_its_answer_costs_one_timeout(verdicts_of):
    """It reads what is no JSON, and does not even send the head of an answer."""
    plain, stop = PlainHttp(), threading.Event()

    class Front(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                json.loads(body)
            except ValueError:
                stop.wait(20)
            status, said = plain.answer_post(body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Front)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        spec = HttpSpec(url=f"http://127.0.0.1:{server.server_port}/mcp", fall_back=False)
        verdicts = await check(spec, "2025-11-25", Options(only={"base-parse-error-server"}, timeout=0.5))
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        thread.join()
    [outcome] = verdicts.outcomes
    late = "no answer to the POST within 0.5 s"
    # On a machine that is too busy to tell, it is said so.
    inconclusive = f"inconclusive: late cannot be told from wrong ({late})"
    assert [finding.message for finding in outcome.findings] == [late] or outcome.reason == inconclusive


async def test_an_answer_that_is_late_once_gets_a_second_chance(verdicts_of, tmp_path):
    slept = tmp_path / "slept"
    late_once = """
        def notified(self, notification):
            if notification["method"].endswith("list_changed") and not os.path.exists(sys.argv[1]):
                open(sys.argv[1], "x").close()
                time.sleep(2)
        """
    command = broken(tmp_path, "Plain", late_once)
    file = tmp_path / "broken.py"
    file.write_text(f"import os, time\n{file.read_text()}")
    outcomes = await verdicts_of((*command, str(slept)), only=("cancellation",), timeout=0.5)
    assert slept.exists()
    assert not [each.id for each in outcomes.values() if each.status == "failed"]


async def test_a_server_that_is_busy_with_a_cancelled_call_is_not_blamed_for_being_silent(verdicts_of, tmp_path):
    """The call takes longer the second time, and nothing else is done meanwhile."""
    busy = """
        tools = Plain.tools

        def call_tool(self, params):
            called = os.path.exists(sys.argv[1])
            open(sys.argv[1], "a").close()
            time.sleep(2 if called else 0.3)
            return super().call_tool(params)
        """
    command = broken(tmp_path, "Modern", busy)
    file = tmp_path / "broken.py"
    file.write_text(f"import os, time\n{file.read_text()}")
    only = ("stdio-cancel-silences-server",)
    outcomes = await verdicts_of((*command, str(tmp_path / "called")), "2026-07-28", only=only, timeout=0.8)
    assert outcomes[only[0]].reason == "the server does nothing else while the call runs"


def test_capabilities_are_found_by_names_with_dots_in_them():
    opened = {"capabilities": {"extensions": {"com.example/one.two": {"a": {}}, "com.example/off": False}}}
    record = Record(Transcript(), NEWEST_MODERN, "stdio", opened)
    assert record.declares("extensions.com.example/one.two")
    assert record.declares("extensions.com.example/one.two.a")
    assert not record.declares("extensions.com.example/one")
    assert not record.declares("extensions.com.example/off")
    assert not record.declares("extensions.com.example/one.two.b")


async def test_every_requirement_is_told_of_while_it_is_checked(tmp_path):
    events = []
    spec = StdioSpec(command=tuple(broken(tmp_path, "Plain", "pass")), env={"PYTHONPATH": str(SERVERS)})
    verdicts = await check(spec, "2025-11-25", Options(only={"ping", "pagination"}), events.append)
    started, *others = events
    assert started == RunStarted("check", len(verdicts.outcomes), 0)
    finished = [each.outcome.id for each in others if isinstance(each, CaseFinished)]
    assert sorted(finished) == sorted(outcome.id for outcome in verdicts.outcomes)
    probed = [each.id for each in others if isinstance(each, CaseStarted)]
    assert "pagination-invalid-cursor" in probed
    assert set(probed) <= set(finished)


async def test_what_a_server_declares_and_uses_is_kept_for_the_view_of_a_newer_revision(tmp_path):
    spec = StdioSpec(command=tuple(broken(tmp_path, "Plain", "pass")), env={"PYTHONPATH": str(SERVERS)})
    traits = (await check(spec, "2025-11-25", Options(only={"ping"}))).traits
    assert traits is not None
    assert traits.transport == "stdio"
    assert traits.declares("tools")
    assert not traits.session


def test_questions_and_session_ids_are_seen_in_what_was_said():
    said = [
        Frame(0.0, "http", "HTTP 200 OK\nMcp-Session-Id: 1\nContent-Type: application/json"),
        Frame(0.1, "server", '{"jsonrpc":"2.0","id":1,"method":"roots/list"}'),
        Frame(0.2, "server", '{"jsonrpc":"2.0","id":2,"method":"roots/list"}'),
    ]
    traits = Record(Transcript.of(said), NEWEST_HANDSHAKE, "http", {"capabilities": {"tools": {}}}).traits
    assert (traits.asked, traits.session, traits.capabilities) == (("roots/list",), True, {"tools": {}})


async def test_of_very_many_tools_only_some_are_called_and_that_is_said(tmp_path):
    many = """
        tools = [{**Plain.tools[0], "name": f"look{number}"} for number in range(150)]
        """
    spec = StdioSpec(command=broken(tmp_path, "Plain", many), env={"PYTHONPATH": str(SERVERS)})
    verdicts = await check(spec, "2025-11-25", Options(only=frozenset({"ping"})))
    assert "100 of the 150 tools that may be called were called" in verdicts.remarks
