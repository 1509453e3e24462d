"""The library over Streamable HTTP, correct or with one defect.

usage: serve.py [DEFECT]     prints its URL, then serves until it is ended; `serve.py --list` names the defects

It answers with JSON, or with an event stream where something comes before the result.
"""

import json
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from broken import DEFECTS
from library import VERSIONS, Json, Library


class Handler(BaseHTTPRequestHandler):
    """HTTP around a library: one POST for each message."""

    protocol_version = "HTTP/1.1"
    kind: type[Library] = Library
    sessions: ClassVar[dict[str, Library]] = {}

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/mcp":
            return self.answer(404)
        if not self.kind().origin_allowed(self.headers.get("Origin")):
            return self.answer(403, error(-32600, "this origin is not allowed"))
        if not {"application/json", "text/event-stream"} <= set(media_types(self.headers.get("Accept", ""))):
            return self.answer(406, error(-32600, "accept application/json and text/event-stream"))
        if self.headers.get("MCP-Protocol-Version", VERSIONS[0]) not in VERSIONS:
            return self.answer(400, error(-32600, "unknown MCP-Protocol-Version"))
        try:
            message = json.loads(body)
        except ValueError:
            return self.answer(400, error(-32700, "not JSON"))
        return self.take(message)

    def take(self, message: Any) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or message.get("id", 0) is None:
            return self.answer(400, error(-32600, "not a message"))
        if "method" not in message and not {"result", "error"} & set(message):
            return self.answer(400, error(-32600, "neither a method nor a result"))
        if "method" not in message or "id" not in message:
            return self.answer(202)
        session = self.headers.get("Mcp-Session-Id")
        if message["method"] == "initialize":
            session = uuid.uuid4().hex
            self.sessions[session] = self.kind()
        if session not in self.sessions:
            return self.answer(404 if session else 400, error(-32600, "no such session"))
        if not isinstance(message.get("params", {}), dict):
            return self.answer(200, {**error(-32602, "params must be an object"), "id": message["id"]})
        reply, before = self.sessions[session].reply(message)
        opened = {"Mcp-Session-Id": session} if message["method"] == "initialize" else {}
        return self.stream([*before, reply]) if before else self.answer(200, reply, **opened)

    def do_GET(self) -> None:
        self.answer(405)

    def do_DELETE(self) -> None:
        ended = self.sessions.pop(self.headers.get("Mcp-Session-Id", ""), None)
        self.answer(404 if ended is None else 204)

    def answer(self, status: int, message: Json | None = None, **headers: str) -> None:
        self.send(status, "application/json", json.dumps(message).encode() if message else b"", headers)

    def stream(self, messages: list[Json]) -> None:
        events = "".join(f"event: message\ndata: {json.dumps(message)}\n\n" for message in messages)
        self.send(200, "text/event-stream", events.encode(), {})

    def send(self, status: int, kind: str, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def media_types(accept: str) -> list[str]:
    return [part.split(";")[0].strip() for part in accept.split(",")]


def error(code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}


class Host(ThreadingHTTPServer):
    """A client that goes away is nothing to tell."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


def main(defect: str = "") -> None:
    if defect == "--list":
        print("\n".join(f"{name:22} {' '.join((each.__doc__ or '').split())}" for name, each in DEFECTS.items()))
        return
    Handler.kind = DEFECTS[defect] if defect else Library
    server = Host(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
