"""The checks of requests without a handshake, reported of servers that break one rule each; test_base.py has good ones."""

import pytest
from tests.e2e.checks.plain_servers import AREA, ModernHttp, broken, over_http

from mcp_conductor.checks.engine.check import CHECKS
from mcp_conductor.checks.requirements import requirements

VERSION = "2026-07-28"
AS_A_TASK = """
    def call_tool(self, params):
        return {"resultType": "task", "taskId": "t", "status": "working"}
    """
MODERN = {
    "versioning-discover-implemented": """
        count = 0
        def discover(self, params):
            self.count += 1
            # Not the first: no conversation could be opened.
            if self.count == 2 and "xConductor" not in params and len(self.abilities(params)) > 1:
                raise Refusal(-32601, "Method not found")
            return super().discover(params)
        """,
    "versioning-discover-shape": """
        def discover(self, params):
            return {**super().discover(params), "supportedVersions": "2026-07-28"}
        """,
    "versioning-discover-lists-served-version": """
        versions = ("2026-07-28", "2027-01-01")
        def meta_problem(self, meta):
            if isinstance(meta, dict) and meta.get(META + "protocolVersion") == "2027-01-01":
                return -32022, "Unsupported", {"supported": list(self.versions), "requested": "2027-01-01"}
            return super().meta_problem(meta)
        """,
    "versioning-discover-matches-handlers": """
        capabilities = {}
        """,
    "versioning-unsupported-version-error": """
        def meta_problem(self, meta):
            problem = super().meta_problem(meta)
            return (-32602, "Unsupported version") if problem and problem[0] == -32022 else problem
        """,
    "versioning-supported-list-consistent": """
        def meta_problem(self, meta):
            problem = super().meta_problem(meta)
            if problem and problem[0] == -32022:
                problem[2]["supported"] = ["2026-07-28", "2027-01-01"]
            return problem
        """,
    "versioning-dual-era-serves-modern": """
        begun = False
        def reply(self, request):
            self.begun = self.begun or request["method"] == "server/discover"
            return super().reply(request) if self.begun else error(request["id"], -32600, "not initialized")
        """,
    "versioning-removed-methods": """
        def reply(self, request):
            if request["method"] == "ping":
                return result(request["id"], {"resultType": "complete", "_meta": {META + "serverInfo": INFO}})
            return super().reply(request)
        """,
    "versioning-resulttype-present": """
        def answer(self, request):
            message = super().answer(request)
            if request["method"] == "tools/list":
                del message["result"]["resultType"]
            return message
        """,
    "versioning-extension-ids-server": """
        capabilities = {"tools": {}, "extensions": {"mine": {}}}
        """,
    "meta-missing-rejected": """
        def meta_problem(self, meta):
            missing = isinstance(meta, dict) and META + "clientCapabilities" not in meta
            return super().meta_problem({**meta, META + "clientCapabilities": {}} if missing else meta)
        """,
    "meta-client-info-not-required": """
        def meta_problem(self, meta):
            problem = super().meta_problem(meta)
            return problem or (None if META + "clientInfo" in meta else (-32602, "who are you?"))
        """,
    "meta-missing-capability-error": """
        def abilities(self, params):
            return {"elicitation": {}}
        """,
    "meta-no-carry-over": """
        known = {}
        def abilities(self, params):
            self.known = {**self.known, **super().abilities(params)}
            return self.known
        """,
    "meta-trace-context-format-server": """
        def discover(self, params):
            return {**super().discover(params), "_meta": {META + "serverInfo": INFO, "traceparent": "00-abc"}}
        """,
    "stateless-lists-connection-independent": """
        def list_tools(self, params):
            import os
            return {**super().list_tools(params), "tools": [{**self.tools[0], "description": str(os.getpid())}]}
        """,
    # SHOULD and MAY: warnings.
    "versioning-modern-only-names-versions": """
        def reply(self, request):
            if request["method"] == "initialize":
                return error(request["id"], -32601, "Method not found")
            return super().reply(request)
        """,
    "meta-server-info-results": """
        def list_tools(self, params):
            return {**super().list_tools(params), "_meta": {}}
        """,
    "meta-identity-not-behaviour-server": """
        def list_tools(self, params):
            client = params["_meta"].get(META + "clientInfo", {})
            return {**super().list_tools(params), **({"tools": []} if client.get("name") == "another-client" else {})}
        """,
    "stateless-no-connection-affinity": """
        asked = False
        def call_tool(self, params):
            self.asked = self.asked or params.get("name") == "wonder" and "inputResponses" not in params
            if "inputResponses" in params and not self.asked:
                raise Refusal(-32602, "no client asked")
            return super().call_tool(params)
        """,
    "stateless-interleaving": """
        def run(self):
            import os
            while data := os.read(0, 65536):
                self.shared = None  # by all that is read at once
                for line in data.splitlines():
                    self.hear(line)
        def meta_problem(self, meta):
            self.shared = self.shared or meta
            return super().meta_problem(self.shared)
        """,
}
STATUSES = {
    "versioning-unsupported-version-http-400": -32022,
    "meta-missing-http-400": -32602,
    "meta-missing-capability-http-400": -32021,
}


@pytest.mark.parametrize("name", MODERN)
async def test_a_server_that_breaks_one_rule_of_the_modern_era_is_told_which(tmp_path, verdicts_of, failed, name):
    outcomes = await verdicts_of(broken(tmp_path, "Modern", MODERN[name]), VERSION, only=AREA)
    if requirements()[name].level == "MUST":
        assert failed(outcomes) == {name}, outcomes[name]
    else:
        assert (failed(outcomes), outcomes[name].status) == (set(), "warned")


async def test_a_task_for_a_client_that_knows_none_is_reported(tmp_path, verdicts_of, failed):
    outcomes = await verdicts_of(broken(tmp_path, "Modern", AS_A_TASK), VERSION, only=AREA)
    assert failed(outcomes) == {"versioning-resulttype-extension-negotiated"}
    assert outcomes["versioning-extension-fallback"].reason == (
        "the same fault as versioning-resulttype-extension-negotiated"
    )


@pytest.mark.parametrize("name", STATUSES)
async def test_an_error_with_the_wrong_status_is_reported(verdicts_of, failed, name):
    class Broken(ModernHttp):
        def status(self, said):
            return 200 if said and f'"code": {STATUSES[name]}'.encode() in said[0] else super().status(said)

    with over_http(Broken()) as spec:
        outcomes = await verdicts_of(spec, VERSION, only=AREA)
    assert failed(outcomes) == {name}


async def test_over_http_a_good_server_is_not_blamed(verdicts_of, failed):
    with over_http(ModernHttp()) as spec:
        outcomes = await verdicts_of(spec, VERSION, only=AREA)
    assert failed(outcomes, "failed", "warned") == set()
    assert {outcomes[name].status for name in STATUSES} == {"passed"}


def test_every_check_of_the_modern_era_has_a_server_that_breaks_it():
    mine = {name for name, _ in CHECKS.items() if requirements()[name].group in ("versioning", "request-meta")}
    as_a_task = {"versioning-resulttype-extension-negotiated", "versioning-extension-fallback"}
    assert mine == {*MODERN, *as_a_task, *STATUSES}
