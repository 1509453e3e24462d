from raw import hello, serve

STYLES = ["bullets", "bulky", "prose"]


def complete(params):
    assert params["ref"] == {"type": "ref/prompt", "name": "summarize"}
    values = [style for style in STYLES if style.startswith(params["argument"]["value"])]
    return {"completion": {"values": values, "hasMore": False, "total": len(values)}}


hello(completions={}, prompts={})
serve({"completion/complete": complete})
