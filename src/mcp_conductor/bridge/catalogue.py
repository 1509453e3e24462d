"""What a server of a bridge has: lists, read when it is connected, and again when it says that they have changed."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field
from typing import Any, TypeVar

from mcp_conductor.bridge.terms import EventKind
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, MethodError, ProtocolError
from mcp_conductor.protocol.views import Listed, Prompt, Resource, ResourceTemplate, Tool
from mcp_conductor.values import dataclass

KINDS: dict[str, EventKind] = {
    "tools": "tools_changed",
    "resources": "resources_changed",
    "prompts": "prompts_changed",
}
# So often is a server asked for its lists that always says that they have changed, unless our callers want them.
_MOST_READS = 3
_PER_SECONDS = 1.0

V = TypeVar("V", bound=Listed)


@dataclass(slots=True)
class Catalogue:
    """What a server has, as it was listed last."""

    tools: list[Tool] = field(default_factory=list)
    resources: list[Resource] = field(default_factory=list)
    templates: list[ResourceTemplate] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)


class Lists:
    """The catalogue of one server. CHANGED is called when a list differs from before, FAILED if it cannot be read."""

    def __init__(self, server: str, changed: Callable[[EventKind], None], failed: Callable[[], None]) -> None:
        self.catalogue = Catalogue()
        self._server = server
        self._tell_changed = changed
        self._failed = failed
        self._session: Session | None = None
        self._stale: set[str] = set()  # lists that have changed
        self._changes = 0  # that we were told of
        self._known = 0  # changes that the catalogue has
        self._reads: deque[float] = deque(maxlen=_MOST_READS)  # when the last ones began
        self._refreshing: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._wanted = asyncio.Event()  # a caller waits for what has changed

    @property
    def stale(self) -> bool:
        """Whether a list has changed and was not read again yet."""
        return self._lacks(self._changes)

    def _lacks(self, change: int) -> bool:
        return self._session is not None and self._known < change

    async def read_all(self, session: Session) -> None:
        """Read what a server has that was just connected."""
        self._stale.clear()
        self._known = self._changes
        for kind in KINDS:
            await self._read(session, kind)

    def follow(self, session: Session) -> None:
        """From here on, read again with SESSION what changes."""
        self._session = session
        if self._stale:
            self._refresh()

    def stop(self) -> None:
        """The session is lost."""
        self._session = None
        if self._refreshing is not None:
            self._refreshing.cancel()
        self._settled.set()

    def clear(self) -> None:
        """The server is given up: it has nothing."""
        self.catalogue = Catalogue()

    def changed(self, *kinds: str) -> None:
        """These lists have changed, or may have changed."""
        self._stale.update(kinds)
        self._changes += 1
        if self._session is not None:
            self._refresh()

    async def up_to_date(self, seconds: float) -> Catalogue:
        """What the server has, with all changes until now; for these, this waits up to SECONDS."""
        last = self._changes  # not later ones: a server may change all the time
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._lacks(last):
                    self._wanted.set()
                    self._settled.clear()
                    await self._settled.wait()
        return self.catalogue

    async def _read(self, session: Session, kind: str) -> None:
        has = kind in session.capabilities
        if kind == "tools":
            self.catalogue.tools = await self._all(session.list_tools) if has else []
        elif kind == "prompts":
            self.catalogue.prompts = await self._all(session.list_prompts) if has else []
        else:
            self.catalogue.resources = await self._all(session.list_resources) if has else []
            self.catalogue.templates = await self._all(session.list_resource_templates) if has else []

    async def _all(self, ask: Callable[[], Awaitable[list[V]]]) -> list[V]:
        found = await unless_refused(ask()) or []
        for item in found:
            item.server = self._server
        return found

    def _refresh(self) -> None:
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._read_changed())

    async def _read_changed(self) -> None:
        """Read the lists that have changed, until none has."""
        while self._stale and (session := self._session) is not None:
            await self._rest()
            self._reads.append(asyncio.get_running_loop().time())
            kinds, self._stale, change = sorted(self._stale), set(), self._changes
            for kind in kinds:
                before = self._listed(kind)
                try:
                    await self._read(session, kind)
                except ConductorError:  # the connection is lost or slow; the link finds out
                    self._failed()
                if self._listed(kind) != before:
                    self._tell_changed(KINDS[kind])
            self._known = change
            self._settled.set()

    async def _rest(self) -> None:
        """Wait, if we have read often of late and no caller waits."""
        if len(self._reads) == _MOST_READS:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._reads[0] + _PER_SECONDS):
                    await self._wanted.wait()
        self._wanted.clear()

    def _listed(self, kind: str) -> tuple[object, ...]:
        catalogue = self.catalogue
        if kind == "resources":
            return catalogue.resources, catalogue.templates
        return (catalogue.tools if kind == "tools" else catalogue.prompts,)


async def unless_refused(asked: Awaitable[Any]) -> Any:
    """What was asked for; None if the server answers with an error."""
    try:
        return await asked
    except (MethodError, ProtocolError):
        return None
