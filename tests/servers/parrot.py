"""A server that says the same hostile text in every place that there is: usage: parrot.py FILE [dies]."""

import sys

from raw import error, hear, notify, result, shout

with open(sys.argv[1], newline="") as file:
    TEXT = file.read()
NAME = TEXT.split("\n")[0]
TOOLS = [
    {"name": name, "title": TEXT, "description": TEXT, "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    for name, schema in {"tell": {"type": "object"}, NAME: {"type": "object"}, "odd": {"type": TEXT}}.items()
]


def say_it():
    sys.stderr.write(f"{TEXT}\n")
    sys.stderr.flush()
    shout(f"{TEXT}\n")
    notify("notifications/message", level="info", logger=TEXT, data={TEXT: [TEXT]})
    notify(TEXT)


if __name__ == "__main__":
    say_it()
    request = hear()
    if sys.argv[2:] == ["dies"]:
        sys.exit(3)
    info = {"name": TEXT, "version": TEXT}
    opened = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}}, "serverInfo": info}
    result(request, {**opened, "instructions": TEXT})
    while True:
        request = hear()
        method, params = request.get("method"), request.get("params") or {}
        if "id" not in request:
            continue
        if method == "tools/list":
            result(request, {"tools": TOOLS})
        elif method == "tools/call":
            say_it()
            result(request, {"content": [{"type": "text", "text": TEXT}], "structuredContent": {TEXT: TEXT}, TEXT: 1})
        elif method == "initialize":
            result(request, opened)
        elif method == "ping":
            result(request, {})
        else:
            error(request, -32601, TEXT, data={TEXT: TEXT})
