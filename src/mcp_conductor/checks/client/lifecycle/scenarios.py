"""How a client opens a conversation of the handshake era, which revision it takes, and what it uses of the server."""

import asyncio
from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import (
    ANYTHING,
    OPENINGS,
    ClientConnection,
    ClientRecord,
    meta_of,
    never,
    seen,
)
from mcp_conductor.checks.harness.scenario import HANDSHAKES, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import HANDSHAKE, META
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

_THINKING_SECONDS = 0.7
_UNKNOWN = "1999-01-01"
# Which capability of the server a method belongs to.
_NEEDS = {
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "resources/read": "resources",
    "tools/list": "tools",
    "tools/call": "tools",
    "logging/setLevel": "logging",
    "completion/complete": "completions",
}


@scenario("slow-start", revisions=HANDSHAKES)
class SlowStart(ServerScript):
    """The answer to initialize takes a while."""

    async def after_opening(self, call: ScriptCall) -> None:
        if call.method == "initialize":
            await asyncio.sleep(_THINKING_SECONDS)
            self.did("thought")


@scenario("unknown-version", revisions=HANDSHAKES)
class UnknownVersion(ServerScript):
    """The server answers initialize with a revision that does not exist."""

    def chosen_version(self, asked: Any, usual: str) -> str:
        del asked, usual
        self.did("answered")
        return _UNKNOWN


@scenario("newer-version", revisions=HANDSHAKES[:-1])
class NewerVersion(ServerScript):
    """The server answers initialize with a newer revision than the client asked for."""

    def chosen_version(self, asked: Any, usual: str) -> str:
        del usual
        if asked in HANDSHAKE[:-1]:
            self.did("offered")
        return HANDSHAKE[-1]


@scenario("sparse")
class Sparse(ServerScript):
    """The server declares tools and resources only, and no subscriptions."""

    def capabilities(self) -> Json:
        return {"tools": {}, "resources": {}}


def _opened_connections(record: ClientRecord) -> list[ClientConnection]:
    found = [connection for connection in record.connections if connection.said]
    return seen(found, "the client said nothing")


@watched("lifecycle-initialize-first-client", scenario="plain", recorded="conversation")
def initialize_comes_first(record: ClientRecord) -> Iterator[Finding]:
    """Look at the first message on each connection: initialize, or the server/discover of a client of both eras."""
    for connection in _opened_connections(record):
        first = connection.said[0]
        method = first.raw.get("method") if isinstance(first.raw, dict) else None
        if isinstance(method, str) and method not in OPENINGS and f"{META}protocolVersion" not in meta_of(first):
            yield fault(f"the first message is {method}", first.raw)


def _initializes(record: ClientRecord) -> list[Any]:
    return seen(record.requests("initialize"), "the client sent no initialize")


@watched("lifecycle-initialize-params-client", scenario="plain", recorded="messages")
def initialize_says_who_and_what(record: ClientRecord) -> Iterator[Finding]:
    """Look at the params of initialize: protocolVersion, capabilities, and clientInfo with name and version."""
    for request in _initializes(record):
        params = request.params
        if not isinstance(params.get("protocolVersion"), str):
            yield fault("initialize has no protocolVersion", request.raw, path="params.protocolVersion")
        if not isinstance(params.get("capabilities"), dict):
            yield fault("initialize has no capabilities", request.raw, path="params.capabilities")
        who = params.get("clientInfo")
        for name in ("name", "version"):
            if not isinstance(who, dict) or not isinstance(who.get(name), str):
                yield fault(f"initialize: clientInfo has no {name}", request.raw, path=f"params.clientInfo.{name}")


@watched(
    "lifecycle-initialized-sent-client",
    scenario="plain",
    recorded="conversation",
    follows=("base-notification-shape-client",),
)
def initialized_is_sent(record: ClientRecord) -> Iterator[Finding]:
    """Look at what follows the answer to initialize: notifications/initialized, before any request except ping."""
    connection = record.connection
    if not connection.initialize:
        raise NotSeen("the client sent no initialize")
    answered = False
    asked = connection.requests("initialize")[-1].id
    for _, source, message in connection.transcript.spoken():
        if source == "server":
            answered = answered or (message.kind == "result" and message.id == asked)
        elif answered and message.kind == "notification" and message.method == "notifications/initialized":
            return
        elif answered and message.kind == "request" and message.method != "ping":
            yield fault(f"{message.method} was sent before notifications/initialized", message.raw)
            return
    if record.recorded:
        raise NotSeen("the client sent no request after initialize")
    yield fault("notifications/initialized was never sent")


@watched("lifecycle-client-quiet-before-init-response", scenario="slow-start", recorded="conversation")
def quiet_until_initialized(record: ClientRecord) -> Iterator[Finding]:
    """Delay the answer to initialize: meanwhile the client sends no request except ping."""
    if "thought" not in record.moments and not record.recorded:
        raise NotSeen("the client did not wait for the answer to initialize")
    asked: Message | None = None
    for _, source, message in record.connection.transcript.spoken():
        if source == "server" and message.kind == "result" and asked:
            return
        if source == "client" and message.kind == "request":
            if asked and message.method != "ping":
                told = f"{message.method} was sent before initialize was answered"
                yield fault(told, message.raw, beside=[asked.raw])
            asked = asked or (message if message.method == "initialize" else None)


@watched("lifecycle-version-client-supported", scenario="plain")
def the_version_is_spoken(record: ClientRecord) -> Iterator[Finding]:
    """Agree to the revision that the client asks for: the client goes on."""
    connection = record.connection
    asked = connection.initialize.get("protocolVersion")
    if connection.dialect is None or asked != connection.dialect.version:
        raise NotSeen(f"the client asked for {asked}")
    if not connection.went_on:
        yield fault(
            f"the server agreed to {asked}, as the client had asked, but the client did not go on",
            connection.initialize,
        )


@watched("lifecycle-version-client-latest", scenario="newer-version", follows=("lifecycle-version-client-disconnect",))
def the_newest_version_is_asked_for(record: ClientRecord) -> Iterator[Finding]:
    """Answer initialize with a newer revision than the client asked for: a client that knows it asks for it at once."""
    if "offered" not in record.moments:
        raise NotSeen("the client asks for the newest revision")
    connection = record.connection
    if connection.went_on:
        asked = connection.initialize.get("protocolVersion")
        yield fault(f"the client asks for {asked}, but speaks {HANDSHAKE[-1]} too", connection.initialize)


@watched("lifecycle-version-client-disconnect", scenario="unknown-version")
def an_unknown_version_is_left_alone(record: ClientRecord) -> Iterator[Finding]:
    """Answer initialize with a revision that does not exist: the client sends nothing more."""
    if "answered" not in record.moments:
        raise NotSeen("the client sent no initialize")
    connection = record.connection
    if connection.went_on:
        later = [
            each for each in connection.said if each.kind in ("request", "notification") and each.method not in OPENINGS
        ]
        yield fault(f"the client went on although the server speaks only {_UNKNOWN}", later[0].raw)


@watched(
    "lifecycle-respect-negotiated-client",
    "lifecycle-respect-negotiated-client-strict",
    scenario=("sparse", "plain"),
    recorded="conversation",
)
def only_what_is_declared_is_used(record: ClientRecord) -> Iterator[Finding]:
    """Declare little: the client sends no method of a capability that is not declared, or of another revision."""
    connection = record.connection
    if connection.dialect is None:
        raise NotSeen("no revision was agreed")
    if connection.declared is None:
        raise NotSeen("the client did not ask what the server declares")
    used = [each for each in connection.requests() if each.method not in OPENINGS]
    for request in seen(used, never(ANYTHING)):
        need = _NEEDS.get(request.method)
        if need == "completions" and not connection.dialect.completions:
            continue
        if need is not None and need not in connection.declared:
            yield fault(f"{request.method} was sent, but the server does not declare {need}", request.raw)
        elif need is None and request.method.startswith("tasks/") and request.method not in connection.dialect.methods:
            yield fault(f"{request.method} is not a method of {connection.dialect.version}", request.raw)


@watched("resources-subscribe-gated-client", scenario="sparse", recorded="conversation")
def subscriptions_are_declared(record: ClientRecord) -> Iterator[Finding]:
    """Declare resources without subscribe: a client that subscribes elsewhere sends no resources/subscribe."""
    for connection in record.connections:
        resources = (connection.declared or {}).get("resources")
        if isinstance(resources, dict) and resources.get("subscribe") is True:
            continue
        for request in connection.requests("resources/subscribe"):
            yield fault("the client subscribes, but the server does not declare resources.subscribe", request.raw)
    both = (record, record.plain or record)
    seen([each for start in both for each in start.requests("resources/subscribe")], never("resources/subscribe"))


@watched("lifecycle-no-shutdown-message-client", recorded="messages")
def there_is_no_shutdown_message(record: ClientRecord) -> Iterator[Finding]:
    """Look at the end of a conversation: no shutdown or exit message is sent."""
    for message in seen(record.said, "the client said nothing"):
        if message.kind in ("request", "notification") and message.method in ("shutdown", "exit", "terminate"):
            yield fault(f"{message.method} was sent, but MCP does not have this message", message.raw)
    if record.exit_code is None and not record.recorded:
        raise NotSeen("the client does not end by itself")
