from raw import hear, hello, notify, result, serve, sys

hello(tools={})
request = hear()
sys.stderr.write("talking\n")
notify("notifications/message", level="info", data="talking")
result(request, {"content": [{"type": "text", "text": "word " * 20}] * 30})
serve({})
