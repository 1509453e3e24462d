from raw import hear, hello, result

hello(tools={})
while True:
    result(hear(), {"content": [{"type": "text", "text": "978-3-16-148410-0"}]})
