"""A server is not blamed for being late where the machine may be: it is looked at again, alone, and then left open."""

import pytest
from tests.e2e.checks.plain_servers import broken

UNKNOWN = "base-method-not-found-server"
ECHO = "base-response-id-echo-server"  # the one is looked at in the session of the walk, the other in one of its own
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


@pytest.mark.parametrize("only", [UNKNOWN, ECHO])
async def test_what_is_answered_when_asked_again_alone_is_none(verdicts_of, tmp_path, only):
    once = f"not __import__('os').path.exists({str(tmp_path / 'asked')!r}) and open({str(tmp_path / 'asked')!r}, 'w')"
    server = broken(tmp_path, "Plain", IGNORES.format(before="pass", ignored=once))
    outcomes = await verdicts_of(server, only=[only], timeout=0.5)
    assert (tmp_path / "asked").exists()
    assert outcomes[only].status == "passed"


@pytest.mark.parametrize("only", [UNKNOWN, ECHO])
async def test_late_twice_is_inconclusive_where_everything_is_slow(verdicts_of, tmp_path, only):
    slow = "__import__('time').sleep(0.3)"  # a server that is slow, or that has a busy machine: who can tell?
    server = broken(tmp_path, "Plain", IGNORES.format(before=slow, ignored="True"))
    outcome = (await verdicts_of(server, only=[only]))[only]
    assert outcome.status == "skipped"
    assert outcome.reason.startswith("inconclusive: late cannot be told from wrong (")
    assert "conductor/no-such-method" in outcome.reason
