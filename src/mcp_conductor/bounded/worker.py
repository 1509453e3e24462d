"""A process of ours for work that may take too long or too much memory: it is killed, and we go on.

It is started when it is first needed, used again, and ends with us: its stdin closes, and an alarm of its own ends what
it is doing even if we were killed.

Waiting for it would block the event loop. So code that may come to it is called by `without_blocking`, which goes to a
thread when it must. All calls of one such piece of code share `SECONDS_PER_JOB`.
"""

import marshal
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from mcp_conductor import posix
from mcp_conductor.errors import CannotTellError

SECONDS_PER_JOB = 3.0
MEMORY = 1 << 30  # bytes; where the platform has such a limit
_SECONDS_TO_START = 30.0
T = TypeVar("T")
_SIZE = 8
_DIED = f"takes more than {MEMORY >> 20} MB of memory, or crashes the process that tries it"
# The worker has the paths of this process, and nothing that its environment or a .pth file asks for.
_PROGRAM = (
    "import marshal, sys; sys.path[:] = marshal.load(sys.stdin.buffer); "
    "from mcp_conductor.bounded.worker import work; work(sys.stdin.buffer, sys.stdout.buffer)"
)


class OutOfBoundsError(Exception):
    """The work took more than it may; the text is a predicate: `takes more than 1 s`."""

    def __init__(self, predicate: str, *, final: bool = True) -> None:
        super().__init__(predicate)
        self.final = final  # whether it had all the time that it asked for


class TooSlowError(CannotTellError):
    """There was not enough time to find out whether a value is right."""


def call(function: str, *arguments: Any, seconds: float, needs: str | None = None) -> Any:
    """The result of FUNCTION, `module:name`, in the worker; arguments and result are plain data.

    It NEEDS a module, which is imported when the worker starts: that does not count as part of SECONDS.
    """
    checkpoint()
    with _lock:
        job = _of_this_thread.job or _Job()
        left = SECONDS_PER_JOB - job.spent
        if left <= 0:
            raise OutOfBoundsError("was not tried, because others took all the time that is allowed", final=False)
        worker = _worker_with(needs)
        began = time.monotonic()
        try:
            with job.waiting_for(worker):
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
            job.spent += time.monotonic() - began


async def without_blocking(function: Callable[..., T], *arguments: Any, now: bool = True) -> T:
    """What FUNCTION returns, or raises, without blocking the event loop.

    It is called `at_once`, if NOW is true, and then in a thread: it may do nothing that must not be done twice.
    """
    import asyncio

    if now:
        result: T = at_once(function, *arguments, otherwise=_LATER)
        if result is not _LATER:
            return result
    job = _Job()
    try:
        return await asyncio.to_thread(job.run, function, *arguments)
    except asyncio.CancelledError:
        job.cancel()
        raise


def at_once(function: Callable[..., T], *arguments: Any, otherwise: Any = None) -> Any:
    """What FUNCTION returns; or OTHERWISE, if it needs the worker or comes to a `checkpoint`: then it is stopped."""
    _of_this_thread.must_not_wait = True
    try:
        return function(*arguments)
    except _WouldBlock:
        return otherwise
    finally:
        _of_this_thread.must_not_wait = False


def checkpoint() -> None:
    """To be called now and then by code that may take long, so that it can go on in a thread, and be stopped there."""
    if _of_this_thread.must_not_wait:
        raise _WouldBlock
    if _of_this_thread.job is not None and _of_this_thread.job.cancelled:
        raise _CancelledError


class _WouldBlock(BaseException):  # no error, and not to be caught by those who catch errors
    pass


class _CancelledError(BaseException):
    """Ends a thread whose result is not wanted any longer."""


class _Job:
    """Something that is done in a thread, by calls of the worker among others."""

    def __init__(self) -> None:
        self.spent = 0.0  # seconds of the worker
        self.cancelled = False
        self._worker: _Worker | None = None

    def run(self, function: Callable[..., T], *arguments: Any) -> T:
        _of_this_thread.job = self
        try:
            return function(*arguments)
        finally:
            _of_this_thread.job = None

    def cancel(self) -> None:
        self.cancelled = True
        with _interrupting:
            if self._worker is not None:
                self._worker.interrupt()

    @contextmanager
    def waiting_for(self, worker: "_Worker") -> Iterator[None]:
        self._worker = worker
        try:
            checkpoint()
            yield
        finally:
            with _interrupting:  # or the one whose turn is next would be interrupted
                self._worker = None


class _ThisThread(threading.local):
    job: _Job | None = None
    must_not_wait = False


class _TooLateError(Exception):
    pass


class _Worker:
    def __init__(self) -> None:
        import subprocess

        # Ctrl-C is for us; but it stays in our session, or it would be taken for a process that a server left behind.
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **posix.group_of_its_own(),
        )

    @property
    def alive(self) -> bool:
        # After a fork, the pipes belong to another process.
        return self.owner == os.getpid() and self._process.poll() is None

    def wait_until_started(self) -> None:
        """Wait until it has started, which does not count as part of a call."""
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
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
        kind, value = _receive(self._process.stdout)
        if kind == "memory":
            raise EOFError
        if kind == "error":
            raise RuntimeError(value)
        return value

    def interrupt(self) -> None:
        """End it while another thread waits for its answer."""
        self._process.kill()

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


_LATER: Any = object()
_lock = threading.Lock()
_interrupting = threading.Lock()
_of_this_thread = _ThisThread()
_worker: _Worker | None = None


def _worker_with(needs: str | None) -> _Worker:
    global _worker  # noqa: PLW0603  # one for the whole process
    if _worker is None or not _worker.alive:
        import atexit

        if _worker is None:
            atexit.register(_end)
        try:
            _worker = _Worker()
            _worker.wait_until_started()
            if needs is not None:
                _worker.ask((f"{__name__}:_import", (needs,), _SECONDS_TO_START), _SECONDS_TO_START)
        except (OSError, EOFError, _TooLateError) as error:
            raise OutOfBoundsError(f"cannot be tried: no process can be started for it ({error})") from error
    return _worker


def _end() -> None:
    if _worker is not None:
        _worker.end()


def kill_worker() -> None:
    """Kill the worker at once, because this process is about to end."""
    if _worker is not None and _worker.owner == os.getpid():
        _worker.interrupt()


# The other side.


def work(requests: Any, answers: Any) -> None:
    """Answer requests until there are no more."""
    from importlib import import_module

    posix.limit_memory(MEMORY)
    _send(answers, ("ready", None))
    while True:
        try:
            function, arguments, seconds = _receive(requests)
        except (EOFError, OSError):
            os._exit(0)
        posix.set_timer(seconds + 1.0)  # we may be the last to know that we are not wanted any longer
        module, _, name = function.partition(":")
        try:
            answer = ("done", getattr(import_module(module), name)(*arguments))
        except MemoryError:
            answer = ("memory", None)
        except Exception as error:  # noqa: BLE001  # any error belongs to the caller
            answer = ("error", f"{type(error).__name__}: {error}")
        posix.set_timer(0.0)
        _send(answers, answer)


def _import(module: str) -> None:
    from importlib import import_module

    import_module(module)


def _send(pipe: Any, value: Any) -> None:
    data = marshal.dumps(value)
    pipe.write(len(data).to_bytes(_SIZE, "big") + data)
    pipe.flush()


def _receive(pipe: Any) -> Any:
    size = pipe.read(_SIZE)
    data = pipe.read(int.from_bytes(size, "big")) if len(size) == _SIZE else b""
    if not data:
        raise EOFError
    return marshal.loads(data)  # noqa: S302  # what our own process wrote
