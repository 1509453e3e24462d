from chuk_mcp_server import run, tool


@tool
def greet(name: str) -> str:
    """Greet by name."""
    return f"Hello, {name}!"


run(transport="stdio")
