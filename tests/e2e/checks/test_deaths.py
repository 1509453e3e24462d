"""A server whose process ends has failed, once, whatever it ended of; and what it said before counts."""

import pytest
from tests.e2e.checks.plain_servers import broken

COUNTING = """
    capabilities = {"tools": {}, "logging": {}}
    tools = [
        {
            "name": "add",
            "inputSchema": {"type": "object", "properties": {"n": {"type": "number"}}},
            "annotations": {"readOnlyHint": True},
        }
    ]

    def __init__(self):
        super().__init__()
        self.methods["logging/setLevel"] = lambda params: {}
    """
OBJECT_ONLY = """
    def checked_call(self, params):
        if not isinstance(params.get("arguments", {}), dict):
            sys.exit(3)
        if not isinstance(params.get("arguments", {}).get("n", 0), (int, float)):
            return {"content": [], "isError": True}
        return super().checked_call(params)
    """
NUMBERS_ONLY = """
    def call_tool(self, params):
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            progress = {"progressToken": token, "progress": "one"}
            self.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
        if not isinstance(params.get("arguments", {}).get("n", 0), (int, float)):
            sys.exit(3)
        return super().call_tool(params)
    """


def deaths(outcomes):
    return [each for each in outcomes.values() if each.cause == "server"]


@pytest.mark.parametrize(("body", "sent"), [(OBJECT_ONLY, '"arguments":"text"'), (NUMBERS_ONLY, '"not a number"')])
async def test_a_server_that_dies_of_wrong_arguments_has_failed_once(verdicts_of, failed, tmp_path, body, sent):
    outcomes = await verdicts_of(broken(tmp_path, "Plain", COUNTING + body), timeout=0.5, only=["tools"])
    (told,) = deaths(outcomes)
    assert failed(outcomes) == {told.id}
    assert "the server exited with code 3 before it answered tools/call" in told.findings[0].message
    assert sent in "\n".join(told.wire)


async def test_what_a_server_said_before_it_died_counts(verdicts_of, tmp_path):
    outcomes = await verdicts_of(broken(tmp_path, "Plain", COUNTING + NUMBERS_ONLY), timeout=0.5)
    assert outcomes["progress-notification-shape"].findings[0].message == "progress is not a number"
    assert len(deaths(outcomes)) == 1
    outcomes = await verdicts_of(broken(tmp_path, "Plain", COUNTING + OBJECT_ONLY), timeout=0.5, only=["tools"])
    assert outcomes["tools-validate-input"].status == outcomes["tools-call-arguments-omitted"].status == "passed"


async def test_deaths_for_several_reasons_with_the_same_exit_code_are_all_told(verdicts_of, tmp_path):
    dies = """
    def call_tool(self, params):
        if params.get("_meta", {}).get("progressToken") == 42:
            print("KeyError: 'x'", file=sys.stderr)
            sys.exit(3)
        if params.get("_meta", {}).get("progressToken") is not None:
            progress = {"progressToken": params["_meta"]["progressToken"], "progress": 1}
            self.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
        return super().call_tool(params)
    """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", COUNTING + OBJECT_ONLY + dies), timeout=0.5)
    assert sorted(each.stderr for each in deaths(outcomes)) == [(), ("KeyError: 'x'",)]


ONCE = """
    def take(self, message):
        if isinstance(message, dict) and message.get("method") == "conductor/no-such-method":
            try:
                open(sys.argv[1], "x").close()
            except FileExistsError:
                pass
            else:
                sys.exit(3)
        super().take(message)
    """


@pytest.mark.parametrize(
    ("only", "under"),
    [("base", "base-response-once-server"), ("base-method-not-found-server", "base-method-not-found-server")],
)
async def test_a_server_that_died_only_once_has_died(verdicts_of, failed, tmp_path, only, under):
    server = (*broken(tmp_path, "Plain", ONCE), str(tmp_path / "died"))
    outcomes = await verdicts_of(server, timeout=0.5, only=[only])
    assert failed(outcomes) == {under}
    assert "the server exited with code 3" in outcomes[under].findings[0].message
    assert any("conductor/no-such-method" in line for line in outcomes[under].wire)


async def test_a_death_that_no_probe_looks_at_is_told(verdicts_of, tmp_path):
    dies = """
    def notified(self, notification):
        if notification["method"] == "notifications/cancelled":
            sys.exit(3)
    """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", dies), timeout=0.5)
    (told,) = deaths(outcomes)
    assert any("notifications/cancelled" in line for line in told.wire)
