from typing import Annotated

from arcade_mcp_server import MCPApp

app = MCPApp(name="hello", version="1.0.0")


@app.tool
def greet(name: Annotated[str, "Who to greet"]) -> Annotated[str, "The greeting"]:
    """Greet by name."""
    return f"Hello, {name}!"


app.run(transport="stdio")
