"""What a client must tolerate: unexpected notifications, unknown members, odd results.

A client tolerates it if it then does all that it does with a polite server.
"""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ANYTHING, ClientRecord, meta_of, seen
from mcp_conductor.checks.harness.scenario import HANDSHAKES, MODERNS, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript, notice
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import LOG_LEVELS, META, versions_with
from mcp_conductor.protocol.message import compact
from mcp_conductor.report.model import Finding

_ENDING_ELICITATION = versions_with(lambda each: each.elicitation_id)
_BATCHING = versions_with(lambda each: each.batches)
_FAILING_TOOLS = versions_with(lambda each: each.tool_argument_errors)
_DATA: tuple[Any, ...] = ("text", {"error": "none"}, None, 4)
_LOUD = "this text is only here to be shown"


@scenario("unknown-notification", needs=ANYTHING, together="notices")
class UnknownNotification(ServerScript):
    """Before each answer comes an unknown notification."""

    async def before(self, call: ScriptCall) -> None:
        await super().before(call)
        self.did("notified")
        await call.say(notice("notifications/conductor/unknown", conductor=True))


@scenario("logs", together="notices")
class Logs(ServerScript):
    """Before each answer come log messages of all levels, with and without a logger, and with all kinds of data."""

    async def after_opening(self, call: ScriptCall) -> None:
        if call.method == "initialize" and call.http is None:
            self.did("logged")
            await call.say(notice("notifications/message", level="info", data="before everything"))

    async def before(self, call: ScriptCall) -> None:
        await super().before(call)
        modern = call.connection.dialect is not None and not call.connection.dialect.handshake
        if modern and f"{META}logLevel" not in call.meta:
            return
        self.did("logged")
        for number, level in enumerate(LOG_LEVELS):
            params = {"level": level, "data": _DATA[number % len(_DATA)]}
            await call.say(notice("notifications/message", **params, **({"logger": "l"} if number % 2 else {})))


@scenario("progress", needs=ANYTHING, together="notices")
class Progress(ServerScript):
    """Before each answer comes progress without a total, in fractions: of an unknown token, and of the request."""

    async def before(self, call: ScriptCall) -> None:
        await super().before(call)
        self.did("progressed")
        wanted = call.meta.get("progressToken")
        if wanted is not None:
            await call.say(notice("notifications/progress", progressToken=wanted, progress=0.25))
            await call.say(notice("notifications/progress", progressToken=wanted, progress=1.5))
        await call.say(notice("notifications/progress", progressToken="unknown", progress=0.5))


@scenario("unknown-members", together="offers")
class UnknownMembers(ServerScript):
    """Capabilities and results have unknown members."""

    def capabilities(self) -> Json:
        self.did("declared")
        return {**super().capabilities(), "conductor": {"unknown": True}, "experimental": {"conductor": {}}}

    async def _result(self, call: ScriptCall) -> Json:
        return {**await super()._result(call), "conductor": {"unknown": [1, 2]}}


@scenario("stray-cancellation", revisions=HANDSHAKES, needs=ANYTHING, together="notices")
class StrayCancellation(ServerScript):
    """Before each answer comes a cancellation of a request that was never made."""

    async def before(self, call: ScriptCall) -> None:
        await super().before(call)
        self.did("cancelled")
        await call.say(notice("notifications/cancelled", requestId="never-made", reason="no reason"))


@scenario("stray-completion", revisions=_ENDING_ELICITATION, needs=ANYTHING, together="notices")
class StrayCompletion(ServerScript):
    """Before each answer comes the completion of an elicitation that was never begun."""

    async def before(self, call: ScriptCall) -> None:
        await super().before(call)
        self.did("completed")
        await call.say(notice("notifications/elicitation/complete", elicitationId="never-begun"))


@scenario("garbage", needs=ANYTHING, together="notices")
class Garbage(ServerScript):
    """Before each answer comes a line that is not a message."""

    async def before(self, call: ScriptCall) -> None:
        await super().before(call)
        self.did("garbled")
        await call.say("this is not JSON")


@scenario("batch", revisions=_BATCHING, needs=ANYTHING)
class Batch(ServerScript):
    """Before the first answer come a notification and a ping, in one array."""

    async def before(self, call: ScriptCall) -> None:
        if self.count == 1:
            self.did("batched")
            log = compose("notifications/message", {"level": "info", "data": "x"})
            await call.say(compact([log, compose("ping", identity="batched-1")]))
            await call.ask("ping", identity="alone-1")


@scenario("odd-content", needs="tools/call")
class OddContent(ServerScript):
    """Tools answer with text and with content of an unknown type."""

    async def call_tool(self, call: ScriptCall) -> Json:
        self.did("called")
        result = await super().call_tool(call)
        return {"content": [*result["content"], {"type": "conductor/unknown", "value": 1}]}


@scenario("failing-tools", revisions=_FAILING_TOOLS, needs="tools/call", together="ends")
class FailingTools(ServerScript):
    """Tools fail, and say why."""

    async def call_tool(self, call: ScriptCall) -> Json:
        del call
        self.did("called")
        return {"content": [{"type": "text", "text": _LOUD}], "isError": True}


@scenario("no-result-type", revisions=MODERNS, needs=ANYTHING)
class NoResultType(ServerScript):
    """Results have no resultType."""

    async def _result(self, call: ScriptCall) -> Json:
        result = await super()._result(call)
        if call.method != "server/discover":
            self.did("left out")
            result.pop("resultType", None)
        return result


@scenario("odd-result-type", revisions=MODERNS, needs="tools/call")
class OddResultType(ServerScript):
    """The results of tools have an unknown resultType."""

    async def call_tool(self, call: ScriptCall) -> Json:
        del call
        self.did("called")
        return {"resultType": "conductor/unknown", "content": [{"type": "text", "text": _LOUD}]}


@scenario("any-structure", revisions=MODERNS, needs="tools/call", together="results")
class AnyStructure(ServerScript):
    """Tools return arrays, numbers and null as structured content."""

    def tools(self) -> list[Json]:
        kinds = ({"type": "array"}, {"type": "null"}, {"type": "number"})
        return [{**each, "outputSchema": kind} for each, kind in zip(super().tools(), kinds, strict=True)]

    async def call_tool(self, call: ScriptCall) -> Json:
        self.did("called")
        value = {"echo": [1, 2], "now": None, "greet": 1.5}.get(str(call.params.get("name")))
        return {**await super().call_tool(call), "structuredContent": value}


@watched("base-notification-no-response-client", scenario="unknown-notification")
def notifications_are_not_answered(record: ClientRecord) -> Iterator[Finding]:
    """Send unknown notifications: the client does not answer them."""
    if "notified" not in record.moments:
        raise NotSeen("the client made no request")
    answers = [each for each in record.said if each.kind in ("result", "error")]
    usual = [each for each in record.plain.said if each.kind in ("result", "error")] if record.plain else []
    if len(answers) > len(usual):
        yield fault("a notification was answered", answers[0].raw)


@watched("logging-client-tolerates", scenario="logs")
def log_messages_are_taken(record: ClientRecord) -> Iterator[Finding]:
    """Send log messages of all levels, with all kinds of data: the client behaves as it does without them."""
    yield from record.survived("log messages", "logged")


@watched("progress-client-tolerates", scenario="progress")
def progress_is_taken(record: ClientRecord) -> Iterator[Finding]:
    """Send progress in fractions, without a total, of an unknown token: the client behaves as it does without that."""
    yield from record.survived("progress notifications", "progressed")


@watched("base-unknown-capabilities-tolerated-client", scenario="unknown-members")
def unknown_members_are_ignored(record: ClientRecord) -> Iterator[Finding]:
    """Add unknown members to capabilities and results: the client behaves as it does without them."""
    yield from record.survived("members that it does not know", "declared")


@watched("cancel-unknown-ignored-client", scenario="stray-cancellation")
def unknown_cancellations_are_ignored(record: ClientRecord) -> Iterator[Finding]:
    """Cancel requests that were never made: the client behaves as it does without that."""
    yield from record.survived("a cancellation of nothing", "cancelled")


@watched("elicit-complete-unknown-client", scenario="stray-completion")
def unknown_completions_are_ignored(record: ClientRecord) -> Iterator[Finding]:
    """Send the completion of an elicitation that was never begun: the client behaves as it does without that."""
    yield from record.survived("the completion of an unknown elicitation", "completed")


@watched("base-malformed-input-survival-client", scenario="garbage")
def garbage_is_survived(record: ClientRecord) -> Iterator[Finding]:
    """Send lines or events that are not messages: the client behaves as it does without them."""
    yield from record.survived("a line that is not a message", "garbled")


@watched("batch-receive-client", scenario="batch", follows=("base-response-id-echo-client",))
def batches_are_taken(record: ClientRecord) -> Iterator[Finding]:
    """Send a notification and a ping in one array: the ping is answered."""
    if "batched" not in record.moments:
        raise NotSeen("the client made no request")
    answered = {each.id for each in record.said if each.kind in ("result", "error")}
    if "alone-1" not in answered and "batched-1" not in answered and not record.stopped_short():
        raise NotSeen("the client answers no ping at all")
    if "batched-1" not in answered:
        yield fault("the ping in a batch was not answered", record.last_words())


@watched("tools-client-unknown-content-tolerated", scenario="odd-content")
def unknown_content_is_taken(record: ClientRecord) -> Iterator[Finding]:
    """Answer with text and with content of an unknown type: the client behaves as it does without that."""
    yield from record.survived("content of an unknown type", "called")


def _shows(record: ClientRecord) -> bool:
    """Whether the client prints what tools return."""
    assert record.plain is not None
    return record.plain.printed("was called")


@watched("tools-client-iserror-surfaced", scenario="failing-tools")
def failures_are_shown(record: ClientRecord) -> Iterator[Finding]:
    """Let a tool fail with a text: a client that shows results shows the text too."""
    if "called" not in record.moments or not _shows(record):
        raise NotSeen("the client does not show what tools return")
    if not record.printed(_LOUD):
        yield fault("the text of a tool's error was not shown", record.last_words())


@watched("versioning-resulttype-absent-client", scenario="no-result-type")
def results_need_no_type(record: ClientRecord) -> Iterator[Finding]:
    """Leave resultType out: the client takes the result as complete."""
    yield from record.survived("a result without resultType", "left out")


@watched("versioning-resulttype-unknown-client", scenario="odd-result-type")
def unknown_results_are_refused(record: ClientRecord) -> Iterator[Finding]:
    """Return an unknown resultType: the client does not show the content as a result."""
    if "called" not in record.moments or not _shows(record):
        raise NotSeen("the client does not show what tools return")
    if record.exit_code == 0 and any(_LOUD in line for line in record.out):
        yield fault("a result of unknown type was taken for a complete one", record.last_words())


@watched("tools-structured-content-any-client", scenario="any-structure")
def structured_content_may_be_anything(record: ClientRecord) -> Iterator[Finding]:
    """Return an array, a number and null as structured content: the client behaves as it does without that."""
    yield from record.survived("structured content that is not an object", "called")


@watched("meta-trace-context-format-client", recorded="messages")
def trace_context_has_its_format(record: ClientRecord) -> Iterator[Finding]:
    """Look at traceparent, tracestate and baggage in `_meta`: they have the formats of the W3C."""
    from mcp_conductor.protocol.meta_keys import TRACE

    found = [(key, value, each) for each in record.said if _has_params(each) for key, value in meta_of(each).items()]
    traced = [entry for entry in found if entry[0] in TRACE]
    for key, value, message in seen(traced, "no trace context was sent"):
        if not isinstance(value, str) or not TRACE[key].fullmatch(value):
            yield fault(f"{key} does not have the format of W3C", message.raw, path=f"params._meta.{key}")


def _has_params(message: Any) -> bool:
    return message.kind in ("request", "notification")
