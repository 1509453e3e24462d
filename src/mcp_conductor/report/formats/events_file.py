"""A report as the events of its run, for those who read nothing else."""

from mcp_conductor.protocol.message import render
from mcp_conductor.report.events import CaseFinished, Event, RunFinished, RunStarted, event_json
from mcp_conductor.report.formats import reporter
from mcp_conductor.report.model import Report
from mcp_conductor.text.visible import json_escaped


@reporter("events", suffix=".jsonl", escapes=True, live=True)
def events(report: Report) -> str:
    """Lines of JSON, one for each event: `conductor test` writes them while they happen, for editors and dashboards."""
    files = {outcome.where.file for outcome in report.outcomes if outcome.where is not None}
    first = RunStarted(report.kind, len(report.outcomes), len(files), report.deselected)
    told: list[Event] = [
        first,
        *(CaseFinished(outcome=outcome) for outcome in report.outcomes),
        RunFinished(report=report),
    ]
    return "".join(json_escaped(render(event_json(event))) + "\n" for event in told)
