"""How the revisions of MCP differ: one row of data each, so that no other module compares version numbers.

Two eras: the handshake era opens with `initialize`; in the modern era there is no handshake, and every request carries
its version and the client's capabilities in `_meta`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from mcp_conductor.protocol import Json

META = "io.modelcontextprotocol/"
TASKS_EXTENSION = META + "tasks"
SKILLS_EXTENSION = META + "skills"
RELATED_TASK = META + "related-task"
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
# Only a server of the modern era answers with one of these (basic/versioning).
MODERN_CODES = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})

_LISTS_AND_CALLS = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "tools/call",
        "tools/list",
    }
)
_HANDSHAKE_METHODS = _LISTS_AND_CALLS | {
    "initialize",
    "logging/setLevel",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
}
_CORE_TASKS = frozenset({"tasks/cancel", "tasks/get", "tasks/list", "tasks/result"})
_EXTENSION_TASKS = frozenset({"tasks/cancel", "tasks/get", "tasks/update"})
_ASKS = frozenset({"ping", "roots/list", "sampling/createMessage"})
_FIRST_CONTENT = frozenset({"text", "image", "resource"})
_CONTENT = _FIRST_CONTENT | {"audio", "resource_link"}


class OAuthRules(NamedTuple):
    """What one revision wants of authorization, as far as the others differ."""

    resource: bool = True  # RFC 8707: tokens are asked for by the server's URL
    resource_metadata: bool = True  # RFC 9728: the server names the authorization servers that give out its tokens
    openid_discovery: bool = False  # the metadata of an authorization server may be that of OpenID Connect
    pkce_advertised: bool = False  # metadata without code_challenge_methods_supported is refused
    exact_issuer: bool = False  # issuers are compared letter by letter, and metadata that names another is refused
    offline_access: bool = False  # a refresh token is asked for where the authorization server lists the scope


_FIRST_OAUTH = OAuthRules(resource=False, resource_metadata=False)


class Dialect(NamedTuple):
    """One revision of the specification, as far as it differs from the others."""

    version: str
    handshake: bool  # initialize and initialized; otherwise `_meta` on every request
    methods: frozenset[str]  # what a client may ask of a server
    asks: frozenset[str]  # what a server may ask of a client, as requests or (modern) as inputRequests
    batches: bool = False  # JSON-RPC batches must be understood
    elicitation: Json | None = None  # the capability that says "we can answer every mode"
    sampling_tools: bool = False  # a server may offer tools to the model, if the client declares that it takes them
    empty_cursor: bool = False  # "" is a cursor like any other, not the end of the list
    http_session: bool = False  # has Streamable HTTP; servers may agree on a revision without it there too
    version_header: bool = False  # over HTTP: MCP-Protocol-Version on all requests after initialize
    input_rounds: frozenset[str] = frozenset()  # methods whose result may be input_required
    tasks: str | None = None  # "core": asked for by params.task; "extension": the server decides
    resource_not_found: int = RESOURCE_NOT_FOUND
    tool_argument_errors: bool = False  # arguments that do not fit are a tool result with isError, not a JSON-RPC error
    progress_message: bool = True  # a progress notification may carry a text
    priming_event: bool = False  # over HTTP: an event stream opens with an empty event, to resume from
    elicitation_id: bool = False  # elicitation by URL has an id, and is said to be complete under it
    completions: bool = True  # that a server completes arguments is a capability to be declared
    null_id: bool = False  # an error that answers no readable request has the id null; otherwise it has none
    cacheable: frozenset[str] = frozenset()  # methods whose results say how long they may be kept
    content: frozenset[str] = _CONTENT  # the types of content blocks
    icons: bool = False  # tools, resources, prompts and implementations may have icons
    schema_2020: bool = False  # a JSON Schema without $schema is of draft 2020-12
    reserved_before_last: bool = False  # `_meta`: mcp.dev/ is a reserved prefix; otherwise dev.mcp/ is
    oauth: OAuthRules = OAuthRules()
    messages_page: bool = False  # the site of the specification has basic/messages in place of basic
    schema_page: bool = True  # the site of the specification has a page for the schema

    def stamp(self, params: Json | None, context: Json) -> Json | None:
        """PARAMS with the `_meta` that this revision wants on every request; the caller's own `_meta` keys win."""
        if self.handshake:
            return params
        params = params or {}
        return {**params, "_meta": {**context, **(params.get("_meta") or {})}}

    def context(self, client: Json, capabilities: Json) -> Json:
        """The `_meta` by which a request of the modern era introduces itself."""
        return {
            f"{META}protocolVersion": self.version,
            f"{META}clientCapabilities": capabilities,
            f"{META}clientInfo": client,
        }


ROWS = (
    Dialect(
        version="2024-11-05",
        handshake=True,
        methods=_HANDSHAKE_METHODS,
        asks=_ASKS,
        progress_message=False,
        completions=False,
        null_id=True,
        content=_FIRST_CONTENT,
        oauth=_FIRST_OAUTH,
        messages_page=True,
        schema_page=False,
    ),
    Dialect(
        version="2025-03-26",
        handshake=True,
        methods=_HANDSHAKE_METHODS,
        asks=_ASKS,
        batches=True,
        http_session=True,
        null_id=True,
        content=_FIRST_CONTENT | {"audio"},
        oauth=_FIRST_OAUTH,
        schema_page=False,
    ),
    Dialect(
        version="2025-06-18",
        handshake=True,
        methods=_HANDSHAKE_METHODS,
        asks=_ASKS | {"elicitation/create"},
        elicitation={},
        http_session=True,
        null_id=True,
        version_header=True,
        reserved_before_last=True,
    ),
    Dialect(
        version="2025-11-25",
        handshake=True,
        methods=_HANDSHAKE_METHODS | _CORE_TASKS,
        asks=_ASKS | {"elicitation/create"},
        elicitation={"form": {}, "url": {}},
        sampling_tools=True,
        http_session=True,
        version_header=True,
        tasks="core",
        tool_argument_errors=True,
        priming_event=True,
        elicitation_id=True,
        icons=True,
        schema_2020=True,
        oauth=OAuthRules(openid_discovery=True, pkce_advertised=True),
    ),
    Dialect(
        version="2026-07-28",
        handshake=False,
        methods=_LISTS_AND_CALLS | _EXTENSION_TASKS | {"server/discover", "subscriptions/listen"},
        asks=(_ASKS - {"ping"}) | {"elicitation/create"},
        elicitation={"form": {}, "url": {}},
        sampling_tools=True,
        empty_cursor=True,
        input_rounds=frozenset({"tools/call", "prompts/get", "resources/read"}),
        tasks="extension",
        resource_not_found=INVALID_PARAMS,
        tool_argument_errors=True,
        cacheable=frozenset(
            {
                "prompts/list",
                "resources/list",
                "resources/read",
                "resources/templates/list",
                "server/discover",
                "tools/list",
            }
        ),
        icons=True,
        schema_2020=True,
        oauth=OAuthRules(openid_discovery=True, pkce_advertised=True, exact_issuer=True, offline_access=True),
    ),
)
DIALECTS = {dialect.version: dialect for dialect in ROWS}


def versions_with(trait: Callable[[Dialect], object]) -> tuple[str, ...]:
    """The revisions that have a TRAIT, the oldest first."""
    return tuple(dialect.version for dialect in ROWS if trait(dialect))


def versions_between(since: str, until: str | None = None) -> tuple[str, ...]:
    """The revisions SINCE one of them, UNTIL another that still belongs to them; without that, all that follow too."""
    versions = tuple(DIALECTS)
    return versions[versions.index(since) : None if until is None else versions.index(until) + 1]


HANDSHAKE = versions_with(lambda each: each.handshake)
MODERN = versions_with(lambda each: not each.handshake)
NEWEST_HANDSHAKE = DIALECTS[HANDSHAKE[-1]]
NEWEST_MODERN = DIALECTS[MODERN[-1]]
# What `--protocol` and `protocolVersion` accept besides a version.
PROTOCOL_CHOICES = ("handshake", "auto", "modern", *DIALECTS)
# What a server takes a request over HTTP for that names no revision (basic/transports#protocol-version-header).
WITHOUT_VERSION_HEADER = versions_with(lambda each: each.http_session and not each.version_header)[-1]


def named_in(params: Json) -> Dialect | None:
    """The revision that a request of the modern era names in its PARAMS, if we know it."""
    meta = params.get("_meta")
    return DIALECTS.get(str(meta.get(f"{META}protocolVersion"))) if isinstance(meta, dict) else None


def newest_common(versions: Any, known: tuple[str, ...]) -> Dialect | None:
    """The newest of the KNOWN versions that a peer also lists; None if there is none, or if VERSIONS is not a list."""
    if not isinstance(versions, list):
        return None
    return next((DIALECTS[version] for version in reversed(known) if version in versions), None)
