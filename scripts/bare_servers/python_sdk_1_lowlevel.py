import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import McpError

server = Server("hello", version="1.0.0")
GREET = types.Tool(
    name="greet",
    description="Greet by name.",
    inputSchema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
)


@server.list_tools()
async def list_tools(request: types.ListToolsRequest) -> types.ListToolsResult:
    if request.params is not None and request.params.cursor is not None:
        raise McpError(types.ErrorData(code=types.INVALID_PARAMS, message="unknown cursor"))
    return types.ListToolsResult(tools=[GREET])


@server.call_tool()
async def call_tool(name: str, arguments: dict) -> list[types.TextContent]:
    if name != "greet":
        raise McpError(types.ErrorData(code=types.INVALID_PARAMS, message="unknown tool"))
    return [types.TextContent(type="text", text=f"Hello, {arguments['name']}!")]


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(main)
