"""A process of ours for work that may take too long or too much memory: it is killed, and we go on.

It is started when it is first needed, used again, and ends with us: its stdin closes, and an alarm of its own ends what
it is doing even if we were killed. Waiting for it blocks the event loop, so that all calls within one turn of the loop
share `SECONDS_PER_TURN`; timers and signals are never late by more.
"""

import marshal
import os
import sys
import threading
import time
from typing import Any

from mcp_conductor.errors import UsageError

SECONDS_PER_TURN = 3.0
MEMORY = 1 << 30  # bytes; where the platform has such a limit
_SECONDS_TO_START = 30.0
_SIZE = 8
_DIED = f"takes more than {MEMORY >> 20} MB of memory, or crashes the process that tries it"
# The worker has the paths of this process, and nothing that its environment or a .pth file asks for.
_PROGRAM = (
    "import marshal, sys; sys.path[:] = marshal.load(sys.stdin.buffer); "
    "from mcp_conductor.worker import work; work(sys.stdin.buffer, sys.stdout.buffer)"
)


class OutOfBoundsError(Exception):
    """The work took more than it may; the text is a predicate: `takes more than 1 s`."""

    def __init__(self, predicate: str, *, final: bool = True) -> None:
        super().__init__(predicate)
        self.final = final  # whether it had all the time that it asked for


class TooSlowError(UsageError):
    """Whether a value is as it should be cannot be found out in the time there is: neither yes nor no."""


def call(function: str, *arguments: Any, seconds: float) -> Any:
    """The result of FUNCTION, `module:name`, in the worker; arguments and result are plain data."""
    with _lock:
        left = _turn.left()
        if left <= 0:
            raise OutOfBoundsError("was not tried, since others took all the time that there is for this", final=False)
        worker = _started()
        began = time.monotonic()
        try:
            return worker.ask((function, arguments, seconds), min(seconds, left))
        except BaseException as error:
            # What it is doing now has no use; and an answer that comes late would be taken for the next one.
            worker.kill()
            if isinstance(error, _TooLateError):
                raise OutOfBoundsError(f"takes more than {min(seconds, left):.2g} s", final=left >= seconds) from None
            if isinstance(error, (EOFError, OSError)):
                raise OutOfBoundsError(_DIED) from None
            raise
        finally:
            _turn.spent += time.monotonic() - began


class _Turn(threading.local):
    """How long the current turn of this thread's event loop has waited."""

    spent = 0.0
    counting = False

    def left(self) -> float:
        asyncio = sys.modules.get("asyncio")
        loop = asyncio._get_running_loop() if asyncio else None  # noqa: SLF001  # get_running_loop() would raise
        if loop is None:
            self.spent = 0.0  # signals are heard without a loop
        elif not self.counting:
            self.spent, self.counting = 0.0, True
            loop.call_soon(self._over)
        return SECONDS_PER_TURN - self.spent

    def _over(self) -> None:
        self.counting = False


class _TooLateError(Exception):
    pass


class _Worker:
    def __init__(self) -> None:
        import subprocess

        # Ctrl-C is for us; but it stays in our session, or it would be taken for a process that a server left behind.
        apart: dict[str, Any] = {"process_group": 0}
        if sys.platform == "win32":
            apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **apart,
        )

    @property
    def alive(self) -> bool:
        # After a fork, the pipes belong to another process.
        return self.owner == os.getpid() and self._process.poll() is None

    def greet(self) -> None:
        """Wait until it has started, which is no part of what a call may take."""
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        assert self._process.stdin
        with _Deadline(self._process, _SECONDS_TO_START):
            self._process.stdin.write(marshal.dumps([package, *filter(os.path.isabs, sys.path)]))
            self._process.stdin.flush()
            self._answer()

    def ask(self, request: Any, seconds: float) -> Any:
        assert self._process.stdin
        data = marshal.dumps(request)
        with _Deadline(self._process, seconds):
            self._process.stdin.write(len(data).to_bytes(_SIZE, "big") + data)
            self._process.stdin.flush()
            return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout
        kind, value = _received(self._process.stdout)
        if kind == "memory":
            raise EOFError
        if kind == "error":
            raise RuntimeError(value)
        return value

    def kill(self) -> None:
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()
            self._close()

    def end(self) -> None:
        """Let it go: it ends when its stdin closes."""
        if self.owner == os.getpid():
            self._close()
            self.kill()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                assert pipe
                pipe.close()
            except OSError:
                pass  # what was not sent yet is not wanted any longer


class _Deadline:
    """Kill PROCESS if what follows takes too long: on every platform, that ends the wait for its pipe."""

    def __init__(self, process: Any, seconds: float) -> None:
        self._late = False
        self._process = process
        self._timer = threading.Timer(seconds, self._strike)
        self._timer.daemon = True

    def _strike(self) -> None:
        self._late = True
        self._process.kill()

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._timer.cancel()
        self._timer.join()  # it may be striking now
        if self._late and (error is None or isinstance(error, (EOFError, OSError))):
            raise _TooLateError from None


_lock = threading.Lock()
_turn = _Turn()
_worker: _Worker | None = None


def _started() -> _Worker:
    global _worker  # noqa: PLW0603  # one for the whole process
    if _worker is None or not _worker.alive:
        import atexit

        if _worker is None:
            atexit.register(_end)
        try:
            _worker = _Worker()
            _worker.greet()
        except (OSError, EOFError, _TooLateError) as error:
            raise OutOfBoundsError(f"cannot be tried: no process can be started for it ({error})") from error
    return _worker


def _end() -> None:
    if _worker is not None:
        _worker.end()


# The other side.


def work(requests: Any, answers: Any) -> None:
    """Answer requests until there are no more."""
    from importlib import import_module

    _limit_memory()
    _send(answers, ("ready", None))
    while True:
        try:
            function, arguments, seconds = _received(requests)
        except (EOFError, OSError):
            os._exit(0)
        _alarm(seconds + 1.0)  # we may be the last to know that we are not wanted any longer
        module, _, name = function.partition(":")
        try:
            answer = ("done", getattr(import_module(module), name)(*arguments))
        except MemoryError:
            answer = ("memory", None)
        except Exception as error:  # noqa: BLE001  # whatever it is, it belongs to the one who asked
            answer = ("error", f"{type(error).__name__}: {error}")
        _alarm(0.0)
        _send(answers, answer)


def _alarm(seconds: float) -> None:
    import signal

    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)  # nothing hears it: it ends the process


def _limit_memory() -> None:
    try:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    except (ImportError, ValueError, OSError):
        pass  # the time is bounded anyway


def _send(pipe: Any, value: Any) -> None:
    data = marshal.dumps(value)
    pipe.write(len(data).to_bytes(_SIZE, "big") + data)
    pipe.flush()


def _received(pipe: Any) -> Any:
    size = pipe.read(_SIZE)
    data = pipe.read(int.from_bytes(size, "big")) if len(size) == _SIZE else b""
    if not data:
        raise EOFError
    return marshal.loads(data)  # noqa: S302  # what our own process wrote
