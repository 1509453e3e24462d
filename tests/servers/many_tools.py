"""A server with a tool for each thing that a test can meet; its first word says how it is rude."""

import itertools
import json
import os
import sys
import time

manner = sys.argv[1] if len(sys.argv) > 1 else ""
numbers = itertools.count(1)


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


def echo(arguments):
    return text(("other: " if manner == "other" else "") + str(arguments.get("text", "")))


def counted(arguments):
    number = next(numbers)
    return text(str(number), structuredContent={"count": number})


def late(arguments):
    time.sleep(0.05)
    return text("at last")


def noise(arguments):
    print("this is no message", flush=True)
    return text("after noise")


def mutter(arguments):
    print("something is wrong", file=sys.stderr, flush=True)
    return text("said")


def tells(arguments):
    say({"method": "notifications/message", "params": {"level": "info", "data": "told"}})
    return text("told")


def marks(arguments):
    open("marked", "w").close()
    return text("there is a file now")


def dies(arguments):
    print("out of memory", file=sys.stderr, flush=True)
    os._exit(7)


TOOLS = {
    "echo": echo,
    "count": counted,
    "late": late,
    "noise": noise,
    "mutter": mutter,
    "tells": tells,
    "marks": marks,
    "dies": dies,
    "lose": lambda arguments: text("The book is lost.", isError=True),
    "picture": lambda arguments: {"content": [{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}]},
    "hangs": lambda arguments: None,
}


def answer(method, params):
    """The result or the error for a request; None for no answer at all."""
    if method == "initialize":
        info = {"name": "two ways", "version": "1.2.3"}
        capabilities = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
        told = {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info}
        return {"result": {**told, "instructions": "call echo"}}
    if method == "tools/call" and params.get("name") in TOOLS:
        result = TOOLS[params["name"]](params.get("arguments") or {})
        return result and {"result": result}
    if method == "tools/call" and params.get("name") == "burn":
        return {"error": {"code": -32050, "message": "the book is on fire", "data": {"page": 7}}}
    if method == "tools/call":
        return {"error": {"code": -32602, "message": f"no tool {params.get('name')}"}}
    if method == "tools/list":
        schema = {"type": "array" if manner == "rude" else "object"}
        return {"result": {"tools": [{"name": name, "inputSchema": schema} for name in (*TOOLS, "burn")]}}
    if method == "resources/list":
        return {"result": {"resources": [{"uri": "people://ada", "name": "Ada"}]}}
    if method == "resources/read":
        return {"result": {"contents": [{"uri": params["uri"], "text": "Ada lives in London"}]}}
    if method == "prompts/get":
        return {"result": {"messages": [{"role": "user", "content": {"type": "text", "text": "Write."}}]}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": f"no method {method}"}}


if manner == "usage":
    sys.exit("usage: server.py FILE")
if manner == "traceback":
    raise ImportError("no module named books")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked and "method" in asked:
        told = answer(asked["method"], asked.get("params") or {})
        if told is not None:
            say({"id": asked["id"], **told})
