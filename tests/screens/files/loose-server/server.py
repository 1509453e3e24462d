import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        known = version if version.startswith("202") and version < "2026" else "2025-11-25"
        info = {"name": "loose", "version": "1"}
        answer = {"result": {"protocolVersion": known, "capabilities": {"tools": {}}, "serverInfo": info}}
    elif message["method"] == "ping":
        answer = {"result": {}}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": "look"}, {"name": "look", "inputSchema": {"type": "object"}}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
