from raw import error, hear, hello, notify

hello(tools={})
request = hear()
notify("notifications/message", level="error", data="no such tool")
error(request, -32602, "Unknown tool", data={"name": "any"})
hear()
