"""What the server under test lists of its tools and prompts: asked for only when a test needs it, or fails."""

import asyncio

from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, nearest
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_conductor.suites.language.actions import Sent
from mcp_conductor.suites.language.expectations import error_of

# Methods that need the name of something that the server lists: the word for it, and the list.
NAMING = {"tools/call": ("tool", "tools"), "prompts/get": ("prompt", "prompts")}
_FIRST_ID = 1_000_000_001
_SECONDS = 1.0  # for a list that may explain a failure


class ServerLists:
    """The lists of one server, as they were when they were asked for."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tools: dict[str, Json] | None = None
        self._names: dict[str, list[str]] = {}  # by kind

    async def tool(self, name: str) -> Json | None:
        """What tools/list says of the tool called NAME."""
        if self._tools is None:
            listed = (await self._session.everything("tools/list")).get("tools", [])
            self._tools = {tool["name"]: tool for tool in listed if isinstance(tool, dict) and "name" in tool}
        return self._tools.get(name)

    async def doubt(self, method: str, name: str) -> str | None:
        """What to say of NAME, for which METHOD was answered with an error, if the server lists another like it."""
        word, kind = NAMING[method]
        if kind not in self._names:
            self._names[kind] = await self._names_of(kind)
        names = self._names[kind]
        near = None if name in names else nearest(name, names)
        return None if near is None else f"the server lists no {word} {name!r}; did you mean {near!r}?"

    async def _names_of(self, kind: str) -> list[str]:
        if kind in self._session.capabilities:
            # Asked for once: a server that does not list must not make every failure slow. And with ids of their own,
            # so that those of later tests are the same whether one before them has failed or not.
            try:
                with self._session.ids_starting_at(_FIRST_ID):
                    async with asyncio.timeout(_SECONDS):
                        listed = (await self._session.everything(f"{kind}/list")).get(kind, [])
                return sorted(str(each.get("name")) for each in listed if isinstance(each, dict))
            except (ConductorError, TimeoutError):
                return []
        return []


def refused_name(sent: Sent) -> tuple[str, str] | None:
    """The method, and the name of the tool or prompt that SENT asks for, if it does."""
    return (sent.method, named(sent)) if sent.method in NAMING else None


def named(sent: Sent) -> str:
    """The name of the tool or prompt that SENT asks for."""
    return str((sent.params or {}).get("name"))


def may_be_unknown(reply: Json) -> bool:
    """Whether REPLY is how servers answer a name that they do not know: an error of parameters, or of the tool."""
    error = reply.get("error")
    if isinstance(error, dict):
        return error.get("code") in (INVALID_PARAMS, METHOD_NOT_FOUND)
    return error_of(reply) is not None
