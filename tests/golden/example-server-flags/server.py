from raw import hello, serve, sys

hello(tools={})
serve({"tools/list": {"tools": [{"name": " ".join(sys.argv[1:]), "inputSchema": {"type": "object"}}]}})
