"""`conductor check --list` and `--explain`: the requirements, and all that we know about one of them."""

from collections.abc import Collection, Iterable
from textwrap import wrap

from mcp_conductor.checks.engine.check import CHECKS
from mcp_conductor.checks.frameworks import broken_by
from mcp_conductor.checks.harness.scenario import WATCHED
from mcp_conductor.checks.requirements import Requirement, requirement, requirements, with_packages
from mcp_conductor.checks.requirements.addresses import address_of
from mcp_conductor.checks.requirements.examples import Example, counterexamples, examples
from mcp_conductor.protocol import Json
from mcp_conductor.report.model import Rule

_WIDTH = 100  # of texts; conversations are as wide as they are
_COLUMN = 13  # where the texts begin


def named_requirements(words: Iterable[str]) -> list[Requirement]:
    """The requirements that are meant: ids, or groups of them; each once."""
    found: dict[str, Requirement] = {}
    for word in words:
        group = [each for each in with_packages(word).values() if each.group == word]
        found |= {each.id: each for each in group or [requirement(word)]}
    return list(found.values())


def explained(them: Iterable[Requirement]) -> str:
    """Requirements as a text for people."""
    return "\n".join(_text(each) for each in them)


def members_of(them: Iterable[Requirement]) -> list[Json]:
    """Requirements for programs."""
    return [_members(each) for each in them]


def rules(names: Iterable[str]) -> tuple[Rule, ...]:
    """Requirements for reports that have rules."""
    found = (requirement(name) for name in names)
    return tuple(
        Rule(
            id=each.id,
            statement=each.statement,
            help=f"{each.level}. {each.remedy or ''} How it is checked: {_how(each)}".replace(".  How", ". How"),
            remedy=each.remedy or "",
            how=_how(each),
            address=_address(each),
        )
        for each in found
    )


def listed(subjects: Iterable[str], only: Collection[str]) -> list[Requirement]:
    """All requirements for SUBJECTS, or those that ONLY names."""
    return [
        each
        for subject in subjects
        for each in requirements().values()
        if each.subject == subject and (not only or {each.id, each.group} & set(only))
    ]


def listing(subjects: Iterable[str], only: Collection[str]) -> str:
    """All requirements by group, or those that ONLY names: their level, their id, and whether they are checked."""
    lines = []
    head = ""
    for each in listed(subjects, only):
        title = f"{each.group}, for {each.subject}s:"
        if title != head:
            head = title
            lines.append(title)
        checked = "checked" if each.plugin is None else f"checked by {each.plugin}"
        lines.append(f"  {each.level:<7}{each.id:<48}{checked if _check_of(each) else _why_not(each)}")
    return "\n".join(lines) + "\n"


def _check_of(each: Requirement) -> str | None:
    """How a requirement is checked; None if it is not."""
    if each.id in CHECKS:
        return CHECKS.get(each.id).doc or each.statement
    return WATCHED.get(each.id).doc if each.id in WATCHED else None


def _why_not(each: Requirement) -> str:
    """What hinders us to see whether a requirement is kept."""
    return f"not observable: {each.unseen}"


def _how(each: Requirement) -> str:
    return _check_of(each) or f"{_why_not(each)}; one could: {each.test}"


def _address(each: Requirement) -> str | None:
    """Where the specification says it; what a plugin requires is in no specification."""
    return None if each.plugin is not None else address_of(each, each.revisions[-1])


def _text(each: Requirement) -> str:
    known = {
        "revisions": ", ".join(each.revisions),
        "transports": ", ".join(each.transports),
        "plugin": each.plugin,
        "address": _address(each),
        "how": _how(each),
        "remedy": each.remedy or "",
        "frameworks": _frameworks(each),
    }
    texts = {name: text for name, text in known.items() if text}
    statement = "\n".join(f"  {line}" for line in wrap(each.statement, _WIDTH))
    table = "".join(_row(name, text) for name, text in texts.items())
    return (
        f"{each.id} ({each.level}, of the {each.subject}, severity {each.severity})\n\n{statement}\n\n{table}"
        f"{_example('kept', examples().get(each.id))}{_example('broken', counterexamples().get(each.id))}"
    )


def _frameworks(each: Requirement) -> str:
    """Where no author can keep a requirement."""
    found = broken_by(each.id)
    return f"a hello-world server of these breaks it: {', '.join(found)}" if found else ""


def _row(name: str, text: str) -> str:
    lines = wrap(text, _WIDTH - _COLUMN, break_long_words=False, break_on_hyphens=False)
    return f"  {name:<{_COLUMN}}" + f"\n{'':<{_COLUMN + 2}}".join(lines) + "\n"


def _example(how: str, example: Example | None) -> str:
    """A conversation that keeps or breaks a requirement, if we have one."""
    if example is None:
        return ""
    marks = ("!" if place in example.wrong else " " for place in range(len(example.lines)))
    lines = "".join(f"  {mark} {line}\n" for mark, line in zip(marks, example.lines, strict=True))
    return f"\n  {how}, for example, in {example.version}:\n\n{lines}"


def _members(each: Requirement) -> Json:
    return {
        "id": each.id,
        "group": each.group,
        "level": each.level,
        "subject": each.subject,
        "severity": each.severity,
        "brokenByBareServersOf": broken_by(each.id),
        "statement": each.statement,
        "revisions": list(each.revisions),
        "transports": list(each.transports),
        "address": _address(each),
        "checked": _check_of(each) is not None,
        "how": _how(each),
        "remedy": each.remedy or "",
        **({} if each.plugin is None else {"plugin": each.plugin}),
        "kept": _as_json(examples().get(each.id)),
        "broken": _as_json(counterexamples().get(each.id)),
    }


def _as_json(example: Example | None) -> Json | None:
    """A conversation with its wrong lines, counted from 0."""
    if example is None:
        return None
    return {"revision": example.version, "lines": list(example.lines), "wrong": list(example.wrong)}
