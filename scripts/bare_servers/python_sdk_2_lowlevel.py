import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

GREET = types.Tool(
    name="greet",
    description="Greet by name.",
    input_schema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
)


async def list_tools(_context: object, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    if params is not None and params.cursor is not None:
        raise MCPError(code=types.INVALID_PARAMS, message="unknown cursor")
    return types.ListToolsResult(tools=[GREET])


async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name != "greet":
        raise MCPError(code=types.INVALID_PARAMS, message="unknown tool")
    name = (params.arguments or {}).get("name")
    if not isinstance(name, str):
        told = types.TextContent(type="text", text="name must be a string")
        return types.CallToolResult(content=[told], is_error=True)
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"Hello, {name}!")])


async def main() -> None:
    server = Server("hello", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(main)
