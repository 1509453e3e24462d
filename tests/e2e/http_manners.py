"""What the tests over HTTP have in common: ways for a server to behave, and how to see how a run ended."""

from collections.abc import Callable

from tests.servers.http_raw import Call

QUICK = 10.0  # seconds; far more than is needed, far less than any time-out of ours


def in_turn(*ways: Callable[[Call], None]) -> Callable[[Call], None]:
    """Another way each time, and then always the last one."""
    left = list(ways)

    def turn(call: Call) -> None:
        way = left.pop(0) if len(left) > 1 else left[0]
        way(call)

    return turn


def polite(call: Call) -> None:
    call.politely()


def assert_failed(run, *words: str, code: int = 1) -> None:
    """The run ended with CODE, soon, with nothing on stdout and all of these words in its message."""
    assert run.code == code, run
    assert run.out == "", run
    for word in words:
        assert word in run.err, run
    assert "internal error" not in run.err, run
    assert run.seconds < QUICK, run
