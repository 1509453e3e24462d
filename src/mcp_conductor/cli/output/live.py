"""What runs now, on a terminal: some lines at its end that are drawn again and again, and leave nothing behind.

Plain escape codes, because a library for this costs more than the whole start of the program.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from time import monotonic

from mcp_conductor.cli.output.terminal import ReaderGone, Terminal
from mcp_conductor.report.events import CaseFinished, CaseStarted, Event, FileFinished, FileStarted, RunStarted
from mcp_conductor.report.formats.wording import words
from mcp_conductor.report.model import Status
from mcp_conductor.text.visible import cut_to_columns, one_line

_FIRST_SECONDS = 0.3  # what takes no longer than this is not worth a line
_SECONDS = 0.1
_SILENT_SECONDS = 5.0  # that a check may take without a line in a log
_MOST_WORKERS = 8
_NARROWEST = 20
_TOLD: tuple[Status, ...] = ("failed", "errored", "not-run", "passed")
_TOLD_OF_CHECKS: tuple[Status, ...] = ("failed", "warned", "passed", "skipped")


class Live:
    """Lines at the end of a terminal, as LINES gives them now."""

    def __init__(self, terminal: Terminal, lines: Callable[[], list[str]], *, on_stderr: bool = False) -> None:
        self._terminal = terminal
        self._lines = lines
        self._on_stderr = on_stderr
        self._drawn = 0

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Draw while the body of `with` runs."""
        import asyncio  # a run of tests starts its server before it is needed

        drawing = asyncio.create_task(self._draw_on())
        try:
            yield
        finally:
            drawing.cancel()
            with suppress(asyncio.CancelledError):
                await drawing
            self.erase()

    async def _draw_on(self) -> None:
        import asyncio

        await asyncio.sleep(_FIRST_SECONDS)
        while True:
            self._draw(self._lines())
            await asyncio.sleep(_SECONDS)

    def erase(self) -> None:
        """Erase the lines, so that other text can be written; the next draw shows them again."""
        if self._drawn:
            self._draw([])

    def _draw(self, lines: list[str]) -> None:
        width = max(_NARROWEST, (self._terminal.width(on_stderr=self._on_stderr) or 80) - 1)
        fitting = [cut_to_columns(one_line(line), width) for line in lines]
        with suppress(ReaderGone):
            self._terminal.draw(fitting, over=self._drawn, on_stderr=self._on_stderr)
        self._drawn = len(fitting)


@asynccontextmanager
async def telling(terminal: Terminal) -> AsyncIterator[Callable[[str], None]]:
    """Something that shows on stderr what is done now, as long as it takes, if stderr is a terminal."""
    if not terminal.is_live(on_stderr=True):
        yield lambda _: None
        return
    now = WorkInProgress()
    async with Live(terminal, now.lines, on_stderr=True).shown():
        yield now.take


@asynccontextmanager
async def now_and_then(tell: Callable[[], None], *, seconds: float = _SILENT_SECONDS) -> AsyncIterator[None]:
    """Where no terminal shows what runs now: call TELL every SECONDS while the body of `with` runs."""
    import asyncio

    async def telling_on() -> None:
        while True:
            await asyncio.sleep(seconds)
            tell()

    task = asyncio.create_task(telling_on())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class WorkInProgress:
    """One thing after the other."""

    def __init__(self) -> None:
        self._began = monotonic()
        self._what = ""

    def take(self, what: str) -> None:
        self._what = what

    def lines(self) -> list[str]:
        return [f"{self._what}  {monotonic() - self._began:.0f} s"]


class RunInProgress:
    """What each worker does in a run of tests, and the progress of the run."""

    def __init__(self) -> None:
        self._began = monotonic()
        self._total = 0
        self._counts: dict[Status, int] = dict.fromkeys(_TOLD, 0)
        self._working: dict[int, tuple[str, str, float]] = {}  # by worker: the file, the test, since when

    def take(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._began, self._total = monotonic(), event.tests
                self._counts = dict.fromkeys(_TOLD, 0)
            case FileStarted():
                self._working[event.worker] = (event.file, "", monotonic())
            case CaseStarted():
                file = self._working.get(event.worker, ("", "", 0.0))[0]
                self._working[event.worker] = (file, event.title, monotonic())
            case CaseFinished():
                status = event.outcome.status
                self._counts[status] = self._counts.get(status, 0) + 1
            case FileFinished():
                self._working = {who: what for who, what in self._working.items() if what[0] != event.file}

    def lines(self) -> list[str]:
        now = monotonic()
        busy = list(self._working.values())
        lines = [f"  {file}  {title}  {now - since:.1f} s" for file, title, since in busy[:_MOST_WORKERS]]
        if len(busy) > _MOST_WORKERS:
            lines.append(f"  … and {len(busy) - _MOST_WORKERS} more files")
        told = [f"{self._counts[each]} {words(each)}" for each in _TOLD if self._counts[each]]
        done = sum(self._counts.values())
        return [*lines, "  ".join([f"{done} of {self._total}", *told, f"{now - self._began:.0f} s"])]


class CheckInProgress:
    """Which revision is checked, which requirements are running, and the progress."""

    def __init__(self) -> None:
        self._began = monotonic()
        self._of: tuple[str, ...] = ()
        self._version = ""
        self._total = 0
        self._counts: dict[Status, int] = {}
        self._running: dict[str, None] = {}  # the ids of what has begun, the first of them first

    def begin(self, version: str, of: Sequence[str]) -> None:
        """VERSION is checked from now on, one OF these."""
        self._version, self._of = version, tuple(of)
        self._total, self._counts, self._running = 0, dict.fromkeys(_TOLD_OF_CHECKS, 0), {}

    def take(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._total = event.tests
            case CaseStarted():
                self._running[event.id] = None
            case CaseFinished():
                self._running.pop(event.outcome.id, None)
                status = event.outcome.status
                self._counts[status] = self._counts.get(status, 0) + 1

    def line(self) -> str:
        which = self._version
        if len(self._of) > 1:
            which += f" ({self._of.index(self._version) + 1} of {len(self._of)})"
        told = [f"{self._counts[each]} {words(each)}" for each in _TOLD_OF_CHECKS if self._counts.get(each)]
        done = [f"{sum(self._counts.values())} of {self._total}"] if self._total else []
        return "  ".join([part for part in (which, *done, *told) if part] + [f"{monotonic() - self._began:.0f} s"])

    def lines(self) -> list[str]:
        first, *others = self._running or ("",)
        now = f"  {first}" + (f"  and {len(others)} more" if others else "")
        return [now, self.line()] if first else [self.line()]
