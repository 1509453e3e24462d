"""What changes when tools are called: a server that tells, and servers that do not, in both eras."""

import pytest
from tests.conftest import SERVERS
from tests.e2e.checks.plain_servers import PlainHttp, over_http
from tests.e2e.checks.real_servers import node, npm

from mcp_conductor.checks.engine.judging import Trigger
from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.server_spec import StdioSpec

NEW, OLD, MODERN = "2025-11-25", "2024-11-05", "2026-07-28"
GROUPS = ("tools", "resources", "prompts")
CHANGES = ("resources-updated-sent", "tools-listchanged-notification", "resources-listchanged-notification",
           "prompts-listchanged-notification")  # fmt: skip
MODERN_CHANGES = ("resources-updated-subscribed", "tools-listchanged-subscribed", "resources-listchanged-subscribed",
                  "prompts-listchanged-subscribed")  # fmt: skip
WRITE = Trigger("write", {"text": "other"})
ADD = Trigger("add")

# `write` changes a note, `add` a tool, a resource and a prompt. A test breaks it by a change of a line or two.
SERVER = """
capabilities = {"tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True},
                "prompts": {"listChanged": True}}
made = lambda **schema: {"type": "object", **schema}
tools = [
    {"name": "write", "inputSchema": made(properties={"text": {"type": "string"}}, required=["text"])},
    {"name": "add", "inputSchema": made()},
]
notes = {"note:///one": "1", "note:///two": "2"}
prompts = []
subscribed, streams = set(), {}
text = lambda said, **more: {"content": [{"type": "text", "text": said}], **more}

def tell(kind, method, **params):
    if not streams:
        kind != "resourceSubscriptions" and notify(method)
        params.get("uri") in subscribed and notify(method, **params)
    for identity, wanted in streams.items():
        if params.get("uri") in wanted.get(kind, ()) if params else wanted.get(kind):
            notify(method, _meta={META + "subscriptionId": identity}, **params)

def updated(uri):
    tell("resourceSubscriptions", "notifications/resources/updated", uri=uri)

def listed(kind):
    tell(kind + "ListChanged", f"notifications/{kind}/list_changed")

def write(said):
    notes["note:///one"] += said + "."
    updated("note:///one")
    return text("written")

def add():
    number = len(tools)
    tools.append({"name": f"more-{number}", "inputSchema": made()})
    listed("tools")
    notes[f"note:///more-{number}"] = "more"
    listed("resources")
    prompts.append({"name": f"more-{number}"})
    listed("prompts")
    return text("added")

def call(params):
    if params["name"] == "write" and isinstance(params["arguments"].get("text"), str):
        return write(params["arguments"]["text"])
    if params["name"] == "add":
        return add()
    return text("which text?", isError=True) if params["name"] == "write" else None

def read(uri):
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": notes[uri]}]} if uri in notes else None

def subscribe(uri):
    subscribed.add(uri)
    return {}

def unsubscribe(uri):
    subscribed.discard(uri)
    return {}

methods = {
    "initialize": lambda params: {"protocolVersion": params["protocolVersion"], "capabilities": capabilities,
                                  "serverInfo": {"name": "changing", "version": "1"}},
    "server/discover": lambda params: {"supportedVersions": ["2026-07-28"], "capabilities": capabilities},
    "ping": lambda params: {},
    "tools/list": lambda params: {"tools": tools},
    "tools/call": lambda params: call(params),
    "resources/list": lambda params: {"resources": [{"uri": uri, "name": uri} for uri in notes]},
    "resources/templates/list": lambda params: {"resourceTemplates": []},
    "resources/read": lambda params: read(params["uri"]),
    "resources/subscribe": lambda params: subscribe(params["uri"]),
    "resources/unsubscribe": lambda params: unsubscribe(params["uri"]),
    "prompts/list": lambda params: {"prompts": prompts},
    "prompts/get": lambda params: {"messages": []} if {"name": params["name"]} in prompts else None,
}
%s
while True:
    request = hear()
    params = request.get("params") or {}
    modern = META + "protocolVersion" in params.get("_meta", {})
    if request["method"] == "subscriptions/listen" and modern:
        streams[request["id"]] = wanted = params["notifications"]
        notify("notifications/subscriptions/acknowledged", _meta={META + "subscriptionId": request["id"]}, notifications=wanted)
    elif request["method"] == "notifications/cancelled":
        streams.pop(params["requestId"], None)
    elif "id" in request and request["method"] not in methods:
        error(request, -32601, "Method not found")
    elif "id" in request:
        try:
            value = methods[request["method"]](params)
        except KeyError:
            value = None
        more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if modern else {}
        error(request, -32602, "no") if value is None else result(request, {**value, **more})
"""  # noqa: E501


@pytest.fixture
def outcomes(serve):
    """What is found out about the server with a CHANGE in it."""

    async def run(change, *triggers, version=NEW, only=GROUPS, timeout=0.6, call=()):
        spec = StdioSpec(command=serve(SERVER % change), env={"PYTHONPATH": str(SERVERS)})
        options = Options(only=frozenset(only), timeout=timeout, triggers=triggers, call=call)
        verdicts = await check(spec, version, options)
        return {outcome.id: outcome for outcome in verdicts.outcomes}, verdicts

    return run


def reported(found):
    return {name for name, outcome in found.items() if outcome.findings}


@pytest.mark.parametrize(
    ("version", "ids"), [(OLD, CHANGES), (NEW, CHANGES), (MODERN, MODERN_CHANGES)], ids=[OLD, NEW, MODERN]
)
async def test_a_server_that_tells_what_changes_keeps_every_requirement(outcomes, version, ids):
    found, verdicts = await outcomes("", WRITE, ADD, version=version)
    assert reported(found) == set()
    assert {name: found[name].status for name in ids} == dict.fromkeys(ids, "passed")
    assert verdicts.remarks == []


@pytest.mark.parametrize(
    ("name", "version", "change", "trigger"),
    [
        ("resources-updated-sent", NEW, "updated = lambda uri: None", WRITE),
        ("resources-updated-sent", OLD, "updated = lambda uri: notify('notifications/resources/updated', uri='note:///two')", WRITE),
        ("resources-updated-subscribed", MODERN, "updated = lambda uri: None", WRITE),
        ("tools-listchanged-notification", NEW, "good = listed; listed = lambda kind: kind != 'tools' and good(kind)", ADD),
        ("resources-listchanged-notification", NEW, "good = listed; listed = lambda kind: kind != 'resources' and good(kind)", ADD),
        ("prompts-listchanged-subscribed", MODERN, "good = listed; listed = lambda kind: kind != 'prompts' and good(kind)", ADD),
    ],
)  # fmt: skip
async def test_a_change_that_is_not_told_is_reported_and_nothing_else(outcomes, name, version, change, trigger):
    only = GROUPS if name.startswith("resources-updated") and "two" not in change else (*CHANGES, *MODERN_CHANGES)
    found, _ = await outcomes(change, trigger, version=version, only=only)
    assert reported(found) == {name}
    assert "was not sent" in found[name].findings[0].message
    assert found[name].findings[0].actual["before"] != found[name].findings[0].actual["after"]


async def test_calling_all_tools_finds_a_subscribed_resource_that_changes_without_a_word(outcomes):
    found, _ = await outcomes("updated = lambda uri: None", call="all", only=CHANGES)
    assert reported(found) == {"resources-updated-sent"}
    assert "note:///one changed when write, add was called" in found["resources-updated-sent"].findings[0].message


async def test_where_nothing_may_be_called_the_reason_names_the_flag(outcomes):
    for version, ids in ((NEW, CHANGES), (MODERN, MODERN_CHANGES)):
        found, _ = await outcomes("", version=version, only=ids)
        assert all(each.status == "skipped" and "--trigger" in each.reason for each in found.values()), found


async def test_a_trigger_that_changes_nothing_or_fails_is_told(outcomes):
    found, _ = await outcomes("write = lambda said: text('not today')", WRITE, only=CHANGES)
    assert found["resources-updated-sent"].reason.startswith("nothing changed when write was called: --trigger")
    found, verdicts = await outcomes("write = lambda said: text('no paper', isError=True)", WRITE, only=CHANGES)
    assert "the tool 'write' failed (no paper)" in found["resources-updated-sent"].reason
    assert verdicts.remarks == ["--trigger: the tool 'write' failed: no paper"]


async def test_what_changes_by_itself_is_no_finding(outcomes):
    change = (
        "read = lambda uri: {'contents': [{'uri': uri, 'text': str(time.monotonic())}]}; updated = lambda uri: None"
    )
    found, _ = await outcomes(change, WRITE, only=("resources-updated-sent",))
    assert found["resources-updated-sent"].status == "skipped"
    assert "note:///one changes also when no tool is called" in found["resources-updated-sent"].reason


async def test_what_changes_once_only_is_not_certain(outcomes, tmp_path):
    """A note that is kept in a file: in the second session the same is written once more."""
    file = tmp_path / "note"
    change = (
        f"import pathlib; kept = pathlib.Path({str(file)!r})\n"
        "read = lambda uri: {'contents': [{'uri': uri, 'text': kept.read_text() if kept.exists() else ''}]}\n"
        "write = lambda said: kept.write_text(said) and text('written')"
    )
    found, _ = await outcomes(change, WRITE, only=("resources-updated-sent",))
    assert found["resources-updated-sent"].status == "skipped"
    assert "a second call of write changed nothing" in found["resources-updated-sent"].reason


async def test_a_notification_may_come_later_than_the_answer(outcomes):
    change = "import threading\nnow = updated\nupdated = lambda uri: threading.Timer(0.3, now, (uri,)).start()"
    found, _ = await outcomes(change, WRITE, only=("resources-updated-sent",), timeout=1.0)
    assert found["resources-updated-sent"].status == "passed"


async def test_a_server_that_dies_of_a_trigger_breaks_no_promise_about_changes(outcomes):
    found, _ = await outcomes("write = lambda said: os._exit(1)", WRITE, only=CHANGES)
    assert reported(found) == set()
    assert "could not be seen" in found["resources-updated-sent"].reason


async def test_a_trigger_must_be_a_tool_of_the_server(outcomes):
    for trigger, problem, hint in [
        (Trigger("wirte"), "the server has no tool 'wirte'", "did you mean 'write'?"),
        (Trigger("delete"), "the server has no tool 'delete'", "it lists add, write"),
    ]:
        with pytest.raises(UsageError) as refused:
            await outcomes("", trigger, only=CHANGES)
        assert problem in refused.value.message
        assert refused.value.hint == hint


@pytest.mark.slow
@pytest.mark.peers
@pytest.mark.skipif(node() is None, reason="the npm packages are not installed")
async def test_the_official_everything_server_tells_its_subscribers(verdicts_of):
    server = (node(), *npm("server-everything")[1:])
    trigger = Trigger("toggle-subscriber-updates")
    found = await verdicts_of(server, NEW, only=("resources-updated-sent",), triggers=(trigger,), timeout=2.0)
    assert found["resources-updated-sent"].status == "passed"


async def test_over_http_a_change_without_a_word_is_reported_where_there_is_a_stream_for_it(verdicts_of):
    class Quiet(PlainHttp):
        capabilities = {"tools": {}, "resources": {"subscribe": True}}
        written = 0

        def __init__(self):
            super().__init__()
            item = {"uri": "note:///one", "name": "one"}
            self.methods["resources/list"] = lambda params: {"resources": [item]}
            self.methods["resources/read"] = lambda params: {
                "contents": [{"uri": "note:///one", "text": str(self.written)}]
            }
            self.methods["resources/subscribe"] = lambda params: {}

        def call_tool(self, params):
            self.written += 1
            return super().call_tool(params)

    name = "resources-updated-sent"
    with over_http(Quiet()) as spec:
        found = await verdicts_of(spec, NEW, only=(name,), triggers=(Trigger("look"),))
        assert found[name].status == "failed"
        found = await verdicts_of(spec, OLD, only=(name,), triggers=(Trigger("look"),))
        assert "no stream on which it could tell" in found[name].reason


PAGED = """
def paged(params):
    at = int(params.get("cursor", 0))
    return {"tools": tools[at:at + 1], **({"nextCursor": str(at + 1)} if at + 1 < len(tools) else {})}
methods["tools/list"] = paged
listed = lambda kind: None
"""


async def test_a_change_on_a_later_page_is_seen(outcomes):
    found, _ = await outcomes(PAGED, ADD, only=["tools-listchanged-notification"])
    assert reported(found) == {"tools-listchanged-notification"}


@pytest.mark.parametrize(
    ("list_tools", "why"),
    [
        ("None", "tools/list failed"),
        ("{}", "the result of tools/list has no array 'tools'"),
        ('{"tools": tools[:1], "nextCursor": "1"} if "cursor" not in params else None', "tools/list failed"),
    ],
)
async def test_a_tool_that_may_be_missing_because_its_list_fails_is_no_mistake_of_the_user(outcomes, list_tools, why):
    found, verdicts = await outcomes(f'methods["tools/list"] = lambda params: {list_tools}', ADD, only=["tools"])
    assert f"--trigger: the tool 'add' was not called: {why}" in verdicts.remarks
    assert found
