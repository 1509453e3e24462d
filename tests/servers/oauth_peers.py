"""Servers that want a token, with an authorization server of their own: the official SDK's, and FastMCP's."""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server import MCPServer
from mcp.server.auth.settings import AuthSettings

REGISTRATION = ClientRegistrationOptions(enabled=True)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main(kind: str, port: str) -> None:
    """Serve the one or the other, `sdk` or `fastmcp`, on PORT of 127.0.0.1, at /mcp."""
    origin = f"http://127.0.0.1:{port}"
    provider = InMemoryOAuthProvider(base_url=origin, client_registration_options=REGISTRATION)
    if kind == "fastmcp":
        server = FastMCP("fastmcp", auth=provider)
        server.tool(add)
        server.run("http", host="127.0.0.1", port=int(port), show_banner=False)
        return
    settings = AuthSettings(
        issuer_url=origin,
        resource_server_url=f"{origin}/mcp",
        client_registration_options=REGISTRATION,
        validate_token_resource=False,
    )
    official = MCPServer("sdk", auth_server_provider=provider, auth=settings)
    official.tool()(add)
    official.run("streamable-http", host="127.0.0.1", port=int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
