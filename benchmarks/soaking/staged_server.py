"""A server, or a client, that writes how far it is into the file that CONDUCTOR_SOAK_STAGES names.

usage: staged_server.py polite|stubborn|client

At the stage that CONDUCTOR_SOAK_PAUSE names it stops for a moment, the first time, so that a signal can hit just then.
Stubborn: it ends neither with its stdin nor by SIGTERM.
"""

import json
import os
import signal
import sys
import time

PAUSE_SECONDS = 0.05
LONGEST_LIFE = 60  # seconds: should everything else fail, the kernel ends it
TOOL = {
    "name": "look",
    "description": "a" * 40 + "!",  # what a regular expression that backtracks takes long for
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}
RESULTS = {
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "seen"}]},
    "ping": {},
}
paused = False


def mark(stage: str) -> None:
    global paused  # noqa: PLW0603
    if file := os.environ.get("CONDUCTOR_SOAK_STAGES"):
        with open(file, "a", encoding="utf-8") as stages:
            stages.write(f"{stage}\n")
    if stage == os.environ.get("CONDUCTOR_SOAK_PAUSE") and not paused:
        paused = True
        time.sleep(PAUSE_SECONDS)


def answer(request: dict) -> dict:
    if request["method"] == "initialize":
        version = request["params"]["protocolVersion"]
        info = {"name": "staged", "version": "1"}
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if request["method"] in RESULTS:
        return {"result": RESULTS[request["method"]]}
    return {"error": {"code": -32601, "message": "Method not found"}}


def serve() -> None:
    while line := sys.stdin.readline():
        try:
            request = json.loads(line)
            method = request["method"]
        except (ValueError, KeyError, TypeError):
            continue
        mark(f"heard {method}")
        if "id" not in request:
            continue
        text = json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer(request)}) + "\n"
        if method != "initialize":
            half = len(text) // 2
            sys.stdout.write(text[:half])
            sys.stdout.flush()
            mark("half")
            text = text[half:]
        sys.stdout.write(text)
        sys.stdout.flush()
        mark(f"answered {method}")
    mark("eof")


def main(manner: str) -> None:
    signal.alarm(LONGEST_LIFE)
    if manner != "polite":
        signal.signal(signal.SIGTERM, lambda *_: mark("term"))
    if manner == "client":
        mark("client up")
    else:
        mark("up")
        serve()
    while manner != "polite":
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1])
