"""The checks of the base protocol, of error codes and of batches: kept by good servers, and reported of broken ones."""

import pytest
from tests.e2e.checks.plain_servers import AREA, PlainHttp, broken, composed, composed_http, over_http
from tests.e2e.checks.proofs import assert_proven

from mcp_conductor.checks.engine.check import CHECKS
from mcp_conductor.checks.requirements import requirements

GROUPS = ("base", "errors", "batching")

# What is broken -> how: a few lines in the body of a class on tests/servers/plain.py.
HANDSHAKE = {
    "base-jsonrpc-envelope-server": """
        def ping(self, params):
            self.say({"method": "notifications/message", "params": {"level": "info", "data": "no jsonrpc"}})
            return {}
        """,
    "base-request-id-type-server": """
        def call_tool(self, params):
            self.ask("ping", 1.5)
            return super().call_tool(params)
        """,
    "base-request-id-unique-session-server": """
        def call_tool(self, params):
            self.ask("ping", "same")
            self.ask("ping", "same", params={})
            return super().call_tool(params)
        """,
    "base-request-method-string-server": """
        def call_tool(self, params):
            self.ask(7, "a")
            return super().call_tool(params)
        """,
    "base-params-omitted-accepted-server": """
        def reply(self, request):
            if request["method"] == "tools/list" and "params" not in request:
                return error(request["id"], -32602, "Invalid params")
            return super().reply(request)
        """,
    "base-response-id-echo-server": """
        def reply(self, request):
            message = super().reply(request)
            return {**message, "id": int(request["id"])} if str(request["id"]).isdigit() else message
        """,
    "base-response-once-server": """
        def reply(self, request):
            message = super().reply(request)
            if request["method"] == "tools/call":
                self.say(message)
            return message
        """,
    "base-response-result-xor-error-server": """
        def reply(self, request):
            message = super().reply(request)
            both = {"error": {"code": 1, "message": "as well"}} if "content" in message.get("result", {}) else {}
            return {**message, **both}
        """,
    "base-result-is-object-server": """
        def ping(self, params):
            return None
        """,
    "base-internal-error-server": """
        def answer(self, request):
            called = request["method"] == "tools/call"
            return error(request["id"], -32000, "Internal error") if called else super().answer(request)
        """,
    "base-error-shape-server": """
        def reply(self, request):
            message = super().reply(request)
            if request["method"] == "tools/call":
                return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": "-1", "message": "text as a code"}}
            return message
        """,
    "base-notification-shape-server": """
        def call_tool(self, params):
            self.say({"jsonrpc": "2.0", "method": "notifications/message", "params": ["a list"]})
            return super().call_tool(params)
        """,
    "base-notification-no-response-server": """
        def notified(self, notification):
            if notification["method"] != "notifications/initialized":
                self.say(error(None, -32601, "Method not found"))
        """,
    "base-method-not-found-server": """
        def reply(self, request):
            if request["method"] not in self.methods:
                return error(request["id"], -32603, "what?")
            return super().reply(request)
        """,
    "base-unknown-capabilities-tolerated-server": """
        def initialize(self, params):
            if "x-conductor" in params["capabilities"]:
                raise Refusal(-32602, "Invalid params")
            return super().initialize(params)
        """,
    "base-utf8-server": """
        def write(self, data):
            super().write(data.decode().encode("latin-1", errors="replace") if b"look" in data else data)
        tools = [{**Plain.tools[0], "description": "caf\\xe9"}]
        """,
    "base-meta-key-format-server": """
        def ping(self, params):
            return {}
        def call_tool(self, params):
            return {**super().call_tool(params), "_meta": {"-bad-": 1}}
        """,
    "base-meta-reserved-prefix-server": """
        def call_tool(self, params):
            return {**super().call_tool(params), "_meta": {"io.modelcontextprotocol/mine": 1}}
        """,
    "batch-removed-server": """
        def reply(self, request):
            message = super().reply(request)
            return [message] if request["method"] == "tools/call" else message
        """,
    # SHOULD and MAY: warnings.
    "base-error-message-concise": """
        def reply(self, request):
            if request["method"] not in self.methods:
                return error(request["id"], -32601, "a\\nb")
            return super().reply(request)
        """,
    "base-error-unreadable-id": """
        def hear(self, line):
            if b'"method":\\n' in line:
                self.say(error(1, -32700, "Parse error"))
            else:
                super().hear(line)
        """,
    "base-parse-error-server": """
        def hear(self, line):
            if b'"method":\\n' in line:
                self.say(error(None, -32603, "Internal error"))
            else:
                super().hear(line)
        """,
    "base-invalid-request-server": """
        def take(self, message):
            if isinstance(message, dict) and message.get("id", 0) is None:
                self.say(error(None, -32000, "no id"))
            else:
                super().take(message)
        """,
    "base-invalid-params-server": """
        def checked_call(self, params):
            return {"content": []} if "name" not in params else super().checked_call(params)
        """,
    "base-malformed-input-survival-server": """
        def hear(self, line):
            if line == b"garbage\\n":
                sys.exit(1)
            super().hear(line)
        """,
    "base-meta-reverse-dns": """
        def call_tool(self, params):
            return {**super().call_tool(params), "_meta": {"example.com/mine": 1}}
        """,
}
IN_BATCHES = {
    "batch-receive-server": """
        def take_batch(self, batch):
            self.say(error(None, -32600, "Invalid request"))
        """,
}
MODERN = {
    "errors-reserved-range-server": """
        def reply(self, request):
            if request["method"] == "tools/call":
                return error(request["id"], -32050, "mine")
            return super().reply(request)
        """,
    "errors-retired-codes-server": """
        def reply(self, request):
            if request["method"] == "tools/call":
                return error(request["id"], -32042, "look there")
            return super().reply(request)
        """,
    "errors-legacy-range-server": """
        def reply(self, request):
            if request["method"] == "tools/call":
                return error(request["id"], -32000, "mine")
            return super().reply(request)
        """,
    "errors-application-codes": """
        def reply(self, request):
            if request["method"] == "tools/call":
                return error(request["id"], -32500, "mine")
            return super().reply(request)
        """,
}
BROKEN = [
    *(("Plain", "2025-11-25", name) for name in HANDSHAKE),
    *(("Plain", "2025-03-26", name) for name in IN_BATCHES),
    *(("Modern", "2026-07-28", name) for name in MODERN),
]


@pytest.mark.parametrize(("base", "version", "name"), BROKEN)
async def test_a_server_that_breaks_one_rule_is_told_which(tmp_path, verdicts_of, failed, base, version, name):
    server = broken(tmp_path, base, {**HANDSHAKE, **IN_BATCHES, **MODERN}[name])
    outcomes = await verdicts_of(server, version, only=AREA)
    if requirements()[name].level == "MUST" or outcomes[name].cause == "server":  # a server that dies always fails
        assert failed(outcomes) == {name}, outcomes[name]
    else:
        assert (failed(outcomes), outcomes[name].status) == (set(), "warned")


META_OF = {
    "a result": "def call_tool(self, params): return {**super().call_tool(params), '_meta': META}",
    "a content block": "def call_tool(self, params): return {'content': [{'type': 'text', 'text': 'a', '_meta': META}]}",
    "a listed tool": "tools = [{**Plain.tools[0], '_meta': META}]",
}


@pytest.mark.parametrize(
    ("where", "value"), [*((where, []) for where in META_OF), ("a result", None), ("a result", "x")]
)
async def test_a_meta_that_is_no_object_is_found_wherever_it_is(tmp_path, verdicts_of, failed, where, value):
    server = broken(tmp_path, "Plain", META_OF[where].replace("META", repr(value)))
    outcomes = await verdicts_of(server, "2025-11-25", only=("base-meta-key-format-server",))
    assert failed(outcomes) == {"base-meta-key-format-server"}
    (found,) = {each.message for each in outcomes["base-meta-key-format-server"].findings}
    assert found.startswith("_meta is ")


LOGS = {"logging-capability-declared"}  # what is said in these messages is not declared either
FOUND = {
    "base-invalid-params-server": {"tools-call-missing-name"},  # which says more, and stands for it
    "base-jsonrpc-envelope-server": {"base-jsonrpc-envelope-server", *LOGS},
    "base-notification-shape-server": {"base-notification-shape-server", *LOGS},
}


QUICK = ("base-invalid-params-server", "base-error-shape-server", "base-jsonrpc-envelope-server")


@pytest.mark.parametrize(
    ("base", "version", "name"),
    [pytest.param(*each, marks=() if each[-1] in QUICK else pytest.mark.slow) for each in BROKEN],
)
async def test_a_server_with_one_fault_has_one_finding(tmp_path, verdicts_of, failed, base, version, name):
    server = broken(tmp_path, base, {**HANDSHAKE, **IN_BATCHES, **MODERN}[name])
    outcomes = await verdicts_of(server, version)
    assert failed(outcomes, "failed", "warned") == FOUND.get(name, {name}), {
        each.id: each.findings for each in outcomes.values() if each.findings
    }
    for each in outcomes.values():
        assert_proven(each)


@pytest.mark.parametrize(
    ("base", "version"),
    [("Plain", "2024-11-05"), ("Plain", "2025-03-26"), ("Plain", "2025-11-25"), ("Modern", "2026-07-28")],
)
async def test_a_server_that_keeps_the_rules_is_not_blamed(tmp_path, verdicts_of, failed, base, version):
    outcomes = await verdicts_of(broken(tmp_path, base), version)
    assert failed(outcomes, "failed", "warned") == set()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
async def test_our_own_server_keeps_the_rules_in_every_revision(tmp_path, verdicts_of, failed, version):
    outcomes = await verdicts_of(composed(tmp_path), version, only=AREA)
    # What it has asked it knows only in its own process: its seal is made when it starts.
    assert failed(outcomes, "failed", "warned") <= {"stateless-no-connection-affinity"}


@pytest.mark.parametrize("version", ["2025-03-26", "2025-11-25", "2026-07-28"])
async def test_our_own_server_keeps_the_rules_over_http(tmp_path, verdicts_of, failed, version):
    with composed_http(tmp_path) as spec:
        outcomes = await verdicts_of(spec, version, only=AREA)
    assert failed(outcomes, "failed", "warned") == set()


async def test_a_batch_of_notifications_that_gets_no_202_is_reported(verdicts_of, failed):
    class Broken(PlainHttp):
        def status(self, said):
            return super().status(said) if said else 200

    with over_http(Broken()) as spec:
        outcomes = await verdicts_of(spec, "2025-03-26", only=AREA)
    assert failed(outcomes) == {"batch-notifications-only-202"}


def test_every_check_has_a_server_that_breaks_it():
    mine = {name for name, _ in CHECKS.items() if requirements()[name].group in GROUPS}
    assert mine - {*HANDSHAKE, *IN_BATCHES, *MODERN} == {"batch-notifications-only-202"}


async def test_a_server_that_takes_batches_of_what_it_knows_in_a_session_is_not_blamed(tmp_path, verdicts_of):
    body = """
        def take_batch(self, batch):
            known = all("id" in each or each["method"] == "notifications/cancelled" for each in batch)
            super().take_batch(batch) if known and self.version else self.say(error(None, -32600, "no session"))
        """
    name = "batch-receive-server"
    outcomes = await verdicts_of(broken(tmp_path, "Plain", body), "2025-03-26", only=[name])
    assert outcomes[name].status == "passed"
