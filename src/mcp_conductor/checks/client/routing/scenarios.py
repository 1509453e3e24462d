"""What a client of 2026-07-28 says in the headers of a POST: revision, method, name, and arguments of tools."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ClientRecord, HttpRequest, meta_of, seen
from mcp_conductor.checks.harness.scenario import HTTP, MODERNS, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript, tool
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.http_headers import annotations_of, decoded, encoded
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TASKS = ("tasks/get", "tasks/update", "tasks/cancel")
_HEADERS = tool(
    "mirrored",
    region={"type": "string", "default": "us-west1", "x-mcp-header": "Region"},
    padded={"type": "string", "default": " padded ", "x-mcp-header": "Padded"},
    greeting={"type": "string", "default": "Hello, 世界", "x-mcp-header": "Greeting"},
    sentinel={"type": "string", "default": "=?base64?x?=", "x-mcp-header": "Sentinel"},
    count={"type": "integer", "default": -7, "x-mcp-header": "Count"},
    fast={"type": "boolean", "default": True, "x-mcp-header": "Fast"},
    absent={"type": "string", "x-mcp-header": "Absent"},
)
_WRONG = (
    tool("number-in-header", size={"type": "number", "default": 1, "x-mcp-header": "Size"}),
    tool("space-in-header", size={"type": "string", "default": "x", "x-mcp-header": "My Size"}),
    tool(
        "same-header-twice",
        one={"type": "string", "default": "x", "x-mcp-header": "Size"},
        two={"type": "string", "default": "y", "x-mcp-header": "SIZE"},
    ),
    tool("empty-header", size={"type": "string", "default": "x", "x-mcp-header": ""}),
)


@scenario("mirrored-arguments", revisions=MODERNS, needs="tools/call", together="offers")
class MirroredArguments(ServerScript):
    """One tool wants its arguments in headers too; others want that in ways that are not allowed."""

    def tools(self) -> list[Json]:
        return [*super().tools(), _HEADERS, *_WRONG]

    async def call_tool(self, call: ScriptCall) -> Json:
        self.did("called")
        return await super().call_tool(call)


@scenario("odd-names", revisions=MODERNS, transports=HTTP)
class OddNames(ServerScript):
    """Resources and prompts have names that do not fit into a header as they are."""

    extra_headers = (("Mcp-Session-Id", "not-needed"),)

    def resources(self) -> list[Json]:
        return [{"uri": "note:///größe/世界", "name": "size"}]

    def prompts(self) -> list[Json]:
        return [{"name": " grüße "}]


def _posts(record: ClientRecord) -> list[tuple[HttpRequest, Message]]:
    found = [pair for pair in record.posts() if pair[0].path == record.endpoint and pair[1].kind == "request"]
    modern = [pair for pair in found if pair[1].method != "initialize" and _is_modern(pair[0])]
    return seen(modern, "the client POSTed no request")


def _is_modern(request: HttpRequest) -> bool:
    dialect = request.connection.dialect if request.connection is not None else None
    return dialect is None or not dialect.handshake


@watched("httpm-version-header-client", recorded="messages")
def the_revision_is_in_the_header(record: ClientRecord) -> Iterator[Finding]:
    """Look at every POST: it has the header MCP-Protocol-Version."""
    for request, message in _posts(record):
        if request.header("mcp-protocol-version") is None:
            yield fault(f"{message.method} has no MCP-Protocol-Version", dict(request.headers), beside=[request])


@watched("httpm-version-header-matches-client", recorded="messages")
def header_and_body_name_one_revision(record: ClientRecord) -> Iterator[Finding]:
    """Look at every POST: MCP-Protocol-Version says what `_meta` says."""
    for request, message in _posts(record):
        said, meant = request.header("mcp-protocol-version"), meta_of(message).get(f"{META}protocolVersion")
        if said is not None and meant is not None and said != meant:
            yield fault(
                f"{message.method}: MCP-Protocol-Version is {said}, but the body says {meant}",
                message.raw,
                beside=[request],
            )


@watched("httpm-method-header-client", recorded="messages")
def the_method_is_in_the_header(record: ClientRecord) -> Iterator[Finding]:
    """Look at every POST: Mcp-Method is the method of the body."""
    for request, message in _posts(record):
        said = request.header("mcp-method")
        if said != message.method:
            yield fault(
                f"Mcp-Method is {said!r}, but the method is {message.method}", dict(request.headers), beside=[request]
            )


def _names(record: ClientRecord, members: dict[str, str]) -> list[tuple[HttpRequest, Message, str]]:
    found = []
    for request, message in _posts(record):
        name = message.params.get(members.get(message.method, ""))
        if isinstance(name, str):
            found.append((request, message, name))
    return seen(found, "the client sent no request that names something")


@watched("httpm-name-header-client", recorded="messages")
def the_name_is_in_the_header(record: ClientRecord) -> Iterator[Finding]:
    """Look at every tools/call, prompts/get and resources/read: Mcp-Name is the name or the uri of the body."""
    for request, message, name in _names(record, _NAMED):
        said = request.header("mcp-name")
        if said is None:
            yield fault(f"{message.method} has no Mcp-Name", dict(request.headers), beside=[request])
        elif encoded(name) == name and decoded(said) != name:
            yield fault(f"Mcp-Name is {said!r}, but the body names {name!r}", message.raw, beside=[request])


@watched("httpm-name-base64-client", scenario="odd-names", recorded="messages")
def odd_names_are_encoded(record: ClientRecord) -> Iterator[Finding]:
    """Offer names with other alphabets and outer spaces: Mcp-Name has them in base64, after the prefix =?base64?."""
    odd = [entry for entry in _names(record, _NAMED) if encoded(entry[2]) != entry[2]]
    for request, message, name in seen(odd, "the client used no resource or prompt that has an odd name"):
        said = request.header("mcp-name")
        if said is not None and (not said.startswith("=?base64?") or decoded(said) != name):
            yield fault(f"Mcp-Name is {said!r}, not {name!r} in base64", message.raw, beside=[request])


@watched("taske-name-header-client", recorded="messages")
def task_ids_are_in_the_header(record: ClientRecord) -> Iterator[Finding]:
    """Look at every request about a task: Mcp-Name is its taskId."""
    for request, message, name in _names(record, dict.fromkeys(_TASKS, "taskId")):
        if decoded(request.header("mcp-name") or "") != name:
            yield fault(f"Mcp-Name of {message.method} is not {name!r}", dict(request.headers), beside=[request])


@watched("httpm-no-session-id-client", recorded="messages")
def there_are_no_sessions(record: ClientRecord) -> Iterator[Finding]:
    """Send an Mcp-Session-Id, although there are no sessions: the client does not send it back."""
    for request, message in _posts(record):
        if request.header("mcp-session-id") is not None:
            yield fault(f"{message.method} was sent with an Mcp-Session-Id", dict(request.headers), beside=[request])


def _calls(record: ClientRecord, name: str) -> list[tuple[HttpRequest, Message]]:
    found = [pair for pair in _posts(record) if pair[1].method == "tools/call" and pair[1].params.get("name") == name]
    return seen(found, f"the client did not call {name}")


def _mirrored_arguments(record: ClientRecord) -> Iterator[tuple[str, Any, str | None, HttpRequest]]:
    """The arguments that the tool wants in headers: header, argument, what the header says, and in which request."""
    annotations = annotations_of(_HEADERS["inputSchema"]) or {}
    for request, message in _calls(record, "mirrored"):
        given = message.params.get("arguments")
        for (name,), header in annotations.items():
            value = given.get(name) if isinstance(given, dict) else None
            yield f"Mcp-Param-{header}", value, request.header(f"mcp-param-{header.lower()}"), request


def _raw(request: HttpRequest) -> Any:
    return request.message and request.message.raw


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) and encoded(value) == value


@watched("xmcp-mirroring-client", scenario="mirrored-arguments")
def arguments_are_mirrored(record: ClientRecord) -> Iterator[Finding]:
    """Offer a tool that wants arguments in headers: each argument of the call is there."""
    given = [entry for entry in _mirrored_arguments(record) if entry[1] is not None]
    for header, value, said, request in seen(given, "the client gave none of the arguments"):
        if said is None:
            yield fault(f"{header} is missing", _raw(request), beside=[request])
        elif _is_plain(value) and said != value:
            yield fault(f"{header} is {said!r}, but the argument is {value!r}", _raw(request), beside=[request])


@watched("xmcp-value-encoding-client", scenario="mirrored-arguments")
def values_are_encoded(record: ClientRecord) -> Iterator[Finding]:
    """Offer integers, booleans and odd strings: the headers have them in decimals, as true or false, and in base64."""
    given = [entry for entry in _mirrored_arguments(record) if entry[1] is not None and entry[2] is not None]
    odd = [entry for entry in given if not _is_plain(entry[1]) and not str(entry[1]).startswith("=?")]
    for header, value, said, request in seen(odd, "the client gave no argument of this kind"):
        if said != encoded(value):
            yield fault(f"{header} is {said!r} for {value!r}, not {encoded(value)!r}", _raw(request), beside=[request])


@watched("httpm-base64-literal-client", scenario="mirrored-arguments")
def sentinels_are_encoded(record: ClientRecord) -> Iterator[Finding]:
    """Offer a plain value that begins like one in base64: it is encoded too."""
    alike = [
        entry for entry in _mirrored_arguments(record) if str(entry[1]).startswith("=?base64?") and entry[2] is not None
    ]
    for header, value, said, request in seen(alike, "the client gave no argument of this kind"):
        if decoded(str(said)) != value:
            yield fault(f"{header} is {said!r}, not {value!r} in base64", _raw(request), beside=[request])


@watched("xmcp-omit-absent-client", scenario="mirrored-arguments")
def absent_arguments_have_no_header(record: ClientRecord) -> Iterator[Finding]:
    """Look at arguments that are null or missing: there is no header for them."""
    absent = [entry for entry in _mirrored_arguments(record) if entry[1] is None]
    for header, _, said, request in seen(absent, "the client gave all arguments"):
        if said is not None:
            yield fault(f"{header} is {said!r}, but the argument is missing or null", _raw(request), beside=[request])


def _calls_everything(record: ClientRecord) -> None:
    """Raise NotSeen where the client does not call all tools: it may only call what it was told to call."""
    called = {each.params.get("name") for each in record.plain.requests("tools/call")} if record.plain else set()
    if not called >= {each["name"] for each in ServerScript(record, None).tools()}:
        raise NotSeen("the client does not call all tools that it finds")


@watched("xmcp-invalid-tool-excluded-client", scenario="mirrored-arguments")
def wrong_tools_are_left_out(record: ClientRecord) -> Iterator[Finding]:
    """Offer tools that want headers in ways that are not allowed: the client calls none of them."""
    _calls_everything(record)
    wrong = {each["name"] for each in _WRONG}
    for message in record.requests("tools/call"):
        if message.params.get("name") in wrong:
            yield fault(
                f"tool {message.params['name']!r} was called, although its x-mcp-header is not valid", message.raw
            )
    if not record.requests("tools/call") and record.stopped_short():
        yield fault(
            "the client called no tool at all because some have an x-mcp-header that is not valid", record.last_words()
        )


@watched("xmcp-ignored-on-stdio", scenario="mirrored-arguments")
def annotations_are_ignored_on_stdio(record: ClientRecord) -> Iterator[Finding]:
    """Offer a tool that wants headers, on stdio: the client calls it as any other."""
    _calls_everything(record)
    if not any(each.params.get("name") == "mirrored" for each in record.requests("tools/call")):
        yield fault("the client does not call a tool that wants headers", record.last_words())
