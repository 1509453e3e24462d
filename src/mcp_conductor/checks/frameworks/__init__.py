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
from typing import Any, NamedTuple

from mcp_conductor.checks.frameworks.recognition import Recognised, ServerClass, recognise
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact, read
from mcp_conductor.report.model import Finding, Outcome
from mcp_conductor.text.error_lines import errors_of_traceback
from mcp_conductor.transport.process_tree import Command
from mcp_conductor.values import dataclass

ANYTHING = "…"  # in a form: what its author chose, and what differs each time


class Form(NamedTuple):
    """A kind of finding: its message, and what shows it."""

    finding: str
    shown: str

    def fits(self, other: "Form") -> bool:
        """Whether OTHER, which is told word for word, is of this kind."""
        return _fits(self.finding, other.finding) and _fits(self.shown, other.shown)


@dataclass(frozen=True, slots=True)
class Fault:
    """A requirement that the bare server breaks.

    The versions and revisions in which it was measured do not matter: a race shows itself in some of them, and an old
    version does not speak all. What is wrong has to be the same.
    """

    id: str
    versions: tuple[str, ...]  # of the package: those measured that break it
    forms: tuple[Form, ...]
    address: str | None  # where it was reported


@dataclass(frozen=True, slots=True)
class Framework:
    """One major version of a package, by one of its server classes."""

    name: str
    classes: tuple[ServerClass, ...]
    major: str
    base: tuple[ServerClass, str] | None  # what it is built on, with its major version
    faults: tuple[Fault, ...]

    def lineage(self) -> "list[Framework]":
        """This, and what it is built on."""
        base = self.base
        found = [
            each for each in frameworks() if base is not None and base[0] in each.classes and base[1] == each.major
        ]
        return [self, *(one for each in found for one in each.lineage())]

    def family(self) -> "list[Framework]":
        """All that is built on the same SDK, in whose code a server ends for the same reasons."""
        sdk = self.lineage()[-1]
        return [self, *(each for each in frameworks() if each is not self and each.lineage()[-1] is sdk)]


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

    def attributed(self, outcome: Outcome) -> Outcome:
        """OUTCOME, as the framework's and not counted, if each of its findings is as one of the bare server."""
        if outcome.status not in ("failed", "warned"):
            return outcome
        faults = [fault for each in self.framework.lineage() for fault in each.faults]
        endings = endings_of(outcome)
        found: list[Fault] = []
        for finding in outcome.findings:
            known = [_showing(form_of(finding, outcome.wire), (each for each in faults if each.id == outcome.id))]
            if known == [None] and endings:
                # A race ends a server at one request or another, and shows itself in some measurements.
                family = [fault for each in self.framework.family() for fault in each.faults]
                known = [_showing(Form(finding.message, each), family) for each in endings]
                endings = []  # how the server ended another time is not known
            if None in known:
                return outcome
            found += filter(None, known)
        address = next((each.address for each in found if each.address is not None), None)
        told = f"of the {self}" + (f" ({address})" if address else "")
        return replace(outcome, status="skipped", reason=told, framework=str(self))


def _showing(form: Form, faults: Iterable[Fault]) -> Fault | None:
    """The one of FAULTS that a finding of this FORM shows."""
    return next((fault for fault in faults if any(each.fits(form) for each in fault.forms)), None)


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


def form_of(finding: Finding, wire: Sequence[str]) -> Form:
    """FINDING, word for word, with the message in WIRE that shows it."""
    first, last = finding.said or (0, len(wire))
    came = [line[4:] for line in wire[first:last] if line.startswith("<-- ")]
    # Where something was not answered, what came is the answer to something else.
    answered = came and not finding.message.endswith("not answered")
    return Form(finding.message.partition("\n")[0], _told(came[-1], finding.actual) if answered else "")


def endings_of(outcome: Outcome) -> list[str]:
    """What made the server end, if it did and that is known; in a form it stands for the message that shows it."""
    return [f"ends with {each}" for each in errors_of_traceback(outcome.stderr)] if outcome.cause == "server" else []


def _told(line: str, actual: object) -> str:
    """What the message of LINE says: its content, but of a result only what the framework may have made of it."""
    try:
        message = read(line)
    except (ValueError, RecursionError):  # it was cut
        message = actual
    if not isinstance(message, dict):
        return f"text {line}"
    if "method" in message:
        return f"{message['method']} {compact(message.get('params'))}"
    error = message.get("error")
    if isinstance(error, dict):
        text = str(error.get("message")).partition("\n")[0]
        return f"error {error.get('code')} {text}"
    result = message.get("result")
    structured = result.get("structuredContent") if isinstance(result, dict) else None
    wrapped = isinstance(structured, dict) and list(structured) == ["result"]
    return "result with structuredContent.result" if wrapped else "result"


def _fits(pattern: str, text: str) -> bool:
    first, *rest = pattern.split(ANYTHING)
    if not rest:
        return text == pattern
    if not text.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1]:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return len(text) - at >= len(rest[-1]) and text.endswith(rest[-1])


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
    npm, base = given["registry"] == "npm", given.get("base")
    return Framework(
        name=given["name"],
        classes=tuple(ServerClass(given["package"], each["module"], each["name"], npm) for each in given["classes"]),
        major=given["major"],
        base=base and (ServerClass(base["package"], base["module"], base["name"], npm), base["major"]),
        faults=tuple(
            Fault(
                id=each["id"],
                versions=tuple(each["versions"]),
                forms=tuple(Form(one["finding"], one["shown"]) for one in each["forms"]),
                address=each.get("address"),
            )
            for each in given["faults"]
        ),
    )


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version)[:4])
