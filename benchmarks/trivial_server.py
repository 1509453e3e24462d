"""The server of every benchmark: standard library only, and as little work as a server can do.

usage: trivial_server.py [TOOLS [TOOLS ON A PAGE [CORE]]]

With CORE it stays on that core of the machine. `tools/call` answers with a short text; with the argument `megabytes`,
with a text of that size.
"""

import json
import os
import sys

MEGABYTE = 10**6

TOOL = (
    '{"name":"tool_%d","title":"Tool number %d","description":"Says how the weather is at a place, now or later.",'
    '"inputSchema":{"type":"object","properties":{"place":{"type":"string","description":"Name of a town"},'
    '"days":{"type":"integer","minimum":0,"maximum":7,"default":0}},"required":["place"]}}'
)


def main() -> None:
    """Answer each line as it comes; end with stdin."""
    numbers = [int(word) for word in sys.argv[1:]]
    tools, page = (numbers + [1, 100][len(numbers) :])[:2]
    if numbers[2:]:
        os.sched_setaffinity(0, numbers[2:])
    # Not sys.stdout, whose buffering depends on the environment.
    with open(1, "wb", closefd=False) as out:
        for line in sys.stdin.buffer:
            request = json.loads(line)
            if "id" not in request:
                continue
            result = RESULTS.get(request["method"], refusal)(request.get("params") or {}, tools, page)
            out.write(b'{"jsonrpc":"2.0","id":%s,%s}\n' % (json.dumps(request["id"]).encode(), result))
            out.flush()


def initialize(params, _tools, _page) -> bytes:
    version = json.dumps(params["protocolVersion"]).encode()
    return (
        b'"result":{"protocolVersion":%s,"capabilities":{"tools":{}},"serverInfo":{"name":"trivial","version":"1"}}'
        % version
    )


def list_tools(params, tools, page) -> bytes:
    first = int(params.get("cursor", 0))
    last = min(first + page, tools)
    items = ",".join(TOOL % (number, number) for number in range(first, last))
    more = f',"nextCursor":"{last}"' if last < tools else ""
    return f'"result":{{"tools":[{items}]{more}}}'.encode()


def call_tool(params, _tools, _page) -> bytes:
    megabytes = params.get("arguments", {}).get("megabytes", 0)
    text = b"x" * (megabytes * MEGABYTE) if megabytes else b"Sunny, 21 degrees, light wind from the west"
    return b'"result":{"content":[{"type":"text","text":"%s"}],"isError":false}' % text


def refusal(_params, _tools, _page) -> bytes:
    return b'"error":{"code":-32601,"message":"Method not found"}'


RESULTS = {"initialize": initialize, "tools/list": list_tools, "tools/call": call_tool}


if __name__ == "__main__":
    main()
