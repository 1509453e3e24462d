"""The report as it is, for programs."""

from mcp_conductor.protocol.message import render
from mcp_conductor.report.formats import reporter
from mcp_conductor.report.model import Report
from mcp_conductor.text.visible import json_escaped


@reporter("json", suffix=".json", escapes=True)
def json(report: Report) -> str:
    """JSON, for programs: everything that was found, with its places; the same shape for every command."""
    return json_escaped(render(report.to_json(), indent=2)) + "\n"
