"""A conversation with a server in process: no host, no bytes, and everything that was said is kept."""

import asyncio
from collections.abc import Callable
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, TASKS_EXTENSION
from mcp_conductor.protocol.message import build
from mcp_conductor.server.client import Client, modern_client
from mcp_conductor.server.config import ServerConfig, TransportConfig
from mcp_conductor.server.definitions import Definition, Prompt, Resource, Template, Tool
from mcp_conductor.server.presets import PRESETS
from mcp_conductor.server.server import Server

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
ERAS = (HANDSHAKE, MODERN)

CLIENT = {"name": "test", "version": "1"}
EVERYTHING: Json = {
    "roots": {},
    "sampling": {},
    "elicitation": {"form": {}, "url": {}},
    "extensions": {TASKS_EXTENSION: {}},
}
# It fits the form of every preset.
FILLED_IN: Json = {"value": "blue", "confirm": True, "input": "blue", "approved": True}
ACCEPTED: Json = {"action": "accept", "content": FILLED_IN}
SAMPLED: Json = {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}
ROOTS: Json = {"roots": [{"uri": "file:///work", "name": "work"}]}
# What the client answers to each kind of question, unless a test says otherwise; an error has a code.
ANSWERS: Json = {"elicitation/create": ACCEPTED, "sampling/createMessage": SAMPLED, "roots/list": ROOTS}

_SECONDS = 5.0


def made(preset: str, /, **params: Any) -> list[Definition]:
    """What PRESET makes of PARAMS."""
    definitions = PRESETS.get(preset).make(**params)
    return definitions if isinstance(definitions, list) else [definitions]


def config_of(*presets: str | Definition, **fields: Any) -> ServerConfig:
    """A config with these definitions; a string is the name of a preset."""
    definitions = [each for one in presets for each in (made(one) if isinstance(one, str) else [one])]

    def only(kind: type) -> tuple[Any, ...]:
        return tuple(each for each in definitions if isinstance(each, kind))

    return ServerConfig(
        info={"name": "server", "version": "1"},
        transport=TransportConfig(type="stdio"),
        tools=only(Tool),
        resources=only(Resource),
        templates=only(Template),
        prompts=only(Prompt),
        **fields,
    )


class Conversation:
    """A client that has introduced itself to a server with these definitions."""

    def __init__(
        self,
        *presets: str | Definition,
        version: str = HANDSHAKE,
        capabilities: Json | None = None,
        answers: Json | None = None,
        **fields: Any,
    ) -> None:
        self.server = Server(config_of(*presets, **fields))
        self.dialect = DIALECTS[version]
        self.capabilities = EVERYTHING if capabilities is None else capabilities
        self.answers = {**ANSWERS, **(answers or {})}
        self.heard: list[Json] = []  # every message of the server but its replies
        self.asked: list[Json] = []  # every question of the server, however it came
        self._news = asyncio.Event()
        self._client = Client(self._hear)
        self._last = 0
        if self.dialect.handshake:
            self._introduce()

    def _introduce(self) -> None:
        params = {"protocolVersion": self.dialect.version, "capabilities": self.capabilities, "clientInfo": CLIENT}
        raw = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        replies: list[Json | None] = []
        self.server.take(build(raw), self._client, self._hear, replies.append)
        assert replies[0] is not None
        assert replies[0]["result"]["protocolVersion"] == self.dialect.version
        self.server.hear(build({"jsonrpc": "2.0", "method": "notifications/initialized"}), self._client)

    def _hear(self, message: Json) -> None:
        self.heard.append(message)
        self._news.set()
        if "id" in message:
            answer = self._answer(message)
            member = "error" if "code" in answer else "result"
            self.server.hear(build({"jsonrpc": "2.0", "id": message["id"], member: answer}), self._client)

    def _answer(self, question: Json) -> Json:
        self.asked.append({key: question[key] for key in ("method", "params") if key in question})
        answer = self.answers[question["method"]]
        return answer.pop(0) if isinstance(answer, list) else answer

    def begin(self, method: str, params: Json | None = None) -> asyncio.Future[Json | None]:
        """Send a request; its reply is in time what is returned."""
        self._last += 1
        stamped = self.dialect.stamp(params, self.dialect.context(CLIENT, self.capabilities))
        raw = {"jsonrpc": "2.0", "id": self._last, "method": method, **({} if stamped is None else {"params": stamped})}
        reply: asyncio.Future[Json | None] = asyncio.get_running_loop().create_future()
        client = self._client
        if not self.dialect.handshake:
            client = modern_client(raw["params"], self._hear, self.server.modern_versions)
        self.server.take(build(raw), client, self._hear, reply.set_result)
        return reply

    def cancel(self) -> None:
        """Cancel the last request."""
        params = {"requestId": self._last}
        raw = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        self.server.hear(build(raw), self._client)

    async def request(self, method: str, params: Json | None = None) -> Json:
        """Send a request and wait for its reply."""
        async with asyncio.timeout(_SECONDS):
            reply = await self.begin(method, params)
        assert reply is not None
        return reply

    async def result(self, method: str, params: Json | None = None) -> Json:
        """The result of a request, without what every result of the modern era has."""
        reply = await self.request(method, params)
        assert "result" in reply, reply
        everywhere = ("_meta", "ttlMs", "cacheScope")
        result: Json = {key: value for key, value in reply["result"].items() if key not in everywhere}
        if result.get("resultType") == "complete":
            del result["resultType"]
        return result

    async def error(self, method: str, params: Json | None = None) -> Json:
        """The error by which a request is refused."""
        reply = await self.request(method, params)
        assert "error" in reply, reply
        error: Json = reply["error"]
        return error

    async def call(self, tool: str, arguments: Json | None = None, **params: Any) -> Json:
        """The result of calling TOOL; questions that come instead of it are answered, and the call made again."""
        asked = {"name": tool, "arguments": arguments or {}, **params}
        result = await self.result("tools/call", asked)
        for _ in range(10):
            if result.get("resultType") != "input_required":
                break
            result = await self.result("tools/call", {**asked, **self.answered(result)})
        return result

    def answered(self, required: Json) -> Json:
        """The params by which a request comes again after an input_required result."""
        again: Json = {"requestState": required["requestState"]} if "requestState" in required else {}
        if "inputRequests" in required:
            again["inputResponses"] = {key: self._answer(one) for key, one in required["inputRequests"].items()}
        return again

    async def listed(self, method: str = "tools/list") -> Json:
        """The only entry of a list."""
        (entries,) = (await self.result(method)).values()
        (entry,) = entries
        known: Json = entry
        return known

    async def until(self, tell: Callable[[], Any]) -> None:
        """Wait until TELL is true of what has been heard."""
        async with asyncio.timeout(_SECONDS):
            while not tell():
                self._news.clear()
                await self._news.wait()

    async def settle(self) -> None:
        """Let the server do what it can do without hearing or waiting for anything."""
        for _ in range(10):
            await asyncio.sleep(0)

    def notified(self, method: str) -> list[Json]:
        """The params of all notifications of this METHOD."""
        return [
            message.get("params", {}) for message in self.heard if message["method"] == method and "id" not in message
        ]


def text_of(result: Json) -> str:
    """The only text of a tool's result that is no error."""
    assert not result.get("isError"), result
    (block,) = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


def failure_of(result: Json) -> str:
    """The text of a tool's result that is an error."""
    assert result["isError"] is True, result
    return str(result["content"][0]["text"])
