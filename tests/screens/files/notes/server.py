"""A note that the tool `write` changes; with the word `quiet`, without telling."""

import json
import sys

note = ["first"]


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def write(params):
    note.append(params["arguments"]["text"])
    if "quiet" not in sys.argv:
        say({"method": "notifications/resources/updated", "params": {"uri": "note:///one"}})
    return {"content": [{"type": "text", "text": "written"}]}


METHODS = {
    "initialize": lambda params: {
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {}, "resources": {"subscribe": True}},
        "serverInfo": {"name": "notes", "version": "1"},
    },
    "ping": lambda _: {},
    "tools/list": lambda _: {"tools": [{"name": "write", "inputSchema": {"type": "object"}}]},
    "tools/call": write,
    "resources/list": lambda _: {"resources": [{"uri": "note:///one", "name": "one"}]},
    "resources/templates/list": lambda _: {"resourceTemplates": []},
    "resources/read": lambda params: {"contents": [{"uri": params["uri"], "text": " ".join(note)}]},
    "resources/subscribe": lambda _: {},
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        say({"id": request["id"], "result": METHODS[request["method"]](request.get("params", {}))})
