from raw import ask, hello, serve


def converse(params):
    replies = [ask(number, "sampling/createMessage", messages=[], maxTokens=1) for number in (1, 2, 3)]
    texts = [r["result"]["content"]["text"] if "result" in r else r["error"]["message"] for r in replies]
    return {"content": [{"type": "text", "text": text} for text in texts]}


hello(tools={})
serve({"tools/call": converse})
