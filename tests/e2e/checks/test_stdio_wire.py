"""Lines on stdout: each rule broken on purpose, and reported as that and nothing else."""

import json
import textwrap

import pytest
from tests.conftest import SERVERS
from tests.e2e.checks.good_http import broken
from tests.e2e.server.wire import SERVE, config

from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.server_spec import StdioSpec

POLITE = """
def pong(request):
    if request["method"] == "ping": result(request, {})
    elif "id" in request: error(request, -32601, "Method not found")
"""
MODERN = """
META_KEY = "io.modelcontextprotocol/"
TOOL = {"name": "slow", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
def whole(**members): return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **members}
def discover(request): result(request, whole(supportedVersions=["2026-07-28"], capabilities={"tools": {}}))
"""
BROKEN = {
    "stdio-streams-server": """
        hello(tools={})
        while True:
            request = hear()
            if request.get("method") == "ping":
                result(request, {})
            elif "id" in request:
                print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {}}), file=sys.stderr, flush=True)
    """,
    "stdio-newline-framing-server": """
        hello()
        while True:
            request = hear()
            if "id" in request:
                shout(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}, indent=2) + "\\n")
                pong(request)
    """,
    "stdio-embedded-newlines-escaped-server": """
        hello()
        while True:
            request = hear()
            if "id" in request:
                shout('{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"one\\ntwo"}}\\n')
                pong(request)
    """,
    "stdio-stdout-clean-server": """
        hello()
        while True:
            request = hear()
            shout("handling a request\\n")
            if "id" in request:
                pong(request)
    """,
    "stdio-fragmented-input-server": """
        hello()
        while True:
            line = sys.stdin.readline()
            if not line: break
            if len(line) < 65536: pong(json.loads(line))
    """,
}
HEADERS = """
    hello()
    while True:
        request = hear()
        if "id" in request:
            shout("Content-Length: 36\\r\\n")
            pong(request)
"""
LOG_LINES = """
    hello()
    while True:
        request = hear()
        if "id" in request:
            shout('{"level": "info", "msg": "handling"}\\n')
            pong(request)
"""


def spec_of(words) -> StdioSpec:
    return StdioSpec(command=words, env={"PYTHONPATH": str(SERVERS)})


@pytest.mark.parametrize("requirement", BROKEN)
async def test_a_server_that_breaks_a_rule_of_stdio_is_reported_for_that_alone(serve, requirement):
    assert await broken(spec_of(written(serve, BROKEN[requirement]))) == {requirement}


async def test_headers_before_messages_are_no_frames_of_mcp(serve):
    assert await broken(spec_of(written(serve, HEADERS))) == {"stdio-newline-framing-server"}


async def test_what_is_logged_is_utf_8(serve):
    found = {}
    for logged in ("b'caf\\xe9\\n'", "'café\\n'.encode()", "b''"):
        code = f"""
            hello()
            while True:
                request = hear()
                sys.stderr.buffer.write({logged}); sys.stderr.flush()
                if "id" in request: pong(request)
        """
        spec = spec_of(written(serve, code))
        verdicts = await check(spec, "2025-11-25", Options(only={"stdio-stderr-logging-server"}, timeout=1.0))
        found[logged] = verdicts.outcomes[0].status
    assert list(found.values()) == ["warned", "passed", "skipped"]


async def test_structured_log_lines_do_not_belong_on_stdout(serve):
    assert await broken(spec_of(written(serve, LOG_LINES))) == {"stdio-stdout-clean-server"}


def written(serve, code, before=POLITE):
    return serve(before + textwrap.dedent(code))


async def test_a_modern_server_that_asks_is_reported(serve):
    code = """
        while True:
            request = hear()
            if request.get("method") == "tools/list":
                say({"id": 77, "method": "roots/list"})
                result(request, whole(tools=[]))
            elif "id" in request:
                discover(request)
    """
    assert await broken(spec_of(written(serve, code, MODERN)), "2026-07-28") == {"stdio-no-server-requests"}


SLOW = """
        import threading
        cancelled = set()
        def work(request):
            for _ in range(8):
                time.sleep(0.05)
                if request["id"] in cancelled and {keeps}: return
            result(request, whole(content=[]))
        while True:
            request = hear()
            if request.get("method") == "tools/list":
                result(request, whole(tools=[TOOL]))
            elif request.get("method") == "tools/call":
                threading.Thread(target=work, args=(request,), daemon=True).start()
            elif "id" in request:
                discover(request)
            elif request["method"] == "notifications/cancelled":
                cancelled.add(request["params"]["requestId"])
"""


@pytest.mark.parametrize(("keeps", "ids"), [(True, set()), (False, {"stdio-cancel-silences-server"})])
async def test_an_answer_to_a_cancelled_request_is_reported(serve, keeps, ids):
    code = SLOW.replace("{keeps}", str(keeps))
    assert await broken(spec_of(written(serve, code, MODERN)), "2026-07-28", timeout=2) == ids


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
async def test_our_own_server_breaks_nothing(tmp_path, version):
    file = tmp_path / "server.json"
    lines = {"name": "lines", "inputSchema": {"type": "object"}, "result": "one\ntwo"}
    lines["annotations"] = {"readOnlyHint": True}
    file.write_text(json.dumps(config("stdio", tools=[lines])))
    verdicts = await check(StdioSpec(command=(*SERVE, str(file))), version, Options(only={"stdio"}, timeout=5))
    by_id = {outcome.id: outcome.status for outcome in verdicts.outcomes}
    assert set(by_id.values()) <= {"passed", "skipped"}
    assert by_id["stdio-embedded-newlines-escaped-server"] == "passed"
    assert by_id["stdio-fragmented-input-server"] == "passed"


async def test_a_server_is_not_blamed_for_a_message_that_we_did_not_read(serve):
    server = serve("""
        hello(tools={})
        tool = {"name": "t", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
        def call(_):
            notify("notifications/message", level="info", data=[1] * 9000)
            return {"content": [{"type": "text", "text": "x"}]}
        serve({"tools/list": {"tools": [tool]}, "tools/call": call, "ping": {}})
    """)
    spec = StdioSpec(command=server, env={"PYTHONPATH": str(SERVERS)}, budgets=Budgets(message_values=2000))
    verdicts = await check(spec, "2025-11-25", Options(only={"stdio", "base-jsonrpc"}, timeout=5))
    assert [outcome.id for outcome in verdicts.outcomes if outcome.status not in ("passed", "skipped")] == []
    assert any("they were too large to be read" in remark for remark in verdicts.remarks)
