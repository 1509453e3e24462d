"""A preset of our own: `{preset: books, params: {count: 3}}` below `tools` in a server file."""

from typing import Any

from mcp_conductor import Call, preset

TITLES = ("Emma", "Middlemarch", "Persuasion", "Romola")


@preset("tool")
def books(count: int = 4) -> dict[str, Any]:
    """A tool that lists books by an author."""

    def run(call: Call) -> dict[str, Any]:
        found = [{"title": title, "author": call.arguments["author"]} for title in TITLES[:count]]
        return {"content": [{"type": "text", "text": f"{len(found)} books"}], "structuredContent": {"books": found}}

    return {
        "name": "books",
        "description": "Lists books by an author",
        "inputSchema": {
            "type": "object",
            "properties": {"author": {"type": "string"}},
            "required": ["author"],
        },
        "run": run,
    }
