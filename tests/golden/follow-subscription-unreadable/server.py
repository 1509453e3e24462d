from raw import error, hear, hello, notify, result

hello(resources={"subscribe": True})
result(hear(), {})
notify("notifications/resources/updated", uri="file:///foo")
error(hear(), -32002, "gone")
hear()
