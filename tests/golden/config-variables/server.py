from raw import hello, os, serve, sys

hello(tools={})
name = f"{sys.argv[1]} {os.environ['SHELF']}"
serve({"tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}}]}})
