"""Completion, pagination, caching, logging, progress, cancellation: each requirement kept, and broken."""

import sys
from itertools import product

import pytest
from tests.e2e.checks.broken import AREA, ROOT, checked, found, lines, reported_alone

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
V4, V5 = "2025-11-25", "2026-07-28"

COMPLETES = """
CAPABILITIES = {"prompts": {}, "completions": {}}
PROMPTS = [{"name": "p", "arguments": [{"name": "a"}]}]
METHODS["prompts/list"] = lambda params: refuse(-32602) if "cursor" in params else {"prompts": PROMPTS}
METHODS["prompts/get"] = {"messages": []}
COMPLETION = {"values": ["x"]}
METHODS["completion/complete"] = lambda params: {"completion": COMPLETION} if fits(params) else refuse(-32602)
fits = lambda params: params["ref"].get("name") == "p" and "name" in params["argument"]
"""
PAGES = """
LIST = {None: (["a", "b"], "1"), "1": (["c", "d"], "2"), "2": (["e"], None)}
def listed(params):
    names, following = LIST.get(params.get("cursor")) or refuse(-32602)
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    return {"tools": tools, **({"nextCursor": following} if following is not None else {})}
METHODS["tools/list"] = listed
"""
MODERN_PAGES = (
    PAGES
    + 'METHODS["tools/list"] = lambda params: done(**listed(params), **hints(params))\nhints = lambda params: HINTS\n'
)
LOGS = """
CAPABILITIES = {"tools": {}, "logging": {}}
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
level = "debug"
def set_level(params):
    global level
    level = params["level"] if params["level"] in LEVELS else refuse(-32602)
    return {}
METHODS["logging/setLevel"] = set_level
def log(**params):
    if LEVELS.index(params.get("level", "emergency")) >= LEVELS.index(level):
        notify("notifications/message", **params)
def tool(params):
    log(level="info", data="working")
    return TEXT
"""
MODERN_LOGS = """
CAPABILITIES = {"tools": {}, "logging": {}}
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
wanted = lambda params: params["_meta"].get(META + "logLevel")
discover = METHODS["server/discover"]
METHODS["server/discover"] = lambda params: discover(params) if wanted(params) in (None, *LEVELS) else refuse(-32602)
def tool(params):
    if wanted(params) and LEVELS.index(wanted(params)) <= 1:
        notify("notifications/message", level="info", data="working")
    return done(**TEXT)
"""
PROGRESS = """
token = lambda params: (params.get("_meta") or {}).get("progressToken")
def tool(params):
    if token(params) is not None:
        report(token(params))
    return TEXT
def report(token):
    for step in (1, 2):
        notify("notifications/progress", progressToken=token, progress=step, total=2, message="on its way")
"""
SLOW = "tool = lambda params: time.sleep(0.35) or TEXT\n"

BROKEN = [
    ("completion-capability-declared", V4, COMPLETES + 'del CAPABILITIES["completions"]'),
    ("completion-values", V4, COMPLETES + 'COMPLETION = {"values": [1]}'),
    ("completion-values", V4, COMPLETES + 'del METHODS["completion/complete"]'),
    ("completion-max-100", V4, COMPLETES + 'COMPLETION = {"values": ["x"] * 101}'),
    ("completion-max-100", "2024-11-05", COMPLETES + 'CAPABILITIES = {"prompts": {}}; COMPLETION = {"values": ["x"] * 101}'),
    ("completion-total-hasmore", V4, COMPLETES + 'COMPLETION = {"values": [], "total": "1"}'),
    ("completion-total-hasmore", V4, COMPLETES + 'COMPLETION = {"values": [], "total": -5}'),
    ("completion-total-hasmore", V4, COMPLETES + 'COMPLETION = {"values": [], "total": 1.5}'),
    ("completion-context-server", V4, COMPLETES + 'fits = lambda params: "context" not in params'),
    ("completion-not-supported-32601", V4, 'METHODS["completion/complete"] = lambda params: refuse(-32602)'),
    ("completion-invalid-ref", V4, COMPLETES + "fits = lambda params: True"),
    ("pagination-nextcursor", V4, 'METHODS["tools/list"] = {"tools": TOOLS, "nextCursor": None}'),
    ("pagination-methods", V4, PAGES + 'del LIST["1"]'),
    ("pagination-continues", V4, PAGES + 'LIST["2"] = (["a"], None)'),
    ("pagination-continues", V4, PAGES + 'LIST["2"] = (["e"], "1")'),
    ("pagination-stable-cursor", V4, PAGES + 'after = lambda _: LIST.update({"1": ([f"n{time.time()}"], None)})'),
    ("pagination-invalid-cursor", V4, 'METHODS["tools/list"] = {"tools": TOOLS}'),
    ("ping-removed", V5, 'METHODS["ping"] = {"resultType": "complete"}'),
    ("deprecated-features-server", V5, MODERN_LOGS),
    ("caching-hints-present", V5, 'METHODS["tools/list"] = done(tools=TOOLS)'),
    ("caching-ttl-valid", V5, 'HINTS["ttlMs"] = -1'),
    ("caching-ttl-valid", V5, 'HINTS["ttlMs"] = "1"'),
    ("caching-scope-valid", V5, 'HINTS["cacheScope"] = "shared"'),
    ("caching-scope-uniform-pages", V5, MODERN_PAGES + 'hints = lambda params: {**HINTS, "cacheScope": "public" if params.get("cursor") else "private"}'),
    ("logging-capability-declared", V4, LOGS + 'del CAPABILITIES["logging"]'),
    ("logging-message-shape", V4, LOGS + 'log = lambda **params: notify("notifications/message", level="loud", data=1)'),
    ("logging-message-shape", V4, LOGS + 'log = lambda **params: notify("notifications/message", level="error")'),
    ("logging-no-secrets", V4, LOGS + 'tool = lambda params: log(level="info", data="AKIA" + "A" * 16) or TEXT'),
    ("logging-setlevel-accepted", V4, LOGS + 'METHODS["logging/setLevel"] = lambda params: refuse(-32603) if params["level"] == "notice" else set_level(params)'),
    ("logging-invalid-level", V4, LOGS + 'METHODS["logging/setLevel"] = lambda params: set_level(params) if params["level"] in LEVELS else {}'),
    ("logging-level-respected", V4, LOGS + 'log = lambda **params: notify("notifications/message", **params)'),
    ("logging-modern-opt-in", V5, MODERN_LOGS + 'tool = lambda params: notify("notifications/message", level="error", data=1) or done(**TEXT)'),
    ("logging-modern-level", V5, MODERN_LOGS + 'tool = lambda params: wanted(params) and notify("notifications/message", level="info", data=1) or done(**TEXT)'),
    ("logging-modern-invalid-level", V5, MODERN_LOGS + 'METHODS["server/discover"] = discover'),
    ("progress-notification-shape", V4, PROGRESS + 'METHODS["tools/call"] = lambda params: report(str(token(params) or "x")) or TEXT if token(params) else TEXT'),
    ("progress-notification-shape", V4, PROGRESS + 'report = lambda token: notify("notifications/progress", progressToken=token, progress="1")'),
    ("progress-total-optional", V4, PROGRESS + 'report = lambda token: notify("notifications/progress", progressToken=token, progress=1, total="2")'),
    ("progress-message", V4, PROGRESS + 'report = lambda token: notify("notifications/progress", progressToken=token, progress=1, message=2)'),
    ("progress-increases", V4, PROGRESS + "good = report; report = lambda token: good(token) or good(token)"),
    ("progress-only-active", V4, PROGRESS + 'tool = lambda params: report(token(params) or "mine") or TEXT'),
    ("progress-stops-after-completion", V4, PROGRESS + 'tool = lambda params: TEXT; after = lambda request: token(request.get("params") or {}) and report(token(request["params"]))'),
    ("cancel-notification-shape-server", V4, 'tool = lambda params: notify("notifications/cancelled", reason="why") or TEXT'),
    ("cancel-only-own-active-server", V4, 'tool = lambda params: notify("notifications/cancelled", requestId=request["id"]) or TEXT'),
    ("cancel-server-only-subscriptions", V5, 'tool = lambda params: notify("notifications/cancelled", requestId=request["id"]) or done(**TEXT)'),
    ("cancel-unknown-ignored-server", V4, 'heard = lambda request: request.get("method") == "notifications/cancelled" and error({"id": None}, -32602, "no such request")'),
    ("cancel-race-server", V4, 'heard = lambda request: request.get("method") == "notifications/cancelled" and isinstance(request["params"].get("requestId"), int) and request["params"]["requestId"] > 3 and sys.exit(1)'),
    ("cancel-no-response-server", V4, SLOW),
]  # fmt: skip


@pytest.mark.parametrize(("name", "version", "change"), BROKEN, ids=[f"{row[0]}-{n}" for n, row in enumerate(BROKEN)])
async def test_what_is_broken_is_reported_and_nothing_else(serve, name, version, change):
    reported_alone(await checked(serve(lines(change, version)), version), name)


@pytest.mark.parametrize("version", [V4, V5])
@pytest.mark.parametrize(
    "change", ["", PROGRESS.replace("return TEXT", "return METHODS and {'resultType': 'complete', **TEXT}")]
)
async def test_nothing_is_reported_of_the_servers_that_the_broken_ones_are_made_of(serve, version, change):
    assert found(await checked(serve(lines(change, version)), version), "failed", "warned") == set()


@pytest.mark.parametrize(
    ("change", "version"),
    [(COMPLETES, V4), (PAGES, V4), (MODERN_PAGES, V5), (LOGS, V4)],
    ids=["completes", "pages", "modern-pages", "logs"],
)
async def test_nothing_is_reported_of_servers_that_use_what_there_is(serve, version, change):
    assert found(await checked(serve(lines(change, version)), version), "failed", "warned") == set()


async def test_who_completes_nothing_need_not_declare_it(serve):
    empty = COMPLETES + 'del CAPABILITIES["completions"]; COMPLETION = {"values": []}'
    assert found(await checked(serve(lines(empty, V4)), V4), "failed", "warned") == {"completion-not-supported-32601"}


@pytest.mark.parametrize(
    ("file", "version"),
    [
        *product(["completions.yaml", "logging.yaml", "pagination.json"], ["2024-11-05", "2025-06-18", V4, V5]),
        *product(["demo.json"], ["2024-11-05", "2025-06-18", V4]),  # which serves no other
    ],
)
async def test_our_own_servers_break_nothing(file, version):
    verdicts = await checked((*CONDUCTOR, "serve", str(ROOT / "examples" / "servers" / file)), version)
    assert found(verdicts, "failed") == set()
    assert found(verdicts, "warned") <= {"deprecated-features-server", "elicit-content-validated-server"}


def test_every_check_of_this_area_has_a_server_that_breaks_it():
    from tests.e2e.checks import test_questions, test_subscriptions, test_tasks

    from mcp_conductor.checks.engine.check import CHECKS
    from mcp_conductor.checks.requirements import requirements

    rows = [*BROKEN, *test_questions.BROKEN, *test_subscriptions.BROKEN, *test_tasks.BROKEN]
    here = {name for name, each in requirements().items() if each.group in AREA and each.subject == "server"}
    assert {name for name, _ in CHECKS.items()} & here - {"ping-response-server"} == {
        *(row[0] for row in rows),
        *test_tasks.BY_HTTP,
        "mrtr-capability-respected",
        "cancel-stops-work-server",  # test_cancellation.py
    }


async def test_a_list_of_which_a_page_fails_is_not_seen_to_its_end(serve):
    """That there was no cursor on it does not mean that the list ends there, as it should."""
    pages = 'METHODS["tools/list"] = lambda params: refuse(-32603) if "cursor" in params else {"tools": TOOLS, "nextCursor": "2"}'
    verdicts = await checked(serve(lines(pages, "2025-11-25")), "2025-11-25")
    [outcome] = [each for each in verdicts.outcomes if each.id == "pagination-continues"]
    assert (outcome.status, outcome.reason) == ("skipped", "a page of tools/list is not answered with a result")
    assert "tools/list was not read to its end: after 1 items a page failed" in verdicts.remarks
