"""A server of the handshake era that writes down all it hears, one line of JSON each, and asks what it is told to ask.

usage: hearing.py LOG [text]; resources are `test://thing` and `test://item/{id}`, which hold the text.
"""

import json
import sys
import threading

LOG, TEXT = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "a thing"
TOOLS = ["ask", "later", "link", "log", "touch", "work"]
CAPABILITIES = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}, "logging": {}}
WAITING = {}  # requests that wait for the answer to a question of ours
LOCK = threading.Lock()


def say(message):
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def call(request, name, arguments):
    match name:
        case "ask":  # what the client answers is the result
            WAITING[f"q-{request['id']}"] = request["id"]
            say({"id": f"q-{request['id']}", "method": arguments["method"], "params": arguments.get("params", {})})
        case "later":  # ask when no request is open
            say({"id": request["id"], "result": text("soon")})
            say({"id": "q-later", "method": arguments["method"], "params": arguments.get("params", {})})
        case "link":
            uri = arguments["uri"]
            blocks = [{"type": "resource_link", "uri": uri, "name": "x"}]
            blocks.append({"type": "resource", "resource": {"uri": uri, "text": TEXT}})
            say({"id": request["id"], "result": {"content": blocks}})
        case "log":
            say({"method": "notifications/message", "params": {"level": arguments["level"], "data": "logged"}})
            say({"id": request["id"], "result": text("logged")})
        case "touch":
            say({"method": "notifications/resources/updated", "params": {"uri": arguments["uri"]}})
            say({"id": request["id"], "result": text("touched")})
        case "work":  # until it is cancelled
            pass
        case _:
            say({"id": request["id"], "error": {"code": -32602, "message": f"no tool {name}", "data": {"name": name}}})


def answer(request):
    params = request.get("params") or {}
    uri = params.get("uri", "")
    match request["method"]:
        case "initialize":
            info = {"name": "hearing", "version": "1"}
            told = {"capabilities": CAPABILITIES, "serverInfo": info, "instructions": f"About {TEXT}."}
            return {"protocolVersion": params["protocolVersion"], **told}
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        case "resources/list":
            return {"resources": [{"uri": "test://thing", "name": "thing"}]}
        case "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": "test://item/{id}", "name": "item"}]}
        case "prompts/list":
            return {"prompts": [{"name": "say", "arguments": [{"name": "what", "required": True}]}]}
        case "prompts/get":
            return {"messages": [{"role": "user", "content": {"type": "text", "text": TEXT}}]}
        case "completion/complete":
            return {"completion": {"values": [json.dumps(params["ref"])]}}
        case "resources/read" if "none" not in uri:
            return {"contents": [{"uri": uri, "text": TEXT}]}
        case "resources/subscribe" | "resources/unsubscribe" if "none" not in uri:
            return {}
        case "resources/read" | "resources/subscribe":
            return {"code": -32002, "message": "no such resource", "data": {"uri": uri}}
        case "logging/setLevel" | "ping":
            return {}
    return {"code": -32601, "message": "Method not found"}


for line in sys.stdin:
    with open(LOG, "a") as log:
        log.write(line)
    message = json.loads(line)
    if "method" not in message:
        waiting = WAITING.pop(message.get("id"), None)
        if waiting is not None:
            said = {key: message[key] for key in ("result", "error") if key in message}
            say({"id": waiting, "result": text(json.dumps(said))})
    elif message["method"] == "tools/call":
        call(message, message["params"]["name"], message["params"].get("arguments") or {})
    elif "id" in message:
        value = answer(message)
        say({"id": message["id"], ("error" if "code" in value else "result"): value})
