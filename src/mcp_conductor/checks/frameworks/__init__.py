"""What servers break because of the framework that they are built on.

`bare_servers.json` has what a hello-world server of each framework breaks; `scripts/bare_servers.py` measures it. What
a server breaks in the same way as the bare one is the framework's, and its author cannot mend it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from json import loads
from typing import Any

from mcp_conductor.checks.frameworks.recognition import Recognised, ServerClass, recognise
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import read
from mcp_conductor.report.model import Finding, Outcome
from mcp_conductor.transport.process_tree import Command
from mcp_conductor.values import dataclass

# What is quoted, and numbers: of the server, not of what is wrong with it.
_NAMES = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\d+""")
_OWN = re.compile(r"\w+(?=, (?:without|'))")  # greet, without the required argument 'name'
_EXCEPTION = re.compile(r"[\s|+-]*([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt))\b")
_MAX_CHARACTERS = 500  # of a message that are compared
_SHOWN = 40  # characters of the message of an error that are compared
Form = tuple[str, str]  # of a finding, and of the answer that shows it


@dataclass(frozen=True, slots=True)
class Fault:
    """A requirement that the bare server breaks on one transport.

    The revisions in which it was measured do not matter: a race shows itself in some of them, and an old version does
    not speak all. What is wrong has to be the same.
    """

    id: str
    transport: str
    versions: tuple[str, ...]  # of the package: those measured that break it
    forms: frozenset[Form]
    address: str | None  # where it was reported


@dataclass(frozen=True, slots=True)
class Framework:
    """One major version of a package, by one of its server classes."""

    name: str
    classes: tuple[ServerClass, ...]
    major: str
    measured: tuple[str, ...]  # versions, the oldest first
    faults: tuple[Fault, ...]

    def fault(self, version: str, name: str, transport: str) -> Fault | None:
        """What VERSION of the package is known to break: as the measured versions on both sides of it do."""
        if _order(version) < _order(self.measured[0]):
            return None
        before = [each for each in self.measured if _order(each) <= _order(version)][-1]
        after = next((each for each in self.measured if _order(each) >= _order(version)), before)
        return next(
            (
                each
                for each in self.faults
                if (each.id, each.transport) == (name, transport) and {before, after} <= set(each.versions)
            ),
            None,
        )


@dataclass(frozen=True, slots=True)
class KnownFramework:
    """The framework of a server, with what is known of it."""

    framework: Framework
    recognised: Recognised

    def __str__(self) -> str:
        return f"{self.framework.name} {self.recognised.version}"

    def to_json(self) -> Json:
        by, version = self.recognised.server_class, self.recognised.version
        return {"name": self.framework.name, "package": by.package, "version": version, "how": self.recognised.how}

    def attributed(self, outcome: Outcome, transport: str | None) -> Outcome:
        """OUTCOME, as the framework's and not counted, if the bare server breaks the same in the same ways."""
        if outcome.status not in ("failed", "warned"):
            return outcome
        fault = self.framework.fault(self.recognised.version, outcome.id, transport or "")
        if fault is None or not forms_of(outcome) <= fault.forms:
            return outcome
        told = f"of the {self}" + (f" ({fault.address})" if fault.address else "")
        return replace(outcome, status="skipped", reason=told, framework=str(self))


def known_framework(commands: Iterable[Command]) -> KnownFramework | None:
    """The framework of the server that COMMANDS started, if it is certain and was measured."""
    by_class: dict[ServerClass, list[Framework]] = {}
    for each in frameworks():
        for server_class in each.classes:
            by_class.setdefault(server_class, []).append(each)
    found = recognise(commands, by_class)
    if found is None:
        return None
    major = found.version.partition(".")[0]
    framework = next((each for each in by_class[found.server_class] if each.major == major), None)
    return None if framework is None else KnownFramework(framework, found)


def forms_of(outcome: Outcome) -> set[Form]:
    """The kinds of the findings: their messages and the answers that show them, without what belongs to one server."""
    if outcome.cause == "server":  # how it ended is all that there is: the name of an exception, or the last line
        names = [found[1] for line in outcome.stderr if (found := _EXCEPTION.match(line))]
        last = names[-1] if names else _NAMES.sub("…", (outcome.stderr or ("",))[-1])
        return {(_form_of(each, ())[0], f"ends with {last}") for each in outcome.findings}
    return {_form_of(each, outcome.wire) for each in outcome.findings}


def _form_of(finding: Finding, wire: Sequence[str]) -> Form:
    first, last = finding.said or (0, len(wire))
    answers = [line for line in wire[first:last] if line.startswith("<-- ")]
    message = _OWN.sub("…", _NAMES.sub("…", finding.message.partition("\n")[0][:_MAX_CHARACTERS]))
    # Where something was not answered, what came is the answer to something else.
    answered = answers and not message.endswith("not answered")
    return message, _answer_form(answers[-1], finding.actual) if answered else ""


def _answer_form(line: str, actual: object) -> str:
    try:
        message = read(line.removeprefix("<-- "))
    except (ValueError, RecursionError):  # it was cut
        message = actual
    if not isinstance(message, dict):
        return ""
    if isinstance(error := message.get("error"), dict):
        code, text = error.get("code", ""), str(error.get("message", "")).partition("\n")[0]
        return f"error {code} {_NAMES.sub('…', text[:_SHOWN])}"
    result = message.get("result")
    structured = result.get("structuredContent") if isinstance(result, dict) else None
    # What a framework wraps is the framework's; any other member is the author's.
    wrapped = isinstance(structured, dict) and list(structured) == ["result"]
    return "result with structuredContent.result" if wrapped else "result"


@cache
def frameworks() -> tuple[Framework, ...]:
    """All that was measured."""
    given = loads(files(__package__).joinpath("bare_servers.json").read_text(encoding="utf-8"))
    return tuple(map(_framework, given))


def broken_by(name: str) -> list[str]:
    """The frameworks, with versions, of which a hello-world server breaks the requirement NAME in some revision."""
    found: dict[tuple[str, str], set[str]] = {}  # by name and major version: a framework has several server classes
    for framework in frameworks():
        versions = {version for fault in framework.faults if fault.id == name for version in fault.versions}
        if versions:
            found.setdefault((framework.name, framework.major), set()).update(versions)
    spans = ((name, sorted(versions, key=_order)) for (name, _), versions in found.items())
    return [f"{name} {told[0]}" + (f" to {told[-1]}" if len(told) > 1 else "") for name, told in spans]


def _framework(given: Any) -> Framework:
    npm = given["registry"] == "npm"
    faults: dict[tuple[str, str], list[Any]] = {}
    for each in given["faults"]:
        faults.setdefault((each["id"], each["transport"]), []).append(each)
    return Framework(
        name=given["name"],
        classes=tuple(ServerClass(given["package"], each["module"], each["name"], npm) for each in given["classes"]),
        major=given["major"],
        measured=tuple(given["measured"]),
        faults=tuple(
            Fault(
                id=name,
                transport=transport,
                versions=tuple({version: None for each in found for version in each["versions"]}),
                forms=frozenset((one["finding"], one["answer"]) for each in found for one in each["forms"]),
                address=found[0].get("address"),
            )
            for (name, transport), found in faults.items()
        ),
    )


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version)[:4])
