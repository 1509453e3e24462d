"""One run of `mcp-cli`: a connection, an operation, and the exit code that tells what came of it."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcp_conductor.cli.commands.mcp_cli import methods
from mcp_conductor.cli.commands.mcp_cli.operations import perform
from mcp_conductor.cli.commands.mcp_cli.plan import CallPlan
from mcp_conductor.cli.output.display import Display
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.ending import end_for_shortage
from mcp_conductor.cli.process.exit_codes import OK, PROGRAMS, code_of_error
from mcp_conductor.cli.process.interruptible import TimeLimit, run_interruptibly
from mcp_conductor.client.connect import connect
from mcp_conductor.client.negotiation import NONE
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, InvalidResult, MethodError, RequestTimeout, TimeLimitReached
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Incoming
from mcp_conductor.protocol.dialect import SKILLS_EXTENSION, TASKS_EXTENSION
from mcp_conductor.protocol.message import Message, parse as parse_message, render

if TYPE_CHECKING:
    from mcp_conductor.cli.commands.mcp_cli.follow import Follow
    from mcp_conductor.cli.commands.mcp_cli.script_run import ScriptRun
    from mcp_conductor.transport.authorization import Authorization
    from mcp_conductor.transport.http_client import HttpClient


_CODES = PROGRAMS["mcp-cli"]


class CallRun:
    """One run of a plan."""

    def __init__(self, plan: CallPlan, terminal: Terminal, display: Display) -> None:
        self.plan = plan
        self.terminal = terminal
        self.display = display
        self.transcript = display.transcript
        # The writer of a script may take any time.
        unlimited = plan.script is not None and "--timeout" not in plan.given
        self.limit = TimeLimit(None if unlimited else plan.timeout, terminal)
        self.script: ScriptRun | None = None
        self.following = False
        self.authorization: Authorization | None = None  # with --oauth
        self.last_status: Json | None = None  # of a task that is being waited for
        self.follow: Follow | None = None
        self.roots: RootsWait | None = None

    def run(self) -> int:
        return run_interruptibly(self.talk())

    async def talk(self) -> int:
        try:
            return await self.within_time()
        except ConductorError as error:
            return self.report(error)

    def report(self, error: ConductorError) -> int:
        if isinstance(error, MethodError):
            self.print_error(error)
            if error.method != self.plan.method:
                self.terminal.say_error(error)
            return _CODES.method
        if isinstance(error, RequestTimeout) and (waiting := self.oauth_waits()):
            error.message = f"no token within {error.seconds:g} s: {waiting}"
        self.terminal.say_error(error)
        return code_of_error(error, _CODES)

    def no_hurry(self) -> None:
        """Lift the time limit: a pager may show the result for hours, unless --timeout was given."""
        if "--timeout" not in self.plan.given:
            self.limit.lift()

    def print_result(self, result: Any) -> None:
        if self.plan.events and self.follow is not None:
            self.no_hurry()
            self.follow.print_result(result)
        else:
            self.print(render(result, 2))

    def print_error(self, error: MethodError) -> None:
        if self.plan.events and self.follow is not None:
            self.follow.print_error(error.error)
        else:
            self.print(render({"error": error.error}, 2))

    def print(self, text: str) -> None:
        self.no_hurry()
        self.terminal.write_result(text + "\n")

    def say_internal_error(self, _: asyncio.AbstractEventLoop, context: Json) -> None:
        """A bug of ours in a callback; without this asyncio would print a traceback."""
        end_for_shortage(context.get("exception"), _CODES.server)
        self.terminal.say_bug(f"{context.get('message')}: {context.get('exception')!r}")

    async def within_time(self) -> int:
        if self.plan.follow or self.plan.events:
            from mcp_conductor.cli.commands.mcp_cli.follow import Follow

            self.follow = Follow(self.plan, self.terminal)
        if self.plan.script is not None:
            from mcp_conductor.cli.commands.mcp_cli.script_run import ScriptRun

            self.script = ScriptRun(self.plan, self.terminal, self.display)
        self.roots = RootsWait() if "--roots" in self.plan.given else None
        asyncio.get_running_loop().set_exception_handler(self.say_internal_error)
        try:
            async with self.limit, self.connection() as session:
                try:
                    work = self.operate(session)
                    return await (work if self.follow is None else self.follow.run(work, session, self.stay))
                except MemoryError as error:
                    # Here and not later: Python 3.11 may crash on the way out if it gets no memory at all.
                    end_for_shortage(error, _CODES.server)
                    raise
        except TimeoutError:
            return self.timed_out()

    async def result(self) -> Any:
        """The result of the method alone: nothing is printed, and nothing limits the time."""
        self.roots = RootsWait() if "--roots" in self.plan.given else None
        async with self.connection() as session:
            await self.wait_for_roots(session)
            return (await perform(session, self.plan, self.note_status)).result

    async def wait_for_roots(self, session: Session) -> None:
        """Wait until a server that asks for our roots at the opening has them."""
        if self.roots is not None and session.dialect.handshake:
            await self.roots.until_taken()

    def stay(self) -> None:
        """From now on the run goes on until something ends it."""
        self.following = True
        self.no_hurry()

    def connection(self) -> AbstractAsyncContextManager[Session]:
        plan = self.plan
        return connect(
            plan.spec,
            protocol=NONE if _opens_itself(plan.raw) else None,
            answers=plan.answers,
            timeout=plan.request_timeout or plan.timeout,
            transcript=self.transcript,
            extensions=_extensions(plan),
            on_incoming=self.hearing(),
            authorize=self.authorize if "--oauth" in plan.given else None,
        )

    def hearing(self) -> Callable[[Incoming], None]:
        """Who hears what the server says. Progress that `--follow` prints after the result is shown meanwhile."""
        told = [] if self.plan.events else [self.display.show_progress]
        told += [] if self.follow is None else [self.follow.take]
        told += [] if self.script is None else [self.script.take]
        told += [] if self.roots is None else [self.roots.take]
        if len(told) == 1:
            return told[0]

        def tell_all(incoming: Incoming) -> None:
            for each in told:
                each(incoming)

        return tell_all

    def authorize(self, http: "HttpClient") -> "Authorization":
        from mcp_conductor.cli.commands.mcp_cli.oauth import authorization

        spec = self.plan.spec.as_http()
        assert spec is not None  # another server refuses --oauth
        self.authorization = authorization(spec, self.plan.given, self.terminal, http)
        return self.authorization

    def timed_out(self) -> int:
        """What --timeout means depends on what we were doing: with --follow, it is the normal end."""
        if self.following:
            return OK
        if self.last_status is not None:
            self.print_result(self.last_status)
        method = self.transcript.unanswered
        waiting = self.oauth_waits() or (f"{method} was not answered" if method else "")
        what = "no result" if self.script is None else "the script did not end"
        error = TimeLimitReached(
            f"{what} within {self.plan.timeout:g} s" + (f": {waiting}" if waiting else ""),
            hint="--timeout TIME allows more; --verbose shows what is said",
        )
        error.stderr = self.transcript.stderr_tail()
        from mcp_conductor.client.opening_hints import opening_hint

        error.hint = opening_hint(method, self.transcript) or error.hint
        self.terminal.say_error(error)
        return _CODES.timeout

    def oauth_waits(self) -> str:
        """What OAuth waits for, if it does: the request that needs the token waits only because of that."""
        waiting = "" if self.authorization is None else self.authorization.steps.waiting
        return f"OAuth: {waiting}" if waiting else ""

    async def operate(self, session: Session) -> int:
        """Do what was asked for, and print the result."""
        asks = self.plan.raw is not None or self.plan.method is not None or self.script is not None
        if asks and not _opens_itself(self.plan.raw):
            await self.wait_for_roots(session)
        if self.script is not None:
            return await self.script.run(session)
        if self.plan.raw is not None:
            return self.print_raw(await session.say(self.plan.raw))
        if self.plan.method is None:
            return OK
        outcome = await perform(session, self.plan, self.note_status)
        if (file := self.plan.given.one("--output")) is not None:
            from mcp_conductor.cli.commands.mcp_cli.saved_contents import save_contents

            outcome = save_contents(outcome, file, self.terminal.directory)
        self.print_result(outcome.result)
        if outcome.complaint is not None:
            self.terminal.say_error(InvalidResult(outcome.complaint))
            return _CODES.server
        return _CODES.method if outcome.failed else OK

    def note_status(self, task: Json) -> None:
        self.last_status = task

    def print_raw(self, reply: Message | None) -> int:
        if reply is None:
            return OK
        self.print(reply.text)
        failed = reply.kind == "error" or (reply.kind == "result" and methods.is_tool_error(reply.result))
        return _CODES.method if failed else OK


def _extensions(plan: CallPlan) -> Json:
    """The extensions that we declare: those that the call may need."""
    with_tasks = "--run-as-task" in plan.given or plan.script or (plan.method or "").startswith("tasks/")
    with_skills = plan.method in methods.SKILLS
    return {**({TASKS_EXTENSION: {}} if with_tasks else {}), **({SKILLS_EXTENSION: {}} if with_skills else {})}


def _opens_itself(raw: str | None) -> bool:
    """Whether a raw message is itself the beginning of a conversation."""
    message = parse_message(raw or "")
    return message.kind == "request" and message.method in ("initialize", "server/discover")


ASK_SECONDS = 1.0  # for the question; a server may never ask, or ask later
SHORTEST_QUIET = 0.15  # seconds after our last answer
LONGEST_QUIET = 1.0
_QUIET_FACTOR = 3  # times as long as the question took


class RootsWait:
    """The questions for roots of one conversation in the handshake era."""

    def __init__(self) -> None:
        self._answered = asyncio.Event()

    def take(self, incoming: Incoming) -> None:
        """Look at what the server said, after it was answered."""
        if incoming.answer is not None and incoming.message.method == "roots/list":
            self._answered.set()

    async def until_taken(self) -> None:
        """Wait until the server should have our roots, or does not ask for them."""
        began = monotonic()
        if not await self._asked_within(ASK_SECONDS):
            return
        quiet = min(max(SHORTEST_QUIET, (monotonic() - began) * _QUIET_FACTOR), LONGEST_QUIET)
        end = monotonic() + ASK_SECONDS + LONGEST_QUIET  # a server may ask without end
        while monotonic() < end and await self._asked_within(quiet):
            pass

    async def _asked_within(self, seconds: float) -> bool:
        """Whether a question was answered within SECONDS, or before, since we last looked."""
        try:
            async with asyncio.timeout(seconds):
                await self._answered.wait()
        except TimeoutError:
            return False
        self._answered.clear()
        return True
