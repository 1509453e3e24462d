import json
import sys

TOOL = {"name": "order", "inputSchema": {"type": "object", "properties": {"customer": {"type": "object"}}}}
for line in sys.stdin:
    request = json.loads(line)
    result = {"tools": [TOOL]}
    if request["method"] == "initialize":
        version = request["params"]["protocolVersion"]
        result = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shop", "version": "1"},
        }
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
