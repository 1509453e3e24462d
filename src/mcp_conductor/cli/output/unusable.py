"""The report of a run that could not begin: the server or the client cannot be started, reached or understood.

A reader of reports, such as a service for CI, must find in them what a person sees on the console.
"""

import time
from dataclasses import replace

from mcp_conductor.errors import ConductorError, InternalError, UsageError
from mcp_conductor.report.model import Finding, Looks, Outcome, Report


def report_of(error: ConductorError, report: Report, subject: str, began: float) -> Report | None:
    """REPORT, of a run that BEGAN then (`perf_counter`), with ERROR as its only outcome.

    None where the SUBJECT is not to blame: a wrong command line has no report, nor has a bug of ours.
    """
    if isinstance(error, (UsageError, InternalError)):
        return None
    frames = error.frames
    about = (0, len(frames)) if frames else None
    outcome = Outcome(
        id=subject,
        title=f"The {subject} can be used",
        group=subject,
        status="errored",
        findings=(Finding(message=error.message, hint=error.hint, where=error.where, framed=about),),
        stderr=tuple(error.stderr),
        cause="server",
        frames=frames,
    )
    metrics = {"ungraded": error.message} if report.kind == "check" else {}
    seconds = time.perf_counter() - began
    return replace(report, outcomes=(outcome,), seconds=seconds, metrics=metrics, looks=Looks(trace="on"))
