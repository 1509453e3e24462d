"""A test that fails because the server has no such tool or prompt says which was meant."""

import sys

MUTE = """
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "m", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
    elif asked.get("method") == "tools/call":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32602, "message": "no"}}), flush=True)
"""


def hints(done, title):
    return [finding["hint"] for finding in done.outcomes[title]["findings"] if finding.get("hint")]


def test_the_nearest_name_of_the_list_is_told(check):
    done = check("""
        - {it: a tool, call: mott, expect: {ok: true}}
        - {it: as it is, request: {method: tools/call, params: {name: mott}}, expect: {result: {}}}
        - {it: like no other, call: xyzzy, expect: {ok: true}}
        - {it: a prompt, prompt: {name: leter, args: {to: Ada}}, expect: {ok: true}}
        - {it: one that is there, call: burn, expect: {ok: true}}
        - {it: an error that is expected, call: mott, expect: {ok: false}}
        - {it: not as expected, call: motto, expect: {ok: false}}
    """)
    assert (
        hints(done, "a tool") == hints(done, "as it is") == ["the server lists no tool 'mott'; did you mean 'motto'?"]
    )
    assert hints(done, "a prompt") == ["the server lists no prompt 'leter'; did you mean 'letter'?"]
    assert not any(hints(done, title) for title in ("like no other", "one that is there", "not as expected"))
    assert done.statuses["an error that is expected"] == "passed"
    assert "tools/list" not in done.out


def test_a_server_that_does_not_list_is_asked_once(check, write):
    server = (sys.executable, str(write("mute.py", MUTE)))
    tests = "\n".join(f"- {{it: number {n}, call: x, expect: {{ok: true}}}}" for n in range(4))
    done = check(tests, server=server)
    assert set(done.statuses.values()) == {"failed"}
    assert done.seconds < 4
