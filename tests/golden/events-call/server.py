from raw import ask, hear, hello, notify, result

hello(tools={"listChanged": True}, logging={})
request = hear()
notify("notifications/progress", progressToken="p", progress=1, total=2)
notify("notifications/message", level="info", data="half of it")
notify("notifications/tools/list_changed")
notify("notifications/resources/updated", uri="file:///foo")
ask(1, "sampling/createMessage", messages=[], maxTokens=10)
ask(2, "roots/list")
result(request, {"content": [], "isError": True})
hear()
