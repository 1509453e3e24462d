"""The `transport` of a server file: how clients reach the server, and which eras they may speak there."""

import re
from typing import Any

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes, read_all
from mcp_conductor.protocol.dialect import DIALECTS, HANDSHAKE, MODERN
from mcp_conductor.protocol.message import render
from mcp_conductor.server.config import ANY_PORT, DEFAULT_HOST, TRANSPORTS, TransportConfig, TransportType
from mcp_conductor.values import dataclass

_OTHER_NAMES = {  # as settings of clients call them
    "http": "Streamable HTTP is 'streamable-http'",
    "https": "Streamable HTTP is 'streamable-http'; it has no TLS here",
    "http+sse": "HTTP+SSE is 'sse'",
}

TRANSPORT_KEYS = {
    "type": "stdio, streamable-http or sse (required)",
    "modern": "which eras are served: true for both, or {legacy: stateless} or {legacy: reject}; default false",
    "host": "where to listen; default 127.0.0.1",
    "port": "where to listen; default any port that is free",
    "path": "the path of the URL; default /mcp, for sse /sse",
    "json": "answer with JSON instead of event streams",
    "stateless": "no sessions for clients of the handshake era",
    "resumable": "whether a client that lost its connection can continue with Last-Event-ID; default true",
    "retry": "milliseconds after which clients should come back to a stream that was closed",
    "allowedHosts": "other values of Host that are accepted",
    "allowedOrigins": "other values of Origin that are accepted",
    "strictPort": "understood, as in the Inspector's files; a port that is in use is always an error",
}
_HTTP_ONLY = tuple(TRANSPORT_KEYS)[2:]
MODERN_KEYS = ("legacy", "injectSpecErrors")
LEGACY = ("stateless", "reject")
_ORIGIN = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?/?")
_ORIGIN_OF_APP = re.compile(r"null|((?!(?i:https?):)[A-Za-z][A-Za-z0-9+.-]*://[^/?#@*\s]*)/?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What the command line says in place of the file."""

    transport: TransportType | None = None
    host: str | None = None
    port: int | None = None
    allowed_hosts: tuple[str, ...] = ()  # besides those of the file

    def check_stdio(self) -> None:
        """Refuse what says where to listen: on stdio, nothing listens."""
        if self.host is not None or self.port is not None or self.allowed_hosts:
            flags = "--host, --port and --allow-host"
            raise UsageError(f"{flags} have no meaning for stdio", hint="add --transport streamable-http")


@dataclass(frozen=True, slots=True)
class Reach:
    """Where the server is, the revisions that it speaks there, and whether presets may break the rules of them."""

    transport: TransportConfig = TransportConfig(type="stdio")
    versions: tuple[str, ...] = HANDSHAKE
    injects_errors: bool = False


def read_reach(root: Field, given: Field | None, over: Overrides) -> Reach:
    """What GIVEN, the `transport` in ROOT, and the command line say."""
    if given is None and over.transport is None:
        root.refuse("has no transport: transport.type is required", "transport: {type: stdio}")
    mistakes = Mistakes()
    known = {} if given is None else given.members(tuple(TRANSPORT_KEYS), mistakes=mistakes)
    if given is not None and "type" not in known and over.transport is None:
        mistakes.tell()
        given.refuse("has no type: transport.type is required", f"one of {', '.join(TRANSPORTS)}")
    kind: Any = over.transport or mistakes.read(known["type"], _type, "")
    if kind == "stdio" and over.transport is None:
        for key in _HTTP_ONLY:
            if key in known:
                hint = "leave it out, or serve over HTTP: type: streamable-http"
                mistakes.add(known[key].mistake("has no meaning for stdio", hint))
        mistakes.tell()
    if kind == "stdio":
        over.check_stdio()
    if kind == "sse" and over.transport is None and "modern" in known and known["modern"].value is not False:
        hint = "leave it out: HTTP+SSE is of the handshake era; or serve both eras: type: streamable-http"
        mistakes.add(known["modern"].mistake("has no meaning for sse", hint))
    versions, stateless, inject = mistakes.read(known.get("modern"), _modern, (HANDSHAKE, False, False))

    def switch(key: str, *, otherwise: bool) -> bool:
        return mistakes.read(known.get(key), Field.boolean, otherwise=otherwise)

    transport = TransportConfig(
        type=kind,
        host=over.host or mistakes.read(known.get("host"), Field.text, DEFAULT_HOST),
        port=_port(known.get("port"), over, mistakes),
        path=mistakes.read(known.get("path"), _path, "/sse" if kind == "sse" else "/mcp"),
        json=switch("json", otherwise=False),
        stateless=(switch("stateless", otherwise=False) or stateless) and kind == "streamable-http",
        resumable=switch("resumable", otherwise=True),
        retry=mistakes.read(known.get("retry"), Field.integer, None),
        allowed_hosts=(*mistakes.read(known.get("allowedHosts"), _texts, ()), *over.allowed_hosts),
        allowed_origins=mistakes.read(known.get("allowedOrigins"), _origins, ()),
    )
    mistakes.tell()
    return Reach(transport, versions, inject)


def _type(given: Field) -> str:
    if isinstance(given.value, str) and (hint := _OTHER_NAMES.get(given.value.lower())):
        given.refuse(f"must be one of {', '.join(TRANSPORTS)}, not {render(given.value)}", hint)
    return given.one_of(TRANSPORTS)


def _modern(given: Field) -> tuple[tuple[str, ...], bool, bool]:
    """What `modern` says: the revisions, whether the older ones have no sessions, whether presets inject errors.

    Without it a server begins with a handshake, as do those that the Inspector's older files were written for.
    """
    if isinstance(given.value, bool):
        return tuple(DIALECTS) if given.value else HANDSHAKE, False, False
    known = given.members(MODERN_KEYS)
    legacy = known["legacy"].one_of(LEGACY) if "legacy" in known else "stateless"
    versions = MODERN if legacy == "reject" else tuple(DIALECTS)
    inject = known["injectSpecErrors"].boolean() if "injectSpecErrors" in known else False
    return versions, legacy == "stateless", inject


def _port(given: Field | None, over: Overrides, mistakes: Mistakes) -> int:
    if over.port is not None:
        return over.port
    return mistakes.read(given, lambda field: field.integer(0, 65535), ANY_PORT)


def _texts(given: Field) -> tuple[str, ...]:
    return tuple(read_all(Field.text, given.items()))


def _origins(given: Field) -> tuple[str, ...]:
    return tuple(read_all(_origin, given.items()))


def _origin(given: Field) -> str:
    """An origin as browsers send it: in lower case, without the default port, and with nothing after the host."""
    written = given.text()
    if (app := _ORIGIN_OF_APP.fullmatch(written)) is not None:  # its host may have capitals
        return app[1] or written
    found = _ORIGIN.fullmatch(written.lower())
    if found is None:
        given.refuse(f"is {written!r}, which no Origin of a request can equal", _origin_hint(written))
    scheme, host, port = found[1], found[2], found[3] or ""
    return f"{scheme}://{host}{'' if port == _DEFAULT_PORTS[scheme] else port}"


def _origin_hint(text: str) -> str:
    if "*" in text:
        return "there are no wildcards: name each origin, as in https://app.example.com"
    if "://" not in text and _ORIGIN.fullmatch(f"https://{text.lower()}"):
        return f"it has no scheme: https://{text.rstrip('/')}"
    return "an origin is a scheme, a host and at most a port, as in https://app.example.com"


def _path(given: Field) -> str:
    if not given.text().startswith("/"):
        given.refuse(f"must begin with a slash, not {given.text()!r}")
    return given.text()
