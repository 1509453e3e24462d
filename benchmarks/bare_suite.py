"""What no runner of test files can go below: read the YAML with libyaml, send each request, read a line for each.

usage: bare_suite.py FILE COMMAND [ARGS …]

Blocking pipes, `json.dumps`, `json.loads`, and nothing is compared.
"""

import json
import subprocess
import sys

import yaml

OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}


def main(path: str, *command: str) -> None:
    with open(path, encoding="utf-8") as file:
        tests = yaml.load(file, Loader=yaml.CSafeLoader)["tests"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(message: dict) -> None:
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()

    say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": OPENING})
    server.stdout.readline()
    say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    answered = 0
    for test in tests:
        say(test["request"])
        answered += "result" in json.loads(server.stdout.readline())
    server.stdin.close()
    server.wait()
    print(f"{answered} answered")


if __name__ == "__main__":
    main(*sys.argv[1:])
