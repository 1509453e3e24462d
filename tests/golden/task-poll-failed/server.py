from raw import hello, serve

TIMES = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": None}
hello(tools={}, tasks={"requests": {"tools": {"call": {}}}})
serve(
    {
        "tools/call": {"task": {"taskId": "abc-123", "status": "working", **TIMES}},
        "tasks/get": {"taskId": "abc-123", "status": "failed", "statusMessage": "no such dataset", **TIMES},
        "tasks/result": {"content": [{"type": "text", "text": "no such dataset"}], "isError": True},
    }
)
