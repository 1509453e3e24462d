"""Grades of servers that differ by one habit: the distance between them says how bad it is."""

import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.conftest import SERVERS
from tests.e2e.checks.plain_servers import broken
from tests.e2e.suites.conftest import CONDUCTOR

from mcp_conductor.checks.engine.grade import grade
from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.protocol.server_spec import StdioSpec

DIES = """
    def notified(self, message):
        if message.get("method") == "notifications/cancelled":
            sys.exit(3)
        super().notified(message)
    """
# What is no JSON SHOULD be answered with a parse error, if it is answered.
NO_SHOULD = """
    def hear(self, line):
        try:
            json.loads(line)
        except ValueError:
            self.say(error(None, -32603, "Internal error"))
        else:
            super().hear(line)
    """


@pytest.fixture
def graded(tmp_path):
    async def run(body="pass", timeout=1.0):
        command = broken(tmp_path, "Plain", body)
        spec = StdioSpec(command=command, env={"PYTHONPATH": str(SERVERS)})
        return grade((await check(spec, "2025-11-25", Options(timeout=timeout))).outcomes, "2025-11-25")

    return run


async def test_a_server_that_dies_is_more_than_a_letter_from_one_without_a_should(graded):
    lacking, dying = await graded(NO_SHOULD), await graded(DIES)
    assert lacking.reason.startswith("no MUST is broken; ")
    assert ord(dying.letter) - ord(lacking.letter) > 1, (lacking, dying)
    assert "the server went away: " in dying.reason
    assert "cancel-race-server" in dying.reason


async def test_a_server_that_answers_nothing_after_its_opening_counts_as_one_that_died(graded):
    silent = """
        def take(self, message):
            if isinstance(message, dict) and message.get("method") == "initialize":
                super().take(message)
        """
    found = await graded(silent, timeout=0.3)
    assert (found.letter >= "D", found.reason.startswith("the server went away: ")) == (True, True)


async def test_a_server_whose_handshake_cannot_be_used_has_the_worst_grade(graded):
    found = await graded('def initialize(self, params):\n    return "welcome"')
    assert found.letter == "F"
    assert "base-result-is-object-server" in found.reason


def test_a_server_that_lets_nobody_in_has_no_grade_and_no_badge(tmp_path):
    class Locked(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self):
            self.do_POST()

        def log_message(self, *words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Locked) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}/mcp"
        done = subprocess.run(
            [*CONDUCTOR, "check", url, "--badge", "badge.svg", "--timeout", "1s"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        server.shutdown()
    assert "no grade: the server wants a token: --token, or --header" in done.stdout.splitlines()
    assert done.returncode == 1, "what the check found"
    assert "warning: badge.svg shows that there is no grade: the server wants a token" in done.stderr
    assert "no grade" in (tmp_path / "badge.svg").read_text()


@pytest.mark.parametrize("base", ["Plain", "Modern"])
def test_a_server_whose_tools_could_not_be_seen_has_no_grade(tmp_path, base):
    fails = """
        def reply(self, message):
            listed = message["method"] == "tools/list"
            return error(message["id"], -32603, "fetch failed") if listed else super().reply(message)
        """
    done = subprocess.run(
        [*CONDUCTOR, "check", "--timeout", "1s", "--", *broken(tmp_path, base, fails)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SERVERS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "no grade: tools/list failed, so that nothing of the tools was seen" in done.stdout.splitlines()


def test_a_check_of_which_less_than_half_could_be_carried_out_is_not_green(tmp_path):
    only_one = """
        def run(self):
            try:
                open("lock", "x").close()
            except FileExistsError:
                sys.exit("locked")
            super().run()
        """
    done = subprocess.run(
        [
            *CONDUCTOR,
            "check",
            "--protocol",
            "2025-11-25",
            "--only",
            "batching",
            "--only",
            "lifecycle",
            "--",
            *broken(tmp_path, "Plain", only_one),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SERVERS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert " failed" not in done.stdout
    assert done.returncode == 2, done.stdout
    assert "error: only " in done.stderr
    assert "checks could be carried out; the others: another session could not be opened" in done.stderr


@pytest.mark.parametrize(("level", "code"), [("may", 3), ("should", 2)])
def test_only_a_level_that_leaves_something_out_stands_against_a_badge(level, code, tmp_path):
    done = subprocess.run(
        [*CONDUCTOR, "check", "no-such-server", "--badge", "badge.svg", "--level", level],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    told = "cannot start 'no-such-server'" if level == "may" else "--level leaves something out"
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr


def test_a_junit_report_of_a_check_that_passes_is_small(tmp_path):
    done = subprocess.run(
        [*CONDUCTOR, "check", "-q", "--timeout", "1s", "--report", "junit:r.xml", "--", *broken(tmp_path, "Plain")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SERVERS)},
        check=False,
    )
    assert done.returncode == 0
    assert 10_000 < (tmp_path / "r.xml").stat().st_size < 100_000


@pytest.mark.slow
def test_a_check_that_takes_long_says_without_a_terminal_how_far_it_is(tmp_path):
    late = """
        def initialize(self, params):
            __import__("time").sleep(6)
            return super().initialize(params)
        """
    command = [*CONDUCTOR, "check", "--only", "ping", "--protocol", "2025-11-25"]
    for more, told in (([], True), (["-q"], False), (["--json"], False)):
        done = subprocess.run(
            [*command, *more, "--", *broken(tmp_path, "Plain", late)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(SERVERS)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert any(line.startswith("checking 2025-11-25") for line in done.stderr.splitlines()) is told
