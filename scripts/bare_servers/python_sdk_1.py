from mcp.server.fastmcp import FastMCP

server = FastMCP("hello")


@server.tool()
def greet(name: str) -> str:
    """Greet by name."""
    return f"Hello, {name}!"


@server.resource("hello://world")
def world() -> str:
    """The world."""
    return "Hello, world!"


@server.prompt()
def greeting(name: str) -> str:
    """Ask for a greeting."""
    return f"Greet {name}."


server.run()
