"""The server between its hosts and its definitions: how a request becomes a reply."""

import asyncio
from collections.abc import Callable
from typing import Any

from mcp_conductor.errors import MethodError
from mcp_conductor.plugins import told_with_place
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose_error, compose_result
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    META,
    METHOD_NOT_FOUND,
    Dialect,
)
from mcp_conductor.protocol.message import Message
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import Client, Send
from mcp_conductor.server.config import ServerConfig
from mcp_conductor.server.definitions import AskFailed, InputRequired, Refusal, error_result
from mcp_conductor.server.faults import Faults
from mcp_conductor.server.methods import METHODS
from mcp_conductor.server.rounds import Rounds
from mcp_conductor.server.spoiled_reply import Means, SpoiledReply
from mcp_conductor.server.state import ServerState

# What becomes of a request: its reply, or None when it was cancelled and gets none.
Deliver = Callable[[Json | None], None]

_CAPABILITY_OF_METHOD = {
    "logging/setLevel": "logging",
    "prompts/get": "prompts",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/read": "resources",
    "resources/templates/list": "resources",
    "tools/call": "tools",
    "tools/list": "tools",
}


class Server(ServerState):
    """What its clients share, and the answers to their requests."""

    def __init__(self, config: ServerConfig, complain: Callable[[str], None] = lambda _: None) -> None:
        super().__init__(config, complain)
        self._faults = Faults(config.faults, config.seed, complain) if config.faults else None
        self._states: dict[Client, ServerState] = {}  # where each session has its own
        self._methods = {version: self.offered_methods(DIALECTS[version]) for version in config.versions}

    def offered_methods(self, dialect: Dialect) -> dict[str, Callable[[Call], Any]]:
        """The methods that clients of this revision may use."""
        capabilities = self.capabilities(dialect)
        subscribing = "subscribe" in capabilities.get("resources", {})
        tasks = {f"tasks/{name}" for name in ("get", "result", *(self.config.tasks or ()))}
        if dialect.tasks == "extension":
            tasks = {"tasks/get", "tasks/update", "tasks/cancel"}
        has_tasks = "tasks" in capabilities or "extensions" in capabilities

        def offered(method: str) -> bool:
            if method.startswith("tasks/"):
                return has_tasks and method in tasks
            if method == "completion/complete":
                return self.completes
            if method in ("resources/subscribe", "resources/unsubscribe"):
                return subscribing
            return _CAPABILITY_OF_METHOD.get(method) in (None, *capabilities)

        return {name: act for name, act in METHODS.items() if name in dialect.methods and offered(name)}

    def spoiled_reply(self, message: Message, means: Means) -> SpoiledReply | None:
        """What is to go wrong with the reply to MESSAGE, if anything is, where a host has these MEANS."""
        return None if self._faults is None else self._faults.spoiled_reply(message, means)

    def fault_report(self) -> list[str]:
        """How often each fault has struck, in lines for people."""
        return [] if self._faults is None else self._faults.report()

    def take(
        self, message: Message, client: Client, send: Send, deliver: Deliver, spoiled: SpoiledReply | None = None
    ) -> None:
        """Answer one request: DELIVER is called with the reply, at once where that is possible."""
        call = Call(self.state_for(client), client, message, send)
        pending: Any = None
        if spoiled is None or not spoiled.delay:
            try:
                pending = self._begin(call, message)
                if type(pending) is dict:
                    pending = self._finished_reply(call, pending)
            except BaseException as outcome:  # noqa: BLE001  # see _outcome
                pending = self._outcome(call, outcome)
            if type(pending) is dict:
                deliver(pending if spoiled is None else spoiled.changed(pending))
                return
        task = asyncio.create_task(self._complete(call, message, pending, deliver, spoiled))
        client.running[call.id] = task

    def state_for(self, client: Client) -> ServerState:
        """What CLIENT sees: what all clients share, or what its session has made of that."""
        if not self.config.state_per_session or not client.lasting or client.dialect is None:
            return self
        if client not in self._states:
            self._states[client] = ServerState(self.config, self.complain)
        return self._states[client]

    async def result(self, message: Message, client: Client, send: Send) -> Json:
        """The result of one request. Raises what comes in place of one: a Refusal, or what a definition raises."""
        call = Call(self.state_for(client), client, message, send)
        pending = self._begin(call, message)
        result: Json = self._finished_reply(call, pending if type(pending) is dict else await pending)["result"]
        return result

    def _begin(self, call: Call, message: Message) -> Any:
        """Call the method: a result, or something to await."""
        if message.problem is not None:
            wrong_params = "params" in message.raw and not isinstance(message.raw["params"], dict)
            raise Refusal(INVALID_PARAMS if wrong_params else INVALID_REQUEST, message.problem)
        dialect = call.client.dialect
        if dialect is None:
            if call.method not in ("initialize", "ping"):
                raise Refusal(INVALID_REQUEST, f"{call.method} before initialize: this session has not begun")
            return METHODS[call.method](call)
        act = self._methods[dialect.version].get(call.method)
        if act is None:
            raise Refusal(METHOD_NOT_FOUND, f"Method not found: {call.method}")
        if call.method in dialect.input_rounds:
            call.rounds = self.rounds_of(call)
        return act(call)

    def rounds_of(self, call: Call) -> Rounds | None:
        """What the client answered in earlier rounds of this request. Raises Refusal for invented ones."""
        return Rounds(call.method, call.params, self.secret)

    async def _complete(
        self, call: Call, message: Message, pending: Any, deliver: Deliver, spoiled: SpoiledReply | None
    ) -> None:
        try:
            if pending is None:
                assert spoiled is not None
                await asyncio.sleep(spoiled.delay)
                pending = self._begin(call, message)
            reply = self._finished_reply(call, pending if type(pending) is dict else await pending)
        except asyncio.CancelledError:
            deliver(None)
            raise
        except BaseException as outcome:  # noqa: BLE001  # see _outcome
            reply = self._outcome(call, outcome)
        finally:
            if call.client.running.get(call.id) is asyncio.current_task():
                del call.client.running[call.id]
        deliver(reply if spoiled is None else spoiled.changed(reply))

    def _finished_reply(self, call: Call, result: Json) -> Json:
        dialect = call.client.dialect
        if dialect is not None and not dialect.handshake:
            result = self._in_modern_form(call, result, dialect)
        return compose_result(call.id, result)

    def _in_modern_form(self, call: Call, result: Json, dialect: Dialect) -> Json:
        formed = {"resultType": "complete", **result}
        if call.method in dialect.cacheable and formed["resultType"] == "complete":
            formed = {"ttlMs": 0, "cacheScope": "private", **formed}
        formed["_meta"] = {f"{META}serverInfo": self.config.info, **formed.get("_meta", {})}
        return formed

    def _outcome(self, call: Call, outcome: BaseException) -> Json:
        """The reply to a request that did not end with a result of its own."""
        match outcome:
            case asyncio.CancelledError() | KeyboardInterrupt() | GeneratorExit():
                raise outcome
            case InputRequired():
                return self._finished_reply(call, outcome.result())
            case AskFailed() if call.method == "tools/call":
                return self._finished_reply(call, error_result(str(outcome)))
            case AskFailed():
                return _error(call, Refusal(INTERNAL_ERROR, str(outcome)))
            case Refusal():
                return _error(call, outcome)
            case MethodError():
                return _error(call, Refusal.of(outcome))
            case _:  # one definition that fails, or exits, must not end the server
                self.complain(f"{call.method} failed: {told_with_place(outcome)}")
                return _error(call, Refusal.of(outcome))

    def hear(self, message: Message, client: Client) -> None:
        """Take a notification, or an answer to something that the client was asked."""
        if message.kind != "notification":
            client.take_answer(message)
        elif message.method == "notifications/initialized":
            if client.dialect is not None and client.lasting:
                self.state_for(client).clients.add(client)
        elif message.method == "notifications/cancelled":
            identity = message.params.get("requestId")
            readable = isinstance(identity, (str, int, float)) and not isinstance(identity, bool)
            if readable and identity in client.running:
                _cancel_soon(client.running[identity])
                for listener in self.listeners:
                    listener.cancelled(client.running[identity])

    def forget(self, client: Client) -> None:
        """Forget a client that has gone."""
        self.clients.discard(client)
        client.close()
        own = self._states.pop(client, None)
        if own is not None:
            own.tasks.stop()
        for running in list(client.running.values()):
            _cancel_soon(running)

    def stop(self) -> None:
        """End what would never end by itself: streams of notifications, and tasks."""
        for listener in list(self.listeners):
            listener.end()
        for state in (self, *self._states.values()):
            state.tasks.stop()


def _cancel_soon(running: asyncio.Task[None]) -> None:
    # Not at once: a task that is cancelled before its first step never gets to say that there will be no reply.
    asyncio.get_running_loop().call_soon(running.cancel)


def _error(call: Call, refusal: Refusal) -> Json:
    return compose_error(call.id, refusal.error())
