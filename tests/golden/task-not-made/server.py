from raw import hello, serve

hello(tools={})
serve({"tools/call": {"content": [{"type": "text", "text": "done at once"}]}})
