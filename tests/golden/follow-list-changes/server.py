from raw import hear, hello, notify, result

hello(tools={"listChanged": True})
result(hear(), {"tools": [{"name": "one", "inputSchema": {"type": "object"}}]})
notify("notifications/tools/list_changed")
hear()
