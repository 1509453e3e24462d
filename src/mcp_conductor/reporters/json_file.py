"""The report as it is, for programs."""

from mcp_conductor.protocol.message import render
from mcp_conductor.report import Report
from mcp_conductor.reporters import reporter


@reporter("json", suffix=".json")
def json(report: Report) -> str:
    """JSON, for programs: everything that was found, with its places; the same shape for every command."""
    return render(report.to_json(), indent=2) + "\n"
