"""`conductor proxy` on pipes, between a client that is a test and a server of a few lines."""

import json
import os
import select
import subprocess
import sys
import time

from tests import prefork

from mcp_conductor import read_recording

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
SOON = 20.0
# Answers every request with what it was asked; `ask` asks the client first, and `bye` ends the server.
SERVER = """
import json, os, sys

def say(**message):
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")

for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        say(method="notifications/odd", params={"line": line})
        continue
    batch = message if isinstance(message, list) else [message]
    if isinstance(message, list):
        replies = [{"jsonrpc": "2.0", "id": each["id"], "result": {"n": each["id"]}} for each in batch if "id" in each]
        os.write(1, json.dumps(replies).encode() + b"\\n")
    elif "method" not in message:
        say(method="notifications/answered", params=message)
    elif message["method"] == "roots/list/ask":
        say(id="q1", method="roots/list")
    elif message["method"] == "bye":
        sys.exit(message["params"]["code"])
    elif "id" in message:
        say(id=message["id"], result={"method": message["method"], **message.get("params", {})})
"""


class Pair:
    """A proxy with faults before a server; we are the client."""

    def __init__(self, folder, faults, *flags, server=SERVER, start=prefork.start, **options):
        (folder / "server.py").write_text(server)
        (folder / "faults.json").write_text(json.dumps(faults if isinstance(faults, dict) else {"faults": faults}))
        words = [*CONDUCTOR, "proxy", "--faults", "faults.json", "--record", "said.jsonl", *flags]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = start([*words, "--", sys.executable, "-u", "server.py"], cwd=folder, **pipes, **options)
        self._file = folder / "said.jsonl"
        self._heard = b""

    def send(self, *messages):
        """Say messages; bytes as they are."""
        parts = [each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in messages]
        self.process.stdin.write(b"".join(parts))
        self.process.stdin.flush()

    def ask(self, identity, method="tools/call", **params):
        self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})

    def line(self, seconds=SOON):
        """The next line with its end, or what there is before the end of stdout; None if nothing comes in time."""
        until = time.monotonic() + seconds
        while b"\n" not in self._heard:
            if not select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            chunk = os.read(self.process.stdout.fileno(), 1 << 20)
            if not chunk:
                rest, self._heard = self._heard, b""
                return rest
            self._heard += chunk
        line, end, self._heard = self._heard.partition(b"\n")
        return line + end

    def hear(self):
        return json.loads(self.line())

    def end(self):
        """Close stdin: the exit code, what is left on stdout, stderr."""
        out, err = self.process.communicate(timeout=SOON)
        return self.process.returncode, self._heard + out, err.decode()

    def recorded(self, *sources):
        recording = read_recording(str(self._file))
        return [entry.frame.text for entry in recording.entries if entry.frame.source in sources]

    def kill(self):
        self.process.kill()
        self.process.communicate()
