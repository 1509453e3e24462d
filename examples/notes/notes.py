"""Notes: an MCP server over stdio with two tools, and two mistakes that `conductor check` finds."""

import json
import sys
from typing import Any

Json = dict[str, Any]

NOTES = ["buy milk", "call Ada", "buy stamps"]
TOOLS = [
    {
        "name": "find_notes",
        "description": "Notes that contain a text",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "count_notes",
        "description": "How many notes there are",
        "annotations": {"readOnlyHint": True},
    },
]


class RpcError(Exception):
    """An error of JSON-RPC: its code and its message."""


def initialize(_params: Json) -> Json:
    info = {"name": "notes", "version": "1.0.0"}
    return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}


def list_tools(params: Json) -> Json:
    if "cursor" in params:
        raise RpcError(-32602, "unknown cursor")
    return {"tools": TOOLS}


def call_tool(params: Json) -> Json:
    name, arguments = params.get("name"), params.get("arguments", {})
    if name == "find_notes" and isinstance(arguments, dict):
        wanted = arguments.get("text")
        if not isinstance(wanted, str):
            return {"content": [{"type": "text", "text": "text must be a string"}], "isError": True}
        return {"content": [{"type": "text", "text": note} for note in NOTES if wanted in note]}
    if name == "count_notes":
        return {"content": [{"type": "text", "text": len(NOTES)}]}
    raise RpcError(-32602, f"unknown tool: {name}")


METHODS = {"initialize": initialize, "ping": lambda _: {}, "tools/list": list_tools, "tools/call": call_tool}


def result(message: Any) -> Json:
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(-32600, "not a message")
    if message.get("id") is None or "method" not in message:
        raise RpcError(-32600, "not a request")
    if message["method"] not in METHODS:
        raise RpcError(-32601, f"method not found: {message['method']}")
    return METHODS[message["method"]](message.get("params", {}))


def answer(line: str) -> Json | None:
    number = None
    try:
        message = json.loads(line)
        if isinstance(message, dict):
            if "id" not in message:
                return None  # a notification
            number = message["id"]
        reply = {"result": result(message)}
    except ValueError:
        reply = {"error": {"code": -32700, "message": "not JSON"}}
    except RpcError as error:
        reply = {"error": {"code": error.args[0], "message": error.args[1]}}
    return {"jsonrpc": "2.0", "id": number, **reply}


for line in sys.stdin:
    reply = answer(line)
    if reply is not None:
        print(json.dumps(reply), flush=True)
