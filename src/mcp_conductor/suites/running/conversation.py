"""One server under test: steps are done on it one after the other, and everything that happens meanwhile is observed.

stdout and stderr are two pipes; what a server writes to stderr before it answers is there when its answer is, but may
be read a moment later. So after each reply we look until nothing more comes: no line is blamed on the next test.
"""

import asyncio
from time import perf_counter
from typing import Any

from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, RequestTimeout, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Incoming
from mcp_conductor.protocol.message import parse
from mcp_conductor.protocol.oddities import NOT_A_MESSAGE, shortened
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.report.model import Finding
from mcp_conductor.suites.language.actions import Action, Sent
from mcp_conductor.suites.language.expectations import Expect, Observed
from mcp_conductor.suites.language.script import Script, ScriptedAnswers
from mcp_conductor.suites.language.steps import Step
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.running.asking import Asked, Asking, Heard, Sending
from mcp_conductor.suites.running.server_lists import ServerLists, may_be_unknown, named, refused_name
from mcp_conductor.values import dataclass

NOTIFICATION_SECONDS = 1.0  # how long a notification may come after the reply
STDERR_SECONDS = 0.25  # how long a line on stderr may come after the reply, or after the conversation was opened
_OPENING_SECONDS = 1.0  # how long lines may come one after the other because the conversation was opened
_LOOK_SECONDS = 0.002
_MOST_LOOKS = 20  # for a server that never stops writing to stderr
_MOST_ODDITIES = 100  # stray lines, and notes, that one step reports
_LONGEST_STRAY = 2000


@dataclass(slots=True)
class Done:
    """What came of one action."""

    observed: Observed
    findings: list[Finding]
    lost: TransportError | None = None  # the server went away


class Conversation:
    """A session, and what its server has said so far."""

    def __init__(self, session: Session, answers: ScriptedAnswers) -> None:
        self.session = session
        self.answers = answers
        self.over = False  # the server has ended, and was expected to
        self.lost = False  # the server has gone
        self._news = asyncio.Event()
        self._avoided: set[int] = set()
        self.untold = 0  # the first frame of the transcript that came after the last test
        self._begun = False  # whether anything has been done
        self._looked = 0  # how far into the transcript
        self._asking = Asking(session)
        self._ahead: Sending | None = None  # what was sent before its step is done
        self.listed = ServerLists(session)

    def avoid(self, ids: set[int]) -> None:
        """Give none of IDS to a request of ours: the file sends them itself."""
        if ids is not self._avoided:  # which is said for each test, and may be as many as there are tests
            self._avoided = ids
            self.session.avoid_ids(ids)

    def hear(self, _: Incoming) -> None:
        self._news.set()

    @property
    def start(self) -> int:
        """The frame of the transcript with which the step begins that is done next."""
        return self.session.transcript.mark if self._ahead is None else self._ahead.start

    async def ask_plainly(self, step: Step, variables: Variables) -> tuple[int, Asked]:
        """Send what the plain STEP says, unless it has been sent ahead, and wait for the reply; with its start."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.step is step:
            return ahead.start, await self._asking.answer(ahead)
        expect = step.expects[0]
        if not self._begun and expect is not None and expect.stderr is not None:
            await self._until_opening_is_over()
        self._begun = True
        self.answers.begin((), variables)
        start = self.session.transcript.mark
        return start, await self._asking.ask(step, step.actions[0], expect, variables)

    def ask_ahead(self, step: Step, variables: Variables) -> None:
        """Send what the plain STEP says, which is done next: the server works on it while we judge what it said."""
        self.answers.begin((), variables)
        self._ahead = self._asking.send(step, variables)

    def saw_nothing_else(self, start: int, expect: Expect | None, variables: Variables) -> bool:
        """Whether there was only a request and its reply, as in nearly all tests: known without turns of the loop.

        Then all has been seen that belongs to them.
        """
        if not self._looked == start == self.session.transcript.mark - 2 or not self._is_ours:
            return False
        transport: Any = self.session.transport
        if not transport.is_quiet():
            return False
        if expect is not None and (expect.notifications is not None or expect.asserts):
            return False
        if expect is not None and expect.stderr is not None and expect.stderr.make(variables)("") is not None:
            return False
        self._looked = self.session.transcript.mark
        return True

    async def perform(
        self, step: Step, scripts: tuple[Script, ...], variables: Variables, asked: tuple[int, Asked] | None = None
    ) -> list[Done]:
        """Do STEP: one outcome for each of its actions. ASKED: what came of the only one, since a frame of the
        transcript, where it was done already.
        """
        if step.delay:
            await asyncio.sleep(step.delay)
        if not self._begun and any(expect is not None and expect.stderr is not None for expect in step.expects):
            await self._until_opening_is_over()
        self._begun = True
        start = self.session.transcript.mark
        if asked is None:
            self.answers.begin((*scripts, step.script), variables)
        else:
            start = asked[0]
        pairs = list(zip(step.actions, step.expects, strict=True))
        if len(pairs) == 1:
            done = [await self._act(step, *pairs[0], variables, None if asked is None else asked[1])]
        else:
            done = list(await asyncio.gather(*(self._act(step, action, expect, variables) for action, expect in pairs)))
        await self._look_around(start, list(zip(done, step.expects, strict=True)), variables)
        done[0].findings += await without_blocking(self.answers.findings) + self.answers.unused_answers(step.script)
        return done

    def frames(self, start: int, end: int | None = None) -> list[Frame]:
        """The frames from number START on, up to END if that is given."""
        frames = self.session.transcript.since(start)
        later = 0 if end is None else self.session.transcript.mark - end
        return frames[: max(0, len(frames) - later)]

    def wire(self, start: int, end: int | None = None) -> tuple[str, ...]:
        """What was said from frame number START on, up to END if that is given."""
        arrows = {"client": "--> ", "server": "<-- "}
        return tuple(arrows[frame.source] + frame.text for frame in self.frames(start, end) if frame.source in arrows)

    # One action.

    async def _act(
        self, step: Step, action: Action, expect: Expect | None, variables: Variables, asked: Asked | None = None
    ) -> Done:
        asked = await self._asking.ask(step, action, expect, variables) if asked is None else asked
        observed = Observed(self.session.dialect, asked.reply, asked.seconds, session=_opening_document(self.session))
        findings: list[Finding] = []
        lost: TransportError | None = None
        try:
            sent = asked.told()
            observed.tool = await self._tool(sent, expect)
            if observed.reply is not None and may_be_unknown(observed.reply):
                observed.refused = refused_name(sent)
        except RequestTimeout as error:
            if expect is None or expect.silence is None:
                findings.append(Finding(message=error.message, hint=error.hint))
        except TransportError as error:
            observed.ended = self.lost = True
            if expect is None or (expect.exit_code is None and expect.shutdown is None):
                lost = error
        except ConductorError as error:
            findings.append(Finding(message=error.message, hint=error.hint, where=error.where))
        if expect is not None:
            findings += self._unseen(expect)
            if (expect.exit_code is not None or expect.shutdown is not None) and self._is_ours:
                await self._watch_the_end(step, expect, observed)
        return Done(observed, findings, lost)

    @property
    def _is_ours(self) -> bool:
        """Whether we started the server, so that we see its stderr and its end."""
        return hasattr(self.session.transport, "hang_up")

    def _unseen(self, expect: Expect) -> list[Finding]:
        """Findings for expectations that a server at a URL cannot be checked for."""
        if self._is_ours:
            return []
        wanted = {"stderr": expect.stderr, "exitCode": expect.exit_code, "shutdown": expect.shutdown}
        message = "cannot be checked for a server at a URL, only for one that is started here"
        return [
            Finding(message=f"{key} {message}", where=expect.given.document.locate((*expect.given.path, key)))
            for key, value in wanted.items()
            if value is not None
        ]

    async def _tool(self, sent: Sent, expect: Expect | None) -> Json | None:
        """What tools/list says of the tool that was called, where the test wants its output schema."""
        if expect is None or sent.method != "tools/call" or not expect.wants_schema:
            return None
        return await self.listed.tool(named(sent))

    # What else happened.

    async def _look_around(self, start: int, pairs: list[tuple[Done, Expect | None]], variables: Variables) -> None:
        """Take in what else happened; each action of a step has seen all of it."""
        if len(pairs) == 1 and self.saw_nothing_else(start, pairs[0][1], variables):
            return
        await self._until_quiet()
        heard = Heard(self.session.transcript, start, self.session.budgets)
        for done, expect in pairs:
            if expect is not None and expect.notifications is not None:
                await self._wait_for(expect, heard, variables)
            if expect is not None and (expect.notifications is not None or expect.asserts):
                done.observed.notifications = await heard.so_far()
                done.observed.notes += heard.left_out()
            if expect is not None and expect.stderr is not None and self._is_ours:
                await self._wait_for_stderr(expect, start, variables)
            done.observed.stderr = self._stderr(start)
        # From where we last looked: what came before the first test is seen in it.
        window = self.session.transcript.since(self._looked)
        self._looked = self.session.transcript.mark
        if any(frame.source == "note" for frame in window):
            self._take_notes(window, pairs[0][0].observed)

    def _stderr(self, start: int) -> list[str]:
        return [frame.text for frame in self.session.transcript.since(start) if frame.source == "stderr"]

    async def _wait_for_stderr(self, expect: Expect, start: int, variables: Variables) -> None:
        """What is expected on stderr may come after the reply; wait for it, but not for long."""
        assert expect.stderr is not None
        check = expect.stderr.make(variables)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STDERR_SECONDS
        while check("".join(f"{line}\n" for line in self._stderr(start))) is not None and loop.time() < deadline:
            await asyncio.sleep(_LOOK_SECONDS)
            if expect.stderr.given.value == "toBeEmpty":
                return  # it will not become emptier

    async def _until_opening_is_over(self) -> None:
        """Wait for what the server writes to stderr because it was started and greeted: it is about no test.

        Nothing answers `notifications/initialized`, so it cannot be known when a server is done with it. It is taken to
        be when it has written nothing for as long as it took to start and answer, which is long for a slow server or on
        a busy machine, and for STDERR_SECONDS at most; where it was started before we had anything to say to it, for
        half of the time since then. One that has written something is given all of STDERR_SECONDS
        after each line, but not more than _OPENING_SECONDS. Only a first step that looks at stderr waits; in a later
        one, the server has answered the one before. mcp-aegis does not wait.
        """
        if not self._is_ours or self.session.lenient:
            return
        loop = asyncio.get_running_loop()
        first: dict[str, float] = {}
        for frame in self.session.transcript.since(0):
            first.setdefault(frame.source, frame.at)
        transport: Any = self.session.transport
        to_start = max(first.get("server", 0.0) - first.get("client", 0.0), transport.age / 2)
        quiet_seconds = STDERR_SECONDS if "stderr" in first else min(STDERR_SECONDS, to_start)
        quiet_since, seen = loop.time(), self.session.transcript.mark
        deadline = quiet_since + _OPENING_SECONDS
        while loop.time() < min(deadline, quiet_since + quiet_seconds):
            await asyncio.sleep(_LOOK_SECONDS)
            if self._stderr(seen):
                quiet_since, seen = loop.time(), self.session.transcript.mark
                quiet_seconds = STDERR_SECONDS

    async def _until_quiet(self) -> None:
        transcript = self.session.transcript
        for _ in range(_MOST_LOOKS):
            seen = transcript.mark
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if transcript.mark == seen:
                return

    def _take_notes(self, window: list[Frame], observed: Observed) -> None:
        """Make a note of everything unusual: a line that is not a message, or a message that breaks a rule."""
        left_out = 0
        before: Frame | None = None
        waiting = False  # for a reply
        for frame in window:
            stray = frame.source == "note" and frame.text.startswith(NOT_A_MESSAGE)
            if len(observed.stray) + len(observed.notes) >= _MOST_ODDITIES:
                left_out += frame.source == "note"
            elif stray and before is not None and parse(before.text).raw is None:
                observed.stray.append(shortened(before.text, self.session.redact, _LONGEST_STRAY))
                observed.stray_amid += observed.stray[-1:] if waiting else []
            elif frame.source == "note":
                observed.notes.append(frame.text)
            before = frame if frame.source == "server" else before
            if frame.source in ("client", "server"):
                kinds = {message.kind for message in frame.messages()}
                asked = "request" in kinds
                waiting = asked if frame.source == "client" else waiting and not kinds & {"result", "error"}
        if left_out:
            observed.notes.append(f"{left_out} more remarks on what the server said are left out")

    async def _wait_for(self, expect: Expect, heard: Heard, variables: Variables) -> None:
        """Notifications may come after the reply; wait for those that are expected, up to a limit."""
        wanted = expect.notifications
        assert wanted is not None
        loop = asyncio.get_running_loop()
        deadline = loop.time() + NOTIFICATION_SECONDS
        while wanted.wanted and loop.time() < deadline:
            began = loop.time()
            if await without_blocking(wanted.is_satisfied, await heard.so_far(), variables):
                return
            # The more notifications there are, the longer the search takes: it must not use all of the time.
            await asyncio.sleep(loop.time() - began)
            self._news.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._news.wait()
            except TimeoutError:
                return

    async def _watch_the_end(self, step: Step, expect: Expect, observed: Observed) -> None:
        """Observe how the server ends: by itself, or because its stdin is closed."""
        self.over = True
        transport: Any = self.session.transport
        began = perf_counter()
        if expect.shutdown is not None:
            observed.ended = await transport.hang_up(expect.shutdown.within)
        else:
            observed.ended = await transport.exits(step.timeout or self.session.timeout)
        observed.end_seconds = perf_counter() - began
        observed.exit_code = transport.exit_code
        observed.left_running = transport.left_running() if observed.ended else []


def _opening_document(session: Session) -> Json:
    """What the server said about itself, from the handshake or from server/discover."""
    said = {key: session.opened[key] for key in ("instructions",) if key in session.opened}
    version = {"protocolVersion": session.dialect.version}
    return {"serverInfo": session.server, "capabilities": session.capabilities, **version, **said}
