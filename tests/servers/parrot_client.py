"""A client that says the same hostile text in every place that there is: usage: parrot_client.py FILE dies | SERVER…."""

import json
import subprocess
import sys

with open(sys.argv[1], newline="") as file:
    TEXT = file.read()
SECRET = TEXT.split("\n")[0]


def told(most):
    """A line of which the MOST first characters end within the secret."""
    return "x" * (most - 12) + SECRET


# The first line is the one that is quoted of a client that dies, cut within the secret.
sys.stderr.write(f"Error: {told(293)}\n{TEXT}\n{told(2000)}\n{told(300)}\n")
sys.stderr.flush()
if sys.argv[2] == "dies":
    sys.exit(3)
with subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as server:
    who = {"name": TEXT, "version": told(80)}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n")
    server.stdout.readline()
    server.stdin.write(f"{told(500)}\n{TEXT}\n" + json.dumps({"jsonrpc": "2.0", "method": TEXT, "id": told(80)}) + "\n")
