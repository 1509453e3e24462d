"""Cases tried on a server, as the suite will run them; a server that goes away is replaced by a new one."""

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from mcp_conductor.client.session import Session
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import Document
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.authoring.case_drafts import CaseDraft
from mcp_conductor.suites.language.expectations import Observed, error_of
from mcp_conductor.suites.language.steps import Reading, Step, read_step
from mcp_conductor.suites.language.suite import CASE_KEYS
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.running.connecting import converse
from mcp_conductor.suites.running.conversation import Conversation, Done
from mcp_conductor.text.redaction import Redactor
from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of a case that was tried."""

    observed: Observed
    problem: str | None = None  # why it can be no test

    @property
    def failure(self) -> str | None:
        """What the server said, if it failed."""
        error = error_of(self.observed.reply or {})
        return None if error is None else str(error.get("message"))


class Trials:
    """A conversation in which cases are tried one after the other."""

    def __init__(self, spec: ServerSpec, *, timeout: float, redactor: Redactor) -> None:
        self._spec, self._timeout, self._redactor = spec, timeout, redactor
        self._stack = AsyncExitStack()
        self._conversation: Conversation | None = None
        self._variables = Variables()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)

    async def session(self) -> Session:
        """The session with the server that is there now."""
        return (await self._talk()).session

    async def attempt(self, draft: CaseDraft) -> Tried:
        """What comes of DRAFT."""
        talk = await self._talk()
        step = _step(draft)
        done = (await talk.perform(step, (), self._variables))[0]
        if done.lost is not None:
            self._conversation = None
            await self._stack.aclose()
        for name, capture in step.captures.items():
            value = NOTHING if done.observed.reply is None else capture.value(done.observed.document)
            if value is NOTHING:
                return Tried(done.observed, f"nothing was found at {capture.source}")
            self._variables = self._variables.with_({name: value})
        return Tried(done.observed, _problem(done))

    async def _talk(self) -> Conversation:
        if self._conversation is None:
            self._conversation = await self._stack.enter_async_context(
                converse(self._spec, protocol=None, kinds=set(), timeout=self._timeout, redactor=self._redactor)
            )
        return self._conversation


def _problem(done: Done) -> str | None:
    if done.lost is not None:
        return done.lost.message
    if done.findings:
        return done.findings[0].message
    return None if done.observed.reply is not None else "no reply came"


def _step(draft: CaseDraft) -> Step:
    reading = Reading(None)
    field = as_field(draft.action)
    return read_step(field, reading.members(field, CASE_KEYS, {}), reading)


def as_field(value: Any) -> Field:
    """VALUE as if it had been read from a file."""
    return Field(Document("a case", "", value, json=True), (), value)
