"""Exit codes: one table, and the only functions from a report, an error or a signal to a code in it."""

from typing import TYPE_CHECKING, NamedTuple

from mcp_conductor.errors import ConductorError, InternalError, MethodError, TimeLimitReached, UsageError

if TYPE_CHECKING:
    from mcp_conductor.report.model import Report

OK = 0
FAILED = 1  # a test or a MUST
COULD_NOT_RUN = 2  # a bad flag or file, nothing to run, a report that could not be written
NO_SERVER = 3  # it could not be started, or went away, so that tests could not be run
INTERNAL_ERROR = 70  # a bug of ours
TIMED_OUT = 124


class Codes(NamedTuple):
    """What a program ends with when it cannot go on."""

    usage: int  # a bad flag or file
    server: int  # it could not be reached, went away, or said what we cannot continue from
    method: int  # the server answered with an error, or the tool result has isError
    timeout: int  # no answer in time


PROGRAMS = {
    "mcp-cli": Codes(usage=1, server=1, method=2, timeout=TIMED_OUT),
    "conductor": Codes(usage=COULD_NOT_RUN, server=NO_SERVER, method=NO_SERVER, timeout=NO_SERVER),
    "conductor serve": Codes(*[COULD_NOT_RUN] * 4),
    "server-composable": Codes(*[1] * 4),  # as the Inspector's
}


def code_of(report: "Report") -> int:
    """The exit code that says what REPORT says. For a run that a signal ended, the signal's own code comes first."""
    if report.stopped == "timeout":
        return TIMED_OUT
    if not report.outcomes or (report.kind == "check" and not report.metrics):
        return COULD_NOT_RUN
    # A check goes on with a new server, and has seen what the one before did.
    if report.kind != "check" and any(outcome.cause == "server" for outcome in report.outcomes):
        return NO_SERVER
    if report.red:
        return FAILED
    return COULD_NOT_RUN if "unseen" in report.metrics else OK


def code_of_error(error: ConductorError, codes: Codes) -> int:
    """The exit code of a program that ERROR keeps from going on."""
    match error:
        case UsageError():
            return codes.usage
        case MethodError():
            return codes.method
        case TimeLimitReached():
            return codes.timeout
        case InternalError():
            return INTERNAL_ERROR
        case _:
            return codes.server


def code_of_signal(number: int) -> int:
    """The exit code of a program that a signal ended, as shells have it."""
    return 128 + number
