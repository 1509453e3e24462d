"""What a test of mcp-aegis expects: we report all differences, and the rules of mcp-aegis decide if the test passes."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.report.model import Finding
from mcp_conductor.suites.language.actions import Names
from mcp_conductor.suites.language.aegis import reply_passes, stderr_passes
from mcp_conductor.suites.language.expectations import Expect, Observed, read_expect, stray
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.values import dataclass

_KEYS = ("response", "stderr", "performance")  # what mcp-aegis knows below `expect`
_PASSES = "mcp-aegis passes it; without --compat aegis it is a failure"
_FAILS = "mcp-aegis has other rules here; without --compat aegis the test passes"


@dataclass(frozen=True, slots=True)
class AegisExpect(Expect):
    """What a test expects, with what is wrong in it: a bad pattern fails its test, and no other."""

    mistakes: tuple[Finding, ...] = ()

    @property
    def checks_something(self) -> bool:
        return bool(self.mistakes) or Expect.checks_something.__get__(self)

    def findings(self, observed: Observed, variables: Variables, *, verbatim: bool) -> list[Finding]:
        found = Expect.findings(self, observed, variables, verbatim=verbatim)
        if observed.reply is None:
            return found
        # mcp-aegis reads stdout while it waits for a reply, and only then a line that is not a message is in its way.
        unclean = [replace(stray(line), warning=line not in observed.stray_amid) for line in observed.stray]
        return [*unclean, *self._verdict([*self.mistakes, *found[len(unclean) :]], observed)]

    def _verdict(self, found: list[Finding], observed: Observed) -> list[Finding]:
        if self._passes(observed):
            return [
                each if each.warning else replace(each, warning=True, hint=each.hint or _PASSES)
                for each in found
                if not each.whole
            ]
        if not all(each.warning for each in found):
            return found
        where = self.given.document.locate(self.given.path)
        return [*found, Finding(message="mcp-aegis does not take this for what is expected", where=where, hint=_FAILS)]

    def _passes(self, observed: Observed) -> bool:
        wanted: dict[str, Any] = self.given.value
        text = "".join(f"{line}\n" for line in observed.stderr)
        return (
            reply_passes(wanted.get("response"), observed.reply)
            and ("stderr" not in wanted or stderr_passes(wanted["stderr"], text))
            and self._in_time(observed.seconds)
        )

    def _in_time(self, seconds: float) -> bool:
        if self.slowest is not None:  # then minResponseTime is ignored
            return seconds <= self.slowest
        return self.quickest is None or seconds >= self.quickest


def read_aegis_expect(given: Field, known: Names) -> Expect:
    """What stands under `expect`; raises UsageError for what mcp-aegis refuses too, and where more stands there."""
    if any(key not in _KEYS for key in given.value):
        return read_expect(given, known)
    mistakes: list[Finding] = []
    try:
        expect = read_expect(given, known)
    except UsageError:
        members = given.members()
        for key in ("response", "stderr"):
            if key in members and (wrong := list(_mistakes(members[key], given, known))):
                mistakes += wrong
                del members[key]
        usable = {key: field.value for key, field in members.items()}
        expect = read_expect(Field(given.document, given.path, usable), known)
    return AegisExpect(
        **{each.name: getattr(expect, each.name) for each in fields(Expect) if each.name != "given"},
        given=given,
        mistakes=tuple(mistakes),
    )


def _mistakes(member: Field, given: Field, known: Names) -> Iterator[Finding]:
    """What is wrong with one MEMBER of what is expected."""
    try:
        read_expect(Field(given.document, given.path, {member.path[-1]: member.value}), known)
    except UsageError as error:
        for each in (error, *error.more):
            message = each.message.removeprefix(f"{given.document.file}: ")
            yield Finding(message=message, where=each.where, hint=each.hint)
