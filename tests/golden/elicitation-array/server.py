from raw import ask, hello, json, serve


def chat(params):
    replies = [ask(number, "elicitation/create", message="?", requestedSchema={})["result"] for number in range(4)]
    return {"content": [{"type": "text", "text": json.dumps(reply)} for reply in replies]}


hello(tools={})
serve({"tools/call": chat})
