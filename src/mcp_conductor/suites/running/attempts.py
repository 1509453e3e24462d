"""What came of one attempt at a test, and findings in the words of the place where they were made."""

from collections.abc import Iterator
from dataclasses import replace

from mcp_conductor.errors import ConductorError, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.report.model import Finding, Outcome
from mcp_conductor.suites.language.expectations import answered_error
from mcp_conductor.suites.language.steps import Step
from mcp_conductor.suites.running.conversation import Done
from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one attempt at a test."""

    findings: tuple[Finding, ...]
    seconds: float
    lost: TransportError | None = None
    reply: Json | None = None
    refused: tuple[str, str] | None = None  # method and name, of a tool or a prompt
    again: bool = False  # whether something of it was done again, because it had failed
    since: int | None = None  # where in the transcript the step began that failed
    end: int | None = None  # where in the transcript it ended, if more may stand there already
    hooks: tuple[Finding, ...] = ()  # those of its findings that are about what is done before and after each test

    @property
    def failed(self) -> bool:
        return any(not finding.warning for finding in self.findings)


def refusals(step: Step, done: list[Done]) -> Iterator[Finding]:
    """Answers that say no, where nothing is expected: a hook that did not do its work must not go unnoticed."""
    for expect, each in zip(step.expects, done, strict=True):
        reply = each.observed.reply
        if expect is not None or reply is None:
            continue
        told = answered_error(reply)
        if told is not None:
            where = step.given.document.locate(step.given.path)
            yield replace(told, where=where, hint="if that is meant, say so in its `expect`")


def doubting(outcome: Outcome, doubt: str | None) -> Outcome:
    """OUTCOME with DOUBT as the hint of the first finding that is not a warning."""
    if doubt is None:
        return outcome
    place = next(index for index, each in enumerate(outcome.findings) if not each.warning)
    finding = outcome.findings[place]
    hinted = replace(finding, hint=doubt if finding.hint is None else f"{doubt}\n{finding.hint}")
    return replace(outcome, findings=(*outcome.findings[:place], hinted, *outcome.findings[place + 1 :]))


def in_step(number: int, step: Step, finding: Finding) -> Finding:
    """FINDING, with the step in which it was made."""
    name = step.given.value.get("it")
    where = finding.where or step.given.document.locate(step.given.path)
    message = f"step {number}{'' if name is None else f' ({name})'}: {finding.message}"
    return replace(finding, message=message, where=where)


def finding_of(error: ConductorError) -> Finding:
    return Finding(message=error.message, hint=error.hint, where=error.where)


def in_hook(name: str, finding: Finding) -> Finding:
    return replace(finding, message=f"{name}: {finding.message}")
