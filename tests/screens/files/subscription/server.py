from raw import hear, hello, notify, result

hello(resources={"subscribe": True})
result(hear(), {})
for text in ("first", "second"):
    notify("notifications/resources/updated", uri="file:///foo")
    request = hear()
    assert request["method"] == "resources/read", request
    result(request, {"contents": [{"uri": request["params"]["uri"], "text": text}]})
hear()
