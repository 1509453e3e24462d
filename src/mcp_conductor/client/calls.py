"""The methods of MCP as typed calls, with views of the answers; the same in both eras.

Each is a function of something that can send a request: a Session has them as its methods, a Bridge calls them with the
session of the server that is meant. All raise MethodError where the server answers with one.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from mcp_conductor.client.subscriptions import Stream, Subscription, Subscriptions
from mcp_conductor.errors import ProtocolError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.dialect import LOG_LEVELS, Dialect
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.protocol.paging import LIST_MEMBERS, Cursors, Room, joined
from mcp_conductor.protocol.views import (
    Completion,
    Prompt,
    PromptResult,
    ReadResult,
    Resource,
    ResourceTemplate,
    Tool,
    ToolResult,
)


class KnownTools:
    """The tools of one server, as they were listed last."""

    def __init__(self) -> None:
        self.listed = False  # or about to be
        self.output_schemas: dict[str, Json | None] | None = None  # by name; None if they are not known

    def about_to_be_listed(self) -> None:
        self.listed = True

    def learn(self, tools: list[Tool]) -> None:
        """TOOLS are all that there are."""
        self.output_schemas = {tool.name: tool.output_schema for tool in tools}

    def changed(self) -> None:
        """The server says that its list is another one now."""
        self.output_schemas = None


class Requests(Protocol):
    """What these calls need: a client that can send a request."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def budgets(self) -> Budgets: ...

    @property
    def lacks_tools(self) -> bool:
        """Whether headers must repeat arguments that only the list of tools names, and it was not read yet."""

    async def request(self, method: str, params: Json | None = None, *, timeout: float | None = None) -> Any: ...

    async def reply_to(self, method: str, params: Json | None = None, timeout: float | None = None) -> Message:
        """The message that holds the result of METHOD."""

    @property
    def subscriptions(self) -> Subscriptions: ...

    async def open_stream(self, notifications: Json, meta: Json | None = None) -> Stream:
        """Subscribe in the way of 2026-07-28."""

    def ask_for_log(self, level: str) -> None:
        """Every request from here on asks for log messages of LEVEL and above."""

    @property
    def known_tools(self) -> KnownTools: ...

    validates: bool  # whether results of tools must fit their schemas, where a call does not say

    def progress_for(self, told: Callable[[Json], object]) -> AbstractAsyncContextManager[str]:
        """A progress token; within the block, TOLD hears what the server says of it."""

    def note(self, text: str) -> None: ...


async def pages(session: Requests, method: str, params: Json | None = None) -> AsyncIterator[Any]:
    """The results of a list method, page by page; a cursor that comes back is noted and ends the list.

    Raises ProtocolError when all pages together are larger than one message may be.
    """
    cursors, room = Cursors(session.dialect), Room(session.budgets)
    cursor: str | None = None
    while True:
        asked = params if cursor is None else {**(params or {}), "cursor": cursor}
        answer = await session.reply_to(method, asked)
        yield answer.result
        cursor, oddity = cursors.after(answer.result)
        if oddity is not None:
            session.note(f"{method}: {oddity}")
        if cursor is None:
            return
        if (excess := room.excess(answer.text)) is not None:
            raise ProtocolError(f"the pages of {method} are together {excess}")


async def everything(session: Requests, method: str, params: Json | None = None) -> Any:
    """The first page of a list method with the items of all pages in it; a cursor is left if it led nowhere."""
    member = LIST_MEMBERS[method]
    whole: Json | None = None
    async for page in pages(session, method, params):
        if not isinstance(page, dict) or not isinstance(page.get(member), list):
            session.note(f"{method}: the result has no array {member!r}")
            return page if whole is None else whole
        whole = joined(whole, page, member)
    return whole


async def list_tools(session: Requests) -> list[Tool]:
    """All tools, from all pages."""
    session.known_tools.about_to_be_listed()
    tools = Tool.each(await _items(session, "tools/list"))
    session.known_tools.learn(tools)
    return tools


async def list_resources(session: Requests) -> list[Resource]:
    """Return all resources, of all pages."""
    return Resource.each(await _items(session, "resources/list"))


async def list_resource_templates(session: Requests) -> list[ResourceTemplate]:
    """Return all templates of resources, of all pages."""
    return ResourceTemplate.each(await _items(session, "resources/templates/list"))


async def list_prompts(session: Requests) -> list[Prompt]:
    """Return all prompts, of all pages."""
    return Prompt.each(await _items(session, "prompts/list"))


async def _items(session: Requests, method: str) -> Any:
    whole = await everything(session, method)
    return whole.get(LIST_MEMBERS[method]) if isinstance(whole, dict) else None


async def call_tool(
    session: Requests,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    meta: Json | None = None,
    timeout: float | None = None,
    on_progress: Callable[[Json], Awaitable[None] | None] | None = None,
    validate: bool | None = None,
) -> ToolResult:
    """Call a tool. A tool that fails raises nothing: see `is_error` of the result.

    ON_PROGRESS is called with the params of every progress notification; what it raises is raised when the tool has
    answered. With VALIDATE, a result that does not fit the tool's output schema raises ProtocolError; where it is not
    given, what `connect()` was told holds.
    """
    if session.lacks_tools:
        await list_tools(session)
    params = {"name": name, "arguments": dict(arguments or {})}
    if on_progress is None:
        result = ToolResult(await session.request("tools/call", _with(params, meta), timeout=timeout))
    else:
        async with session.progress_for(on_progress) as token:
            meta = {**(meta or {}), "progressToken": token}
            result = ToolResult(await session.request("tools/call", _with(params, meta), timeout=timeout))
    if session.validates if validate is None else validate:
        await _insist_on_output_schema(session, name, result)
    return result


async def _insist_on_output_schema(session: Requests, name: str, result: ToolResult) -> None:
    """Raise ProtocolError if RESULT is not what the tool called NAME declares."""
    if session.known_tools.output_schemas is None:
        await list_tools(session)
    schema = (session.known_tools.output_schemas or {}).get(name)
    if schema is None or result.is_error:
        return
    if result.structured is None:
        raise ProtocolError(f"tool {name!r} declares an outputSchema, but its result has no structuredContent")
    from mcp_conductor.bounded.worker import without_blocking
    from mcp_conductor.protocol.schema import Undecided, complaints

    problems = await without_blocking(complaints, result.structured, schema)
    if problems and isinstance(problems[0], Undecided):
        session.note(f"the result of tool {name!r} is not checked: {problems[0]}")
    elif problems:
        raise ProtocolError(f"the result of tool {name!r} does not fit its outputSchema: {'; '.join(problems)}")


async def read_resource(
    session: Requests, uri: str, *, meta: Json | None = None, timeout: float | None = None
) -> ReadResult:
    """Read a resource, with the contents as views."""
    return ReadResult(await session.request("resources/read", _with({"uri": uri}, meta), timeout=timeout))


async def get_prompt(
    session: Requests,
    name: str,
    arguments: Mapping[str, str] | None = None,
    *,
    meta: Json | None = None,
    timeout: float | None = None,
) -> PromptResult:
    """Get the messages of a prompt, whose arguments are texts."""
    params = {"name": name, "arguments": dict(arguments or {})}
    return PromptResult(await session.request("prompts/get", _with(params, meta), timeout=timeout))


async def complete(
    session: Requests, ref: Json, argument: str, value: str = "", *, context: Mapping[str, str] | None = None
) -> Completion:
    """What ARGUMENT of a prompt or a resource template could be: REF is `{"type": "ref/prompt", "name": …}` or
    `{"type": "ref/resource", "uri": …}`; CONTEXT are the arguments that are known already.
    """
    params: Json = {"ref": ref, "argument": {"name": argument, "value": value}}
    if context:
        params["context"] = {"arguments": dict(context)}
    return Completion(await session.request("completion/complete", params))


def subscribe(session: Requests, uri: str) -> Subscription:
    """Subscribe to the changes of a resource: `await` it, or iterate over its updates with `async for`.

    `on_incoming` and `on_notification` are called with the notifications too.
    """

    async def begin(subscription: Subscription) -> None:
        session.subscriptions.add(subscription)
        await _begin_subscription(session, subscription)

    async def end(subscription: Subscription) -> None:
        if await session.subscriptions.end_one(subscription):
            await unsubscribe(session, uri)

    return Subscription(uri, begin=begin, end=end, most_bytes=session.budgets.notification_bytes)


async def _begin_subscription(session: Requests, subscription: Subscription) -> None:
    uri = subscription.uri
    if session.dialect.handshake:
        await session.request("resources/subscribe", {"uri": uri})
        return
    stream = await session.open_stream({"resourceSubscriptions": [uri]})
    honoured = stream.acknowledged.params.get("notifications")
    if not isinstance(honoured, dict) or uri not in (honoured.get("resourceSubscriptions") or ()):
        stream.end.cancel()
        raise ProtocolError(f"the server did not accept the subscription to {uri}: {render(honoured)}")
    session.subscriptions.hold(subscription, stream)


async def unsubscribe(session: Requests, uri: str) -> None:
    """End all subscriptions to a resource."""
    await session.subscriptions.end_all(uri)
    if session.dialect.handshake:
        await session.request("resources/unsubscribe", {"uri": uri})


async def set_log_level(session: Requests, level: str) -> None:
    """Ask for log messages of this level and above; in the modern era each later request asks for itself."""
    if session.dialect.handshake:
        await session.request("logging/setLevel", {"level": level})
        return
    if level not in LOG_LEVELS:
        raise UsageError(f"unknown log level {level!r}", hint=f"known: {', '.join(LOG_LEVELS)}")
    session.ask_for_log(level)


async def ping(session: Requests, *, timeout: float | None = None) -> None:
    """See whether the server answers; where the revision has no ping, by server/discover."""
    await session.request("ping" if "ping" in session.dialect.methods else "server/discover", timeout=timeout)


def _with(params: Json, meta: Json | None) -> Json:
    return {**params, "_meta": meta} if meta else params
