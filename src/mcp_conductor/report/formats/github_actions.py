"""What GitHub Actions takes from a step besides its output: paths from the root of the repository, and a summary.

A step shows ten annotations of each kind, and a summary of 1 MiB; of one that is longer it shows nothing at all.
"""

import os
from dataclasses import replace

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.files.writing import open_pipe
from mcp_conductor.report.model import Finding, Report

_MOST_SUMMARY = 1024 * 1024  # bytes, of all that the step appends


def from_root(report: Report, directory: str, workspace: str) -> Report:
    """REPORT with the files below WORKSPACE called as they are there; those of REPORT are called as in DIRECTORY."""
    root, here = os.path.realpath(workspace), os.path.realpath(directory)
    known: dict[str, str] = {}

    def moved(where: Location | None) -> Location | None:
        if where is None:
            return None
        if where.file not in known:
            path = os.path.normpath(os.path.join(here, where.file))
            known[where.file] = os.path.relpath(path, root) if path.startswith(root + os.sep) else where.file
        return replace(where, file=known[where.file])

    def all_moved(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return tuple(replace(each, where=moved(each.where)) for each in findings)

    outcomes = tuple(
        replace(each, where=moved(each.where), findings=all_moved(each.findings)) for each in report.outcomes
    )
    source = moved(None if report.source is None else Location(report.source, 1, 1))
    return replace(
        report, outcomes=outcomes, warnings=all_moved(report.warnings), source=None if source is None else source.file
    )


def append_summary(path: str, text: str) -> None:
    """Append TEXT to the summary at PATH; of a text that is too long for it, the first line only."""
    first = f"{text.partition(chr(10))[0]}\n\nThe report is too long for this page.\n"
    try:
        with open(path, "ab", buffering=0, opener=open_pipe) as file:
            room = _MOST_SUMMARY - os.fstat(file.fileno()).st_size
            for data in (each.encode(errors="backslashreplace") for each in (f"{text}\n", f"{first}\n")):
                if len(data) <= room:
                    file.write(data)
                    return
    except OSError as error:
        raise UsageError(f"cannot append to GITHUB_STEP_SUMMARY, {path}: {error.strerror}") from error
