"""What a finding shows: the message that breaks a rule, with what was asked, as both crossed the wire."""

import json

import pytest
from tests.e2e.checks.plain_servers import broken
from tests.e2e.checks.proofs import assert_proven

# The requirement -> what is changed in the server, and what its first finding shows: parts of lines, in order.
PROOFS = {
    "base-parse-error-server": (
        """
        def hear(self, line):
            if b'"method":\\n' in line:
                self.say(error(None, -32603, "Internal error"))
            else:
                super().hear(line)
        """,
        ['--> {"jsonrpc": "2.0", "id": 1, "method":', "<-- -32603"],
    ),
    "base-response-once-server": (
        """
        def reply(self, request):
            message = super().reply(request)
            if request["method"] == "tools/call":
                self.say(message)
            return message
        """,
        ["--> tools/call", "<-- content", "<-- content"],
    ),
    "lifecycle-version-server-counter": (
        """
        def initialize(self, params):
            if params["protocolVersion"] not in HANDSHAKE:
                raise Refusal(-32602, "Unsupported")
            return super().initialize(params)
        """,
        ["--> 1999-01-01", "<-- -32602"],
    ),
    "lifecycle-server-quiet-before-initialized": (
        """
        def initialize(self, params):
            self.ask("roots/list", "early")
            return super().initialize(params)
        """,
        ["--> initialize", "<-- roots/list", "<-- serverInfo"],
    ),
    "logging-level-respected": (
        """
        capabilities = {"tools": {}, "logging": {}}
        def __init__(self):
            super().__init__()
            self.methods["logging/setLevel"] = self.ping
        def call_tool(self, params):
            self.say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})
            return super().call_tool(params)
        """,
        ["--> logging/setLevel", "<-- {}", "--> tools/call", "<-- notifications/message"],
    ),
    "pagination-continues": (
        """
        def list_tools(self, params):
            return {"tools": self.tools, "nextCursor": "1"} if "cursor" not in params else {"tools": self.tools}
        """,
        ["--> tools/list", "<-- nextCursor", "--> cursor", "<-- tools"],
    ),
    "progress-increases": (
        """
        def call_tool(self, params):
            token = params.get("_meta", {}).get("progressToken")
            for _ in range(2):
                self.say(
                    {
                        "jsonrpc": "2.0",
                        "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": 1},
                    }
                )
            return super().call_tool(params)
        """,
        ["--> tools/call", "<-- notifications/progress", "<-- notifications/progress"],
    ),
    "tools-item-annotations": (
        """tools = [{**Plain.tools[0], "annotations": {"readOnlyHint": "yes"}}]""",
        ["--> tools/list", "<-- readOnlyHint"],
    ),
    "tools-content-text": (
        """
        tools = [Plain.tools[0], {**Plain.tools[0], "name": "see"}]
        def call_tool(self, params):
            return {"content": [{"type": "text"}], "_meta": {"tool": params["name"]}}
        """,
        ['--> "name":"look"', '<-- "tool": "look"'],
    ),
}


@pytest.mark.parametrize("name", PROOFS)
async def test_a_finding_shows_the_message_that_breaks_a_rule_with_what_was_asked(tmp_path, verdicts_of, name):
    change, expected = PROOFS[name]
    outcome = (await verdicts_of(broken(tmp_path, "Plain", change), only=[name], call="all"))[name]
    assert_proven(outcome)
    proof = outcome.wire[slice(*outcome.findings[0].said)]
    assert len(proof) == len(expected), proof
    for line, part in zip(proof, expected, strict=True):
        assert line.startswith(part[:4]), (line, part)
        assert part[4:] in line, (line, part)
    assert [frame.text for frame in outcome.frames] == [line[4:] for line in outcome.wire]


async def test_of_two_tools_with_the_same_fault_each_finding_shows_its_own(tmp_path, verdicts_of):
    change, _ = PROOFS["tools-content-text"]
    change = change.replace(', "_meta": {"tool": params["name"]}', "")
    outcome = (await verdicts_of(broken(tmp_path, "Plain", change), only=["tools-content-text"]))["tools-content-text"]
    proofs = [outcome.wire[slice(*finding.said)] for finding in outcome.findings]
    assert [json.loads(proof[0][4:])["params"]["name"] for proof in proofs] == ["look", "see"]
