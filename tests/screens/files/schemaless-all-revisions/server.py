"""Six tools without a schema, one name twice, cursors that are ignored, and nothing else."""

import json
import sys

TOOLS = [{"name": name} for name in ("look", "find", "open", "close", "read", "write")]
TOOLS.append({"name": "look", "inputSchema": {"type": "object"}})
OPENED = {
    "capabilities": {"tools": {"listChanged": True}, "logging": {}},
    "serverInfo": {"name": "loose", "version": "1"},
}
RESULTS = {"initialize": OPENED, "tools/list": {"tools": TOOLS}, "ping": {}}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = RESULTS.get(message["method"])
        if result is OPENED:  # in whatever revision
            result = {"protocolVersion": message["params"]["protocolVersion"], **OPENED}
        error = {"code": -32601, "message": "Method not found"}
        reply = {"error": error} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
