from raw import error, hear, hello, result

hello(tools={})
while True:
    request = hear()
    name, given = request["params"]["name"], request["params"]["arguments"]
    if name == "greet":
        result(request, {"content": [{"type": "text", "text": f"Hello, {given['name']}!"}]})
    else:
        error(request, -32602, f"Tool {name} not found")
