"""A server whose tool asks the user something before it answers."""

from raw import ask, hello, json, serve

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "plan": {"type": "string", "enum": ["free", "paid"], "default": "paid"},
    },
    "required": ["name", "age"],
}


def sign_up(params):
    reply = ask("e1", "elicitation/create", message="Who are you?", requestedSchema=SCHEMA)
    return {"content": [{"type": "text", "text": json.dumps(reply.get("result") or reply.get("error"))}]}


hello(tools={})
serve({"tools/call": sign_up})
