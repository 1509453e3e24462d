"""A server that can die, hang and change its mind. Every call is written to a log before anything else happens.

usage: mortal.py LOG [pause]; with `pause`, it takes that many seconds to begin.
"""

import json
import os
import sys
import time

LOG = sys.argv[1]
TOOLS = [
    {"name": "pid", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "write", "inputSchema": {"type": "object"}},
    {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "put", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": True}},
    {"name": "learn", "inputSchema": {"type": "object"}},
    {"name": "touch", "inputSchema": {"type": "object"}},
]
CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "prompts": {}}


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def log(word):
    with open(LOG, "a") as file:
        file.write(word + "\n")


def lived_before():
    with open(LOG) as file:
        return file.read().split().count("born") > 1


def call(name, arguments):
    log(name)
    if arguments.get("hang"):
        time.sleep(600)
    if arguments.get("die") or (arguments.get("die once") and not lived_before()):
        os._exit(9)
    if name == "learn":
        TOOLS.append({"name": arguments["word"], "inputSchema": {"type": "object"}})
        say({"method": "notifications/tools/list_changed"})
    if name == "touch":
        say({"method": "notifications/resources/updated", "params": {"uri": "test://thing"}})
    return {"content": [{"type": "text", "text": str(os.getpid())}], "structuredContent": {"arguments": arguments}}


def answer(method, params):
    match method:
        case "initialize":
            info = {"name": "mortal", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES, "serverInfo": info}
        case "tools/list":
            return {"tools": TOOLS}
        case "resources/list":
            return {"resources": [{"uri": "test://thing", "name": "thing"}]}
        case "prompts/list":
            return {"prompts": [{"name": "ask", "arguments": [{"name": "what"}]}]}
        case "prompts/get":
            return {"messages": [{"role": "user", "content": {"type": "text", "text": str(params["arguments"])}}]}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "text": "a thing"}]}
        case "resources/subscribe" | "resources/unsubscribe":
            log(method.partition("/")[2])
            return {}
        case "ping":
            return {}
        case "tools/call":
            return call(params["name"], params.get("arguments") or {})
    return None


log("born")
time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request and "method" in request:
        result = answer(request["method"], request.get("params") or {})
        gone = {"error": {"code": -32601, "message": "Method not found"}}
        say({"id": request["id"], **(gone if result is None else {"result": result})})
