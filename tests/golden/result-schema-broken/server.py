from raw import hello, serve

SCHEMA = {
    "type": "object",
    "properties": {"degrees": {"type": "number"}, "place": {"type": "object", "required": ["name"]}},
    "required": ["degrees"],
}
TOOL = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}
hello(tools={})
serve(
    {
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [], "structuredContent": {"degrees": "mild", "place": {}}},
    }
)
