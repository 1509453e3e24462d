"""Flags of programs that are servers without a server file: how they are served."""

from typing import TYPE_CHECKING, Any

from mcp_conductor.cli.commands.serve.flags import ALLOW_HOST
from mcp_conductor.cli.flags import Flag, Given
from mcp_conductor.cli.flags.values import number
from mcp_conductor.errors import UsageError

if TYPE_CHECKING:
    from mcp_conductor.server.config import TransportConfig

_TRANSPORTS = {"stdio": "stdio", "streamable-http": "streamable-http", "http": "streamable-http", "sse": "sse"}


def serving_flags(default_port: str) -> tuple[Flag, ...]:
    """The flags; DEFAULT_PORT says what is done without --port."""
    return (
        Flag("--transport", "stdio (default), streamable-http or sse", "TRANSPORT", common=True),
        Flag("--host", "the address to listen on; default 127.0.0.1", "HOST"),
        Flag("--port", f"the port to listen on; {default_port}", "PORT", common=True),
        ALLOW_HOST,
        Flag("--token", "over HTTP: the bearer token that clients must send; @FILE or env:NAME", "SECRET", common=True),
    )


def served_transport(given: Given, default_port: int) -> "TransportConfig":
    """How clients reach the program, as the flags say."""
    from mcp_conductor.server.config import DEFAULT_HOST, TransportConfig
    from mcp_conductor.server.transport_file import Overrides

    kind = given.one("--transport") or "stdio"
    if kind not in _TRANSPORTS:
        raise UsageError(f"--transport takes stdio, streamable-http or sse, not {kind!r}")
    over = Overrides(
        host=given.one("--host"), port=number(given, "--port", 0, 65535), allowed_hosts=tuple(given.all("--allow-host"))
    )
    if kind == "stdio":
        over.check_stdio()
        if "--json" in given:
            raise UsageError(
                "--json requires HTTP: on stdio, stdout is for messages", hint="--transport streamable-http"
            )
        if "--token" in given:
            raise UsageError("--token has no meaning for stdio", hint="add --transport streamable-http")
    served: Any = _TRANSPORTS[kind]
    return TransportConfig(
        type=served,
        host=over.host or DEFAULT_HOST,
        port=default_port if over.port is None else over.port,
        allowed_hosts=over.allowed_hosts,
        path="/sse" if served == "sse" else "/mcp",
        token=_token(given),
    )


def _token(given: Given) -> str | None:
    token = given.one("--token")
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError("--token must be printable ASCII characters without spaces: no client can send another")
    return token
