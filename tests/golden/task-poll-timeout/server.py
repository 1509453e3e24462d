from raw import hello, serve

TIMES = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": None}
TASK = {"taskId": "abc-123", "status": "working", "statusMessage": "counting grains of sand", **TIMES}
hello(tools={}, tasks={"requests": {"tools": {"call": {}}}})
serve({"tools/call": {"task": TASK}, "tasks/get": TASK, "tasks/cancel": TASK})
