"""`--script`: one connection, one line for each operation, one line for each answer, and events between them.

An answer is {"id", "result"} or {"id", "error"}. An error of the server is as it came, with its `code`; one of ours has
a `kind`. A line that cannot be understood is answered too, and the script goes on: who writes it may be an agent that
learns from the answer.
"""

import asyncio
import os
from collections import Counter, deque
from collections.abc import AsyncIterator, Collection
from contextlib import nullcontext
from typing import Any

from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.cli.commands.mcp_cli.events import event_of
from mcp_conductor.cli.commands.mcp_cli.methods import check_level, is_tool_error
from mcp_conductor.cli.commands.mcp_cli.operations import SPECIAL, perform, remark_on_revision
from mcp_conductor.cli.commands.mcp_cli.plan import CallPlan
from mcp_conductor.cli.commands.mcp_cli.script_lines import (
    LONGEST_SCRIPT,
    ScriptLine,
    check_awaited,
    id_of,
    read_line,
    too_deep,
)
from mcp_conductor.cli.output.display import Display
from mcp_conductor.cli.output.event_queue import EventQueue, alongside, reader_gone
from mcp_conductor.cli.output.terminal import NotedVariables, ReaderGone, Terminal
from mcp_conductor.cli.process.exit_codes import OK, PROGRAMS
from mcp_conductor.client.session import Session
from mcp_conductor.errors import (
    CannotTellError,
    ConductorError,
    MethodError,
    RequestTimeout,
    TimeLimitReached,
    TransportError,
    UsageError,
)
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Incoming
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.message import render
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.report.error_text import error_members
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.matching.differences import same

STDIN = "stdin"
MOST_EVENTS = 1000  # that are kept until a script waits for them
_AT_ONCE = 65536  # bytes that are read
_CODES = PROGRAMS["mcp-cli"]


async def lines_of(descriptor: int, longest: int) -> AsyncIterator[bytes]:
    """The lines that come from DESCRIPTOR, without their ends; one that is longer than LONGEST bytes is refused."""
    parts: list[bytes] = []
    waiting = 0
    while data := await _read(descriptor):
        *whole, rest = data.split(b"\n")
        for line in whole:
            yield b"".join([*parts, line])
            parts, waiting = [], 0
        parts.append(rest)
        waiting += len(rest)
        if waiting > longest:
            raise UsageError(f"stdin: a line has more than {longest // 1_000_000} MB")
    if waiting:
        yield b"".join(parts)


async def _read(descriptor: int) -> bytes:
    """The next bytes; none at the end. It waits in the event loop, so that everything else goes on."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a file, which is always ready
        return os.read(descriptor, _AT_ONCE)
    except NotImplementedError:  # Windows
        return await asyncio.to_thread(os.read, descriptor, _AT_ONCE)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    try:
        return os.read(descriptor, _AT_ONCE)
    except OSError as error:
        raise UsageError(f"cannot read stdin: {error.strerror}") from error


class ScriptEvents:
    """Events in the order in which they came; each is given away once, to the first who waits for such an event."""

    def __init__(self, budget: int) -> None:
        self._events: deque[tuple[int, Json]] = deque()  # with their sizes, in bytes
        self._room = budget
        self._came: Counter[str] = Counter()  # since something was last found
        self._more = asyncio.Event()

    def add(self, event: Json, size: int) -> None:
        """Keep EVENT; the oldest are forgotten where there is no room."""
        self._events.append((size, event))
        self._room -= size
        while len(self._events) > 1 and (self._room < 0 or len(self._events) > MOST_EVENTS):
            self._room += self._events.popleft()[0]
        self._came[str(event.get("event", "answer"))] += 1
        self._more.set()

    async def take(self, wanted: Any) -> Json:
        """The first event that is WANTED, one that has come already or one that comes later."""
        while True:
            for place, (size, event) in enumerate(self._events):
                if fits(event, wanted):
                    del self._events[place]
                    self._room += size
                    self._came.clear()
                    return event
            self._more.clear()
            await self._more.wait()

    def what_came(self) -> str:
        """What came in place of what is waited for."""
        if not self._came:
            return "no event came"
        return "there came " + ", ".join(f"{count} {kind}" for kind, count in self._came.items())


def fits(event: Json, wanted: Any) -> bool:
    """Whether EVENT is WANTED: its kind or its method, or some of its members."""
    if isinstance(wanted, str):
        return wanted == event.get("method" if "/" in wanted else "event")
    return _has(event, wanted)


def _has(value: Any, wanted: Any) -> bool:
    """Whether VALUE has all members that are WANTED, however deep."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        return all(key in value and _has(value[key], each) for key, each in wanted.items())
    return same(wanted, value)


def spelled(wanted: Any) -> str:
    """WANTED in a message."""
    return wanted if isinstance(wanted, str) else render(wanted)


class ScriptValues:
    """Values that grow with a script; secrets among them are not shown from then on."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        # One dict that grows, and no new Variables for each capture: a script may be long, and has one scope.
        self._values: dict[str, Any] = {}
        self.variables = Variables(values=self._values, environ=NotedVariables(terminal))

    @property
    def names(self) -> Collection[str]:
        return self._values.keys()

    def add(self, name: str, value: Any, *, secret: bool) -> None:
        """Keep VALUE under NAME."""
        self._values[name] = value
        if secret:
            self._terminal.learn(Variables().with_secrets({name: value}).secrets)


class _FailFast(Exception):  # noqa: N818  # an event, not an error
    """An answer was an error, and --fail-fast was given."""


class ScriptRun:
    """One script on one connection."""

    def __init__(self, plan: CallPlan, terminal: Terminal, display: Display) -> None:
        self._plan = plan
        self._display = display
        self._terminal = terminal
        budget = plan.spec.budgets.notification_bytes
        self._queue = EventQueue(budget)
        self._events = ScriptEvents(budget)
        self._values = ScriptValues(terminal)
        self._background: set[asyncio.Task[None]] = set()
        self._names: set[Any] = set()  # the ids of lines in the background
        self._open: dict[int, ScriptLine] = {}  # what is not answered yet, in order
        self._begun = 0
        self._level: Json = {}  # the log level that was asked for, as a member of _meta; of the modern era
        self._stop = asyncio.Event()
        self._code = OK

    def take(self, incoming: Incoming) -> None:
        """Hear what the server says."""
        self._queue.put(incoming)
        self._events.add(event_of(incoming), len(incoming.message.text))

    async def run(self, session: Session) -> int:
        """Carry out all lines: the exit code."""
        shown = self._queue.show_on(self._show, session)
        others = (shown, reader_gone(self._terminal), session.wait_until_gone(), self._stopped())
        try:
            await alongside(self._all_lines(session), *others)
        except (ReaderGone, _FailFast):
            pass
        except TransportError as error:
            for line in self._open.values():  # the server is gone
                self._answer(line.id, {"error": self._told(error)})
            raise
        finally:
            for task in self._background:
                task.cancel()
            await asyncio.gather(*self._background, return_exceptions=True)
        return self._code

    async def _all_lines(self, session: Session) -> None:
        async for line in self._lines():
            if line.background:
                self._names.add(line.id)
                self._background.add(asyncio.ensure_future(self._do(line, session)))
                await asyncio.sleep(0)  # it is sent before what follows
            else:
                await self._do(line, session)
            if self._stop.is_set():  # before anything else is sent
                raise _FailFast
        if self._background:
            await asyncio.gather(*self._background)

    async def _lines(self) -> AsyncIterator[ScriptLine]:
        """The lines that can be understood, each as soon as it is there; the others are answered here."""
        script = self._plan.script
        assert script is not None
        if script.lines is not None:
            for line in script.lines:
                yield line
            return
        if self._terminal.stdin is None:
            return
        number = 0
        async for data in lines_of(self._terminal.stdin.fileno(), LONGEST_SCRIPT):
            number += 1
            text = data.decode(errors="surrogateescape").strip()
            if not text:
                continue
            try:
                yield read_line(text, number, STDIN, self._values.names, self._names)
            except UsageError as error:
                self._answer(id_of(text, number), {"error": self._told(error)}, bad=True)
                if self._stop.is_set():
                    raise _FailFast from None

    async def _do(self, line: ScriptLine, session: Session) -> None:
        """Carry out LINE and answer it."""
        self._begun = number = self._begun + 1
        self._open[number] = line
        try:
            with self._display.holding_back() if line.brings_secret else nullcontext():
                await self._try(line, session)
        except ConductorError as error:
            if session.ended:  # all open lines are answered when the others have heard of it too
                raise
            self._refuse(line, error)
        except RecursionError:
            self._refuse(line, too_deep(line.given))
        del self._open[number]

    async def _try(self, line: ScriptLine, session: Session) -> None:
        try:
            result = await (self._await(line) if line.method is None else self._call(line, session))
        except MethodError as error:
            await self._keep(line, {"error": error.error}, failed=True)
        else:
            await self._keep(line, {"result": result}, failed=is_tool_error(result) and line.method is not None)

    def _refuse(self, line: ScriptLine, error: ConductorError) -> None:
        bad = isinstance(error, UsageError)
        self._answer(line.id, {"error": self._told(error)}, bad=bad, background=line.background)

    async def _call(self, line: ScriptLine, session: Session) -> Any:
        method = line.method or ""
        params = None if line.params is None else line.params.filled(self._values.variables)
        if method == "logging/setLevel" and not session.dialect.handshake:
            return self._set_level(params or {}, session)
        if meta := {**self._plan.meta, **self._level}:
            params = {**(params or {}), "_meta": {**meta, **((params or {}).get("_meta") or {})}}
        if method.startswith("notifications/"):
            await session.notify(method, params)
            return None
        if method in SPECIAL or (method in LIST_MEMBERS and "cursor" not in (params or {})):
            plan = self._plan._replace(method=method, params=params, meta={})
            try:
                async with asyncio.timeout(line.timeout):
                    return (await perform(session, plan, lambda _: None)).result
            except TimeoutError:
                raise RequestTimeout(method, line.timeout or 0.0) from None
        if method == "tools/call" and session.lacks_tools:
            await session.list_tools()
        remark_on_revision(session, method)
        return await session.request(method, params, timeout=line.timeout)

    def _set_level(self, params: Json, session: Session) -> Json:
        """In the modern era each request says which log messages it wants."""
        check_level("params.level", level := params.get("level"))
        session.note(f"{session.dialect.version} has no logging/setLevel; later lines ask for the level in _meta")
        self._level = {f"{META}logLevel": level}
        return {}

    async def _await(self, line: ScriptLine) -> Json:
        assert line.awaited is not None
        wanted = line.awaited.filled(self._values.variables)
        if not line.awaited.is_fixed:
            check_awaited(line.given.member("await", wanted), wanted, self._names)
        seconds = line.timeout or self._plan.request_timeout or self._plan.timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._events.take(wanted)
        except TimeoutError:
            late = f"{spelled(wanted)} did not come within {seconds:g} s; {self._events.what_came()}"
            raise TimeLimitReached(late) from None

    async def _keep(self, line: ScriptLine, answer: Json, *, failed: bool) -> None:
        """Answer LINE, and keep what it captures of the answer."""
        missing: UsageError | None = None
        for name, capture in line.captures.items():
            try:
                value = await without_blocking(capture.value, answer)
            except CannotTellError as error:
                missing = UsageError(f"capture {name!r}: {error.message}")
                continue
            if value is NOTHING:
                missing = UsageError(f"capture {name!r}: {capture.nothing(answer)}")
                continue
            self._values.add(name, value, secret=capture.secret)
        if missing is not None and "error" not in answer:
            answer = {**answer, "error": self._told(missing)}
        self._answer(line.id, answer, failed=failed, background=line.background)

    def _answer(
        self, name: Any, answer: Json, *, failed: bool = False, bad: bool = False, background: bool = False
    ) -> None:
        """Print the one line that answers another, after the events that came before it."""
        while (incoming := self._queue.take()) is not None:
            self._print(event_of(incoming))
        line = {"id": name, **answer}
        self._print(line)
        if background:
            self._events.add(line, len(render(line)))
        if bad:
            self._code = _CODES.usage
        elif (failed or "error" in answer) and self._code == OK:
            self._code = _CODES.method
        if self._code != OK and "--fail-fast" in self._plan.given:
            self._stop.set()

    async def _stopped(self) -> None:
        await self._stop.wait()
        raise _FailFast

    async def _show(self, incoming: Incoming) -> None:
        self._print(event_of(incoming))

    def _told(self, error: ConductorError) -> Json:
        redact = self._terminal.redactor.redact
        return {key: redact(each) if isinstance(each, str) else each for key, each in error_members(error).items()}

    def _print(self, line: Json) -> None:
        self._terminal.write_result(render(line) + "\n")
