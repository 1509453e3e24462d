from raw import hello, serve, shout

shout("Server started\n")
hello(tools={})
serve({"tools/call": {"content": []}})
