import sys
import time

from raw import ask, error, hear, result, serve

log = []
request = hear()
if request["method"] != "initialize":
    error(request, -32601, "Method not found")
    request = hear()
info = {"name": "book", "version": "1"}
chosen = request["params"]["protocolVersion"]
result(request, {"protocolVersion": chosen, "capabilities": {"tools": {}}, "serverInfo": info})
hear()


def call(params):
    if params["name"] == "wait":
        time.sleep(1.5)
    if params["name"] == "ask":
        log.append(ask("q", "sampling/createMessage", messages=[], maxTokens=5)["result"]["content"]["text"])
    if params["name"] == "fail":
        return {"content": [{"type": "text", "text": "lost"}], "isError": True}
    log.append(params["arguments"].get("text", params["name"]))
    return {"content": [{"type": "text", "text": " ".join([*sys.argv[1:], *log])}]}


serve({"tools/call": call})
