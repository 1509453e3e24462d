"""A correct MCP server on the standard library alone: what it answers. How it is reached stands in serve.py."""

import json
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]

VERSIONS = ("2025-03-26", "2025-06-18", "2025-11-25")
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
BOOKS = {"emma": "Emma", "dune": "Dune", "ulysses": "Ulysses"}
SEARCH = {
    "name": "search",
    "description": "Titles that contain a text",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "outputSchema": {
        "type": "object",
        "properties": {"titles": {"type": "array", "items": {"type": "string"}}},
        "required": ["titles"],
    },
    "annotations": {"readOnlyHint": True},
}
COUNT = {
    "name": "count",
    "description": "Counts the books, one by one",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}
PROMPT = {"name": "review", "arguments": [{"name": "title", "required": True}]}


class Refusal(Exception):  # noqa: N818  # what happens, not what kind of class it is
    """An error of JSON-RPC: its code and its message."""


class Library:
    """The correct server. Each method of MCP is a method of this class."""

    def __init__(self) -> None:
        self.level = "debug"
        self.notes: list[Json] = []  # what is sent before the result
        self.methods = {
            "initialize": self.initialize,
            "ping": self.ping,
            "logging/setLevel": self.set_level,
            "tools/list": self.list_tools,
            "tools/call": self.call_tool,
            "resources/list": self.list_resources,
            "resources/templates/list": self.list_templates,
            "resources/read": self.read,
            "prompts/list": self.list_prompts,
            "prompts/get": self.get_prompt,
            "completion/complete": self.complete,
        }

    def reply(self, request: Json) -> tuple[Json, list[Json]]:
        """The reply, and what is sent before it."""
        self.notes = []
        try:
            answer = {"result": self.method(request["method"])(request.get("params", {}))}
        except Refusal as refusal:
            code, message = refusal.args
            answer = {"error": {"code": code, "message": message}}
        return {"jsonrpc": "2.0", "id": self.id_of(request), **answer}, self.notes

    def id_of(self, request: Json) -> Any:
        return request["id"]

    def method(self, name: str) -> Any:
        if name not in self.methods:
            raise Refusal(-32601, f"method not found: {name}")
        return self.methods[name]

    def origin_allowed(self, origin: str | None) -> bool:
        return origin is None or urlsplit(origin).hostname in ("127.0.0.1", "localhost")

    def notify(self, method: str, **params: Any) -> None:
        self.notes.append({"jsonrpc": "2.0", "method": method, "params": params})

    def initialize(self, params: Json) -> Json:
        asked = wanted(params, "protocolVersion")
        version = asked if asked in VERSIONS else VERSIONS[-1]
        info = {"name": "library", "version": "1.0.0"}
        return {"protocolVersion": version, "capabilities": self.capabilities(), "serverInfo": info}

    def capabilities(self) -> Json:
        return {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}}

    def ping(self, _params: Json) -> Json:
        return {}

    def set_level(self, params: Json) -> Json:
        if params.get("level") not in LEVELS:
            raise Refusal(-32602, "unknown level")
        self.level = params["level"]
        return {}

    def list_tools(self, params: Json) -> Json:
        return {"tools": first_page([SEARCH, COUNT], params)}

    def list_resources(self, params: Json) -> Json:
        found = [{"uri": f"book://{key}", "name": title} for key, title in BOOKS.items()]
        return {"resources": first_page(found, params)}

    def list_templates(self, params: Json) -> Json:
        return {"resourceTemplates": first_page([{"uriTemplate": "book://{key}", "name": "a book"}], params)}

    def list_prompts(self, params: Json) -> Json:
        return {"prompts": first_page([PROMPT], params)}

    def call_tool(self, params: Json) -> Json:
        name, arguments = wanted(params, "name"), params.get("arguments", {})
        if name not in ("search", "count") or not isinstance(arguments, dict):
            raise Refusal(-32602, f"no such call: {name}")
        return self.search(arguments) if name == "search" else self.count(params.get("_meta", {}).get("progressToken"))

    def search(self, arguments: Json) -> Json:
        text = arguments.get("text")
        if not isinstance(text, str):
            return {"content": [{"type": "text", "text": "text must be a string"}], "isError": True}
        return self.found([title for title in BOOKS.values() if text.lower() in title.lower()])

    def found(self, titles: list[str]) -> Json:
        found = {"titles": titles}
        return {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found}

    def count(self, token: Any) -> Json:
        for number in self.steps():
            if token is not None:
                self.notify("notifications/progress", progressToken=token, progress=number, total=len(BOOKS))
        if LEVELS.index(self.level) <= LEVELS.index("info"):
            self.log("counted")
        return {"content": [{"type": "text", "text": str(len(BOOKS))}]}

    def steps(self) -> list[int]:
        return [1, 2, 3]

    def log(self, text: str) -> None:
        self.notify("notifications/message", level="info", logger="library", data=text)

    def read(self, params: Json) -> Json:
        uri = wanted(params, "uri")
        key = uri.removeprefix("book://")
        if key not in BOOKS:
            raise Refusal(-32002, f"resource not found: {uri}")
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": BOOKS[key]}]}

    def get_prompt(self, params: Json) -> Json:
        title = wanted(params.get("arguments", {}), "title") if wanted(params, "name") == "review" else None
        if title is None:
            raise Refusal(-32602, "unknown prompt")
        return {"messages": [{"role": "user", "content": {"type": "text", "text": f"Review {title}."}}]}

    def complete(self, params: Json) -> Json:
        ref, argument = params.get("ref", {}), params.get("argument", {})
        known = ref.get("name") == "review" or ref.get("uri") == "book://{key}"
        if not known or "name" not in argument or "value" not in argument:
            raise Refusal(-32602, "nothing to complete")
        values = [key for key in BOOKS if key.startswith(argument["value"])]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def wanted(params: Json, key: str) -> str:
    """A text that must be there."""
    if not isinstance(params, dict) or not isinstance(params.get(key), str):
        raise Refusal(-32602, f"{key} must be a string")
    return str(params[key])


def first_page(items: list[Json], params: Json) -> list[Json]:
    """All items: there is one page, so that no cursor is known."""
    if "cursor" in params:
        raise Refusal(-32602, "unknown cursor")
    return items
