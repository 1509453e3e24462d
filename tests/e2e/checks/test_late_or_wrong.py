"""A server is not blamed for being late where the machine may be: it is looked at again, alone, and then left open."""

import pytest
from tests.e2e.checks.plain_servers import broken

UNKNOWN = "base-method-not-found-server"
IGNORES = """
    def take(self, message):
        unknown = isinstance(message, dict) and str(message.get("method")).startswith("conductor")
        {before}
        if not unknown or not ({ignored}):
            super().take(message)
    """


async def test_what_is_never_answered_is_a_finding(verdicts_of, tmp_path):
    server = broken(tmp_path, "Plain", IGNORES.format(before="pass", ignored="True"))
    assert (await verdicts_of(server, only=[UNKNOWN], timeout=0.5))[UNKNOWN].status == "failed"


async def test_what_is_answered_when_asked_again_alone_is_none(verdicts_of, tmp_path):
    once = f"not __import__('os').path.exists({str(tmp_path / 'asked')!r}) and open({str(tmp_path / 'asked')!r}, 'w')"
    server = broken(tmp_path, "Plain", IGNORES.format(before="pass", ignored=once))
    outcomes = await verdicts_of(server, only=[UNKNOWN], timeout=0.5)
    assert (tmp_path / "asked").exists()
    assert outcomes[UNKNOWN].status == "passed"


async def test_what_several_probes_share_is_made_again_for_the_second_look(verdicts_of, tmp_path):
    """The opening of a session that is looked at was late: each later session is opened in time."""
    late_once = f"""
    def take(self, message):
        mark = {str(tmp_path / "late")!r}
        if isinstance(message, dict) and message.get("method") == "ping" and not self.listed:
            if not __import__("os").path.exists(mark):
                open(mark, "w")
                return
        self.listed = self.listed or (isinstance(message, dict) and message.get("method") == "tools/list")
        super().take(message)
    listed = False
    """
    only = "lifecycle-initialized-accepted-server"
    outcomes = await verdicts_of(broken(tmp_path, "Plain", late_once), only=[only], timeout=0.5)
    assert (tmp_path / "late").exists()
    assert outcomes[only].status == "passed"


async def test_late_twice_is_inconclusive_where_everything_is_slow(verdicts_of, tmp_path):
    slow = "__import__('time').sleep(0.3)"  # a server that is slow, or that has a busy machine: who can tell?
    server = broken(tmp_path, "Plain", IGNORES.format(before=slow, ignored="True"))
    outcome = (await verdicts_of(server, only=[UNKNOWN]))[UNKNOWN]
    assert outcome.status == "skipped"
    assert outcome.reason.startswith("inconclusive: late cannot be told from wrong (")
    assert "conductor/no-such-method" in outcome.reason


async def test_a_server_that_answers_everything_late_is_slow_not_silent(verdicts_of, failed, tmp_path):
    slow = """
    def take(self, message):
        if isinstance(message, dict) and message.get("method") not in ("initialize", "notifications/initialized"):
            __import__("time").sleep(0.6)
        super().take(message)
    """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", slow), only=["base", "ping"], timeout=0.4)
    assert failed(outcomes) == set()
    assert any((each.reason or "").startswith("inconclusive") for each in outcomes.values())


async def test_what_tools_would_have_done_had_they_answered_is_not_passed(verdicts_of, tmp_path):
    """With the level error, nothing is logged; and nothing is answered."""
    logs = """
    capabilities = {"tools": {}, "logging": {}}
    level = None

    def reply(self, request):
        if request["method"] == "logging/setLevel":
            self.level = request["params"]["level"]
            return result(request["id"], {})
        return super().reply(request)

    def take(self, message):
        called = isinstance(message, dict) and message.get("method") == "tools/call"
        if called:
            self.say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": 1}})
        if not (called and self.level == "error"):
            super().take(message)
    """
    only = "logging-level-respected"
    outcome = (await verdicts_of(broken(tmp_path, "Plain", logs), only=[only], timeout=0.5))[only]
    assert (outcome.status, outcome.reason) == ("skipped", "inconclusive: no answer to tools/call within 0.5 s")


@pytest.mark.slow
async def test_a_list_that_is_not_read_to_its_end_in_time_is_not_passed(verdicts_of, tmp_path):
    slow = """
    def list_tools(self, params):
        __import__("time").sleep(0.1)
        page = int(params.get("cursor", "0"))
        return {"tools": [{**self.tools[0], "name": f"look{page}"}], "nextCursor": str(page + 1)}
    """
    only = "pagination-continues"
    outcome = (await verdicts_of(broken(tmp_path, "Plain", slow), only=[only], timeout=2))[only]
    assert outcome.status == "skipped"
    assert outcome.reason.startswith("inconclusive: the end of tools/list was not reached on ")


async def test_a_late_reply_is_not_taken_for_one_to_a_later_request(verdicts_of, tmp_path):
    """The reply to the first of two odd ids comes with that to the second."""
    holds = """
    held = None

    def say(self, message):
        if message.get("id") == 4545.5:
            self.held = message
            return
        if self.held is not None and message.get("id") == 2**53 + 1:
            super().say(self.held)
        super().say(message)
    """
    only = "base-response-id-echo-server"
    outcome = (await verdicts_of(broken(tmp_path, "Plain", holds), only=[only]))[only]
    assert (outcome.status, outcome.findings) == ("passed", ())


async def test_what_comes_late_in_each_new_process_is_inconclusive(verdicts_of, tmp_path):
    """Only the first list of a process is late: the server is quick with everything else."""
    slow_once = """
    listed = False

    def list_tools(self, params):
        if not self.listed:
            __import__("time").sleep(0.7)
        self.listed = True
        return super().list_tools(params)
    """
    only = "base-unknown-capabilities-tolerated-server"
    outcome = (await verdicts_of(broken(tmp_path, "Plain", slow_once), only=[only], timeout=0.5))[only]
    late = "inconclusive: late cannot be told from wrong (no answer to tools/list within 0.5 s)"
    assert (outcome.status, outcome.reason) == ("skipped", late)
