"""A small file server: it reads and lists the files below one directory, and nothing above it.

Plain Python, no dependencies: what a server does on stdio, in a hundred lines. usage: server.py [DIRECTORY]
"""

import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]

TOOLS: list[Json] = [
    {
        "name": "read_file",
        "description": "Reads the content of a file.",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    },
    {
        "name": "list",
        "description": "Lists the files of a directory.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        "outputSchema": {
            "type": "object",
            "properties": {"files": {"type": "array", "items": {"type": "string"}}},
            "required": ["files"],
        },
    },
]


class Refusal(Exception):  # noqa: N818  # an answer, not an accident
    """A request that cannot be answered: its code and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Files:
    """The files below ROOT."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def answer(self, method: str, params: Json) -> Json:
        match method:
            case "initialize":
                return {
                    "protocolVersion": params.get("protocolVersion", "2025-11-25"),
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "filesystem", "version": "1.0.0"},
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": TOOLS}
            case "tools/call":
                return self.call(str(params.get("name")), params.get("arguments") or {})
        raise Refusal(-32601, f"Method not found: {method}")

    def call(self, tool: str, arguments: Json) -> Json:
        path = arguments.get("path", ".")
        if not isinstance(path, str):
            return failure("path must be a string")
        place = (self.root / path).resolve()
        if not place.is_relative_to(self.root):
            return failure(f"Not below the root: {path}")
        match tool:
            case "read_file":
                return success(place.read_text()) if place.is_file() else failure(f"File not found: {path}")
            case "list":
                if not place.is_dir():
                    return failure(f"Directory not found: {path}")
                names = sorted(child.name for child in place.iterdir())
                return {**success(json.dumps(names)), "structuredContent": {"files": names}}
        raise Refusal(-32602, f"Unknown tool: {tool}")


def success(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def failure(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def main() -> None:
    files = Files(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply: Json = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            reply["result"] = files.answer(request["method"], request.get("params") or {})
        except Refusal as refusal:
            reply["error"] = {"code": refusal.code, "message": str(refusal)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
