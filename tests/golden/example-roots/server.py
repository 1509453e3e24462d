from raw import ask, hear, hello, json, serve

TOOLS = {"tools": [{"name": "read_file", "inputSchema": {"type": "object"}}]}


def read_file(params):
    roots = ask(1, "roots/list")["result"]
    return {"content": [{"type": "text", "text": json.dumps({"offered": offered, "told": told, **roots})}]}


offered = hello(tools={})["capabilities"]
told = hear()["method"]
serve({"tools/list": TOOLS, "tools/call": read_file})
