"""What is the same is shown once: findings that differ only in a name or a place, and outcomes of several revisions."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mcp_conductor.report.model import Finding, Outcome
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.values import dataclass

# What is quoted, places in a list, and methods.
_NAMES = compiled_later(r"""'[^']*'|"[^"]*"|\[\d+\]|\b[a-z]+(?:/[A-Za-z_]+)+\b""")
_WORST_FIRST = ("errored", "failed", "not-run", "warned", "passed", "skipped")


@dataclass(frozen=True, slots=True)
class Alike:
    """Findings that say the same of different things."""

    first: Finding
    others: tuple[Finding, ...] = ()

    @property
    def names(self) -> list[str]:
        """What the others are about, each once: places, or names in their messages; none where those are the same."""
        return list(dict.fromkeys(found for each in self.others if (found := _name(each, self.first))))


def folded(findings: Iterable[Finding]) -> list[Alike]:
    """FINDINGS, those that are alike as one, in the order of the first of each."""
    groups: dict[tuple[str, bool], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((shape(finding), finding.warning), []).append(finding)
    return [Alike(first, tuple(others)) for first, *others in groups.values()]


def shape(finding: Finding) -> str:
    """What a finding says, without the names and places that it says it of."""
    return _NAMES.sub("…", finding.message)


def _name(finding: Finding, first: Finding) -> str | None:
    if finding.path and finding.path != first.path:
        return finding.path
    known, names = _NAMES.findall(first.message), _NAMES.findall(finding.message)
    elsewhere = next((name for name, other in zip(names, known, strict=False) if name != other), None)
    return next((name for name in names if name not in known), elsewhere)


@dataclass(frozen=True, slots=True)
class InRevisions:
    """An outcome that is the same in several revisions, with the evidence of the first."""

    outcome: Outcome
    versions: tuple[str, ...]


def once_for_all(told: Iterable[tuple[str, Outcome]]) -> list[InRevisions]:
    """What came out alike in several revisions as one; TOLD are all outcomes with their revisions."""
    found: dict[tuple[object, ...], tuple[Outcome, list[str]]] = {}
    for version, outcome in told:
        messages = frozenset(finding.message for finding in outcome.findings)
        _, versions = found.setdefault((outcome.id, outcome.status, outcome.reason, messages), (outcome, []))
        versions.append(version)
    return [InRevisions(outcome, tuple(versions)) for outcome, versions in found.values()]


def told_once(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """OUTCOMES for people: what is alike in several revisions as one outcome, which names them all."""
    every = dict.fromkeys(each.version for each in outcomes if each.version is not None)
    if not every:
        return list(outcomes)
    return [
        replace(each.outcome, version=together(each.versions, len(every)))
        for each in once_for_all((outcome.version or "", outcome) for outcome in outcomes)
    ]


def together(versions: Sequence[str], of: int) -> str:
    """VERSIONS in words; OF is the number of all versions."""
    return f"all {of} revisions" if len(versions) == of else ", ".join(versions)


def worst(shown: Sequence[InRevisions]) -> list[Outcome]:
    """Each requirement once: by the worst that came of it in any revision."""
    found: dict[str, Outcome] = {}
    for outcome in (each.outcome for each in shown):
        known = found.get(outcome.id)
        if known is None or _WORST_FIRST.index(outcome.status) < _WORST_FIRST.index(known.status):
            found[outcome.id] = outcome
    return list(found.values())


def worst_status(outcomes: Iterable[Outcome]) -> str:
    return min((each.status for each in outcomes), key=_WORST_FIRST.index, default="passed")
