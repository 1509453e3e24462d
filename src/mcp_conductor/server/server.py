"""The server between its hosts and its definitions: what it has now, who listens, and how a request becomes a reply."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    META,
    METHOD_NOT_FOUND,
    TASKS_EXTENSION,
    Dialect,
)
from mcp_conductor.protocol.message import Message
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import Client, Outlet
from mcp_conductor.server.definitions import AskFailed, InputRequired, Prompt, Refusal, Resource, Template, Tool, failed
from mcp_conductor.server.faults import Bend, Faults
from mcp_conductor.server.methods import METHODS, Listener
from mcp_conductor.server.rounds import Rounds
from mcp_conductor.server.tasks import Task, Tasks

if TYPE_CHECKING:
    from mcp_conductor.server.config import ServerConfig

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


class Server:
    """Everything that clients share: definitions, which may change, and tasks."""

    def __init__(self, config: "ServerConfig", complain: Callable[[str], None] = lambda _: None) -> None:
        self.config = config
        self.complain = complain  # told in a line what went wrong inside
        self.why_missing: Callable[[str], str] = lambda _: ""  # more about a name that is not there, if there is more
        self.tools: dict[str, Tool] = {tool.name: tool for tool in config.tools}
        self.resources: dict[str, Resource] = {resource.uri: resource for resource in config.resources}
        self.templates: list[Template] = list(config.templates)
        self.prompts: dict[str, Prompt] = {prompt.name: prompt for prompt in config.prompts}
        completing = [*(each.completions for each in config.prompts), *(each.completions for each in config.templates)]
        self._completes = config.completions or any(completing)
        self.tasks = Tasks(config.poll_interval, self._publish_task)
        self.secret = os.urandom(32)
        self.clients: set[Client] = set()  # those of the handshake era that are ready for notifications
        self.listeners: set[Listener] = set()  # those of the modern era that asked for notifications
        self.handshake_versions = tuple(version for version in config.versions if DIALECTS[version].handshake)
        self.modern_versions = tuple(version for version in config.versions if not DIALECTS[version].handshake)
        self._faults = Faults(config.faults, config.seed) if config.faults else None
        self._methods = {version: self._offered(DIALECTS[version]) for version in config.versions}

    # What the server has, and what it says about that.

    def capabilities(self, dialect: Dialect) -> Json:
        """What the config says, and nothing else."""
        config = self.config
        capabilities: Json = {}
        for kind, there in (
            ("tools", config.tools),
            ("resources", config.resources or config.templates or config.subscriptions),
            ("prompts", config.prompts),
        ):
            if there or kind in config.list_changed:
                capabilities[kind] = {"listChanged": True} if kind in config.list_changed else {}
        if config.subscriptions:
            capabilities["resources"]["subscribe"] = True
        if config.logging:
            capabilities["logging"] = {}
        if self._completes and dialect.completions:
            capabilities["completions"] = {}
        if dialect.tasks == "core" and config.tasks is not None:
            capabilities["tasks"] = {name: {} for name in ("list", "cancel") if name in config.tasks} | {
                "requests": {"tools": {"call": {}}}
            }
        if dialect.tasks == "extension" and config.tasks_extension:
            capabilities["extensions"] = {TASKS_EXTENSION: {}}
        return capabilities

    def _offered(self, dialect: Dialect) -> dict[str, Callable[[Call], Any]]:
        """The methods that clients of this revision may use."""
        capabilities = self.capabilities(dialect)
        subscribing = self.config.subscriptions
        tasks = {f"tasks/{name}" for name in ("get", "result", *(self.config.tasks or ()))}
        if dialect.tasks == "extension":
            tasks = {"tasks/get", "tasks/update", "tasks/cancel"}
        has_tasks = "tasks" in capabilities or "extensions" in capabilities

        def offered(method: str) -> bool:
            if method.startswith("tasks/"):
                return has_tasks and method in tasks
            if method == "completion/complete":
                return self._completes
            if method in ("resources/subscribe", "resources/unsubscribe"):
                return subscribing
            return _CAPABILITY_OF_METHOD.get(method) in (None, *capabilities)

        return {name: act for name, act in METHODS.items() if name in dialect.methods and offered(name)}

    def changed(self, kind: str) -> None:
        """Tell everybody who should know that the list of tools, resources or prompts has changed."""
        if kind not in self.config.list_changed:
            return
        method = f"notifications/{kind}/list_changed"
        for client in list(self.clients):
            client.outlet({"jsonrpc": "2.0", "method": method})
        for listener in list(self.listeners):
            if listener.wants.get(f"{kind}ListChanged"):
                listener.tell(method, {})

    def updated(self, uri: str) -> None:
        """Tell the subscribers of a resource that it has changed."""
        for client in list(self.clients):
            if uri in client.subscriptions:
                client.outlet({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
        for listener in list(self.listeners):
            if uri in listener.wants.get("resourceSubscriptions", ()):
                listener.tell("notifications/resources/updated", {"uri": uri})

    def _publish_task(self, task: Task) -> None:
        for listener in list(self.listeners):
            if task.id in listener.wants.get("taskIds", ()):
                listener.tell("notifications/tasks", task.detailed())

    # Requests and notifications.

    def bend(self, message: Message) -> Bend | None:
        """What is to go wrong with the reply to MESSAGE, if anything is."""
        return None if self._faults is None else self._faults.bend(message)

    def take(
        self, message: Message, client: Client, outlet: Outlet, deliver: Deliver, bend: Bend | None = None
    ) -> None:
        """Answer one request: DELIVER is called with the reply, at once where that is possible."""
        call = Call(self, client, message, outlet)
        pending: Any = None
        if bend is None or not bend.delay:
            try:
                pending = self._begin(call, message)
                if type(pending) is dict:
                    pending = self._finished(call, pending)
            except Exception as outcome:  # noqa: BLE001  # see _outcome
                pending = self._outcome(call, outcome)
            if type(pending) is dict:
                deliver(pending if bend is None else bend.changed(pending))
                return
        task = asyncio.create_task(self._complete(call, message, pending, deliver, bend))
        client.running[call.id] = task

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
            call.rounds = Rounds(call.method, call.params, self.secret)
        return act(call)

    async def _complete(self, call: Call, message: Message, pending: Any, deliver: Deliver, bend: Bend | None) -> None:
        try:
            if pending is None:
                assert bend is not None
                await asyncio.sleep(bend.delay)
                pending = self._begin(call, message)
            reply = self._finished(call, pending if type(pending) is dict else await pending)
        except asyncio.CancelledError:
            deliver(None)
            raise
        except Exception as outcome:  # noqa: BLE001  # see _outcome
            reply = self._outcome(call, outcome)
        finally:
            if call.client.running.get(call.id) is asyncio.current_task():
                del call.client.running[call.id]
        deliver(reply if bend is None else bend.changed(reply))

    def _finished(self, call: Call, result: Json) -> Json:
        dialect = call.client.dialect
        if dialect is not None and not dialect.handshake:
            result = self._in_modern_form(call, result, dialect)
        return {"jsonrpc": "2.0", "id": call.id, "result": result}

    def _in_modern_form(self, call: Call, result: Json, dialect: Dialect) -> Json:
        formed = {"resultType": "complete", **result}
        if call.method in dialect.cacheable and formed["resultType"] == "complete":
            formed = {"ttlMs": 0, "cacheScope": "private", **formed}
        formed["_meta"] = {f"{META}serverInfo": self.config.info, **formed.get("_meta", {})}
        return formed

    def _outcome(self, call: Call, outcome: Exception) -> Json:
        """The reply to a request that did not end with a result of its own."""
        match outcome:
            case InputRequired():
                return self._finished(call, outcome.result())
            case AskFailed() if call.method == "tools/call":
                return self._finished(call, failed(str(outcome)))
            case AskFailed():
                return _error(call, Refusal(INTERNAL_ERROR, str(outcome)))
            case Refusal():
                return _error(call, outcome)
            case _:  # one definition that fails must not end the server
                self.complain(f"{call.method} failed: {outcome!r}")
                return _error(call, Refusal(INTERNAL_ERROR, f"Internal error: {type(outcome).__name__}"))

    def hear(self, message: Message, client: Client) -> None:
        """Take a notification, or an answer to something that the client was asked."""
        if message.kind != "notification":
            client.answered(message)
        elif message.method == "notifications/initialized":
            if client.dialect is not None and client.lasting:
                self.clients.add(client)
        elif message.method == "notifications/cancelled":
            identity = message.params.get("requestId")
            readable = isinstance(identity, (str, int, float)) and not isinstance(identity, bool)
            if readable and identity in client.running:
                _cancel_soon(client.running[identity])

    def forget(self, client: Client) -> None:
        """A client has gone: nothing is owed to it any more."""
        self.clients.discard(client)
        client.gone()
        for running in list(client.running.values()):
            _cancel_soon(running)

    def stop(self) -> None:
        """End what would go on for ever: streams of notifications, and tasks."""
        for listener in list(self.listeners):
            listener.end()
        self.tasks.stop()


def _cancel_soon(running: asyncio.Task[None]) -> None:
    # Not at once: a task that is cancelled before its first step never gets to say that there will be no reply.
    asyncio.get_running_loop().call_soon(running.cancel)


def _error(call: Call, refusal: Refusal) -> Json:
    return {"jsonrpc": "2.0", "id": call.id, "error": refusal.error()}
