"""Which notifications a test expects, which came, and the findings when they differ."""

from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import read_all
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.report.model import Finding
from mcp_conductor.suites.language.actions import Names
from mcp_conductor.suites.language.templates import Template
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.matching.comparison import Mismatch
from mcp_conductor.suites.matching.expected import Expected, compile_expected
from mcp_conductor.values import dataclass

_MOST_NAMED = 50  # methods of notifications that came
_MOST_SHOWN = 1000  # notifications that a finding holds


@dataclass(frozen=True, slots=True)
class Notifications:
    """Which notifications a test expects: in this order with others in between, exactly these, or none."""

    given: Field
    wanted: tuple[Template, ...]
    how: str  # in_order, exactly, unordered

    def is_satisfied(self, heard: list[Json], variables: Variables) -> bool:
        return bool(self.wanted) and not self.findings(heard, variables)

    def findings(self, heard: list[Json], variables: Variables) -> list[Finding]:
        if self.how == "exactly" and len(heard) != len(self.wanted):
            methods = ", ".join(str(each.get("method")) for each in heard[:_MOST_NAMED]) or "none"
            methods += ", …" if len(heard) > _MOST_NAMED else ""
            message = f"{_notifications(len(heard))} came, not {len(self.wanted)}: {methods}"
            where = self.given.document.locate(self.given.path)
            return [Finding(message=message, actual=heard[:_MOST_SHOWN], where=where)]
        left = list(heard)
        found: list[Finding] = []
        for template in self.wanted:
            expected: Expected = template.make(variables)
            at = next((index for index, each in enumerate(left) if not expected.check(each)), None)
            if at is None or (self.how == "exactly" and at != 0):
                found.append(self._missing(template, expected, left))
            else:
                left = left[:at] + left[at + 1 :] if self.how == "unordered" else left[at + 1 :]
        return found

    def _missing(self, template: Template, expected: Expected, left: list[Json]) -> Finding:
        where = template.given.document.locate(template.given.path)
        method = template.given.value.get("method") if isinstance(template.given.value, dict) else None
        same = next((each for each in left if each.get("method") == method), None)
        if same is None:
            message = f"this notification did not come: {compact(template.given.value)}"
            return Finding(message=message, actual=left[:_MOST_SHOWN], where=where)
        first: Mismatch = expected.check(same)[0]
        message = f"{method} came, but {'its ' if first.path else 'it '}{first.sentence}"
        return Finding(message=message, path=first.path, expected=first.expected, actual=first.actual, where=where)


def _notifications(count: int) -> str:
    return f"{count or 'no'} notification{'' if count == 1 else 's'}"


def read_notifications(given: Field, known: Names) -> Notifications:
    if given.value in ("none", []):
        return Notifications(given, (), "exactly")
    how, listed = "in_order", given
    if isinstance(given.value, dict):
        members = given.members(("in_order", "exactly", "unordered"))
        if len(members) != 1:
            given.refuse("must have one of in_order, exactly and unordered")
        ((how, listed),) = members.items()
    wanted = read_all(lambda item: Template(item, known, lambda f: compile_expected(f, partial=True)), listed.items())
    return Notifications(given, tuple(wanted), how)
