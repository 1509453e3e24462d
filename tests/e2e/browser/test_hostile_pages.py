"""Servers that attack the person who looks at a report: by names, texts, addresses, schemas, stderr and sheer size."""

import sys

import pytest
from tests import prefork

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
SECRET = "hush-\"<&'-zebra"
SERVER = r"""
import json, os, sys

EVIL = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!--<script>"
    "<a href='javascript:window.hacked = 1'>x</a>\u2028\u2029\u202e\u2066\x00\x1b[31m\ud800 " + os.environ["API_KEY"]
)
print(EVIL.encode("utf-8", "replace").decode(), file=sys.stderr, flush=True)
TOOLS = [
    {"name": EVIL, "title": EVIL, "description": EVIL, "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {EVIL: {"type": "string", "description": EVIL}}}},
    {"name": "__proto__"},
]
CALLS = {
    "text": {"content": [{"type": "text", "text": EVIL}, {"type": "resource_link", "uri": "javascript:window.hacked=1", "name": EVIL}], EVIL: EVIL},
    "keys": {"content": [], "structuredContent": {f"k{number}": number for number in range(3_000)}},
    "long": {"content": [{"type": "text", "text": EVIL * 300}]},
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    method, params, reply = request.get("method"), request.get("params") or {}, None
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": EVIL * 100, "version": EVIL}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call" and params.get("name") == "deep":
        reply = '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"a":%s}}}' % (
            json.dumps(request["id"]), "[" * 1000 + "]" * 1000)
    elif method == "tools/call" and params.get("name") == "junk":
        print("not JSON " + EVIL.encode("utf-8", "replace").decode(), flush=True)
        result = {"content": []}
    elif method == "tools/call" and params.get("name") in CALLS:
        result = CALLS[params["name"]]
    else:
        reply = json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": EVIL, "data": EVIL}})
    print(reply or json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
SUITE = """
description: "</script><script>window.hacked = 1</script>"
tests:
  - {it: text, call: text, expect: {result: {content: []}}}
  - {it: keys, call: keys, expect: {result: {content: [], structuredContent: {k1: 2}}}}
  - {it: long, call: long, expect: {result: {content: []}}}
  - {it: deep, call: deep, expect: {result: {content: []}}}
  - {it: junk, call: junk, expect: {result: {content: [1]}}}
  - {it: "error \\ud800 \\u202e", call: none, expect: {ok: true}}
"""
NAME = "a\"'<b>&.test.mcp.yml"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of a run of tests and of a check."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "server.py").write_text(SERVER)
    (folder / NAME).write_text(SUITE)
    server = ["--env", f"API_KEY={SECRET}", "--", sys.executable, "server.py"]
    for words in (["test", "--report", "html:test.html"], ["check", "--report", "html:check.html"]):
        done = prefork.run([*CONDUCTOR, *words, *server], cwd=folder, capture_output=True, check=False, timeout=300)
        assert done.returncode in (1, 3), done.stderr
    return folder


@pytest.mark.parametrize("name", ["test.html", "check.html"])
def test_no_page_runs_what_a_server_says(visit, pages, name):
    page = visit().open(pages / name)
    page.set_default_timeout(120_000)
    seen = set()
    while page.url not in seen:
        seen.add(page.url)
        page.keyboard.press("n")
        page.wait_for_selector("#detail-title")
        page.keyboard.press("e")
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, iframe, main script, a[href^='javascript']").count() == 0
    assert len(seen) >= 4, "every failure was looked at"


@pytest.mark.parametrize("name", ["test.html", "check.html"])
def test_no_page_has_a_secret_or_a_character_that_cannot_be_seen(pages, name):
    text = (pages / name).read_text()
    assert "hush" not in text
    assert "zebra" not in text
    assert not {"\u2028", "\u2029", "\u202e", "\u2066", "\0", "\x1b"} & set(text)
