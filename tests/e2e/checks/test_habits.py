"""What real servers do that may look wrong, and is not, or is wrong in one way only: nothing else is reported."""

import json
import sys
import threading
import time

import pytest
from tests.conftest import SERVERS
from tests.e2e.checks.plain_servers import AREA, ModernHttp, PlainHttp, broken, over_http
from tests.servers.plain import error

from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.protocol.server_spec import StdioSpec


async def test_a_response_to_no_request_is_reported(tmp_path, verdicts_of, failed):
    server = broken(
        tmp_path,
        "Plain",
        """
        def call_tool(self, params):
            self.say(result("conductor-never-asked", {}))
            return super().call_tool(params)
        """,
    )
    assert failed(await verdicts_of(server, "2025-11-25")) == {"base-response-once-server"}


def refusing(reply):
    """A server that answers what it does not know in its own way."""
    return f"""
    def reply(self, message):
        return {reply} if message["method"] not in self.methods else super().reply(message)
    """


IGNORING = """
    def take(self, message):
        asked = isinstance(message, dict) and "id" in message and message.get("method")
        if not asked or asked in self.methods:
            super().take(message)
    """
WAYS = {
    "-32600": refusing('error(message["id"], -32600, "no")'),
    "-32000": refusing('error(message["id"], -32000, "no")'),
    "a result": refusing('result(message["id"], {})'),
    "a tool error": refusing('result(message["id"], {"content": [], "isError": True})'),
    "silence": IGNORING,
}


@pytest.mark.parametrize(("base", "version"), [("Plain", "2025-11-25"), ("Modern", "2026-07-28")])
@pytest.mark.parametrize("way", WAYS)
async def test_a_server_that_refuses_in_its_own_way_is_told_so_once(tmp_path, verdicts_of, failed, way, base, version):
    outcomes = await verdicts_of(broken(tmp_path, base, WAYS[way]), version, timeout=0.5)
    assert failed(outcomes) == {"base-method-not-found-server"}


@pytest.mark.parametrize("body", ["", "<html>no</html>", "message"])
@pytest.mark.parametrize("status", [400, 404, 500])
async def test_a_refusal_by_status_is_told_once_and_a_message_in_it_is_read(verdicts_of, failed, status, body):
    class Refuses(PlainHttp):
        def answer_post(self, data):
            message = json.loads(data) if data.startswith(b"{") and data.endswith(b"}") else None
            asked = isinstance(message, dict) and "id" in message and message.get("method")
            if not asked or asked in self.methods:
                return super().answer_post(data)
            return status, json.dumps(
                error(message["id"], -32601, "no")
            ).encode() if body == "message" else body.encode()

    with over_http(Refuses()) as spec:
        outcomes = await verdicts_of(spec, "2025-11-25", only=(*AREA, "tools", "tasks-core", "completion", "resources"))
    assert failed(outcomes) == (set() if body == "message" else {"base-method-not-found-server"})


@pytest.mark.parametrize("status", [400, 404, 405, 501])
async def test_what_is_refused_without_a_message_is_not_said_to_be_served(verdicts_of, failed, status):
    class Refuses(PlainHttp):
        def answer_post(self, body):
            known = any(f'"{method}"'.encode() in body for method in (*self.methods, "notifications/initialized"))
            return super().answer_post(body) if known else (status, b"")

    with over_http(Refuses()) as spec:
        outcomes = await verdicts_of(spec, "2025-11-25", only=(*AREA, "tasks-core", "completion"))
    assert "taskc-capability-server" not in failed(outcomes)
    assert "completion-capability-declared" not in failed(outcomes)
    assert "lifecycle-capabilities-declared-server" not in failed(outcomes)


async def test_what_answers_a_version_that_does_not_exist_is_not_judged_by_the_rules_of_another(verdicts_of, failed):
    class Lenient(ModernHttp):
        def meta_problem(self, meta):
            problem = super().meta_problem(meta)
            return None if problem is not None and problem[0] == -32022 else problem

        def answer(self, request):
            message = super().answer(request)
            asked = request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
            if asked not in self.versions and "result" in message:
                message["result"].pop("resultType", None)
            return message

    with over_http(Lenient()) as spec:
        outcomes = await verdicts_of(spec, "2026-07-28", only=AREA)
    assert "versioning-resulttype-present" not in failed(outcomes)
    assert "versioning-unsupported-version-error" in failed(outcomes)


@pytest.mark.parametrize("missing", ["protocolVersion", "capabilities", "serverInfo"])
async def test_a_server_that_leaves_something_out_of_its_opening_is_checked_all_the_same(
    tmp_path, verdicts_of, failed, missing
):
    server = broken(
        tmp_path,
        "Plain",
        f"""
        def initialize(self, params):
            return {{key: value for key, value in super().initialize(params).items() if key != "{missing}"}}
        """,
    )
    outcomes = await verdicts_of(server, "2025-11-25", only=AREA)
    assert failed(outcomes) == {"lifecycle-initialize-result-server"}
    assert outcomes["base-response-id-echo-server"].status == "passed"


@pytest.mark.parametrize("result", ["[]", "None", '"hello"'])
async def test_an_opening_that_is_none_is_reported(tmp_path, verdicts_of, failed, result):
    server = broken(tmp_path, "Plain", f"def initialize(self, params):\n    return {result}")
    outcomes = await verdicts_of(server, "2025-11-25", only=AREA)
    assert failed(outcomes) == {"base-result-is-object-server"}
    assert "no conversation began" in str(outcomes["base-method-not-found-server"].reason)


async def test_a_server_over_http_that_was_started_as_one_on_stdio_is_told(tmp_path):
    says = "import time; print('listening on http://localhost:3000/mcp', flush=True); time.sleep(60)"
    spec = StdioSpec(command=(sys.executable, "-c", says), startup_timeout=0.5)
    verdicts = await check(spec, "2025-11-25", Options(timeout=0.1))
    (remark,) = verdicts.remarks
    assert remark.startswith("no conversation began: no answer to initialize")
    assert remark.endswith("start it, and name http://localhost:3000/mcp in place of its command")


async def test_an_error_in_the_body_of_a_404_is_read_also_within_a_session(verdicts_of, failed):
    class Unusual(PlainHttp):
        headers = {"Mcp-Session-Id": "one-and-only"}

        def status(self, said):
            return 404 if said and b"-32601" in said[0] else super().status(said)

    with over_http(Unusual()) as spec:
        usual = await verdicts_of(spec, "2025-03-26", only=("base", "errors", "completion", "lifecycle"))
    assert failed(usual) == set()


async def test_a_server_whose_answers_have_other_ids_is_reported_for_that_alone_and_soon(tmp_path, verdicts_of, failed):
    server = broken(
        tmp_path,
        "Plain",
        """
        def reply(self, request):
            message = super().reply(request)
            return message if request["method"] == "initialize" else {**message, "id": 9999}
        """,
    )
    began = time.monotonic()
    outcomes = await verdicts_of(server, "2025-11-25", timeout=2.0)
    assert failed(outcomes, "failed", "warned") == {"base-response-id-echo-server"}
    assert time.monotonic() - began < 10  # one time-out, a start and an end


ROOTS = """
    def notified(self, message):
        if message["method"] == "notifications/roots/list_changed":
            self.ask("roots/list", "roots")
    """


async def test_a_server_that_asks_for_roots_when_told_that_they_changed_is_right(tmp_path, verdicts_of, failed):
    outcomes = await verdicts_of(broken(tmp_path, "Plain", ROOTS), "2025-11-25", timeout=0.5)
    assert failed(outcomes) == set()


async def test_a_result_that_could_be_empty_may_have_members(tmp_path, failed):
    change = """
        capabilities = {"tools": {}, "logging": {}, "resources": {"subscribe": True}}

        def __init__(self):
            super().__init__()
            self.methods["resources/list"] = lambda params: {"resources": [{"uri": "note:///one", "name": "one"}]}
            self.methods["resources/subscribe"] = lambda params: {"subscribed": True}
            self.methods["resources/unsubscribe"] = lambda params: {"subscribed": False}
            self.methods["logging/setLevel"] = lambda params: {"level": params["level"]}
            self.methods["ping"] = lambda params: {"_meta": {"example.com/load": 1}, "ok": True}
        """
    only = ("resources-subscribe-accepted", "logging-setlevel-accepted", "ping-response-server")
    spec = StdioSpec(command=broken(tmp_path, "Plain", change), env={"PYTHONPATH": str(SERVERS)})
    verdicts = await check(spec, "2025-11-25", Options(only=only))
    assert failed({outcome.id: outcome for outcome in verdicts.outcomes}, "failed", "warned") == set()
    assert sorted(verdicts.remarks) == [
        "the result of logging/setLevel has members that the specification does not know: level",
        "the result of ping has members that the specification does not know: ok",
        "the result of resources/subscribe has members that the specification does not know: subscribed",
        "the result of resources/unsubscribe has members that the specification does not know: subscribed",
    ]


@pytest.mark.parametrize("answer", ["None", "-32600", "-32603"])
async def test_a_meta_that_is_no_object_may_be_refused_in_any_way(tmp_path, verdicts_of, failed, answer):
    server = broken(
        tmp_path,
        "Modern",
        f"""
        def take(self, message):
            params = message.get("params") if isinstance(message, dict) else None
            if not isinstance(params, dict) or not isinstance(params.get("_meta"), str):
                super().take(message)
            elif {answer} is not None:
                self.say(error(message["id"], {answer}, "no"))
        """,
    )
    assert failed(await verdicts_of(server, "2026-07-28", only=("meta-missing-rejected",))) == set()


async def test_a_meta_that_is_no_object_is_not_served(tmp_path, verdicts_of, failed):
    server = broken(
        tmp_path,
        "Modern",
        """
        def meta_problem(self, meta):
            return None if isinstance(meta, str) else super().meta_problem(meta)
        """,
    )
    name = "meta-missing-rejected"
    assert failed(await verdicts_of(server, "2026-07-28", only=(name,))) == {name}


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_what_a_server_prints_at_its_end_is_reported(tmp_path, verdicts_of, failed, version):
    server = broken(
        tmp_path,
        "Plain" if version == "2025-11-25" else "Modern",
        """
        def run(self):
            super().run()
            print("goodbye")
        """,
    )
    outcomes = await verdicts_of(server, version, only=("stdio", "lifecycle"))
    assert failed(outcomes) == {"stdio-stdout-clean-server"}
    assert outcomes["stdio-stdout-clean-server"].findings[0].actual == "goodbye"


ENDLESS = """
        def list_tools(self, params):
            cursor = params.get("cursor", "0")
            at = int(cursor) if cursor.isdigit() else 0
            return {{**super().list_tools({{}}), "tools": [{{**self.tools[0], "name": {name}}}], "nextCursor": str(at + 1)}}
        """


async def test_a_list_without_an_end_is_a_warning_with_figures_and_soon(tmp_path):
    spec = StdioSpec(
        command=broken(tmp_path, "Plain", ENDLESS.format(name='f"look-{at}"')), env={"PYTHONPATH": str(SERVERS)}
    )
    began = time.monotonic()
    verdicts = await check(spec, "2025-11-25", Options(only=("pagination",)))
    assert time.monotonic() - began < 20  # 10,000 pages twice took twice as long on an idle machine
    assert [outcome.id for outcome in verdicts.outcomes if outcome.status == "failed"] == []
    remarks = [remark for remark in verdicts.remarks if remark.startswith("tools/list was not read to its end:")]
    assert len(remarks) == 1
    assert "200 items on 200 pages" in remarks[0]


async def test_a_list_that_begins_again_and_again_is_one_finding(tmp_path, verdicts_of, failed):
    server = broken(tmp_path, "Plain", ENDLESS.format(name='"look"'))
    outcomes = await verdicts_of(server, "2025-11-25", only=("pagination",))
    assert failed(outcomes) == {"pagination-continues"}
    assert len(outcomes["pagination-continues"].findings) == 1


@pytest.mark.parametrize(
    ("code", "message", "reported"),
    [
        (-32000, "Internal error: 'no-such-tool'", {"base-internal-error-server"}),
        (-32602, "Traceback (most recent call last):\\n  File ...", {"base-internal-error-server"}),
        (-32603, "Internal error", set()),
        (-32602, "Unknown tool: internal error codes", set()),
    ],
)
async def test_a_failure_of_the_server_has_its_own_code(tmp_path, verdicts_of, failed, code, message, reported):
    server = broken(
        tmp_path,
        "Plain",
        f"""
        def reply(self, request):
            name = request.get("params", {{}}).get("name", "look")
            return super().reply(request) if name == "look" else error(request["id"], {code}, {message!r})
        """,
    )
    outcomes = await verdicts_of(server, only=("base-internal-error-server", "tools-call-unknown-tool"))
    assert failed(outcomes, "warned") - {"tools-call-unknown-tool"} == reported


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25"])
async def test_a_server_may_wait_for_its_stream_before_it_serves_tools(verdicts_of, failed, version):
    class Waits(PlainHttp):
        """What it asks before it shows its tools goes out on the stream of a GET, in every revision that it agrees on."""

        listened = threading.Event()

        def answer_get(self):
            self.listened.set()
            return super().answer_get()

        def answer_post(self, body):
            answerable = b'"tools/' not in body or self.listened.wait(1)
            return super().answer_post(body) if answerable else (202, b"")

    with over_http(Waits()) as spec:
        outcomes = await verdicts_of(spec, version, only=("tools", "pagination"))
    assert failed(outcomes) == set()


async def test_a_list_that_always_fails_is_told_once_and_does_not_depend_on_the_connection(verdicts_of, failed):
    class Fails(ModernHttp):
        def answer(self, request):
            lists = request["method"] == "tools/list"
            return error(request["id"], -32603, "fetch failed") if lists else super().answer(request)

    with over_http(Fails()) as spec:
        outcomes = await verdicts_of(
            spec, "2026-07-28", only=("stateless-lists-connection-independent", "tools-list-served")
        )
    assert failed(outcomes) == {"tools-list-served"}
