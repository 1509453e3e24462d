from raw import ask, hello, json, serve


def look(params):
    return {"content": [{"type": "text", "text": json.dumps(ask(1, "roots/list"))}]}


hello(tools={})
serve({"tools/call": look})
