"""Tasks of 2025-11-25, and the extension of 2026-07-28: each requirement kept, and broken."""

import sys

import pytest
from tests.e2e.checks.broken import ROOT, checked, found, lines, reported_alone
from tests.servers.http_raw import DISCOVER, HttpServer

from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.protocol.server_spec import HttpSpec

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
V4, V5 = "2025-11-25", "2026-07-28"

# Two tools: `must` runs only as a task, `t` never does. tasks/result ends a task.
CORE = """
import uuid
CAPABILITIES = {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
TOOLS.append({"name": "must", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}})
TASKS = {}
NOW = "2026-01-01T00:00:00Z"
RELATED = META + "related-task"
OUTCOME = {"content": []}
ENDED = "completed"
identity = lambda: str(uuid.uuid4())
def create(params):
    task = {"taskId": identity(), "status": "working", "createdAt": NOW, "lastUpdatedAt": NOW, "ttl": 60000}
    TASKS[task["taskId"]] = task
    return {"task": dict(task)}
def tool(params):
    wants = "task" in params
    if (params["name"] == "must") != wants:
        refuse(-32601)
    return create(params) if wants else TEXT
known = lambda params: TASKS.get(params["taskId"]) or refuse(-32602)
get = lambda params: known(params)
related = lambda params: {RELATED: {"taskId": params["taskId"]}}
def end(params):
    task = known(params)
    task["status"] = ENDED if task["status"] == "working" else task["status"]
    return {**OUTCOME, "_meta": related(params)}
def cancel(params):
    if known(params)["status"] != "working":
        refuse(-32602)
    known(params)["status"] = "cancelled"
    return known(params)
METHODS["tasks/get"] = lambda params: get(params)
METHODS["tasks/result"] = lambda params: end(params)
METHODS["tasks/cancel"] = lambda params: cancel(params)
METHODS["tasks/list"] = lambda params: refuse(-32602) if "cursor" in params else {"tasks": list(TASKS.values())}
"""
# A tool that becomes a task for those who know tasks; the first look at it ends it.
EXTENSION = """
import uuid
TASKS_ = META + "tasks"
CAPABILITIES = {"tools": {}, "extensions": {TASKS_: {}}}
TASKS = {}
NOW = "2026-01-01T00:00:00Z"
OUTCOME = {"status": "completed", "result": {"content": []}}
knows = lambda params: TASKS_ in capabilities(params).get("extensions", {})
need = lambda params: knows(params) or refuse(-32021, requiredCapabilities={"extensions": {TASKS_: {}}})
identity = lambda: str(uuid.uuid4())
def create(params):
    task = {"taskId": identity(), "status": "working", "createdAt": NOW, "lastUpdatedAt": NOW, "ttlMs": None}
    TASKS[task["taskId"]] = task
    return {"resultType": "task", **task}
tool = lambda params: create(params) if knows(params) else done(**TEXT)
known = lambda params: need(params) and (TASKS.get(params["taskId"]) or refuse(-32602))
get = lambda params: done(**{**known(params), **OUTCOME})
acknowledge = lambda params: known(params) and done()
METHODS["tasks/get"] = lambda params: get(params)
METHODS["tasks/update"] = lambda params: acknowledge(params)
METHODS["tasks/cancel"] = METHODS["tasks/update"]
"""
# The same, but it asks something first.
ASKING = (
    EXTENSION
    + """
QUESTION = {"method": "elicitation/create", "params": {"message": "Name?", "requestedSchema": {"type": "object", "properties": {}}}}
def get(params):
    task = known(params)
    if task["status"] == "working":
        return done(**{**task, "status": "input_required", "inputRequests": {"q1": QUESTION}})
    return done(**{**task, **OUTCOME})
def acknowledge(params):
    if "q1" in params.get("inputResponses", {}):
        known(params)["status"] = "completed"
    return known(params) and done()
METHODS["tasks/cancel"] = lambda params: known(params) and done()
"""
)

BROKEN = [
    ("taskc-capability-server", V4, CORE + 'del CAPABILITIES["tasks"]["list"]'),
    ("taskc-undeclared-ignored-server", V4, 'tool = lambda params: refuse(-32602) if "task" in params else TEXT'),
    ("taskc-create-result", V4, CORE + "create = lambda params: TEXT"),
    ("taskc-task-fields", V4, CORE + 'get = lambda params: {**known(params), "createdAt": "yesterday"}'),
    ("taskc-task-fields", V4, CORE + 'get = lambda params: {**known(params), "status": "busy"} if known(params)["status"] == "working" else known(params)'),
    ("taskc-initial-working", V4, CORE + 'good = create; create = lambda params: {"task": {**good(params)["task"], "status": "input_required"}}'),
    ("taskc-transitions", V4, CORE + 'N = [0]\ndef get(params):\n  N[0] += known(params)["status"] == "completed"\n  return {**known(params), "status": "failed"} if N[0] == 2 else known(params)'),
    ("taskc-id-unique-random", V4, CORE + "from itertools import count\nnumbers = count(1)\nidentity = lambda: str(next(numbers))"),
    ("taskc-required-tool", V4, CORE + 'tool = lambda params: create(params) if "task" in params and params["name"] == "must" else refuse(-32601) if "task" in params else TEXT'),
    ("taskc-forbidden-tool", V4, CORE + 'tool = lambda params: create(params) if "task" in params else refuse(-32601) if params["name"] == "must" else TEXT'),
    ("taskc-get", V4, CORE + 'get = lambda params: {**known(params), "taskId": "another-task"} if known(params)["status"] == "working" else known(params)'),
    ("taskc-result-blocks", V4, CORE + 'end = lambda params: known(params) and {**OUTCOME, "_meta": related(params)}'),
    ("taskc-result-blocks", V4, CORE + "OUTCOME = {}"),
    ("taskc-result-related-meta", V4, CORE + "related = lambda params: {}"),
    ("taskc-related-meta-messages", V4, CORE + 'good = end; end = lambda params: known(params) and ask("r1", "roots/list") and good(params)'),
    ("taskc-iserror-failed", V4, CORE + 'OUTCOME = {"content": [], "isError": True}'),
    ("taskc-list", V4, CORE + 'METHODS["tasks/list"] = lambda params: refuse(-32602) if "cursor" in params else {"tasks": []}'),
    ("taskc-cancel", V4, CORE + "good = cancel; cancel = lambda params: {**good(params), 'status': 'working'}"),
    ("taskc-cancel", V4, CORE + 'def cancel(params):\n  if known(params)["status"] != "working":\n    refuse(-32602)\n  return {**known(params), "status": "cancelled"}'),
    ("taskc-cancel-terminal", V4, CORE + 'cancel = lambda params: {**known(params), "status": "cancelled"} if known(params)["status"] != "working" else known(params).update(status="cancelled") or known(params)'),
    ("taskc-unknown-id", V4, CORE + "known = lambda params: TASKS.get(params['taskId']) or refuse(-32603)"),
    ("taskc-invalid-cursor", V4, CORE + 'METHODS["tasks/list"] = lambda params: {"tasks": list(TASKS.values())}'),
    ("taskc-status-notification", V4, CORE + 'good = end; end = lambda params: known(params) and notify("notifications/tasks/status", taskId="x") or good(params)'),
    ("progress-task-lifetime", V4, CORE + """
good = create
TOKENS = {}
def create(params):
    made = good(params)
    TOKENS[made["task"]["taskId"]] = (params.get("_meta") or {}).get("progressToken")
    return made
def after(request):
    task = TASKS.get((request.get("params") or {}).get("taskId"), {})
    if task.get("status") == "completed" and request["method"] == "tasks/get":
        notify("notifications/progress", progressToken=TOKENS[task["taskId"]], progress=time.time())
"""),
    ("taske-advertised", V5, EXTENSION + 'CAPABILITIES["tasks"] = {}'),
    ("taske-not-without-capability", V5, EXTENSION + "tool = create"),
    ("taske-required-32021", V5, EXTENSION + "tool = lambda params: create(params) if knows(params) else refuse(-32021, requiredCapabilities={'tasks': {}})"),
    ("taske-create-shape", V5, EXTENSION + 'good = create; create = lambda params: {**good(params), "ttlMs": "long"}'),
    ("taske-resulttype-task-only-create", V5, EXTENSION + 'get = lambda params: {**known(params), **OUTCOME, "resultType": "task"}'),
    ("taske-durable-create", V5, EXTENSION + 'LOOKED = set()\ndef get(params):\n  known(params)\n  if params["taskId"] not in LOOKED and not LOOKED.add(params["taskId"]):\n    refuse(-32602)\n  return done(**{**known(params), **OUTCOME})'),
    ("taske-get-by-status", V5, EXTENSION + 'OUTCOME = {"status": "completed"}'),
    ("taske-failed-only-protocol-errors", V5, EXTENSION + 'OUTCOME = {"status": "failed", "result": {"content": [], "isError": True}, "error": {"code": 1, "message": "x"}}'),
    ("taske-input-keys-unique", V5, ASKING + """
good_get, good_take = get, acknowledge
AGAIN = {}
def get(params):
    answer = good_get(params)
    if AGAIN.get(params["taskId"]) == 1:
        question = {**QUESTION, "params": {**QUESTION["params"], "message": "Once more?"}}
        answer = done(**{**known(params), "status": "input_required", "inputRequests": {"q1": question}})
        answer.pop("result", None)
    return answer
def acknowledge(params):
    if "q1" in params.get("inputResponses", {}):
        AGAIN[params["taskId"]] = AGAIN.get(params["taskId"], 0) + 1
    return good_take(params)
"""),
    ("taske-update-ack", V5, ASKING + "good = acknowledge; acknowledge = lambda params: refuse(-32602) if 'conductor-unknown' in params.get('inputResponses', {}) else good(params)"),
    ("taske-cancel-ack", V5, EXTENSION + 'METHODS["tasks/cancel"] = lambda params: known(params) and refuse(-32603)'),
    ("taske-unknown-id-get", V5, EXTENSION + 'get = lambda params: done(**{**known(params), **OUTCOME}) if params["taskId"] in TASKS else refuse(-32603)'),
    ("taske-unknown-id-update-cancel", V5, EXTENSION + "acknowledge = lambda params: need(params) and done()"),
    ("taske-methods-need-capability", V5, EXTENSION + "known = lambda params: TASKS.get(params['taskId']) or refuse(-32602)"),
    ("taske-legacy-removed", V5, EXTENSION + 'METHODS["tasks/list"] = done(tasks=[])'),
    ("taske-id-entropy", V5, EXTENSION + "from itertools import count\nnumbers = count(1)\nidentity = lambda: str(next(numbers))"),
]  # fmt: skip

BY_HTTP = ("taske-name-header-server",)


@pytest.mark.parametrize(("name", "version", "change"), BROKEN, ids=[f"{row[0]}-{n}" for n, row in enumerate(BROKEN)])
async def test_what_is_broken_is_reported_and_nothing_else(serve, name, version, change):
    reported_alone(await checked(serve(lines(change, version)), version), name)


@pytest.mark.parametrize(
    ("version", "change"), [(V4, CORE), (V5, EXTENSION), (V5, ASKING)], ids=["core", "extension", "asking"]
)
async def test_nothing_is_reported_of_servers_that_keep_tasks_as_they_should(serve, version, change):
    verdicts = await checked(serve(lines(change, version)), version)
    assert found(verdicts, "failed", "warned") == set()


async def test_acknowledgements_with_more_members_are_a_remark(serve):
    change = "good = acknowledge; acknowledge = lambda params: {**good(params), 'status': known(params)['status']}"
    verdicts = await checked(serve(lines(EXTENSION + change, V5)), V5)
    assert found(verdicts, "failed", "warned") == set()
    for method in ("tasks/update", "tasks/cancel"):
        assert f"the result of {method} has members that the specification does not know: status" in verdicts.remarks


@pytest.mark.parametrize(("file", "version"), [("tasks-only.json", V4), ("tasks-extension.json", V5)])
async def test_our_own_servers_keep_tasks_as_they_should(file, version):
    path = str(ROOT / "examples" / "servers" / file)
    verdicts = await checked((*CONDUCTOR, "serve", path, "--transport", "stdio"), version)
    assert found(verdicts, "failed", "warned") == set()


@pytest.mark.parametrize(("refused", "status"), [(True, "passed"), (False, "failed")])
async def test_a_task_that_its_header_does_not_name_is_refused(refused, status):
    discovered = {**DISCOVER, "capabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}

    def get(call):
        named = call.headers.get("mcp-name") == call.message["params"]["taskId"]
        call.error(-32602 if named or not refused else -32020, "no", 400)

    server = HttpServer({"server/discover": lambda call: call.result(discovered), "tasks/get": get}, modern=True)
    try:
        verdicts = await check(HttpSpec(url=server.url), V5, Options(only=BY_HTTP, timeout=1.0))
    finally:
        server.stop()
    assert [(each.id, each.status) for each in verdicts.outcomes] == [(*BY_HTTP, status)]
