#!/usr/bin/env python3
"""A small MCP server with only the standard library: a shelf of books.

It speaks the handshake revisions over stdio, and has a bit of everything: tools (one with an output schema), resources
and a template, a prompt, completion, logging and progress. Try it with `mcp-cli python examples/bookshelf.py …`.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

VERSIONS = ("2024-11-05", "2025-06-18", "2025-11-25")  # 2025-03-26 has batches, which are not read here
BOOKS: list[Json] = [
    {"title": "Middlemarch", "author": "George Eliot", "year": 1871},
    {"title": "The Left Hand of Darkness", "author": "Ursula K. Le Guin", "year": 1969},
    {"title": "A Pattern Language", "author": "Christopher Alexander", "year": 1977},
]
TOOLS: list[Json] = [
    {
        "name": "find_books",
        "description": "Books whose title or author contains the text",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "since": {"type": "integer"}},
            "required": ["text"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {"books": {"type": "array", "items": {"type": "object"}}},
            "required": ["books"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "count_pages",
        "description": "The pages of all books together; reports progress on the way",
        "inputSchema": {"type": "object", "properties": {"per_book": {"type": "number"}}},
    },
]
PROMPTS = [
    {
        "name": "recommend",
        "description": "Ask for a book to read",
        "arguments": [{"name": "mood", "description": "What you are in the mood for", "required": True}],
    }
]
MOODS = ["calm", "curious", "cheerful"]
TYPES: dict[str, Any] = {"string": str, "integer": int, "number": (int, float)}
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
logged = list(LEVELS)  # until the client asks for fewer


class RpcError(Exception):
    """A JSON-RPC error to answer with."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def initialize(params: Json) -> Json:
    METHODS.update(AFTER_INITIALIZE)
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}},
        "serverInfo": {"name": "bookshelf", "version": "1.0.0"},
        "instructions": "Ask for books with find_books.",
    }


def call_tool(params: Json) -> Json:
    arguments = params.get("arguments", {})
    tool = next((each for each in TOOLS if each["name"] == params.get("name")), None)
    if tool is None:
        raise RpcError(-32602, f"unknown tool: {params.get('name')}")
    if not isinstance(arguments, dict):
        raise RpcError(-32602, "arguments must be an object")
    problem = misfit(arguments, tool["inputSchema"])
    if problem is not None:
        return {"content": [{"type": "text", "text": problem}], "isError": True}
    if tool["name"] == "find_books":
        return find_books(arguments["text"], arguments.get("since", 0))
    return count_pages(arguments.get("per_book", 300), (params.get("_meta") or {}).get("progressToken"))


def misfit(arguments: Json, schema: Json) -> str | None:
    """Why ARGUMENTS do not fit the SCHEMA of a tool; None if they do."""
    for name in schema.get("required", []):
        if name not in arguments:
            return f"{name} is missing"
    for name, member in schema["properties"].items():
        value = arguments.get(name)
        if name in arguments and (isinstance(value, bool) or not isinstance(value, TYPES[member["type"]])):
            return f"{name} must be of the type {member['type']}"
    return None


def find_books(text: str, since: int) -> Json:
    found = [
        book for book in BOOKS if text.lower() in f"{book['title']} {book['author']}".lower() and book["year"] >= since
    ]
    return {
        "content": [{"type": "text", "text": json.dumps({"books": found})}],
        "structuredContent": {"books": found},
    }


def count_pages(per_book: float, token: str | int | None) -> Json:
    pages = 0.0
    for number, book in enumerate(BOOKS, 1):
        pages += per_book
        if token is not None:
            progress = {"progressToken": token, "progress": number, "total": len(BOOKS), "message": book["title"]}
            send({"method": "notifications/progress", "params": progress})
    log("info", "counted")
    return {"content": [{"type": "text", "text": f"{pages:g} pages"}]}


def read_resource(params: Json) -> Json:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(-32602, "uri must be a string")
    number = uri.removeprefix("book://shelf/")
    if not number.isdigit() or int(number) >= len(BOOKS):
        raise RpcError(-32002, f"resource not found: {uri}")
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": json.dumps(BOOKS[int(number)])}]}


def get_prompt(params: Json) -> Json:
    if params.get("name") != "recommend":
        raise RpcError(-32602, f"unknown prompt: {params.get('name')}")
    mood = (params.get("arguments") or {}).get("mood")
    if not isinstance(mood, str):
        raise RpcError(-32602, "the argument mood must be a string")
    text = f"Which of these books fits a {mood} mood? {', '.join(str(book['title']) for book in BOOKS)}"
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def complete(params: Json) -> Json:
    ref, argument = params.get("ref") or {}, params.get("argument") or {}
    if "name" not in argument or ref.get("name", "recommend") != "recommend":
        raise RpcError(-32602, "there is nothing of this name to complete")
    values = [mood for mood in MOODS if mood.startswith(str(argument.get("value", "")))]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def set_level(params: Json) -> Json:
    if params.get("level") not in LEVELS:
        raise RpcError(-32602, f"unknown level: {params.get('level')}")
    logged[:] = LEVELS[LEVELS.index(params["level"]) :]
    return {}


def log(level: str, data: str) -> None:
    if level in logged:
        send({"method": "notifications/message", "params": {"level": level, "logger": "bookshelf", "data": data}})


def one_page(key: str, items: list[Json]) -> Callable[[Json], Json]:
    """A list that is short enough for one page, so that no cursor is ever given out."""

    def page(params: Json) -> Json:
        if "cursor" in params:
            raise RpcError(-32602, "unknown cursor")
        return {key: items}

    return page


RESOURCES = [{"uri": f"book://shelf/{number}", "name": book["title"]} for number, book in enumerate(BOOKS)]
TEMPLATES = [{"uriTemplate": "book://shelf/{number}", "name": "a book by its number"}]
METHODS: dict[str, Callable[[Json], Json]] = {"initialize": initialize, "ping": lambda _: {}}
AFTER_INITIALIZE: dict[str, Callable[[Json], Json]] = {
    "logging/setLevel": set_level,
    "tools/list": one_page("tools", TOOLS),
    "tools/call": call_tool,
    "resources/list": one_page("resources", RESOURCES),
    "resources/templates/list": one_page("resourceTemplates", TEMPLATES),
    "resources/read": read_resource,
    "prompts/list": one_page("prompts", PROMPTS),
    "prompts/get": get_prompt,
    "completion/complete": complete,
}


def result(request: Any) -> Json:
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0":
        raise RpcError(-32600, "not a message of JSON-RPC 2.0")
    if request.get("id") is None or not isinstance(request.get("method"), str):
        raise RpcError(-32600, "not a request")
    if request["method"] not in METHODS:
        raise RpcError(-32601, f"method not found: {request['method']}")
    return METHODS[request["method"]](request.get("params") or {})


def answer(line: str) -> None:
    """Answer the request in LINE; a notification has no answer."""
    number = None
    try:
        request = json.loads(line)
        if isinstance(request, dict):
            if "id" not in request:
                return
            number = request["id"]
        send({"id": number, "result": result(request)})
    except ValueError:
        send({"id": None, "error": {"code": -32700, "message": "not JSON"}})
    except RpcError as error:
        send({"id": number, "error": {"code": error.code, "message": str(error)}})


def send(message: Json) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for line in sys.stdin:
        answer(line)
