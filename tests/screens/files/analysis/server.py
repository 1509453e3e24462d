from raw import hello, serve

TIMES = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 60000}
TOOL = {"name": "long_analysis", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}}
asked = []


def call(params):
    asked.append(params)
    return {"task": {"taskId": "abc-123", "status": "working", **TIMES, "ttl": params["task"].get("ttl")}}


def result(params):
    text = f"analysed {asked[0]['arguments'].get('dataset')}"
    return {"content": [{"type": "text", "text": text}], "_meta": {"io.modelcontextprotocol/related-task": params}}


hello(tools={}, tasks={"requests": {"tools": {"call": {}}}})
serve(
    {
        "tools/list": {"tools": [TOOL]},
        "tools/call": call,
        "tasks/get": lambda params: {**params, "status": "completed", **TIMES},
        "tasks/result": result,
    }
)
