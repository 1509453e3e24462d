"""Several requests in one test: in order, with what was captured before, and the first that fails ends the test."""

import json
import sys
from itertools import pairwise

import pytest

# Counts its calls: `count` says how many there were.
COUNTER = """
import json, sys

calls = 0
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "c", "version": "1"}}
    if asked["method"] == "tools/call":
        calls += 1
        result = {"content": [], "structuredContent": {"calls": calls}}
        if asked["params"]["name"] == "exit":
            sys.exit(5)
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def counter(write):
    return (sys.executable, str(write("counter.py", COUNTER)))


def test_steps_are_done_in_order_and_use_what_was_captured_before(check, write):
    done = check("""
        - it: counts
          steps:
            - call: count
              expect: {asserts: [result.structuredContent.calls == 1]}
              capture: {first: result.structuredContent.calls}
            - call: count
              vars: {wanted: "{{ first }}"}
              expect: {asserts: ["result.structuredContent.calls > {{ wanted }}"]}
              capture: {second: result.structuredContent.calls}
        - it: goes on
          call: count
          expect: {asserts: ["result.structuredContent.calls > {{ second }}"]}
    """, server=counter(write))  # fmt: skip
    assert done.statuses == {"counts": "passed", "goes on": "passed"}


def test_the_first_step_that_fails_ends_the_test_and_is_named_with_its_line(check, write):
    done = check("""
        - it: counts
          steps:
            - {call: count, expect: {ok: true}}
            - it: counts wrongly
              call: count
              expect: {asserts: [result.structuredContent.calls == 7]}
            - {call: count, capture: {third: result.structuredContent.calls}}
        - it: needs the third
          call: {tool: count, args: {n: "{{ third }}"}}
          expect: {ok: true}
        - it: sees how far it came
          call: count
          expect: {asserts: [result.structuredContent.calls == 3]}
    """, server=counter(write))  # fmt: skip
    assert done.statuses == {"counts": "failed", "needs the third": "skipped", "sees how far it came": "passed"}
    (finding,) = done.outcomes["counts"]["findings"]
    assert finding["message"] == "step 2 (counts wrongly): result.structuredContent.calls is 2, not 7"
    assert finding["line"] == 9


def test_a_step_may_be_done_again_until_it_is_so_and_a_test_of_steps_as_a_whole(check, write):
    done = check("""
        - it: waits
          steps:
            - {call: count, expect: {ok: true}}
            - {call: count, until: {within: 5s, interval: 1ms}, expect: {asserts: [result.structuredContent.calls >= 5]}}
        - it: tries all again
          retry: {times: 3, interval: 1ms}
          steps:
            - {call: count, expect: {ok: true}}
            - {call: count, expect: {asserts: [result.structuredContent.calls >= 10]}}
    """, server=counter(write))  # fmt: skip
    assert done.statuses == {"waits": "passed", "tries all again": "passed"}
    assert not done.outcomes["waits"].get("flaky")
    assert done.outcomes["tries all again"]["flaky"]


def test_a_server_that_goes_away_in_a_step_is_told_with_the_step(check, write):
    done = check("""
        - it: dies
          steps:
            - {call: count, expect: {ok: true}}
            - {call: exit, expect: {ok: true}}
            - {call: count, expect: {ok: true}}
    """, server=counter(write))  # fmt: skip
    assert done.code != 0
    assert done.statuses == {"dies": "failed"}
    assert done.findings("dies").startswith("step 2: the server exited with code 5")


def test_each_step_has_a_snapshot_of_its_own(check, write, tmp_path):
    tests = """
        - it: keeps
          steps:
            - {call: count, expect: snapshot}
            - {call: count, expect: snapshot}
    """
    assert check(tests, server=counter(write)).code == 0
    assert check(tests, server=counter(write)).code == 0
    (kept,) = (tmp_path / "__snapshots__").glob("*.yml")
    assert [line for line in kept.read_text().split("\n") if line.startswith('"')] == [
        '"keeps step 1":',
        '"keeps step 2":',
    ]


def test_the_client_of_a_test_answers_in_all_of_its_steps(check, write):
    server = json.dumps({
        "serverInfo": {"name": "a", "version": "1"},
        "transport": {"type": "stdio"},
        "tools": [{"name": "ask", "steps": [{"sample": {"prompt": "?", "maxTokens": 5}}], "result": "done"}],
    })  # fmt: skip
    words = (sys.executable, "-m", "mcp_conductor", "serve", str(write("asks.json", server)))
    done = check("""
        - it: asks twice
          client: {sampling: Paris}
          steps:
            - {call: ask, expect: {ok: true}}
            - {call: ask, expect: {ok: true}}
    """, server=words)  # fmt: skip
    assert done.statuses == {"asks twice": "passed"}


HOOKS = "before_each: [{call: lend}]\nafter_each: [{call: take}]"
LENDS = """
    hello(tools={})
    serve({"tools/call": lambda params: {"content": [], "structuredContent": {"did": params["name"]}}})
"""


@pytest.mark.parametrize(
    ("test", "marked"),
    [
        ("{it: x, call: read, expect: {asserts: [result.structuredContent.did == nothing]}}", ["read"]),
        ("{it: x, steps: [{call: open}, {call: read, expect: {asserts: [result.structuredContent.did == no]}}]}", ["read"]),
        ("{it: x, call: read, retry: 1, expect: {asserts: [result.structuredContent.did == nothing]}}", ["read"]),
    ],
)  # fmt: skip
def test_only_the_reply_that_is_wrong_has_marks(check, serve, test, marked):
    done = check(f"- {test}", head=HOOKS, server=serve(LENDS), COLUMNS="200")
    assert done.code == 1
    lines = done.out.splitlines()
    shown = [line for line in lines if line.strip().startswith("response ")]
    assert any("take" in line for line in shown), done.out
    below = [line for line, after in pairwise(lines) if line in shown and set(after.strip()) == {"^"}]
    assert [json.loads(line.split(maxsplit=1)[1])["result"]["structuredContent"]["did"] for line in below] == marked


def test_where_a_hook_is_wrong_too_each_reply_has_its_own_marks(check, serve):
    head = "after_each: [{call: take, expect: {asserts: [result.content == 1]}}]"
    test = "- {it: x, call: read, expect: {asserts: [result.structuredContent.did == nothing]}}"
    done = check(test, head=head, server=serve(LENDS), COLUMNS="200")
    lines = done.out.splitlines()
    below = [(line, after) for line, after in pairwise(lines) if line.strip().startswith("response ")]
    assert [line[after.index("^") : after.rindex("^") + 1] for line, after in below] == ['"read"', "[]"]
