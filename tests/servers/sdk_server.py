"""A server on the official Python SDK: an independent opinion on what the protocol is, in both eras."""

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


if __name__ == "__main__":
    server.run("stdio")
