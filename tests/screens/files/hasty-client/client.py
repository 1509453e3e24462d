import json
import subprocess
import sys

with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as server:
    who = {"name": "hasty", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}
    for number, (method, params) in enumerate([("initialize", hello), ("tools/list", {})]):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        server.stdout.readline()
