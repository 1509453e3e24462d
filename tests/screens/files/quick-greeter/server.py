from raw import hello, serve

hello(tools={})
serve({"tools/call": lambda params: {"content": [{"type": "text", "text": f"Hello, {params['arguments']['name']}!"}]}})
