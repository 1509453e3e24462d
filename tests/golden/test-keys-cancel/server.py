from raw import hear, hello, say

hello(tools={})
name = None
while True:
    request = hear()
    if request["method"] == "notifications/cancelled" and name == "stubborn":
        say({"id": request["params"]["requestId"], "result": {"content": []}})
    name = request["params"].get("name")
