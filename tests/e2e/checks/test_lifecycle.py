"""The checks of the handshake, reported of servers that break one rule each; test_base.py has those that keep them."""

import pytest
from tests.e2e.checks.plain_servers import AREA, broken

from mcp_conductor.checks.engine.check import CHECKS
from mcp_conductor.checks.requirements import requirements

LIFECYCLE = {
    "lifecycle-initialize-result-server": """
        def initialize(self, params):
            return {**super().initialize(params), "serverInfo": {"name": "nameless version"}}
        """,
    "lifecycle-initialized-accepted-server": """
        def notified(self, notification):
            if notification["method"] == "notifications/initialized" and "params" in notification:
                self.say(error(None, -32602, "Invalid params"))
        """,
    "lifecycle-version-server-echo": """
        def initialize(self, params):
            offered = {"2024-11-05": "2025-03-26", "2025-03-26": "2025-11-25"}.get(params["protocolVersion"])
            return {**super().initialize(params), **({"protocolVersion": offered} if offered else {})}
        """,
    "lifecycle-version-server-counter": """
        def initialize(self, params):
            if params["protocolVersion"] not in self.versions:
                raise Refusal(-32602, "Unsupported", {"supported": self.versions, "requested": params["protocolVersion"]})
            return super().initialize(params)
        """,
    "lifecycle-capabilities-declared-server": """
        capabilities = {}
        """,
    "lifecycle-respect-negotiated-server-strict": """
        def call_tool(self, params):
            self.ask("roots/list", "r")
            return super().call_tool(params)
        """,
    # SHOULD and MAY: warnings.
    "lifecycle-server-quiet-before-initialized": """
        def initialize(self, params):
            if "roots" in params["capabilities"]:
                self.ask("roots/list", "r")
            return super().initialize(params)
        """,
    "lifecycle-server-rejects-preinit": """
        def reply(self, request):
            self.version = self.version or "2025-11-25"
            return super().reply(request)
        """,
    "lifecycle-ping-during-init-server": """
        ready = False
        def notified(self, notification):
            self.ready = True
        def ping(self, params):
            if not self.ready:
                raise Refusal(-32600, "too early")
            return {}
        """,
    "lifecycle-instructions-string": """
        def initialize(self, params):
            return {**super().initialize(params), "instructions": ["look", "listen"]}
        """,
    "lifecycle-implementation-optional": """
        def initialize(self, params):
            return {**super().initialize(params), "serverInfo": {**INFO, "title": 1}}
        """,
    "lifecycle-version-server-counter-latest": """
        def initialize(self, params):
            known = params["protocolVersion"] in self.versions
            return {**super().initialize(params), **({} if known else {"protocolVersion": self.versions[0]})}
        """,
    "lifecycle-undeclared-feature-method-not-found": """
        def reply(self, request):
            if request["method"] == "prompts/list":
                return error(request["id"], -32603, "no prompts")
            return super().reply(request)
        """,
    "lifecycle-shutdown-stdio-server-exit": """
        def run(self):
            super().run()
            import time
            time.sleep(60)
        """,
}


@pytest.mark.parametrize("name", LIFECYCLE)
async def test_a_server_that_breaks_one_rule_of_the_handshake_is_told_which(tmp_path, verdicts_of, failed, name):
    # A server that does not end must be killed at the end of every session, which takes seconds: look only at this.
    only = {name} if name == "lifecycle-shutdown-stdio-server-exit" else AREA
    outcomes = await verdicts_of(broken(tmp_path, "Plain", LIFECYCLE[name]), only=only)
    if requirements()[name].level == "MUST":
        assert failed(outcomes) == {name}, outcomes[name]
    else:
        assert (failed(outcomes), outcomes[name].status) == (set(), "warned")


async def test_in_older_revisions_questions_that_the_client_cannot_answer_are_a_warning(tmp_path, verdicts_of, failed):
    server = broken(tmp_path, "Plain", LIFECYCLE["lifecycle-respect-negotiated-server-strict"])
    outcomes = await verdicts_of(server, "2024-11-05", only=AREA)
    assert (failed(outcomes), outcomes["lifecycle-respect-negotiated-server"].status) == (set(), "warned")


async def test_an_error_for_an_unknown_version_should_say_which_are_known(tmp_path, verdicts_of):
    refusing = """
        def initialize(self, params):
            if params["protocolVersion"] not in self.versions:
                raise Refusal(-32602, "Unsupported protocol version")
            return super().initialize(params)
        """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", refusing), only={"lifecycle-version-error-data"})
    assert [finding.path for finding in outcomes["lifecycle-version-error-data"].findings] == [
        "error.data.supported",
        "error.data.requested",
    ]


async def test_a_server_that_sees_no_list_as_a_feature_is_not_blamed(tmp_path, verdicts_of):
    empty = """
        capabilities = {}
        tools = []
        """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", empty), only={"lifecycle"})
    assert outcomes["lifecycle-capabilities-declared-server"].status == "passed"
    assert outcomes["lifecycle-undeclared-feature-method-not-found"].status == "warned"


def test_every_check_of_the_handshake_has_a_server_that_breaks_it():
    mine = {name for name, _ in CHECKS.items() if requirements()[name].group == "lifecycle"}
    assert mine - set(LIFECYCLE) == {"lifecycle-respect-negotiated-server", "lifecycle-version-error-data"}
