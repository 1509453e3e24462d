"""What every request of 2026-07-28 says of itself, and how a client finds out which era a server belongs to."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.timing import INCONCLUSIVE
from mcp_conductor.checks.harness.client_record import ClientRecord, HttpRequest, capabilities_in, meta_of, never, seen
from mcp_conductor.checks.harness.http_server import WebHost
from mcp_conductor.checks.harness.scenario import HTTP, MODERNS, scenario, watched
from mcp_conductor.checks.harness.scripted_server import NoAnswer, ScriptCall, ServerScript
from mcp_conductor.protocol.dialect import HANDSHAKE, META, NEWEST_MODERN, UNSUPPORTED_VERSION
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.meta_keys import KEY, PREFIXED_KEY, is_reserved
from mcp_conductor.report.model import Finding
from mcp_conductor.server.definitions import Refusal
from mcp_conductor.server.http.exchange import HttpExchange

_STDIO = ("stdio",)
_VERSION, _CAPABILITIES, _INFO = f"{META}protocolVersion", f"{META}clientCapabilities", f"{META}clientInfo"
_REMOVED = {
    "initialize",
    "notifications/initialized",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "notifications/roots/list_changed",
}
_FUTURE = "2099-01-01"
_REASONABLE_SILENCE = 12.0  # seconds: clients wait for 10 s, and timers are not exact


class Legacy(ServerScript):
    """A server of the handshake era, which refuses every request that is not one of it."""

    code = -32601

    def __init__(self, record: ClientRecord, version: str | None) -> None:
        super().__init__(record, HANDSHAKE[-1] if version in MODERNS else version)

    def _settle(self, call: ScriptCall) -> None:
        if call.method != "initialize" and call.connection.dialect is None:
            self.did("refused")
            raise Refusal(self.code, "no")


@scenario("legacy-32601", revisions=MODERNS, transports=_STDIO)
class LegacyMethodNotFound(Legacy):
    """A server of the handshake era, which does not know server/discover."""


@scenario("legacy-32602", revisions=MODERNS, transports=_STDIO)
class LegacyInvalidParams(Legacy):
    """A server of the handshake era, which answers with -32602 before initialize."""

    code = -32602


@scenario("legacy-0", revisions=MODERNS, transports=_STDIO)
class LegacyZero(Legacy):
    """A server of the handshake era, which answers with the code 0 before initialize."""

    code = 0


@scenario("legacy-silence", revisions=MODERNS, transports=_STDIO, seconds=15.0)
class LegacySilent(Legacy):
    """A server of the handshake era, which says nothing before initialize."""

    def _settle(self, call: ScriptCall) -> None:
        if call.method != "initialize" and call.connection.dialect is None:
            self.did("refused")
            raise NoAnswer


@scenario("future-server", revisions=MODERNS)
class FutureServer(ServerScript):
    """A server that speaks only a revision that does not exist yet."""

    def _settle(self, call: ScriptCall) -> None:
        self.did("refused")
        data = {"supported": [_FUTURE], "requested": call.meta.get(_VERSION)}
        raise Refusal(UNSUPPORTED_VERSION, "unsupported protocol version", data)


@scenario("bare-400", revisions=MODERNS, transports=HTTP)
class Bare400(Legacy):
    """A server of the handshake era, which answers everything before initialize with 400 and a page."""

    async def web(self, host: WebHost, exchange: HttpExchange, request: HttpRequest) -> bool:
        if request.method != "POST" or b'"initialize"' in request.body or host.record.connections:
            return False
        self.did("refused")
        request.status = 400
        await exchange.reply(400, b"<html>Bad Request</html>", content_type="text/html")
        return True


def _requests(record: ClientRecord) -> list[Message]:
    """The requests that belong to the modern era."""
    found = [
        each
        for connection in record.connections
        for each in connection.requests()
        if _is_modern(connection.dialect, each)
    ]
    return seen(found, "the client sent no request")


def _is_modern(dialect: Any, message: Message) -> bool:
    return (dialect is None or not dialect.handshake) and message.method != "initialize"


@watched("meta-required-fields-client", scenario="plain", recorded="messages")
def requests_carry_their_context(record: ClientRecord) -> Iterator[Finding]:
    """Look at every request: its `_meta` names the revision and the client's capabilities."""
    for request in _requests(record):
        meta = meta_of(request)
        if not isinstance(meta.get(_VERSION), str):
            yield fault(f"{request.method}: _meta has no {_VERSION}", request.raw, path="params._meta")
        if not isinstance(meta.get(_CAPABILITIES), dict):
            yield fault(f"{request.method}: _meta has no {_CAPABILITIES}", request.raw, path="params._meta")


@watched("meta-client-info-client", scenario="plain", recorded="messages")
def requests_name_the_client(record: ClientRecord) -> Iterator[Finding]:
    """Look at every request: its `_meta` says the name and the version of the client."""
    for request in _requests(record):
        who = meta_of(request).get(_INFO)
        if not isinstance(who, dict) or not all(isinstance(who.get(name), str) for name in ("name", "version")):
            yield fault(f"{request.method} does not say who the client is", request.raw, path="params._meta")


@watched("meta-capabilities-each-request-client", scenario="plain", recorded="conversation")
def capabilities_are_repeated(record: ClientRecord) -> Iterator[Finding]:
    """Look at every request that may be answered with a question: it declares what the others declare."""
    found = [each for each in _requests(record) if each.method in ("tools/call", "prompts/get", "resources/read")]
    asking = ("elicitation", "sampling", "roots")
    every = {name for each in _requests(record) for name in asking if name in capabilities_in(each)}
    seen(sorted(every), "the client declares nothing that it can be asked")
    for request in seen(found, "the client sent no request that may be answered with a question"):
        missing = every - set(capabilities_in(request))
        if missing and _CAPABILITIES in meta_of(request):
            yield fault(
                f"{request.method} does not declare {', '.join(sorted(missing))}", request.raw, path="params._meta"
            )


@watched("versioning-extension-ids-client", scenario="plain", recorded="messages")
def extensions_have_prefixes(record: ClientRecord) -> Iterator[Finding]:
    """Look at the extensions that the client declares: their names have a prefix, their values are objects."""
    entries = [(key, value, each) for each in _requests(record) for key, value in _extensions(each)]
    for key, value, request in seen(entries, "the client declares no extensions"):
        if not PREFIXED_KEY.fullmatch(key):
            yield fault(f"the extension {key!r} has no prefix", request.raw)
        if not isinstance(value, dict):
            yield fault(f"the extension {key!r} is not an object", request.raw)


def _extensions(request: Message) -> list[tuple[str, Any]]:
    found = capabilities_in(request).get("extensions")
    return list(found.items()) if isinstance(found, dict) else []


@watched("versioning-removed-methods-client", scenario="plain", recorded="conversation")
def removed_methods_are_not_sent(record: ClientRecord) -> Iterator[Finding]:
    """Look at every message to a server of the modern era: it is none of the methods that were removed."""
    modern = [
        connection
        for connection in record.connections
        if connection.dialect is not None and not connection.dialect.handshake
    ]
    for connection in seen(modern, "no revision was agreed"):
        for message in connection.said:
            if message.kind in ("request", "notification") and message.method in _REMOVED - _ELSEWHERE:
                yield fault(f"{message.method} was sent, but this revision no longer has it", message.raw)


_ELSEWHERE = {"notifications/roots/list_changed"}  # has a requirement of its own


@watched("base-meta-key-format-client", recorded="messages")
def meta_keys_follow_the_grammar(record: ClientRecord) -> Iterator[Finding]:
    """Look at every key in `_meta`: an optional prefix of labels with dots and a slash, then a name."""
    for key, message in _keys(record):
        if not KEY.fullmatch(key):
            yield fault(f"{key!r} is not a key for _meta", message.raw, path="params._meta")


@watched("base-meta-reserved-prefix-client", recorded="messages")
def reserved_prefixes_are_left_alone(record: ClientRecord) -> Iterator[Finding]:
    """Look at every key in `_meta` whose prefix is reserved for MCP: it is one that MCP defines."""
    dialect = record.dialect or NEWEST_MODERN
    for key, message in _keys(record):
        if is_reserved(key, dialect):
            yield fault(f"the prefix of {key!r} is reserved for MCP", message.raw, path="params._meta")


def _keys(record: ClientRecord) -> list[tuple[str, Message]]:
    calls = [each for each in record.said if each.kind in ("request", "notification")]
    found = [(key, each) for each in calls for key in meta_of(each)]
    return seen(found, "the client sent no _meta")


@watched("versioning-client-probe-stdio", scenario="plain")
def servers_are_asked_first(record: ClientRecord) -> Iterator[Finding]:
    """Look at the first message on stdio: it is server/discover."""
    first = _requests(record)[0]
    if first.method != "server/discover":
        yield fault(f"the first request is {first.method}, not server/discover", first.raw)


@watched("versioning-discover-optional-client", scenario="plain")
def discovery_is_optional(record: ClientRecord) -> Iterator[Finding]:
    """Look whether the client calls a method before server/discover, or without it: it may, and is answered."""
    if _requests(record)[0].method == "server/discover":
        raise NotSeen("the client begins with server/discover")
    yield from ()


@watched("versioning-client-caches-era", scenario="plain", recorded="conversation")
def the_era_is_asked_for_once(record: ClientRecord) -> Iterator[Finding]:
    """Look at all requests of a connection: server/discover is not sent before each of them."""
    seen(record.requests("server/discover"), never("server/discover"))
    if record.recorded and record.connection.transport != "stdio":
        raise NotSeen("a recording does not tell where a client without a session begins again")
    repeated = False
    for connection in record.connections:
        found = connection.requests("server/discover")
        # One whose revision was refused asks again with another, and so it should.
        probes = max(Counter(str(meta_of(each).get(_VERSION)) for each in found).values(), default=0)
        others = len(connection.requests()) - len(found)
        repeated = repeated or others > 1
        if probes > 1 and probes >= others > 1:
            yield fault(f"server/discover was sent {probes} times for {others} requests")
    if not repeated:
        raise NotSeen("the client made a single request after server/discover")


_FALLBACKS = ("legacy-32601", "legacy-32602", "legacy-0")


@watched("versioning-client-fallback-not-code-keyed", scenario=_FALLBACKS)
def any_error_means_the_old_era(record: ClientRecord) -> Iterator[Finding]:
    """Answer the first request with -32601, -32602 and 0 in turn: a client of both eras sends initialize each time."""
    if "refused" not in record.moments:
        raise NotSeen("the client sent no request of the modern era")
    fell_back = {
        name: bool(other.requests("initialize")) for name, other in record.others.items() if name in _FALLBACKS
    }
    if not any(fell_back.values()):
        raise NotSeen("the client speaks the modern era only")
    if not fell_back[record.name]:
        code = record.name.removeprefix("legacy-")
        yield fault(f"the client did not send initialize after the error {'-' if code != '0' else ''}{code}")


@watched("versioning-client-fallback-on-silence", scenario="legacy-silence")
def silence_means_the_old_era(record: ClientRecord) -> Iterator[Finding]:
    """Do not answer the first request: a client of both eras sends initialize after a while."""
    if "refused" not in record.moments:
        raise NotSeen("the client sent no request of the modern era")
    if record.requests("initialize"):
        return
    silence = record.ended_at - record.moments["refused"]
    if record.exit_code is None and silence < _REASONABLE_SILENCE:
        raise NotSeen(f"{INCONCLUSIVE}: the client was ended after {silence:.0f} s of silence, too soon (--timeout)")
    if not any(each.requests("initialize") for each in record.others.values()):
        raise NotSeen("the client speaks the modern era only")
    yield fault(f"the client did not send initialize within {silence:.0f} s of silence")


@watched("versioning-client-modern-only-probe", scenario="legacy-32601")
def old_servers_are_told_apart(record: ClientRecord) -> Iterator[Finding]:
    """Be a server of the handshake era: a client of the modern era ends with an error, and does not hang."""
    if record.requests("initialize"):
        raise NotSeen("the client speaks both eras")
    if record.exit_code is None:
        yield fault("the client hangs with a server of the handshake era")


@watched("versioning-client-no-initialize-after-modern-error", scenario="future-server")
def modern_errors_mean_the_modern_era(record: ClientRecord) -> Iterator[Finding]:
    """Answer the first request with -32022: the client does not send initialize, since that server is a modern one."""
    if "refused" not in record.moments:
        raise NotSeen("the client made no request")
    for request in record.requests("initialize"):
        if len(record.requests()) > 1:
            yield fault(f"initialize was sent after the error {UNSUPPORTED_VERSION}", request.raw)
            return


@watched("versioning-client-retries-supported", scenario="future-server")
def without_a_common_revision_it_ends(record: ClientRecord) -> Iterator[Finding]:
    """Speak only a revision that does not exist yet: the client does not try again without end, but ends."""
    if "refused" not in record.moments:
        raise NotSeen("the client made no request")
    if len(record.requests()) > 10:
        yield fault(f"the client asked {len(record.requests())} times, although there is no common revision")
    if record.plain is not None and record.plain.exit_code == 0 and record.exit_code == 0:
        yield fault("the client ended with exit code 0, although there is no common revision", record.last_words())


@watched("versioning-client-http-400-inspects-body", scenario=("bare-400", "future-server"))
def the_body_of_400_is_read(record: ClientRecord) -> Iterator[Finding]:
    """Answer with 400 and a page: a client of both eras sends initialize; with -32022 in the body it does not."""
    if "refused" not in record.moments:
        raise NotSeen("the client made no request")
    initialized = bool(record.requests("initialize"))
    if record.name == "bare-400" and not initialized:
        raise NotSeen("the client speaks the modern era only")
    if record.name == "future-server" and initialized and len(record.requests()) > 1:
        yield fault(f"initialize was sent after 400 with the error {UNSUPPORTED_VERSION}")


@watched("deprecated-features-client", scenario="plain", recorded="messages")
def deprecated_features_are_left_out(record: ClientRecord) -> Iterator[Finding]:
    """Look at what the client declares: roots, sampling and logLevel are deprecated."""
    declared = {name for each in _requests(record) for name in ("roots", "sampling") if name in capabilities_in(each)}
    for name in sorted(declared):
        yield fault(f"the client declares {name}, which is deprecated")
    if any(f"{META}logLevel" in meta_of(each) for each in _requests(record)):
        yield fault("the client asks for log messages, which are deprecated")
