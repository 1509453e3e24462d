"""A report format of our own: `--report csv:FILE`."""

import csv
from io import StringIO

from mcp_conductor import Report, reporter


@reporter("csv", suffix=".csv")
def table(report: Report) -> str:
    """A line for each outcome, for spreadsheets."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "status", "seconds", "first finding"])
    for outcome in report.outcomes:
        first = outcome.findings[0].message if outcome.findings else ""
        writer.writerow([outcome.id, outcome.status, f"{outcome.seconds:.3f}", first])
    return text.getvalue()
