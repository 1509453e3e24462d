"""Subscriptions of 2026-07-28: each requirement kept, and broken."""

import sys

import pytest
from tests.e2e.checks.broken import ROOT, checked, found, lines, reported_alone

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
VERSION = "2026-07-28"

# A server whose tool changes the lists of tools and of prompts.
LISTENS = """
CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {"listChanged": True}}
METHODS["prompts/list"] = lambda params: refuse(-32602) if "cursor" in params else done(prompts=[], **HINTS)
KINDS = {"toolsListChanged": "tools", "promptsListChanged": "prompts"}
STREAMS = {}
tagged = lambda identity: {META + "subscriptionId": identity}
honoured = lambda wanted: {kind: True for kind in wanted if kind in KINDS}
def acknowledge(identity, wanted):
    notify("notifications/subscriptions/acknowledged", _meta=tagged(identity), notifications=honoured(wanted))
def listen(request):
    wanted = request["params"]["notifications"]
    STREAMS[request["id"]] = wanted
    acknowledge(request["id"], wanted)
def change():
    for identity, wanted in STREAMS.items():
        for kind in wants(wanted):
            notify(f"notifications/{KINDS[kind]}/list_changed", _meta=tagged(identity))
wants = lambda wanted: [kind for kind in wanted if kind in KINDS]
tool = lambda params: change() or done(**TEXT)
cancel = lambda identity: STREAMS.pop(identity, None)
def heard(request):
    if request.get("method") == "notifications/cancelled":
        isinstance(request["params"].get("requestId"), (str, int)) and cancel(request["params"]["requestId"])
    elif request.get("method") == "subscriptions/listen":
        listen(request)
        request.pop("id")
"""

BROKEN = [
    ("subs-listen-served", LISTENS + "listen = lambda request: error(request, -32601, 'no')"),
    ("subs-ack-first", LISTENS + "good = acknowledge; acknowledge = lambda identity, wanted: wanted and change() or good(identity, wanted)"),
    ("subs-ack-first", LISTENS + "listen = lambda request: None"),
    ("subs-ack-subset", LISTENS + 'good = honoured; honoured = lambda wanted: {**good(wanted), **({"resourcesListChanged": True} if wanted else {})}'),
    ("subs-id-tagged", LISTENS + 'tagged = lambda identity: {META + "subscriptionId": str(identity)}'),
    ("subs-filter-respected", LISTENS + "wants = lambda wanted: KINDS if wanted else []"),
    ("subs-empty-filter", LISTENS + "wants = lambda wanted: [kind for kind in wanted if kind in KINDS] or KINDS"),
    ("subs-cancel-ends", LISTENS + "cancel = lambda identity: None"),
    ("subs-result-meta", LISTENS + "good = listen; listen = lambda request: good(request) or request['params']['notifications'] or result(request, done())"),
    ("subs-no-request-scoped", LISTENS + 'tool = lambda params: [notify("notifications/progress", progressToken=params["_meta"]["progressToken"], progress=1, _meta=tagged(each)) for each in STREAMS if "progressToken" in params["_meta"]] and done(**TEXT) or done(**TEXT)'),
    ("logging-modern-own-stream", LISTENS + """
CAPABILITIES["logging"] = {}
wanted = lambda params: params["_meta"].get(META + "logLevel")
discover = METHODS["server/discover"]
METHODS["server/discover"] = lambda params: refuse(-32602) if wanted(params) == "verbose" else discover(params)
def tool(params):
    if wanted(params) == "debug":
        for identity in list(STREAMS) or [None]:
            notify("notifications/message", level="info", data=1, **({"_meta": tagged(identity)} if identity else {}))
    return done(**TEXT)
"""),
]  # fmt: skip
# A log message on a stream is a message of a request on a stream.
WITH_IT = {"logging-modern-own-stream": ("subs-no-request-scoped",)}


@pytest.mark.parametrize(("name", "change"), BROKEN, ids=[f"{row[0]}-{n}" for n, row in enumerate(BROKEN)])
async def test_what_is_broken_is_reported_and_nothing_else(serve, name, change):
    verdicts = await checked(serve(lines(change, VERSION)), VERSION)
    reported_alone(verdicts, name, *WITH_IT.get(name, ()))


async def test_nothing_is_reported_of_a_server_that_keeps_to_its_subscriptions(serve):
    verdicts = await checked(serve(lines(LISTENS, VERSION)), VERSION)
    assert found(verdicts, "failed", "warned") == set()
    skipped = {name for name in found(verdicts, "skipped") if name.startswith("subs-")}
    assert skipped == {"subs-result-meta"}


@pytest.mark.parametrize("file", ["subscriptions.yaml", "list-changed.json"])
async def test_our_own_servers_keep_to_their_subscriptions(file):
    verdicts = await checked((*CONDUCTOR, "serve", str(ROOT / "examples" / "servers" / file)), VERSION)
    assert found(verdicts, "failed") == set()
