"""A server is not blamed for being late where the machine may be: it is looked at again, alone, and then left open."""

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
