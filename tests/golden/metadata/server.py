from raw import hello, json, serve

hello(tools={})
serve({"tools/call": lambda params: {"content": [{"type": "text", "text": json.dumps(params)}]}})
