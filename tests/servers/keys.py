import json
import sys
import time

from raw import answer, ask, error, hello, notify, result, say, shout

hello(tools={}, resources={}, prompts={}, completions={})
counts = {}


def call(request):
    name, given = request["params"]["name"], request["params"].get("arguments", {})
    counts[name] = counts.get(name, 0) + 1
    if name == "log":
        print("looking it up", file=sys.stderr, flush=True)
    elif name == "print":
        shout("looking it up\n")
    elif name == "notify":
        notify("notifications/message", level="info", data="first")
        notify("notifications/message", level="info", data="second")
    elif name == "sleep":
        time.sleep(given["seconds"])
    elif name == "ask":
        reply = ask("q", "sampling/createMessage", messages=[], maxTokens=5)
        return {"content": [{"type": "text", "text": reply["result"]["content"]["text"]}]}
    elif name == "fail":
        return {"content": [{"type": "text", "text": "the book is lost"}], "isError": True}
    elif name == "burn":
        error(request, -32050, "the book is on fire", data={"page": 7})
        return None
    elif name == "count":
        return {"content": [], "structuredContent": {"count": counts[name]}}
    elif name == "exit":
        sys.exit(7)
    return {"content": [{"type": "text", "text": given.get("text", "done")}]}


METHODS = {
    "ping": {},
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "resources/read": {"contents": [{"uri": "people://ada", "text": "Ada lives in London"}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "Write to Ada."}}]},
    "completion/complete": {"completion": {"values": ["Ada", "Alan"]}},
}
while True:
    line = sys.stdin.readline()
    if not line:
        time.sleep(5 if "linger" in counts else 0)
        break
    try:
        request = json.loads(line)
    except ValueError:
        say({"id": None, "error": {"code": -32700, "message": "Parse error"}})
        continue
    if request.get("method") == "tools/call":
        value = call(request)
        if value is not None:
            result(request, value)
    elif request.get("method") == "notifications/cancelled":
        continue
    else:
        answer(request, METHODS)
