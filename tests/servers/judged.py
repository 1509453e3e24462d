"""A server that breaks the specification in what it lists, and answers badly when it is asked nothing."""

from raw import error, hear, hello, result, say

hello(tools={})
while True:
    request = hear()
    if not isinstance(request, dict) or "method" not in request:
        say({"id": None, "error": {"code": "none", "message": "what?"}})
    elif request["method"] == "tools/list":
        result(request, {"tools": [{"name": "greet"}]})
    elif request["params"]["name"] == "greet":
        result(request, {"content": [{"type": "text", "text": "Hello!"}]})
    else:
        error(request, -32602, "Tool not found")
