"""One fault is one finding: what follows from it is skipped, and names it; a server that dies is not blamed for the rest."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.conftest import SERVERS
from tests.e2e.checks.plain_servers import ModernHttp, PlainHttp, broken, over_http

from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.message import parse
from mcp_conductor.protocol.server_spec import HttpSpec, StdioSpec

H, M = "2025-11-25", "2026-07-28"


def changed(statement):
    """A server that changes each of its messages."""
    return f"""
    def say(self, message):
        if isinstance(message, dict):
            {statement}
        super().say(message)
    """


def dying(test):
    """A server that dies of some messages."""
    return f"""
    def take(self, message):
        if isinstance(message, dict) and {test}:
            print("KeyError: 'x'", file=sys.stderr)
            sys.exit(3)
        super().take(message)
    """


PRETTY = """
    def write(self, data):
        super().write(json.dumps(json.loads(data), indent=1).encode() + b"\\n")
    """
PRETTY_LATER = """
    def write(self, data):
        message = json.loads(data)
        opens = "serverInfo" in message.get("result", {})
        super().write(data if opens else json.dumps(message, indent=2).encode() + b"\\n")
    """
NOISY = """
    def write(self, data):
        super().write(b"a line of the log\\n" + data)
    """
CASES = [
    (H, "base-error-shape-server", changed("'error' in message and message['error'].update(code='-32601')")),
    (M, "base-error-shape-server", changed("'error' in message and message['error'].update(code='-32601')")),
    (M, "versioning-resulttype-present", changed("'result' in message and message['result'].pop('resultType', None)")),
    (M, "caching-hints-present", changed("'result' in message and message['result'].pop('ttlMs', None)")),
    (H, "base-response-id-echo-server", changed("'id' in message and message.update(id=str(message['id']))")),
    (H, "stdio-newline-framing-server", PRETTY),
    (H, "stdio-newline-framing-server", PRETTY_LATER),
    (M, "stdio-stdout-clean-server", NOISY),
    (H, "base-response-once-server", dying("message.get('method') == 'tools/list'")),
    (H, "base-method-not-found-server", dying("str(message.get('method')).startswith('conductor')")),
    (M, "base-method-not-found-server", dying("str(message.get('method')).startswith('conductor')")),
]


@pytest.mark.parametrize(("version", "only", "body"), CASES)
async def test_what_follows_from_a_fault_is_no_other_must(verdicts_of, failed, tmp_path, version, only, body):
    outcomes = await verdicts_of(broken(tmp_path, "Plain" if version == H else "Modern", body), version, timeout=0.5)
    assert failed(outcomes) == {only}


async def test_a_server_that_dies_is_reported_with_its_exit_code_and_its_last_words(verdicts_of, tmp_path):
    server = broken(tmp_path, "Plain", dying("str(message.get('method')).startswith('conductor')"))
    outcomes = await verdicts_of(server, timeout=0.5)
    told = outcomes["base-method-not-found-server"]
    assert told.findings[0].message == "the server exited with code 3 before it answered conductor/no-such-method"
    assert told.stderr == ("KeyError: 'x'",)
    assert told.cause == "server"
    assert outcomes["tools-list-array"].status == outcomes["ping-response-server"].status == "passed"


async def test_a_server_that_dies_of_several_things_for_the_same_reason_is_told_once(verdicts_of, tmp_path):
    dies = dying("message.get('method') in ('notifications/cancelled', 'notifications/conductor/unknown')")
    outcomes = await verdicts_of(broken(tmp_path, "Plain", dies), timeout=0.5, only=["cancellation", "base"])
    deaths = [each for each in outcomes.values() if each.cause == "server"]
    again = [each.reason for each in outcomes.values() if "here too" in (each.reason or "")]
    assert len(deaths) == 1
    assert set(again) == {f"the server exited with code 3 here too: see {deaths[0].id}"}


async def test_an_http_server_that_goes_away_is_told_once(failed):
    plain = PlainHttp()

    class Front(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if b"no-such-method" in body:
                self.server.socket.close()  # at once: no more connections are accepted
                threading.Thread(target=self.server.shutdown).start()
                self.connection.close()
                return
            status, data = plain.answer_post(body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Front) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        spec = HttpSpec(url=f"http://127.0.0.1:{server.server_address[1]}/mcp")
        options = Options(timeout=0.5, only=frozenset({"base", "tools", "ping", "pagination", "http"}))
        verdicts = await check(spec, H, options)
        thread.join(5)
    outcomes = {each.id: each for each in verdicts.outcomes}
    assert failed(outcomes) == {"base-method-not-found-server"}
    assert "stopped answering" in outcomes["pagination-continues"].reason


async def test_a_list_that_is_never_answered_is_one_fault_whoever_asks_for_it(verdicts_of, failed, tmp_path):
    mute = """
    def take(self, message):
        if not isinstance(message, dict) or message.get("method") != "tools/list":
            super().take(message)
    """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", mute), timeout=0.3)
    assert failed(outcomes) == {"base-response-once-server"}
    assert outcomes["base-response-once-server"].findings[0].message.startswith("no answer to tools/list within 0.3 s")


async def test_a_server_that_dies_fails_whatever_the_level_of_what_it_died_of(verdicts_of, failed, tmp_path):
    dies = """
    def hear(self, line):
        json.loads(line)
        super().hear(line)
    """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", dies), timeout=0.5, only=["base"])
    assert failed(outcomes) == {"base-parse-error-server"}


async def test_an_answer_to_what_we_forgot_is_not_held_against_the_server(tmp_path, failed):
    spec = StdioSpec(
        command=broken(tmp_path, "Plain"), env={"PYTHONPATH": str(SERVERS)}, budgets=Budgets(transcript_bytes=5_000)
    )
    verdicts = await check(spec, H, Options(timeout=1.0, only=frozenset({"base", "tools"})))
    assert failed({each.id: each for each in verdicts.outcomes}) == set()
    assert any("was forgotten" in remark for remark in verdicts.remarks)


async def test_prompts_that_are_not_declared_are_one_finding(verdicts_of, failed, tmp_path):
    body = """
    def reply(self, request):
        if self.version and request["method"] == "prompts/list":
            return result(request["id"], {"prompts": [{"name": "greet"}]})
        return super().reply(request)
    """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", body), timeout=0.5)
    assert failed(outcomes, "failed", "warned") == {"prompts-capability-declared"}


REFUSES = """
    def reply(self, request):
        if self.version and {}:
            return error(request["id"], -32603, "Internal error")
        return super().reply(request)
    """


@pytest.mark.parametrize(
    ("test", "only"),
    [
        ('request["method"] == "completion/complete"', "completion-not-supported-32601"),
        ('"cursor" in request.get("params", {})', "pagination-invalid-cursor"),
    ],
)
async def test_a_wrong_code_of_an_error_is_one_finding(verdicts_of, failed, tmp_path, test, only):
    outcomes = await verdicts_of(broken(tmp_path, "Plain", REFUSES.format(test)), timeout=0.5)
    assert failed(outcomes, "failed", "warned") == {only}


# Over HTTP.


def as_text(_server, _method, status, data):
    reply = json.loads(data)
    return status, json.dumps({**reply, "id": str(reply["id"])}).encode()


def stream_without_an_end(server, method, status, data):
    if method in ("initialize", "server/discover"):
        return status, data
    server.content_type = "text/event-stream"
    return 200, b"data: " + data.strip() + b"\n"


def plain_text(server, method, status, data):
    if method == "tools/list":
        server.content_type = "text/plain"
    return status, data


def accepted(_server, method, status, data):
    return (202, b"") if method == "tools/call" else (status, data)


def redirected(server, method, status, data):
    if method != "tools/call":
        return status, data
    server.headers = {"Location": "/mcp"}
    return 307, b""


def failing(_server, method, status, data):
    return (500 if method == "tools/list" else status), (b"oops" if method == "tools/list" else data)


FAULTS_OF_HTTP = [
    (as_text, "base-response-id-echo-server"),
    (stream_without_an_end, "base-response-once-server"),
    (plain_text, "http-request-content-type"),
    (accepted, "base-response-once-server"),
    (redirected, "base-response-once-server"),
    (failing, "base-response-once-server"),
]


@pytest.mark.parametrize("version", [H, M])
@pytest.mark.parametrize(("bent", "only"), FAULTS_OF_HTTP)
async def test_what_follows_from_a_fault_of_http_is_no_other_finding(verdicts_of, failed, version, bent, only):
    class Bent(PlainHttp if version == H else ModernHttp):
        def answer_post(self, body):
            status, data = super().answer_post(body)
            self.content_type, self.headers = "application/json", {}
            asked = parse(body.decode(errors="replace"))
            return bent(self, asked.method, status, data) if data and asked.kind == "request" else (status, data)

    sound = type("Sound", (Bent,), {"answer_post": Bent.__mro__[1].answer_post})
    areas = ["base", "lifecycle", "tools", "resources", "prompts", "pagination", "ping", "cancellation", "http"]
    with over_http(sound()) as spec:
        usual = failed(await verdicts_of(spec, version, only=areas), "failed", "warned")
    with over_http(Bent()) as spec:
        outcomes = await verdicts_of(spec, version, only=areas)
    assert failed(outcomes, "failed", "warned") - usual == {only}
