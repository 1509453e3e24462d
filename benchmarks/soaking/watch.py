"""One run of a program under watch: when it ends and how, what it printed, how much memory it had, and what it left.

Everything that a run starts carries a mark in its environment. So it is found, also with another parent, and can be
ended by its id.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.executable).parent
HERE = Path(__file__).resolve().parent
MARK = "CONDUCTOR_SOAK"
# The machine is protected from a program that takes all its memory; the budget of a class is far below.
MOST_MEGABYTES = 2_000
PRINTED_BYTES = 4_000_000  # that are read of what a program printed
# A process that was killed takes a moment to leave /proc.
GONE_SECONDS = 0.5
POLL_SECONDS = 0.002

MCP_CLI = (str(SCRIPTS / "mcp-cli"),)
CONDUCTOR = (str(SCRIPTS / "conductor"),)

TERMINAL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")
WORKFLOW = re.compile(rb"(?m)^\s*(::[a-zA-Z-]+|##\[)")


@dataclass
class Ended:
    """How a run ended. CODE is None if it had to be killed, because of time or memory."""

    code: int | None
    out: bytes
    err: bytes
    seconds: float
    megabytes: float
    left: list[str]
    files: list[str]  # in the directory where it ran
    why_killed: str = ""

    def tail(self) -> str:
        """The end of stderr, on one line."""
        return self.err[-400:].decode(errors="backslashreplace").strip().replace("\n", " | ")


@dataclass
class Running:
    """A program that runs, and what can be seen of it from outside."""

    pid: int
    began: float
    mark: str
    out: Path
    err: Path
    work: Path
    stages: Path  # where servers made for this write how far they are
    stdin: int | None = None
    sent: list[tuple[float, int]] = field(default_factory=list)  # the signals that it was sent, and when

    def send(self, number: int) -> None:
        os.kill(self.pid, number)
        self.sent.append((time.monotonic(), number))

    def catches(self, number: int) -> bool:
        """Whether the program has a handler for this signal now."""
        return bool(self._mask("SigCgt") >> (number - 1) & 1)

    def _mask(self, name: str) -> int:
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return 0
        return int(status.partition(f"{name}:\t")[2].partition("\n")[0] or "0", 16)

    def children(self) -> list[int]:
        found: list[int] = []
        for task in _listed(f"/proc/{self.pid}/task"):
            try:
                found += map(int, Path(f"/proc/{self.pid}/task/{task}/children").read_text().split())
            except OSError:
                continue
        return found

    def has_executed(self) -> bool:
        """Whether a child runs a program of its own."""
        return any(_command(child) not in (b"", _command(self.pid)) for child in self.children())

    def reached(self, word: str) -> bool:
        """Whether a server of this run has written that it got there."""
        try:
            return f"{word}\n" in self.stages.read_text()
        except OSError:
            return False

    def printed(self) -> bool:
        return self.out.stat().st_size > 0

    def over(self) -> bool:
        """Whether it has ended, and waits to be reaped."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True


Meanwhile = Callable[[Running], float]  # returns how many seconds the program may go on


def run(
    words: tuple[str, ...],
    limit: float,
    *,
    stdin: bytes | None = None,
    files: Mapping[str, bytes | str] | None = None,
    environ: Mapping[str, str] | None = None,
    meanwhile: Meanwhile | None = None,
) -> Ended:
    """Run a program until it ends, or for LIMIT seconds; with MEANWHILE, for as long as that says when it is done.

    STDIN is written at once, and stays open until the program has ended; without it, stdin is empty. FILES are those of
    the directory that it runs in.
    """
    with _started(words, stdin, files or {}, environ or {}) as (process, running):
        end = running.began + limit if meanwhile is None else meanwhile(running) + time.monotonic()
        status, usage, why = _waited(process, end)
        seconds = time.monotonic() - (running.sent[-1][0] if running.sent else running.began)
        out, err = running.out, running.err
        return Ended(
            code=None if why else os.waitstatus_to_exitcode(status),
            out=_head(out),
            err=_head(err),
            seconds=seconds,
            megabytes=_peak(usage.ru_maxrss),
            left=left_by(running.mark),
            files=_listed(str(running.work)),
            why_killed=why,
        )


def _peak(kilobytes: int) -> float:
    """The most memory that a program had, in MB; 0 if that is no more than ours, which counts until it begins."""
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * 1024 / 10**6 if kilobytes > 1.05 * ours else 0.0


@contextmanager
def _started(
    words: tuple[str, ...], stdin: bytes | None, files: Mapping[str, bytes | str], environ: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen, Running]]:
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="conductor-soak-") as place:
        folder = Path(place)
        work = folder / "work"
        work.mkdir()
        for name, content in files.items():
            (work / name).write_bytes(content.encode() if isinstance(content, str) else content)
        out, err, stages = folder / "out", folder / "err", folder / "stages"
        full = {**os.environ, "NO_PROXY": "127.0.0.1", **environ, MARK: mark, "CONDUCTOR_SOAK_STAGES": str(stages)}
        with out.open("wb") as to_out, err.open("wb") as to_err:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=to_out,
                stderr=to_err,
                cwd=work,
                env=full,
            )
        running = Running(process.pid, time.monotonic(), mark, out, err, work, stages)
        try:
            if stdin:
                process.stdin.write(stdin)
                process.stdin.flush()
            yield process, running
        finally:
            if process.returncode is None and process.poll() is None:
                process.kill()
                process.wait()
            if process.stdin is not None:
                _close(process.stdin)
            left_by(mark)


def _close(stream) -> None:
    with suppress(BrokenPipeError):
        stream.close()


def _waited(process: subprocess.Popen, end: float):
    """Status and usage when it has ended, and why it was killed if it was."""
    why = ""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return status, usage, why
        if not why and time.monotonic() > end:
            why = "time"
        elif not why and _megabytes(process.pid) > MOST_MEGABYTES:
            why = "memory"
        if why:
            process.kill()
        time.sleep(POLL_SECONDS)


def _megabytes(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 10**6
    except (OSError, IndexError):
        return 0


def _head(file: Path) -> bytes:
    """The beginning and the end, which is enough to judge by."""
    with file.open("rb") as stream:
        data = stream.read(PRINTED_BYTES)
        size = file.stat().st_size
        if size > len(data):
            stream.seek(max(len(data), size - PRINTED_BYTES))
            data += stream.read()
    return data


def left_by(mark: str) -> list[str]:
    """The processes of a run that are still there; each is ended, by its id."""
    end = time.monotonic() + GONE_SECONDS
    while (found := dict(_marked(mark))) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return [f"{pid}: {command}" for pid, command in found.items()]


def _marked(mark: str) -> Iterator[tuple[int, str]]:
    wanted = f"\0{MARK}={mark}\0".encode()
    for name in _listed("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                state = Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                if state != "Z" and wanted in b"\0" + Path(f"/proc/{name}/environ").read_bytes():
                    yield int(name), _command(int(name)).decode(errors="replace")[:200]
            except OSError:
                continue


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").strip()
    except OSError:
        return b""


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
