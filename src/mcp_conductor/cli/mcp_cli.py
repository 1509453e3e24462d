"""Program `mcp-cli`: one connection, one operation, JSON on stdout; everything else on stderr.

The exit code comes from what happened on the wire, never from the wording of a message.
"""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from enum import IntEnum
from typing import Any, TextIO

from mcp_conductor import __version__
from mcp_conductor.cli import methods
from mcp_conductor.cli.flags import help_text, parse
from mcp_conductor.cli.operations import perform
from mcp_conductor.cli.plan import FLAGS, Plan, plan
from mcp_conductor.cli.terminal import ReaderGone, Terminal, diagnostic
from mcp_conductor.errors import ConductorError, MethodError, RequestTimeout, UsageError
from mcp_conductor.opening import NONE, connect
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import TASKS_EXTENSION
from mcp_conductor.protocol.message import Message, compact, parse as parse_message, render
from mcp_conductor.protocol.server_spec import HttpSpec
from mcp_conductor.protocol.transcript import Frame, Transcript, secret_values
from mcp_conductor.session import Session

# A one-shot call needs the end of the conversation for its messages, not all of it; a recording is written as we go.
FRAMES_KEPT = 10_000
MOST_WARNINGS = 20


class Exit(IntEnum):
    """What a run of mcp-cli can end with."""

    OK = 0
    FAILED = 1  # bad arguments, cannot connect, server died
    METHOD = 2  # the server answered with an error, or the tool result has isError
    TIMEOUT = 124
    SIGNAL = 128  # plus the signal's number


USAGE = """\
usage: mcp-cli COMMAND [ARGS …] --method METHOD [FLAGS]
       mcp-cli COMMAND [ARGS …] -- [SERVER'S FLAGS …] --method METHOD [FLAGS]
       mcp-cli --config FILE [--server NAME] --method METHOD [FLAGS]

Call one method of an MCP server and print the result as JSON.
"""
EXIT_CODES = """\
Exit codes: 0 success, 1 bad arguments or no connection, 2 the server answered with an error (or isError),
124 --timeout exceeded, 130 and 143 interrupted."""


def main(argv: list[str], terminal: Terminal) -> int:
    """Run mcp-cli; every way it can end has an exit code and, unless all went well, a message on stderr."""
    try:
        given = parse(argv, FLAGS)
        if "--help" in given:
            terminal.write(f"{USAGE}\n{help_text(FLAGS)}\nMethods:\n{methods.listing()}\n\n{EXIT_CODES}\n")
            return Exit.OK
        if "--version" in given:
            terminal.write(f"mcp-cli {__version__}\n")
            return Exit.OK
        return _Run(plan(given, terminal), terminal).run()
    except ConductorError as error:
        terminal.say(diagnostic(error))
        return Exit.FAILED
    except ReaderGone:
        return Exit.OK
    except Exception as error:  # noqa: BLE001  # a bug of ours: say so, in one line
        if "--verbose" in argv or "-v" in argv:
            import traceback

            terminal.say(traceback.format_exc())
        terminal.say(
            f"internal error: {type(error).__name__}: {error}\n  hint: this is a bug in mcp-cli; --verbose shows where"
        )
        return Exit.FAILED


class _Run:
    """One run: the plan, and what has become of it so far."""

    def __init__(self, plan: Plan, terminal: Terminal) -> None:
        self.plan = plan
        self.terminal = terminal
        self.verbose = "--verbose" in plan.given
        self.recording: TextIO | None = None
        self.warnings = 0
        self.last_status: Json | None = None  # of a task that is being waited for
        headers = plan.spec.headers if isinstance(plan.spec, HttpSpec) else {}
        environment = {} if isinstance(plan.spec, HttpSpec) else plan.spec.env
        self.transcript = Transcript(secret_values(environment, headers), self.hear_frame, keep=FRAMES_KEPT)

    def run(self) -> int:
        if file := self.plan.given.one("--record"):
            self.recording = _open_recording(os.path.join(self.terminal.directory, file), file)
        try:
            return asyncio.run(self.within_signals())
        except ConductorError as error:
            return self.report(error)
        finally:
            if self.recording is not None:
                self.recording.close()

    def report(self, error: ConductorError) -> int:
        if isinstance(error, MethodError):
            self.terminal.write(render({"error": error.error}, 2) + "\n")
            if error.method != self.plan.method:
                self.terminal.say(diagnostic(error, self.transcript.redact))
            return Exit.METHOD
        self.terminal.say(diagnostic(error, self.transcript.redact))
        return Exit.TIMEOUT if isinstance(error, RequestTimeout) else Exit.FAILED

    async def within_signals(self) -> int:
        """Run, but stop cleanly on a signal; on a second one, at once."""
        loop = asyncio.get_running_loop()
        main_task = asyncio.current_task()
        assert main_task is not None
        stopped_by: list[int] = []

        def stop(number: int) -> None:
            stopped_by.append(number)
            if len(stopped_by) == 1:
                main_task.cancel()
            else:
                from mcp_conductor.transport.stdio import kill_all

                kill_all()

        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            if hasattr(signal, name) and hasattr(signal, "SIGHUP"):  # Windows' event loops know no signals
                loop.add_signal_handler(getattr(signal, name), stop, getattr(signal, name))
        try:
            return await self.within_time()
        except asyncio.CancelledError:
            if not stopped_by:
                raise
            return Exit.SIGNAL + stopped_by[0]

    async def within_time(self) -> int:
        plan = self.plan
        following = False
        try:
            async with asyncio.timeout(plan.timeout) as limit:
                async with AsyncExitStack() as stack:
                    follow = None
                    if plan.follow:
                        from mcp_conductor.cli.follow import Follow

                        follow = Follow(self.terminal)
                    session = await stack.enter_async_context(
                        connect(
                            plan.spec,
                            protocol=NONE if _opens_itself(plan.raw) else None,
                            answers=plan.answers,
                            timeout=plan.request_timeout or plan.timeout,
                            transcript=self.transcript,
                            extensions=self.extensions(),
                            on_incoming=follow.take if follow else self.show_progress,
                        )
                    )
                    code = await self.operate(session)
                    if follow is not None:
                        following = True
                        if "--timeout" not in plan.given:
                            limit.reschedule(None)
                        await follow.run(session, plan.method, plan.params, has_result=plan.method is not None)
                    return code
        except TimeoutError:
            if following:
                return Exit.OK
            if self.last_status is not None:
                self.terminal.write(render(self.last_status, 2) + "\n")
            self.terminal.say(self.transcript.redact(self.timed_out()))
            return Exit.TIMEOUT

    def timed_out(self) -> str:
        waiting = [exchange.request.method for exchange in self.transcript.exchanges() if exchange.reply is None]
        lines = [
            f"error: no result within {self.plan.timeout:g} s"
            + (f": {waiting[-1]} was not answered" if waiting else "")
        ]
        tail = self.transcript.stderr_tail()
        if tail:
            lines += ["  the last lines of the server's stderr:", *(f"    | {line}" for line in tail)]
        return "\n".join([*lines, "  hint: --timeout TIME allows more; --verbose shows what is said"])

    def extensions(self) -> Json:
        wanted = "--run-as-task" in self.plan.given or (self.plan.method or "").startswith("tasks/")
        return {TASKS_EXTENSION: {}} if wanted else {}

    async def operate(self, session: Session) -> int:
        """Do what was asked for, and print the result."""
        if self.plan.raw is not None:
            return self.print_raw(await session.say(self.plan.raw))
        if self.plan.method is None:
            return Exit.OK
        outcome = await perform(session, self.plan, self.note_status)
        self.terminal.write(render(outcome.result, 2) + "\n")
        if outcome.complaint is not None:
            self.terminal.say(f"error: {outcome.complaint}")
            return Exit.FAILED
        return Exit.METHOD if outcome.failed else Exit.OK

    def note_status(self, task: Json) -> None:
        self.last_status = task

    def print_raw(self, reply: Message | None) -> int:
        if reply is None:
            return Exit.OK
        self.terminal.write(reply.text + "\n")
        failed = reply.kind == "error" or (reply.kind == "result" and methods.is_tool_error(reply.result))
        return Exit.METHOD if failed else Exit.OK

    def show_progress(self, incoming: Any) -> None:
        message = incoming.message
        if message.method == "notifications/progress" and "--progress-token" in self.plan.given:
            self.terminal.say(f"progress: {compact(message.params)}")

    def hear_frame(self, frame: Frame) -> None:
        """Show and record each frame as it comes."""
        if self.recording is not None:
            self.record(self.recording, frame)
        if frame.source == "note":
            self.warn(frame.text)
        elif self.verbose:
            arrow = {"client": "-->", "server": "<--", "stderr": "stderr:"}[frame.source]
            self.terminal.say(self.transcript.redact(f"{frame.at:8.3f} {arrow} {frame.text}"))

    def record(self, recording: TextIO, frame: Frame) -> None:
        try:
            recording.write(self.transcript.line(frame) + "\n")
            recording.flush()
        except OSError as error:
            self.recording = None
            self.warn(f"the recording ends here: {error.strerror}")

    def warn(self, text: str) -> None:
        self.warnings += 1
        if self.warnings <= MOST_WARNINGS or self.verbose:
            self.terminal.say(self.transcript.redact(f"warning: {text}"))
        elif self.warnings == MOST_WARNINGS + 1:
            self.terminal.say("warning: there is more like this; --verbose shows all of it")


def _open_recording(path: str, shown: str) -> TextIO:
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {shown}: {error.strerror}") from error


def _opens_itself(raw: str | None) -> bool:
    """Whether a raw message is itself the beginning of a conversation."""
    message = parse_message(raw or "")
    return message.kind == "request" and message.method in ("initialize", "server/discover")
