"""The file of `--expected-failures`: what is known to fail, why, where, and until when.

What is expected does not fail the run. It costs as much as before: grades are made before this is looked at.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from mcp_conductor.checks.engine.judging import Verdicts
from mcp_conductor.checks.requirements import requirements
from mcp_conductor.errors import Location, nearest
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import load
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.report.model import Finding, Outcome
from mcp_conductor.values import dataclass

_KEYS = ("id", "reason", "revision", "transport", "expires")
_TRANSPORTS = ("stdio", "http", "sse")
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_BROKEN = ("failed", "warned", "errored")
Told = tuple[str, Outcome]  # the revision, and what came of a requirement in it


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """One entry: a requirement, and where it is known to be broken."""

    id: str
    reason: str
    where: Location | None
    revision: str | None = None  # any
    transport: str | None = None  # any
    expires: date | None = None  # the last day on which it is expected

    def holds_for(self, outcome: Outcome, verdicts: Verdicts) -> bool:
        fits = self.revision in (None, verdicts.version) and self.transport in (None, verdicts.transport)
        return self.id == outcome.id and fits


def read_expected(path: str, shown: str) -> list[ExpectedFailure]:
    """The entries of a file; it is called SHOWN where something is wrong with it."""
    document = load(path, shown)
    return [_entry(field) for field in Field(document, (), document.data).items()]


def _entry(field: Field) -> ExpectedFailure:
    where = field.document.locate(field.path)
    if isinstance(field.value, str):
        return ExpectedFailure(_id(field), f"listed in {field.document.file}", where)
    if not isinstance(field.value, dict):
        field.refuse("must be the id of a requirement, or an object with id and reason")
    given = field.members(_KEYS)
    for key in ("id", "reason"):
        if key not in given:
            field.refuse(f"has no {key}")
    return ExpectedFailure(
        id=_id(given["id"]),
        reason=given["reason"].text(),
        where=where,
        revision=given["revision"].one_of(tuple(DIALECTS)) if "revision" in given else None,
        transport=given["transport"].one_of(_TRANSPORTS) if "transport" in given else None,
        expires=_day(given["expires"]) if "expires" in given else None,
    )


def _id(field: Field) -> str:
    name = field.text()
    if name not in requirements():
        near = nearest(name, list(requirements()))
        field.refuse("is not a requirement", f"did you mean {near!r}?" if near else "--list shows all of them")
    return name


def _day(field: Field) -> date:
    text = field.text()
    try:
        found = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:  # February 30
        found = None
    if found is None:
        field.refuse(f"must be a day such as 2027-01-31, not {text!r}")
    return found


def with_expected(checked: Sequence[Verdicts], expected: Sequence[ExpectedFailure], today: date) -> list[Told]:
    """All outcomes: what fails as EXPECTED does not fail the run; what was expected to fail, but is kept, does."""
    told = [(verdicts, outcome) for verdicts in checked for outcome in verdicts.outcomes]
    # What is broken in one revision may be kept in another, without being mended.
    healed = [
        entry
        for entry in expected
        if not any(outcome.status in _BROKEN and entry.holds_for(outcome, verdicts) for verdicts, outcome in told)
    ]
    return [
        (
            verdicts.version,
            _marked(outcome, [entry for entry in expected if entry.holds_for(outcome, verdicts)], healed, today),
        )
        for verdicts, outcome in told
    ]


def so_far(verdicts: Verdicts, expected: Sequence[ExpectedFailure], today: date) -> list[Outcome]:
    """The outcomes of one revision, before others tell whether what is kept in it has healed."""
    broken = [outcome for outcome in verdicts.outcomes if outcome.status in _BROKEN]
    known = [entry for entry in expected if any(entry.holds_for(outcome, verdicts) for outcome in broken)]
    return [outcome for _, outcome in with_expected([verdicts], known, today)]


def _marked(
    outcome: Outcome, entries: Sequence[ExpectedFailure], healed: Sequence[ExpectedFailure], today: date
) -> Outcome:
    if outcome.status in _BROKEN and entries:
        for entry in entries:
            if entry.expires is None or today <= entry.expires:
                return replace(outcome, status="skipped", reason=entry.reason)
        last = entries[-1]
        message = f"it is no longer expected to fail: the entry expired on {last.expires} ({last.reason})"
        return replace(outcome, findings=(*outcome.findings, Finding(message=message, where=last.where)))
    for entry in entries:
        if outcome.status == "passed" and entry in healed:
            message = f"it is kept, although it is among the expected failures ({entry.reason})"
            finding = Finding(message=message, where=entry.where, hint="take it out of the list")
            return replace(outcome, status="failed", findings=(finding,))
    return outcome
