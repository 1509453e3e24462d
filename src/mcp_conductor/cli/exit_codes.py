"""What a program ends with: one table, and one function from a report to its place in it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_conductor.report.model import Report

OK = 0
FAILED = 1  # a test or a MUST
COULD_NOT_RUN = 2  # a bad flag or file, nothing to run, a report that could not be written
NO_SERVER = 3  # it could not be started, or went away, so that tests could not be run
INTERNAL_ERROR = 70  # a bug of ours
TIMED_OUT = 124


def code_of(report: "Report") -> int:
    """The exit code that says what REPORT says. For a run that a signal ended, the signal's own code comes first."""
    if report.stopped == "timeout":
        return TIMED_OUT
    if not report.outcomes:
        return COULD_NOT_RUN
    if any(outcome.cause == "server" for outcome in report.outcomes):
        return NO_SERVER
    return FAILED if report.red else OK
