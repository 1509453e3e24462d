"""Talk to one server: what it has, a call, a resource, and errors that a program can tell apart."""

import asyncio
import sys
from pathlib import Path

from mcp_conductor import ConductorError, MethodError, connect

BOOKSHELF = Path(__file__).parents[1] / "bookshelf.py"


async def main() -> None:
    async with connect({"command": sys.executable, "args": [str(BOOKSHELF)]}, timeout=10) as session:
        print(session.server["name"], "speaks", session.dialect.version)
        for tool in await session.list_tools():
            print("tool:", tool.name, "-", tool.description)

        found = await session.call_tool("find_books", {"text": "a"})
        print("found:", [book["title"] for book in found.structured["books"]])

        for resource in await session.list_resources():
            contents = await session.read_resource(resource.uri)
            print("resource:", resource.uri, contents.contents[0].mime_type)

        try:
            await session.call_tool("burn_books")
        except MethodError as error:
            print("refused:", error.code, error.error["message"])


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except ConductorError as error:
        sys.exit(f"{error.kind}: {error.message}")
