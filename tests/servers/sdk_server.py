"""A server on the official Python SDK: an independent opinion on what the protocol is, in both eras."""

import sys

from mcp.server import MCPServer

server = MCPServer("sdk")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("on purpose")


@server.resource("test://static")
def static() -> str:
    """Some text."""
    return "fixed"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}"


def main(transport: str = "stdio", port: str = "0") -> None:
    """Serve on stdio, or over HTTP: `http` (answers as events), `json` (answers as JSON) or `sse` (the old transport)."""
    match transport:
        case "stdio":
            server.run("stdio")
        case "sse":
            server.run("sse", port=int(port))
        case _:
            server.run("streamable-http", port=int(port), json_response=transport == "json")


if __name__ == "__main__":
    main(*sys.argv[1:])
