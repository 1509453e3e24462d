"""What a server offers with its tools: schemas of every kind, addresses to fetch from, icons, and tasks."""

from collections.abc import Iterator
from itertools import cycle
from typing import ClassVar

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ClientRecord, capabilities_in, seen
from mcp_conductor.checks.harness.scenario import MODERNS, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import METHOD_NOT_FOUND, TASKS_EXTENSION, versions_with
from mcp_conductor.report.model import Finding
from mcp_conductor.server.definitions import Refusal

_WITH_SCHEMA_2020 = versions_with(lambda each: each.schema_2020)
_WITH_ICONS = versions_with(lambda each: each.icons)
_WITH_CORE_TASKS = versions_with(lambda each: each.tasks == "core")
_TRAPS = "/trap/"
_DEEP = 60


class _Offering(ServerScript):
    """A server with more tools, whose schemas are unusual."""

    def schemas(self) -> dict[str, Json]:
        """The schemas by the names of the tools that have them."""
        return {}

    def tools(self) -> list[Json]:
        self.did("offered")
        more = [
            {"name": name, "description": "Has an odd schema.", "inputSchema": schema}
            for name, schema in self.schemas().items()
        ]
        return [*super().tools(), *more]


@scenario("newer-schema", revisions=_WITH_SCHEMA_2020, needs="tools/list", together="offers")
class NewerSchema(_Offering):
    """A tool has a schema with the words of JSON Schema 2020-12, and does not name that."""

    def schemas(self) -> dict[str, Json]:
        point = {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": False}
        schema: Json = {
            "type": "object",
            "$defs": {"point": point},
            "properties": {"at": {"$ref": "#/$defs/point"}, "name": {"type": "string"}},
            "dependentRequired": {"at": ["name"]},
        }
        return {**super().schemas(), "odd": schema}


@scenario("unknown-dialect", revisions=_WITH_SCHEMA_2020, needs="tools/list", together="offers")
class UnknownDialect(_Offering):
    """A tool has a schema in an unknown dialect."""

    def schemas(self) -> dict[str, Json]:
        schema = {"$schema": "https://example.com/no-such-dialect", "type": "object", "properties": {}}
        return {**super().schemas(), "foreign": schema}


@scenario("remote-schema", revisions=MODERNS, needs="tools/list", together="offers")
class RemoteSchema(_Offering):
    """A tool has a schema that refers to an address on our server."""

    def schemas(self) -> dict[str, Json]:
        remote = {"$ref": f"{self.record.origin}{_TRAPS}schema.json"}
        return {**super().schemas(), "remote": {"type": "object", "properties": {"value": remote}}}


@scenario("deep-schema", revisions=MODERNS, needs="tools/list", together="offers")
class DeepSchema(_Offering):
    """A tool has a schema that is nested deeply."""

    def schemas(self) -> dict[str, Json]:
        inner: Json = {"type": "string"}
        for _ in range(_DEEP):
            inner = {"type": "object", "properties": {"a": inner}}
        return {**super().schemas(), "deep": {"type": "object", "properties": {"deep": inner}}}


@scenario("icons", revisions=_WITH_ICONS, needs="tools/list", together="offers")
class Icons(ServerScript):
    """Tools have icons at addresses with unsafe schemes, and on our server."""

    def tools(self) -> list[Json]:
        self.did("offered")
        sources = ("file:///etc/passwd", "javascript:alert(1)", f"{self.record.origin}{_TRAPS}icon.png")
        tools = zip(super().tools(), cycle(sources), strict=False)
        return [{**each, "icons": [{"src": source}]} for each, source in tools]


@scenario("task-tools", revisions=_WITH_CORE_TASKS, needs="tools/call")
class TaskTools(ServerScript):
    """One tool must be called as a task, one must not, and the server declares tasks."""

    def capabilities(self) -> Json:
        return {**super().capabilities(), "tasks": {"cancel": {}, "list": {}, "requests": {"tools": {"call": {}}}}}

    def tools(self) -> list[Json]:
        kinds = ("required", "forbidden", "optional")
        named = zip(super().tools(), kinds, strict=True)
        return [{**each, "name": kind, "execution": {"taskSupport": kind}} for each, kind in named]

    async def call_tool(self, call: ScriptCall) -> Json:
        if call.params.get("name") == "required" or "task" in call.params:
            raise Refusal(METHOD_NOT_FOUND, "there are no tasks today")
        return await super().call_tool(call)


@watched("schema-default-2020-12-client", scenario="newer-schema")
def newer_schemas_are_taken(record: ClientRecord) -> Iterator[Finding]:
    """Offer a tool whose schema uses words of 2020-12: the client behaves as it does without that."""
    yield from record.survived("a schema of 2020-12", "offered")


@watched("schema-unsupported-dialect", scenario="unknown-dialect")
def unknown_dialects_do_no_harm(record: ClientRecord) -> Iterator[Finding]:
    """Offer a tool whose schema is of an unknown dialect: the client may leave it out, and goes on with the others."""
    yield from record.survived("a schema of an unknown dialect", "offered")


@watched("schema-bounded-validation-client", scenario="deep-schema")
def deep_schemas_do_no_harm(record: ClientRecord) -> Iterator[Finding]:
    """Offer a tool whose schema is nested deeply: the client behaves as it does without that."""
    yield from record.survived("a deeply nested schema", "offered")


def _fetch_faults(record: ClientRecord, what: str) -> Iterator[Finding]:
    if "offered" not in record.moments:
        raise NotSeen("the client lists no tools")
    for request in record.http:
        if request.path.startswith(_TRAPS):
            yield fault(f"the client fetched {what}", str(request))


@watched("schema-no-network-ref-client", scenario="remote-schema")
def schemas_are_not_fetched(record: ClientRecord) -> Iterator[Finding]:
    """Offer a tool whose schema refers to an address: the client does not fetch it."""
    yield from _fetch_faults(record, "a schema from the network")


@watched("icons-unsafe-rejected-client", scenario="icons")
def icons_are_fetched_without_credentials(record: ClientRecord) -> Iterator[Finding]:
    """Offer icons with unsafe addresses: the client goes on, and sends no credentials when it fetches the others."""
    yield from record.survived("icons with unsafe addresses", "offered")
    for request in record.http:
        if request.path.startswith(_TRAPS) and {"authorization", "cookie", "mcp-session-id"} & set(request.headers):
            yield fault("an icon was fetched with credentials", dict(request.headers), beside=[request])


@watched("taskc-client-tool-gating", scenario="task-tools")
def tasks_are_used_where_they_are_meant(record: ClientRecord) -> Iterator[Finding]:
    """Offer tools that must, must not and may be called as tasks: the client calls each as its taskSupport says."""
    calls = seen(record.requests("tools/call"), "the client calls no tools")
    # Tasks are an option, and nothing that a client declares says whether it sends any.
    declares = any("tasks" in connection.capabilities for connection in record.connections)
    uses = any("task" in each.params or each.method.startswith("tasks/") for each in record.requests())
    if not declares and not uses:
        raise NotSeen("the client shows no sign of knowing tasks")
    for request in calls:
        name, task = request.params.get("name"), "task" in request.params
        if name == "required" and not task:
            yield fault("a tool whose taskSupport is required was called without a task", request.raw)
        elif name == "forbidden" and task:
            yield fault("a tool whose taskSupport is forbidden was called as a task", request.raw, path="params.task")


@watched("taskc-capability-client", recorded="conversation")
def tasks_of_clients_are_declared(record: ClientRecord) -> Iterator[Finding]:
    """Look at every answer of the client that is a task: the client has declared tasks for that request."""
    found = []
    for connection in record.connections:
        for question, reply in connection.asked():
            if (
                reply is not None
                and reply.kind == "result"
                and isinstance(reply.result, dict)
                and "task" in reply.result
            ):
                found.append((connection, question, reply))
    for connection, question, reply in seen(found, "the client made no task"):
        if "tasks" not in connection.capabilities:
            yield fault(f"{question.method} was answered with a task, but tasks are not declared", reply.raw)


class _Tasks(ServerScript):
    """A server of the extension: tools, or prompts, are answered with a task."""

    METHODS: ClassVar[dict[str, str]] = {
        "tasks/get": "get_task",
        "tasks/cancel": "acknowledge",
        "tasks/update": "acknowledge",
    }

    def capabilities(self) -> Json:
        return {**super().capabilities(), "extensions": {TASKS_EXTENSION: {}}}

    def task(self, call: ScriptCall, status: str) -> Json:
        self.did("made a task")
        name = f"task-{call.request.id}"
        times = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
        return {"taskId": name, "status": status, "ttlMs": 60_000, "pollIntervalMs": 300, **times}

    def has_extension(self, call: ScriptCall) -> bool:
        extensions = capabilities_in(call.request).get("extensions")
        return isinstance(extensions, dict) and TASKS_EXTENSION in extensions

    async def get_task(self, call: ScriptCall) -> Json:
        self.did("was asked for it")
        done = {"resultType": "complete", "content": [{"type": "text", "text": "the task was called"}]}
        return {**self.task(call, "completed"), "taskId": call.params.get("taskId"), "result": done}


@scenario("tasks", revisions=MODERNS, needs="tools/call", together="offers")
class TasksOfTools(_Tasks):
    """Tools are answered with a task, if the client declares the extension."""

    async def call_tool(self, call: ScriptCall) -> Json:
        if not self.has_extension(call):
            return await super().call_tool(call)
        return {"resultType": "task", **self.task(call, "working")}


@watched("taske-client-both-shapes", scenario="tasks")
def tasks_are_taken_for_results(record: ClientRecord) -> Iterator[Finding]:
    """Answer a tool with a task: the client sends tasks/get until the task has ended, and goes on."""
    yield from record.survived("a task in place of a result", "made a task")
    if "was asked for it" not in record.moments:
        yield fault("the client never sent tasks/get for the task", record.last_words())


@watched("taske-client-polls", scenario="tasks")
def tasks_are_asked_for_in_time(record: ClientRecord) -> Iterator[Finding]:
    """Answer a tool with a task and pollIntervalMs 300: the client does not send tasks/get sooner."""
    made: dict[str, float] = {}
    counted = False
    for connection in record.connections:
        for at, source, message in connection.transcript.spoken():
            if source == "server" and message.kind == "result" and isinstance(message.result, dict):
                if message.result.get("resultType") == "task":
                    made[str(message.result.get("taskId"))] = at
            elif source == "client" and message.kind == "request" and message.method == "tasks/get":
                counted = True
                waited = (at - made.get(str(message.params.get("taskId")), 0.0)) * 1000
                if waited < 300 * 0.9:
                    yield fault(f"tasks/get was sent after {waited:.0f} ms, but pollIntervalMs is 300", message.raw)
    if not counted:
        raise NotSeen("the client sent no tasks/get")


@scenario("task-of-prompt", revisions=MODERNS, needs="prompts/get", together="offers")
class TaskOfPrompt(_Tasks):
    """A prompt is answered with a task, which only tools may have."""

    async def get_prompt(self, call: ScriptCall) -> Json:
        if not self.has_extension(call):
            return await super().get_prompt(call)
        return {"resultType": "task", **self.task(call, "working")}


@watched("taske-client-unsupported-method", scenario="task-of-prompt")
def only_tools_have_tasks(record: ClientRecord) -> Iterator[Finding]:
    """Answer a prompt with a task: the client does not treat it as one."""
    if "made a task" not in record.moments:
        raise NotSeen("the client gave no occasion for it")
    for request in record.requests("tasks/get"):
        yield fault("the client sent tasks/get for a prompt, but only tools can have tasks", request.raw)


@watched("taske-client-no-cancelled", "cancel-task-via-tasks-cancel", recorded="conversation")
def tasks_are_cancelled_as_tasks(record: ClientRecord) -> Iterator[Finding]:
    """Look at requests that were answered with a task: what is cancelled is the task, by tasks/cancel."""
    made = set()
    for connection in record.connections:
        for exchange in connection.exchanges:
            result = exchange.reply.result if exchange.reply is not None and exchange.reply.kind == "result" else None
            if isinstance(result, dict) and ("task" in result or result.get("resultType") == "task"):
                made.add(str(exchange.request.id))
    cancelled = record.notifications("notifications/cancelled")
    for message in cancelled:
        if str(message.params.get("requestId")) in made:
            yield fault("a task was cancelled by notifications/cancelled, not by tasks/cancel", message.raw)
    if not record.requests("tasks/cancel") and not (made and cancelled):
        raise NotSeen("the client cancelled no task")
