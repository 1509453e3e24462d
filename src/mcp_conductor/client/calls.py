"""What a client can ask of a server, method by method, with views of the answers; the same in both eras."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from mcp_conductor.errors import ProtocolError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.dialect import Dialect
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


class Asking(ABC):
    """The methods of MCP, for whoever can send a request. All raise MethodError where the server answers with one."""

    dialect: Dialect
    budgets: Budgets
    next_id: Callable[[], int]
    on_progress: dict[Any, Callable[[Json], None]]
    _tools_listed = False

    @abstractmethod
    async def request(self, method: str, params: Json | None = None, *, timeout: float | None = None) -> Any: ...

    @abstractmethod
    async def _reply_to(self, method: str, params: Json | None, timeout: float | None) -> Message:
        """The message that holds the result of METHOD."""

    @abstractmethod
    def note(self, text: str) -> None: ...

    @abstractmethod
    async def listen(self, notifications: Json, meta: Json | None = None) -> Message: ...

    @property
    @abstractmethod
    def _arguments_in_headers(self) -> bool:
        """Whether a call repeats some arguments where only the list of tools tells which."""

    async def pages(self, method: str, params: Json | None = None) -> AsyncIterator[Any]:
        """The results of a list method, page by page; a cursor that comes back is noted and ends the list.

        Raises ProtocolError when all pages together are larger than one message may be.
        """
        cursors, room = Cursors(self.dialect), Room(self.budgets)
        cursor: str | None = None
        while True:
            asked = params if cursor is None else {**(params or {}), "cursor": cursor}
            answer = await self._reply_to(method, asked, None)
            yield answer.result
            cursor, oddity = cursors.after(answer.result)
            if oddity is not None:
                self.note(f"{method}: {oddity}")
            if cursor is None:
                return
            if (excess := room.excess(answer.text)) is not None:
                raise ProtocolError(f"the pages of {method} are together {excess}")

    async def everything(self, method: str, params: Json | None = None) -> Any:
        """The first page of a list method with the items of all pages in it; a cursor is left if it led nowhere."""
        member = LIST_MEMBERS[method]
        whole: Json | None = None
        async for page in self.pages(method, params):
            if not isinstance(page, dict) or not isinstance(page.get(member), list):
                self.note(f"{method}: the result has no array {member!r}")
                return page if whole is None else whole
            whole = joined(whole, page, member)
        return whole

    async def list_tools(self) -> list[Tool]:
        """All tools, from all pages."""
        self._tools_listed = True
        return Tool.each(await self._items("tools/list"))

    async def list_resources(self) -> list[Resource]:
        return Resource.each(await self._items("resources/list"))

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        return ResourceTemplate.each(await self._items("resources/templates/list"))

    async def list_prompts(self) -> list[Prompt]:
        return Prompt.each(await self._items("prompts/list"))

    async def _items(self, method: str) -> Any:
        whole = await self.everything(method)
        return whole.get(LIST_MEMBERS[method]) if isinstance(whole, dict) else None

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        meta: Json | None = None,
        timeout: float | None = None,
        on_progress: Callable[[Json], None] | None = None,
    ) -> ToolResult:
        """Call a tool. That the tool failed is a result too: see `is_error`."""
        if self._arguments_in_headers and not self._tools_listed:
            await self.list_tools()
        params = {"name": name, "arguments": dict(arguments or {})}
        if on_progress is None:
            return ToolResult(await self.request("tools/call", _with(params, meta), timeout=timeout))
        token = f"progress-{self.next_id()}"
        self.on_progress[token] = on_progress
        try:
            meta = {**(meta or {}), "progressToken": token}
            return ToolResult(await self.request("tools/call", _with(params, meta), timeout=timeout))
        finally:
            del self.on_progress[token]

    async def read_resource(self, uri: str, *, meta: Json | None = None, timeout: float | None = None) -> ReadResult:
        return ReadResult(await self.request("resources/read", _with({"uri": uri}, meta), timeout=timeout))

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        meta: Json | None = None,
        timeout: float | None = None,
    ) -> PromptResult:
        params = {"name": name, "arguments": dict(arguments or {})}
        return PromptResult(await self.request("prompts/get", _with(params, meta), timeout=timeout))

    async def complete(
        self, ref: Json, argument: str, value: str = "", *, context: Mapping[str, str] | None = None
    ) -> Completion:
        """What ARGUMENT of a prompt or a resource template could be: REF is `{"type": "ref/prompt", "name": …}` or
        `{"type": "ref/resource", "uri": …}`; CONTEXT are the arguments that are known already.
        """
        params: Json = {"ref": ref, "argument": {"name": argument, "value": value}}
        if context:
            params["context"] = {"arguments": dict(context)}
        return Completion(await self.request("completion/complete", params))

    async def subscribe(self, uri: str) -> None:
        """Be told when a resource changes; the notifications go where `on_incoming` leads."""
        if self.dialect.handshake:
            await self.request("resources/subscribe", {"uri": uri})
            return
        acknowledged = await self.listen({"resourceSubscriptions": [uri]})
        honoured = acknowledged.params.get("notifications")
        if not isinstance(honoured, dict) or uri not in (honoured.get("resourceSubscriptions") or ()):
            raise ProtocolError(f"the server did not accept the subscription to {uri}: {render(honoured)}")

    async def unsubscribe(self, uri: str) -> None:
        """Be told no more. In the modern era a subscription lasts as long as the session."""
        if self.dialect.handshake:
            await self.request("resources/unsubscribe", {"uri": uri})

    async def set_log_level(self, level: str) -> None:
        """Ask for log messages of this level and above; in the modern era each request asks for itself, by `_meta`."""
        await self.request("logging/setLevel", {"level": level})

    async def ping(self, *, timeout: float | None = None) -> None:
        """See whether the server answers; where the revision has no ping, by server/discover."""
        await self.request("ping" if "ping" in self.dialect.methods else "server/discover", timeout=timeout)


def _with(params: Json, meta: Json | None) -> Json:
    return {**params, "_meta": meta} if meta else params
