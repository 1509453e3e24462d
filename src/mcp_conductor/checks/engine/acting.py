"""Carrying out one probe: its findings, or why there are none."""

from mcp_conductor.checks.engine.check import Act
from mcp_conductor.checks.engine.findings import SERVER_ERROR, NoAnswer, NotSeen
from mcp_conductor.checks.engine.judging import MOST_FINDINGS, CheckResult
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.requirements import requirements
from mcp_conductor.errors import (
    ConductorError,
    HttpStatusError,
    MisnamedEvent,
    RequestTimeout,
    TransportError,
    UsageError,
)
from mcp_conductor.report.model import Finding

_MESSAGE_EVENTS = "sse-message-events"


async def result_of_act(act: Act, probe: Probe) -> CheckResult:
    """What comes of a probe."""
    result = CheckResult([])
    try:
        async for finding in act(probe):
            result.findings.append(finding)  # what was found before a failure counts
    except NotSeen as nothing:
        result.reason = str(nothing)
    except UsageError as error:
        result.reason = f"the server asks what we cannot answer: {error.message}"
    except MisnamedEvent as error:
        if requirements()[_MESSAGE_EVENTS].holds_for(probe.dialect.version, "sse"):
            result.reason = f"{error.message}: see {_MESSAGE_EVENTS}"
        else:
            result.findings.append(Finding(message=error.message, actual=error.heard))
    except RequestTimeout as error:
        result.silence, result.unanswered_method = error.message, error.method
        result.findings.append(Finding(message=error.message, hint=error.hint))
    except (NoAnswer, HttpStatusError) as error:
        result.gone = True
        if isinstance(error, NoAnswer) or error.status >= SERVER_ERROR:
            result.silence, result.unanswered_method = error.message, error.method
        result.findings.append(Finding(message=error.message, hint=error.hint))
    except ConductorError as error:
        result.gone = isinstance(error, TransportError)
        result.findings.append(Finding(message=error.message, hint=error.hint))
    del result.findings[MOST_FINDINGS:]
    return result
