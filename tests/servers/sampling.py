"""A server whose tool asks the model something before it answers."""

from raw import ask, hello, json, serve


def ask_claude(params):
    message = {"role": "user", "content": {"type": "text", "text": params["arguments"]["question"]}}
    reply = ask("s1", "sampling/createMessage", messages=[message], maxTokens=100)
    return {"content": [{"type": "text", "text": json.dumps(reply.get("result") or reply.get("error"))}]}


hello(tools={})
serve({"tools/list": {"tools": [{"name": "ask_claude", "inputSchema": {"type": "object"}}]}, "tools/call": ask_claude})
