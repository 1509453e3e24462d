"""`conductor proxy` at an address, and the plainest client of it."""

import json
import re
import signal
import subprocess
from http.client import HTTPConnection
from urllib.parse import urlsplit

from tests import prefork
from tests.e2e.proxy.wire import CONDUCTOR, SOON

from mcp_conductor import read_recording

CALL = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "a"}}


def fault(name, when=None, **params):
    return {"fault": name, "params": params, "when": {"method": "tools/call", **(when or {})}}


class Proxy:
    """A program that lets things go wrong, and the plainest client of it."""

    def __init__(self, url, folder, faults, *flags):
        (folder / "faults.json").write_text(json.dumps({"faults": faults}))
        words = [*CONDUCTOR, "proxy", "--faults", "faults.json", "-o", "said.jsonl", url, *flags]
        self.process = prefork.start(words, cwd=folder, stderr=subprocess.PIPE)
        self.said = []
        while not (self.said and self.said[-1].startswith("Proxy at")):
            self.said.append(self.process.stderr.readline().decode())
            assert self.said[-1], self.said
        self.url = urlsplit(re.search(r"Proxy at (\S+),", self.said[-1])[1])
        self.file = folder / "said.jsonl"

    def open(self, verb="POST", message=CALL, path=None, **headers):
        """An answer that has begun, and its connection."""
        connection = HTTPConnection(self.url.hostname, self.url.port, timeout=SOON)
        body = None if verb in ("GET", "DELETE") else json.dumps(message)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(verb, path or self.url.path, body, {"Content-Type": "application/json", **named})
        return connection.getresponse(), connection

    def ask(self, *given, **more):
        """An answer: its status, its headers, its body."""
        answer, connection = self.open(*given, **more)
        try:
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def recorded(self, *sources):
        return [entry.frame.text for entry in read_recording(str(self.file)).entries if entry.frame.source in sources]

    def end(self):
        """Stop it: what it said on stderr."""
        self.process.send_signal(signal.SIGTERM)
        err = self.process.communicate(timeout=SOON)[1].decode().splitlines()
        assert self.process.returncode == 0
        return err
