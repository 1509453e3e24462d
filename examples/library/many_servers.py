"""Many servers behind one bridge: one list of tools, calls by full name, and the health of each server."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp_conductor import Bridge, BridgeEvent, ConnectionLost, ServerDown

EXAMPLES = Path(__file__).parents[1]
SERVERS: dict[str, dict[str, Any]] = {
    "books": {"command": sys.executable, "args": [str(EXAMPLES / "bookshelf.py")]},
    "demo": {
        "command": sys.executable,
        "args": ["-m", "mcp_conductor", "serve", str(EXAMPLES / "servers" / "demo.json")],
    },
    "nowhere": {"url": "http://127.0.0.1:9/mcp"},
}


def watch(event: BridgeEvent) -> None:
    print(f"[{event.server} {event.kind}]")


async def main() -> None:
    async with Bridge(SERVERS, on_event=watch, patience=0.5) as bridge:
        for name, health in sorted(bridge.health().items()):
            print(f"{name}: {health.state}")
        tools = await bridge.list_tools()
        print(len(tools), "tools, among them", tools[0].full_name)
        print((await bridge.call_tool("demo/add", {"a": 2, "b": 40})).text)
        try:
            await bridge.call_tool("nowhere/anything")
        except ServerDown as error:
            print("not there:", error.context["server"])
        except ConnectionLost as error:
            print("interrupted:", error.message)


if __name__ == "__main__":
    asyncio.run(main())
