from raw import error, hear, hello, notify, result

hello(tools={}, resources={"subscribe": True})
result(hear(), {"content": [], "structuredContent": {"id": 7}})
subscription = hear()
result(subscription, {})
notify("notifications/resources/updated", uri=subscription["params"]["uri"])
error(hear(), -32002, "Resource not found")
hear()
