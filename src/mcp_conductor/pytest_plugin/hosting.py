"""Where servers are talked to while pytest runs: one event loop, in a thread of its own.

So a server stays alive between tests, test functions need not be async, and those that are may run on any loop.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from typing import Any, TypeVar

import pytest

from mcp_conductor.client import loop_thread as client
from mcp_conductor.client.connect import connect
from mcp_conductor.client.held_context import HeldContext
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.pytest_plugin.texts import error_text
from mcp_conductor.text.redaction import Redactor
from mcp_conductor.text.visible import one_line, visible

T = TypeVar("T")


class LoopThread(client.LoopThread):
    """The event loop of a run of pytest."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for WORK, which has limits of its own."""
        __tracebackhide__ = True
        try:
            return super().run(work)
        except ConductorError as error:
            raise shown_error(error) from None


def shown_error(error: ConductorError) -> ConductorError:
    """ERROR for a reader of a Python test: with all there is to say, and without the way that it took through us."""
    more = error_text(error).split("\n")[1 + error.message.count("\n") :]
    if more and not getattr(error, "__notes__", None):
        error.add_note("\n".join(more))
    return error.with_traceback(None)


_LOOP = pytest.StashKey[LoopThread]()


def loop_of(config: pytest.Config) -> LoopThread:
    """The loop of this run; it starts when it is first needed."""
    if _LOOP not in config.stash:
        config.stash[_LOOP] = LoopThread()
        config.add_cleanup(config.stash[_LOOP].close)
    return config.stash[_LOOP]


class HostedSession:
    """A Session that lives on another loop: the same names, and calls that wait for the answer.

    Where an event loop is running, that is in async tests, a call gives something to await instead.
    """

    def __init__(self, loop: LoopThread, session: Any, spec: Any) -> None:
        self._loop = loop
        self._session = session
        self.spec = spec  # how to reach the server, for those who want to connect too

    def __repr__(self) -> str:
        return f"<session with {one_line(self._session.redact(str(self.spec)))}>"

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._session, name)
        if name.startswith("_") or not inspect.ismethod(value):
            return value

        def call(*args: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            return self._call(value, args, options)

        call.__name__, call.__doc__ = name, value.__doc__
        return call

    def _call(self, method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        __tracebackhide__ = True
        if inspect.isasyncgenfunction(method):
            values = method(*args, **options)
            return self._awaited_each(values) if _in_a_loop() else self._each(values)
        if not inspect.iscoroutinefunction(method):
            return self._loop.run(_soon(method, args, options))  # what is not awaited takes no time
        work = method(*args, **options)
        return self._awaitable(work) if _in_a_loop() else self._loop.run(work)

    def _awaitable(self, work: Coroutine[Any, Any, T]) -> "asyncio.Future[T]":
        """WORK, which begins now, as something that another loop can await."""
        return asyncio.ensure_future(_told_here(asyncio.wrap_future(self._loop.start(work))))

    def _each(self, values: AsyncIterator[Any]) -> Iterator[Any]:
        __tracebackhide__ = True
        while (value := self._loop.run(_next(values))) is not _END:
            yield value

    async def _awaited_each(self, values: AsyncIterator[Any]) -> AsyncIterator[Any]:
        __tracebackhide__ = True
        while (value := await self._awaitable(_next(values))) is not _END:
            yield value


async def _told_here(work: "asyncio.Future[T]") -> T:
    __tracebackhide__ = True
    try:
        return await work
    except ConductorError as error:
        raise shown_error(error) from None


_END = object()


async def _next(values: AsyncIterator[Any]) -> Any:
    return await anext(values, _END)


async def _soon(method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    returned = method(*args, **options)
    return await returned if inspect.isawaitable(returned) else returned


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def safe_with(hostings: "list[Hosting]") -> Callable[[str], str]:
    """Texts without secrets of these servers, and without anything that a terminal or a CI system would obey."""

    def safe(text: str) -> str:
        for hosting in hostings:
            text = hosting.redact(text)
        return visible(text)

    return safe


class Hosting:
    """What one test has opened, closed in the opposite order."""

    def __init__(self, loop: LoopThread) -> None:
        self._loop = loop
        self._open = ExitStack()
        self._redactor = Redactor()

    def connect(self, target: Any, **options: Any) -> HostedSession:
        """A session with the server that TARGET means: a spec, a URL, a command, its words or a config."""
        __tracebackhide__ = True
        from mcp_conductor.client.targets import spec_of

        spec = spec_of(target)
        self._redactor.learn(spec.secrets())
        if options.get("transcript") is None:
            options["transcript"] = Transcript(budgets=options.get("budgets") or spec.budgets, redactor=self._redactor)
        return HostedSession(self._loop, self.hold(connect(spec, **options)), spec)

    def redact(self, text: str) -> str:
        """TEXT without the secrets of these servers."""
        return self._redactor.redact(text)

    def hold(self, what: AbstractAsyncContextManager[T]) -> T:
        """Enter WHAT now, and leave it when the test is over."""
        __tracebackhide__ = True
        return self._loop.run(self._hold(what))

    async def _hold(self, what: AbstractAsyncContextManager[T]) -> T:
        held = HeldContext(what)
        value = await held.open()
        self._open.callback(lambda: self._loop.run(held.close()))
        return value

    def close(self) -> None:
        self._open.close()
