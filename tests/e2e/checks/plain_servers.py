"""The servers of tests/servers/plain.py with one rule broken, on stdio and over HTTP; and our own, composed from a file."""

import json
import re
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests import prefork
from tests.e2e.server.peers import SERVE
from tests.servers import plain

from mcp_conductor.protocol.server_spec import HttpSpec

AREA = ("base", "errors", "batching", "lifecycle", "versioning", "request-meta")
READS = {"readOnlyHint": True}
CONFIG = {
    "serverInfo": {"name": "composed", "version": "1", "title": "Composed"},
    "instructions": "Look around.",
    "tools": [
        {"name": "look", "inputSchema": {"type": "object"}, "annotations": READS, "result": "nothing"},
        {
            "name": "wonder",
            "inputSchema": {"type": "object"},
            "annotations": READS,
            "steps": [
                {"log": "wondering"},
                {"elicit": {"message": "?", "schema": {"type": "object", "properties": {}}}},
            ],
            "result": "something",
        },
    ],
    "prompts": [{"preset": "args_prompt"}],
    "logging": True,
}


def broken(directory, base, body="pass"):
    """The command line of a server that overrides what stands in BODY."""
    file = directory / "broken.py"
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    file.write_text(f"from plain import *\n\nclass Broken({base}):\n{lines}\n\nBroken().run()\n")
    return (sys.executable, str(file))


def composed(directory, **members):
    """The command line of a server of our own."""
    file = directory / "composed.json"
    file.write_text(json.dumps({**CONFIG, "transport": {"type": "stdio", "modern": True}, **members}))
    return prefork.command((*SERVE, str(file)))


@contextmanager
def composed_http(directory):
    """A server of our own, at a URL."""
    command = composed(directory, transport={"type": "streamable-http", "port": 0, "modern": True})
    with prefork.start(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            port = re.search(r":(\d+)/", process.stderr.readline())[1]
            yield HttpSpec(url=f"http://127.0.0.1:{port}/mcp")
        finally:
            process.terminate()


class OverHttp:
    """What makes a server of tests/servers/plain.py answer POSTs: all that it says is the body, with a status."""

    headers = {}  # of each answer
    content_type = "application/json"

    def answer_post(self, body):
        self.said = []
        self.hear(body)
        return self.status(self.said), self.said[0] if self.said else b""

    def answer_get(self):
        return 405, b""

    def write(self, data):
        self.said.append(data)

    def status(self, said):
        code = json.loads(said[0]).get("error", {}).get("code") if said and said[0].startswith(b"{") else None
        return 202 if not said else 404 if code == -32601 and isinstance(self, plain.Modern) else 400 if code else 200

    def take_batch(self, batch):
        if any("id" in each for each in batch):
            super().take_batch(batch)


class PlainHttp(OverHttp, plain.Plain):
    pass


class ModernHttp(OverHttp, plain.Modern):
    pass


@contextmanager
def over_http(server):
    """SERVER at a URL, for one request at a time."""
    lock = threading.Lock()

    class Front(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                self.reply(*server.answer_post(body))

        def do_GET(self):
            self.reply(*server.answer_get())

        def do_DELETE(self):
            self.reply(200, b"")

        def reply(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", server.content_type)
            for name, value in server.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Front)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    try:
        yield HttpSpec(url=f"http://127.0.0.1:{listening.server_port}/mcp", fall_back=False)
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()
