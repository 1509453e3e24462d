from raw import hello, serve

hello(tools={})
serve({"tools/call": {"content": [{"type": "text", "text": "no such file"}], "isError": True}})
