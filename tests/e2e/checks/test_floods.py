"""A server that talks without end: the check takes little time and memory."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest
from tests.conftest import SERVERS
from tests.e2e.checks.plain_servers import PlainHttp, broken

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")


def events(text):
    """A thousand events of one message, in which %d is another number each time."""
    return "".join(f'data: {{"jsonrpc": "2.0", {text.replace("%d", str(each))}}}\n\n' for each in range(1000)).encode()


QUESTIONS = events('"id": "q%d", "method": "roots/list"')
NOTIFICATIONS = events('"method": "notifications/tools/list_changed"')
ANSWERS = events('"id": "a%d", "result": {}')


@contextmanager
def flooding(flooded=None, said=QUESTIONS):
    """The URL of a server whose stream is full of what is SAID; FLOODED is set when much was read of it."""
    plain = PlainHttp()
    lock = threading.Lock()

    class Front(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                status, said = plain.answer_post(body)
            self.answer(status, said)

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.close_connection = True
            try:
                for number in count():
                    self.wfile.write(said)
                    if flooded is not None and number == 50:
                        flooded.set()
            except OSError:
                return

        def do_DELETE(self):
            self.answer(200, b"")

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            """The client has gone."""

    with Server(("127.0.0.1", 0), Front) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()


NOTE = b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "%s"}}\n' % (
    b"x" * 1000
)
SHORT = b'{"jsonrpc": "2.0", "method": "x"}\n'
WITHOUT_END = """
    def {method}(self, params):
        while {when}:
            self.write({said!r} * 50)
        return super().{method}(params)
"""
STDIO_FLOODS = {
    "notifications in place of a result": ("call_tool", True, NOTE),
    "short notifications": ("call_tool", True, SHORT),
    "an answer again and again": ("call_tool", True, b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n'),
    "questions": ("call_tool", True, b'{"jsonrpc": "2.0", "id": "q", "method": "ping"}\n'),
    "lines in place of an opening": ("initialize", True, b"y\n"),
    "notifications in place of an opening": ("initialize", True, NOTE),
    "notifications where a probe says something odd": ("list_tools", "'cursor' in params", NOTE),
}
FLOODED = re.compile(r"the server sent \d+ messages \([\d.]+ [kM]B\) that nobody asked for, and was stopped")


def flooding_on_stdio(directory, method, when, said):
    body = WITHOUT_END.format(method=method, when=when, said=said)
    return ("-e", f"PYTHONPATH={SERVERS}", "--", *broken(directory, "Plain", body))


@pytest.mark.parametrize("flood", STDIO_FLOODS)
def test_a_server_that_floods_its_stdout_is_stopped_and_that_is_told_once(tmp_path, flood):
    report, kilobytes = checked_whole(tmp_path, *flooding_on_stdio(tmp_path, *STDIO_FLOODS[flood]))
    told = [each for each in report["outcomes"] for found in each["findings"] if FLOODED.match(found["message"])]
    assert [each["id"] for each in told] == ["base-response-once-server"]
    assert 2 <= len(told[0]["wire"]) <= 4
    assert kilobytes < 256_000
    assert report["seconds"] < 60


def test_where_the_flood_has_no_requirement_the_run_says_why_it_is_no_check(tmp_path):
    flood = flooding_on_stdio(tmp_path, *STDIO_FLOODS["short notifications"])
    done = subprocess.run(
        [*CONDUCTOR, "check", "-q", "--only", "tools", *flood],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert FLOODED.search(done.stderr)


def test_a_check_of_a_server_that_floods_its_stdout_is_interrupted_at_once(tmp_path):
    seen = tmp_path / "flooding"
    body = f"""
    def call_tool(self, params):
        open({str(seen)!r}, "w").close()
        while True:
            self.write({SHORT!r} * 50)
    """
    os.mkfifo(seen)
    process = subprocess.Popen(
        [*CONDUCTOR, "check", "-q", "-e", f"PYTHONPATH={SERVERS}", "--", *broken(tmp_path, "Plain", body)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    seen.open().close()  # it waits for the server
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("message", [NOTE, SHORT], ids=["large", "short"])
def test_a_server_that_says_much_during_a_call_does_not_flood(tmp_path, message):
    body = f"""
    def call_tool(self, params):
        self.write({message!r} * 5000)
        return {{"content": []}}
    """
    server = ("-e", f"PYTHONPATH={SERVERS}", "--", *broken(tmp_path, "Plain", body))
    report, _ = checked_whole(tmp_path, "--only", "tools", "--only", "base", *server)
    assert not FLOODED.search(json.dumps(report))
    assert {each["id"]: each["status"] for each in report["outcomes"]}["tools-call-content-array"] == "passed"


def checked(directory, *words):
    """A check: its statuses by id, and the most memory that it had, in kB."""
    report, kilobytes = checked_whole(directory, *words)
    return {each["id"]: each["status"] for each in report["outcomes"]}, kilobytes


def checked_whole(directory, *words):
    """A check: its report, and the most memory that it had, in kB."""
    # Its parent is a small process: the memory of a child counts from its fork.
    measure = "import resource, subprocess, sys; subprocess.run(sys.argv[1:]); "
    measure += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
    # A flood is known by its size. On a busy machine that takes longer than a short time-out.
    command = [*CONDUCTOR, "check", "-q", "--timeout", "10s", "--report", "json:out.json", *words]
    done = subprocess.run(
        [sys.executable, "-c", measure, *command], cwd=directory, capture_output=True, text=True, check=True
    )
    return json.loads((directory / "out.json").read_text()), int(done.stderr.split()[-1])


@pytest.mark.parametrize(("said", "only"), [(QUESTIONS, "ping"), (NOTIFICATIONS, "base"), (ANSWERS, "base")])
def test_a_check_of_a_server_that_talks_without_end_is_quick_and_small(tmp_path, said, only):
    with flooding(said=said) as url:
        began = time.monotonic()
        statuses, kilobytes = checked(tmp_path, "--only", only, url)
        assert time.monotonic() - began < 40
    assert "passed" in statuses.values()
    assert kilobytes < 150_000


def test_a_check_of_a_server_with_a_large_result_keeps_few_copies_of_it(tmp_path):
    body = """
    def call_tool(self, params):
        return {"content": [{"type": "text", "text": "x" * 15_000_000}]}
    """
    server = broken(tmp_path, "Plain", body)
    statuses, kilobytes = checked(tmp_path, "-e", f"PYTHONPATH={SERVERS}", "--", *server)
    assert statuses["tools-call-content-array"] == "passed"
    assert kilobytes < 60_000 + 18 * 15_000


def test_a_check_of_a_server_with_a_large_result_for_every_call_is_quick_and_small(tmp_path):
    body = """
    def checked_call(self, params):
        return {"content": [{"type": "text", "text": "x" * 40_000_000}]}
    """
    server = broken(tmp_path, "Plain", body)
    report, kilobytes = checked_whole(tmp_path, "-e", f"PYTHONPATH={SERVERS}", "--", *server)
    statuses = {each["id"]: each["status"] for each in report["outcomes"]}
    assert statuses["tools-call-content-array"] == "passed"
    assert kilobytes < 256_000 + 4 * 40_000
    assert report["seconds"] < 40


def test_a_check_of_a_server_that_asks_without_end_is_interrupted_at_once(tmp_path):
    flooded = threading.Event()
    with flooding(flooded) as url:
        process = subprocess.Popen(
            [*CONDUCTOR, "check", "-q", url],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
        )
        assert flooded.wait(30)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert told == "interrupted: a check that did not end has no result, and no report is written\n"
    assert time.monotonic() - began < 2
