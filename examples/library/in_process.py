"""Test a server without starting it: an application of the official SDK, called in this very process."""

import asyncio

from mcp.server import MCPServer

from mcp_conductor import connect

server = MCPServer("greeter")


@server.tool()
def greet(name: str) -> str:
    """Say hello."""
    return f"Hello, {name}!"


async def main() -> None:
    async with connect(server.streamable_http_app()) as session:
        told = await session.call_tool("greet", {"name": "Ada"})
        assert told.text == "Hello, Ada!"
        print(told.text)


if __name__ == "__main__":
    asyncio.run(main())
