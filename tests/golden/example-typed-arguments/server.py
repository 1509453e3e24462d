from raw import hello, serve

UNITS = {"enum": ["metric", "imperial"]}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "units": UNITS}}


def weather(params):
    text = "{city}: 18 degrees, {units}".format(**params["arguments"])
    return {"content": [{"type": "text", "text": text}], "isError": False}


hello(tools={})
serve({"tools/list": {"tools": [{"name": "get_weather", "inputSchema": SCHEMA}]}, "tools/call": weather})
