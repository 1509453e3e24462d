"""The server that `conductor serve` is compared with: the tool of echo.json on the official SDK's lowlevel server.

usage: sdk_lowlevel_server.py stdio | sse PORT | json PORT

Over Streamable HTTP its answers are event streams, or JSON. Nothing is logged.
"""

import logging
import sys

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server

ECHO = types.Tool(
    name="echo",
    description="Echo back the input message",
    input_schema={
        "type": "object",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"message": {"type": "string", "description": "Message to echo back"}},
        "required": ["message"],
    },
)


async def list_tools(_context, _params) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[ECHO])


async def call_tool(_context, params: types.CallToolRequestParams) -> types.CallToolResult:
    text = f"Echo: {params.arguments['message']}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def main(kind: str, port: str = "") -> None:
    logging.disable(logging.CRITICAL)
    server = Server("echo", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    if kind == "stdio":
        anyio.run(serve_stdio, server)
    else:
        serve_http(server, int(port), json_response=kind == "json")


async def serve_stdio(server: Server) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http(server: Server, port: int, *, json_response: bool) -> None:
    """As the SDK's own MCPServer does it, but without the log of every request."""
    import uvicorn

    app = server.streamable_http_app(json_response=json_response)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical", access_log=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
