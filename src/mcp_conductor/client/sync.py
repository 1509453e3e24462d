"""Sessions for code that is not async: scripts, notebooks, a prompt. Each call waits for its answer.

The session itself lives on an event loop in a thread of its own, so it also works where another loop is running.
Functions that answer or hear the server are called in that thread.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from inspect import signature
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar
from weakref import finalize

from mcp_conductor.client.held_context import HeldContext
from mcp_conductor.client.loop_thread import LoopThread
from mcp_conductor.client.public import connect
from mcp_conductor.client.session import Session
from mcp_conductor.client.subscriptions import Subscription
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.views import (
    Completion,
    Prompt,
    PromptResult,
    ReadResult,
    Resource,
    ResourceTemplate,
    ResourceUpdate,
    Tool,
    ToolResult,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from contextlib import AbstractAsyncContextManager

T = TypeVar("T")
P = ParamSpec("P")


def _without_async(opens: "Callable[P, AbstractAsyncContextManager[Session]]") -> "Callable[P, SyncSession]":
    """The same for code that is not async: what OPENS takes is declared there, and nowhere else."""

    def connect_sync(*args: P.args, **options: P.kwargs) -> "SyncSession":
        """Connect as `connect()` does; what comes back is open. Leave it as a context manager, or close it.

        What is still open at the end of the program is closed then.
        """
        held, loop = HeldContext(opens(*args, **options)), LoopThread()
        try:
            session = loop.run(held.open())
        except BaseException:
            loop.close()
            raise
        return SyncSession(session, held, loop)

    # For those who ask for help, and for the manual.
    connect_sync.__qualname__ = "connect_sync"
    connect_sync.__dict__["__signature__"] = signature(opens).replace(return_annotation="SyncSession")
    return connect_sync


class SyncSession:
    """A conversation with one server; every call waits for the answer. The methods are those of `Session`."""

    def __init__(self, session: Session, held: HeldContext[Session], loop: LoopThread) -> None:
        self._session = session
        self._loop = loop
        self.transcript = session.transcript
        self.server = session.server
        self.capabilities = session.capabilities
        self.dialect = session.dialect
        self._end = finalize(self, _end, held, loop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the conversation, and the server's process if there is one; more than once does no harm."""
        self._end()

    @property
    def ended(self) -> bool:
        """Whether nothing more can be said: the server is gone, or the session was closed."""
        return self._session.ended

    @property
    def how_it_ended(self) -> str | None:
        """Why nothing more can be said; None while it goes on."""
        return self._session.how_it_ended

    def list_tools(self) -> list[Tool]:
        """All tools, from all pages."""
        return self._run(self._session.list_tools())

    def list_resources(self) -> list[Resource]:
        return self._run(self._session.list_resources())

    def list_resource_templates(self) -> list[ResourceTemplate]:
        return self._run(self._session.list_resource_templates())

    def list_prompts(self) -> list[Prompt]:
        return self._run(self._session.list_prompts())

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        meta: Json | None = None,
        timeout: float | None = None,
        on_progress: "Callable[[Json], Awaitable[None] | None] | None" = None,
        validate: bool | None = None,
    ) -> ToolResult:
        """Call a tool. A tool that fails raises nothing: see `is_error` of the result."""
        options: Any = {"meta": meta, "timeout": timeout, "on_progress": on_progress, "validate": validate}
        return self._run(self._session.call_tool(name, arguments, **options))

    def read_resource(self, uri: str, *, meta: Json | None = None, timeout: float | None = None) -> ReadResult:
        return self._run(self._session.read_resource(uri, meta=meta, timeout=timeout))

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        meta: Json | None = None,
        timeout: float | None = None,
    ) -> PromptResult:
        return self._run(self._session.get_prompt(name, arguments, meta=meta, timeout=timeout))

    def complete(
        self, ref: Json, argument: str, value: str = "", *, context: Mapping[str, str] | None = None
    ) -> Completion:
        """What ARGUMENT of a prompt or a resource template could be."""
        return self._run(self._session.complete(ref, argument, value, context=context))

    def subscribe(self, uri: str) -> "SyncSubscription":
        """Subscribe to the changes of a resource; what comes back can be iterated over."""
        return SyncSubscription(self._run(_opened(self._session, uri)), self._loop)

    def unsubscribe(self, uri: str) -> None:
        """End all subscriptions to a resource."""
        self._run(self._session.unsubscribe(uri))

    def set_log_level(self, level: str) -> None:
        """Ask for log messages of this level and above."""
        self._run(self._session.set_log_level(level))

    def ping(self, *, timeout: float | None = None) -> None:
        """See whether the server answers."""
        self._run(self._session.ping(timeout=timeout))

    def request(self, method: str, params: Json | None = None, *, timeout: float | None = None) -> Any:
        """The plain result of METHOD. Raises MethodError."""
        return self._run(self._session.request(method, params, timeout=timeout))

    def input_responses(self, questions: Any) -> Json:
        """The answers to the inputRequests of a task that waits for input (2026-07-28)."""
        return self._run(self._session.input_responses(questions))

    def exchange(self, raw: Json, *, timeout: float | None = None) -> Exchange:
        """Send exactly this request and wait for its reply; an error reply is a reply."""
        return self._run(self._session.exchange(raw, timeout=timeout))

    def say(self, text: str, *, timeout: float | None = None) -> Message | None:
        """Send exactly this text, valid or not, and return what answers it; nothing answers a notification."""
        return self._run(self._session.say(text, timeout=timeout))

    def notify(self, method: str, params: Json | None = None) -> None:
        self._run(self._session.notify(method, params))

    def everything(self, method: str, params: Json | None = None) -> Any:
        """The first page of a list method with the items of all pages in it."""
        return self._run(self._session.everything(method, params))

    def pages(self, method: str, params: Json | None = None) -> Iterator[Any]:
        """The results of a list method, page by page."""
        return _each(self._session.pages(method, params), self._loop)

    def wait_until_gone(self) -> None:
        """Wait until the server goes away by itself, which is an error."""
        self._run(self._session.wait_until_gone())

    def _run(self, work: "Coroutine[Any, Any, T]") -> T:
        return self._loop.run(work)


class SyncSubscription:
    """A subscription to one resource: iterate over it to wait for each update."""

    def __init__(self, subscription: Subscription, loop: LoopThread) -> None:
        self._subscription = subscription
        self._loop = loop
        self.uri = subscription.uri

    def __iter__(self) -> Iterator[ResourceUpdate]:
        return _each(self._subscription.__aiter__(), self._loop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the subscription, unless another one to the same resource goes on."""
        self._loop.run(self._subscription.close())


_END = object()


async def _opened(session: Session, uri: str) -> Subscription:
    return await session.subscribe(uri)


async def _next(values: AsyncIterator[Any]) -> Any:
    return await anext(values, _END)


def _each(values: AsyncIterator[Any], loop: LoopThread) -> Iterator[Any]:
    while (value := loop.run(_next(values))) is not _END:
        yield value


def _end(held: HeldContext[Session], loop: LoopThread) -> None:
    try:
        loop.run(held.close())
    finally:
        loop.close()


connect_sync = _without_async(connect)
