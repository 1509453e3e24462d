"""From one test to the next: what is captured, given, repeated, done before and after, or left out."""

import json
import re

import pytest

ADD = "call: {tool: add, args: {a: 7, b: 8}}"
COUNTER = """
    hello(tools={}, resources={"subscribe": True})
    count = 0
    while True:
        request = hear()
        if request.get("method") == "tools/call":
            count += 1
            say({"id": request["id"], "result": {"content": [], "structuredContent": {"n": count}}})
        elif "id" in request:
            result(request, {})
"""


def test_what_is_captured_keeps_its_type_in_every_later_step(check):
    done = check(f"""
        - it: gives
          {ADD}
          expect: {{ok: true}}
          capture: {{n: result.structuredContent.a, all: result.structuredContent, text: {{from: "result.content[0].text", json: b}}}}
        - {{it: between, call: motto, expect: {{ok: true}}}}
        - it: uses it
          call: {{tool: add, args: "{{{{ all }}}}"}}
          expect:
            result:
              content: "match:any"
              structuredContent: {{a: "{{{{ n }}}}", b: "{{{{ text }}}}"}}
            asserts: ["result.structuredContent.a == {{{{ n }}}}"]
        - it: uses it in a text
          call: {{tool: echo, args: {{message: "n is {{{{ n }}}}"}}}}
          expect: {{result: {{content: [{{type: text, text: "Echo: n is 7"}}]}}}}
    """)
    assert done.code == 0, done.all


def test_a_test_that_needs_a_capture_that_failed_is_skipped_with_the_reason(check):
    done = check("""
        - {it: gives nothing, call: motto, expect: {ok: true}, capture: {id: result.nothing.here}}
        - {it: needs it, call: {tool: echo, args: {message: "{{ id }}"}}, expect: {ok: true}}
        - {it: needs it to expect, call: motto, expect: {result: {x: "{{ id }}"}}}
        - {it: does not, call: motto, expect: {ok: true}}
    """)
    assert done.code == 1
    assert list(done.statuses.values()) == ["failed", "skipped", "skipped", "passed"]
    assert "capture 'id': nothing was found at result.nothing.here" in done.findings("gives nothing")
    assert done.outcomes["needs it"]["reason"] == "needs id, which 'gives nothing' did not capture"


@pytest.mark.parametrize(
    ("capture", "why"),
    [
        (
            '{from: "result.content[0].text", json: a.b}',
            " | json | a.b: 'not json {' is not JSON: expecting value at character 1",
        ),
        (
            '"result.content[0].text | json | a.b"',
            " | json | a.b: 'not json {' is not JSON: expecting value at character 1",
        ),
        ('{from: "result.content[0].text", json: a.b, secret: true}', " | json | a.b"),
        ('{from: "result.content[0].text", regex: "id=(.+)"}', ", by 'id=(.+)'"),
    ],
)
def test_a_capture_that_finds_nothing_says_why(check, serve, capture, why):
    server = serve("""
        hello(tools={})
        serve({"tools/call": {"content": [{"type": "text", "text": "not json {"}]}})
    """)
    done = check(f"- {{it: a, call: x, expect: {{ok: true}}, capture: {{v: {capture}}}}}", server=server)
    assert done.findings("a").splitlines()[0] == f"capture 'v': nothing was found at result.content[0].text{why}"


def test_who_needs_what_a_skipped_test_was_to_capture_is_skipped_too(check):
    done = check(f"""
        - {{it: gives, skip: not today, {ADD}, expect: {{ok: true}}, capture: {{n: result.structuredContent.a}}}}
        - {{it: needs, call: {{tool: echo, args: {{message: "{{{{ n }}}}"}}}}, expect: {{ok: true}}}}
    """)
    assert done.statuses == {"gives": "skipped", "needs": "skipped"}


def test_who_needs_a_failed_capture_for_its_client_is_skipped_too(check):
    done = check("""
        - {it: gives nothing, call: motto, expect: {ok: true}, capture: {id: result.nothing}}
        - {it: needs, call: motto, client: {sampling: ["{{ id }}"]}, expect: {ok: true}}
    """)
    assert done.statuses == {"gives nothing": "failed", "needs": "skipped"}


def test_a_test_that_is_chosen_alone_is_run_after_those_that_give_what_it_needs(check):
    done = check(
        f"""
        - {{it: gives, {ADD}, expect: {{ok: true}}, capture: {{n: result.structuredContent.a}}}}
        - {{it: needs, call: {{tool: echo, args: {{message: "{{{{ n }}}} books"}}}}, expect: {{ok: true}}}}
        - {{it: needs it for a variable, vars: {{m: "{{{{ n }}}}"}}, call: {{tool: echo, args: {{message: "{{{{ m }}}} books"}}}}, expect: {{ok: true}}}}
        - {{it: needs nothing, call: motto, expect: {{ok: true}}}}
        """,
        "-k", "needs",
    )  # fmt: skip
    assert done.code == 0
    assert done.statuses == {"needs": "passed", "needs it for a variable": "passed", "needs nothing": "passed"}
    assert "ok  a.test.mcp.yml:5  needs  ('gives' was run first, for what it captures)" in done.out
    assert "3 passed, 1 deselected" in done.out
    assert [each.get("after") for each in done.report["outcomes"]] == [["gives"], None, None]


def test_a_test_that_was_not_chosen_and_fails_is_an_error_of_the_test_that_needs_it(check):
    done = check(
        """
        - {it: gives, call: lose, expect: {ok: true}, capture: {n: result.content}}
        - {it: needs, call: {tool: echo, args: {message: "{{ n }}"}}, expect: {ok: true}}
        """,
        "-k", "needs",
    )  # fmt: skip
    assert (done.code, done.statuses) == (1, {"needs": "errored"})
    assert "'gives', which was run first for what it captures: the tool answered with an error" in done.findings(
        "needs"
    )


def test_a_variable_without_a_value_is_found_before_a_server_starts(check):
    done = check("""
        - {it: uses, call: {tool: echo, args: {message: "{{ nmae }}"}}, expect: {ok: true}, capture: {name: result}}
        - {it: may use, call: {tool: echo, args: {message: "{{ nmae }}"}}, expect: {ok: true}}
    """, server=("/nonexistent",))  # fmt: skip
    assert done.code == 2
    assert "a.test.mcp.yml:" in done.err
    assert "nmae" in done.err


def test_variables_come_from_the_file_the_flags_and_the_environment(check, write):
    write("vars.yml", "{from_file: f, over: file}")
    done = check(
        """
        - it: has all
          vars: {own: "{{ base }}/own"}
          call:
            tool: echo
            args: {message: "{{ base }} {{ own }} {{ flag }} {{ from_file }} {{ environment }} {{ over }} {{ env.PLAIN }}"}
          expect: {asserts: ['result.content[0].text == "Echo: http http/own 1 f e flag plain"']}
        """,
        "--var", "flag=1", "--var", "over=flag", "--vars-file", "vars.yml",
        head="vars: {base: http}",
        MCP_VAR_environment="e", MCP_VAR_over="environment", PLAIN="plain",
    )  # fmt: skip
    assert done.code == 0, done.all


def test_a_variable_keeps_its_type(check):
    done = check(
        """
        - {it: is a number, call: {tool: add, args: {a: "{{ n }}", b: 2}}, expect: {asserts: [result.structuredContent.a == 5]}}
        """,
        "--var", "n=5",
    )  # fmt: skip
    assert done.code == 0, done.all


@pytest.mark.parametrize("flag", [("--var", "noequals"), ("--vars-file", "missing.yml"), ("--var", "1x=2")])
def test_a_variable_that_cannot_be_is_refused(check, flag):
    done = check("- {it: x, call: motto, expect: {ok: true}}", *flag)
    assert done.code == 2
    assert "error:" in done.err


def test_a_table_makes_a_test_of_each_of_its_rows(check):
    done = check("""
        - it: adds
          parametrize: [{id: small, a: 1, b: 2}, {a: 3, b: 4}, {id: wrong, a: 5, b: 6}]
          call: {tool: add, args: {a: "{{ a }}", b: "{{ b }}"}}
          expect: {asserts: ["result.structuredContent.b == {{ a }} + 1", "result.structuredContent.a < 5"]}
    """.replace(" == {{ a }} + 1", " != {{ a }}"))  # fmt: skip
    assert done.statuses == {"adds [small]": "passed", "adds [a=3, b=4]": "passed", "adds [wrong]": "failed"}


def test_hooks_are_done_around_the_file_and_around_each_test(check, serve):
    server = serve("""
        hello(tools={})
        heard = []
        while True:
            request = hear()
            if "id" in request:
                heard.append(request["params"]["name"])
                result(request, {"content": [{"type": "text", "text": " ".join(heard)}]})
    """)
    done = check(
        """
        - {it: one, call: one, expect: {result: {content: [{type: text, text: setup before one}]}}}
        - {it: two, call: two, expect: {result: {content: [{type: text, text: setup before one after before two}]}}}
        """,
        "-vv",
        server=server,
        head="""
            setup: [{call: setup}]
            before_each: [{call: before}]
            after_each: [{call: after}]
            teardown: [{call: last, expect: {asserts: ['result.content[0].text endsWith "two after last"']}}]
        """,
    )
    assert done.code == 0, done.all


@pytest.mark.parametrize(
    ("hook", "status"),
    [("setup", "errored"), ("before_each", "failed"), ("after_each", "failed")],
)
def test_a_hook_that_fails_is_named(check, hook, status):
    done = check("- {it: one, call: motto, expect: {ok: true}}", head=f"{hook}: [{{call: lose, expect: {{ok: true}}}}]")
    assert done.code == 1
    assert done.statuses == {"one": status}
    assert f"{hook}: the tool answered with an error: The book is lost." in done.findings("one")
    assert done.out.count(f"{hook}: the tool answered with an error: The book is lost.") == 1


def test_a_teardown_that_fails_is_an_outcome_of_its_own(check):
    done = check("- {it: one, call: motto, expect: {ok: true}}", head="teardown: [{call: lose, expect: {ok: true}}]")
    assert done.code == 1
    assert done.statuses == {"one": "passed", "teardown": "failed"}
    assert done.out.count("teardown: the tool answered with an error: The book is lost.") == 1
    assert "again: conductor test a.test.mcp.yml --" in done.out


def test_what_fails_after_all_tests_is_shown_although_several_files_are_run(conductor, suite, book):
    suite("- {it: one, call: motto, expect: {ok: true}}\n- {it: two, call: motto, expect: {ok: true}}",
          head="teardown: [{call: lose, expect: {ok: true}}]")  # fmt: skip
    suite("- {it: three, call: motto, expect: {ok: true}}", name="b.test.mcp.yml")
    done = conductor("test", "--", *book)
    assert done.code == 1
    assert "teardown: the tool answered with an error: The book is lost." in done.out


def test_setup_gives_variables_to_all_tests(check):
    done = check(
        """
        - {it: has it, call: {tool: add, args: {a: "{{ n }}", b: 1}}, expect: {asserts: [result.structuredContent.a == 7]}}
        """,
        head=f"setup: [{{{ADD}, capture: {{n: result.structuredContent.a}}}}]",
    )
    assert done.code == 0, done.all


def test_skip_leaves_a_test_out_and_says_why(check):
    done = check("""
        - {it: left out, skip: waiting for a fix, call: lose, expect: {ok: true}}
        - {it: also left out, skip: true, call: lose, expect: {ok: true}}
        - {it: not left out, skip: false, call: motto, expect: {ok: true}}
    """)
    assert done.code == 0
    assert list(done.statuses.values()) == ["skipped", "skipped", "passed"]
    assert "waiting for a fix" in done.out


CONDITIONS = {
    "capability: tools": "capability: sampling",
    "no_capability: completions.x": "no_capability: tools",
    "capability: resources.listChanged": "capability: resources.subscribe",
    "platform: [linux, darwin, win32]": "platform: plan9",
    "env: PRESENT": "env: ABSENT",
    "no_env: ABSENT": "no_env: PRESENT",
    'protocol: "2025-11-25"': 'protocol: "2024-11-05"',
    "{env: PRESENT, capability: tools}": "{env: ABSENT, capability: tools}",
}


@pytest.mark.parametrize("holds", CONDITIONS)
def test_skip_if_leaves_a_test_out_where_its_condition_holds(check, holds):
    first, second = (each if each.startswith("{") else f"{{{each}}}" for each in (holds, CONDITIONS[holds]))
    done = check(f"""
        - {{it: left out, skip_if: {first}, call: lose, expect: {{ok: true}}}}
        - {{it: not left out, skip_if: {second}, call: motto, expect: {{ok: true}}}}
    """, PRESENT="1")  # fmt: skip
    assert done.code == 0
    assert done.statuses == {"left out": "skipped", "not left out": "passed"}
    assert done.outcomes["left out"]["reason"].startswith("skip_if: ")


def test_an_unknown_condition_is_refused_with_the_nearest(check):
    done = check("- {it: x, skip_if: {capabilty: tools}, call: motto, expect: {ok: true}}")
    assert done.code == 2
    assert "did you mean 'capability'?" in done.err


def test_a_test_that_is_expected_to_fail_must_fail(check):
    done = check("""
        - {it: fails, xfail: known bug, call: lose, expect: {ok: true}}
        - {it: passes, xfail: known bug, call: motto, expect: {ok: true}}
    """)
    assert done.code == 1
    assert done.statuses["passes"] == "failed"
    assert "the test passed, although it was expected to fail: known bug" in done.findings("passes")
    assert {title: each.get("xfail") for title, each in done.outcomes.items()} == {"fails": "known bug", "passes": None}
    assert "1 failed, 1 xfailed in" in done.out
    assert done.outcomes["fails"]["reason"] == "known bug"
    assert done.statuses["fails"] == "skipped"


def test_only_runs_nothing_else_in_any_file(conductor, suite, book):
    suite("- {it: one, only: true, call: motto, expect: {ok: true}}\n- {it: two, call: lose, expect: {ok: true}}")
    suite("- {it: three, call: lose, expect: {ok: true}}", name="b.test.mcp.yml")
    done = conductor("test", "--report", "json:report.json", "--", *book)
    assert (done.code, done.statuses) == (0, {"one": "passed"})


def test_retry_does_a_test_again_and_calls_it_flaky(check, serve):
    done = check("""
        - {it: third time, call: x, retry: 5, expect: {asserts: [result.structuredContent.n >= 3]}}
        - {it: never, call: x, retry: {times: 2, interval: 10ms}, expect: {asserts: [result.structuredContent.n >= 100]}}
        - {it: counts, call: x, expect: {result: {content: [], structuredContent: {n: 7}}}}
    """, server=serve(COUNTER))  # fmt: skip
    assert list(done.statuses.values()) == ["passed", "failed", "passed"], done.all
    assert done.outcomes["third time"]["flaky"] is True
    assert "flaky" not in done.outcomes["counts"]


def test_until_waits_for_it_to_become_true(check, serve):
    done = check("""
        - {it: becomes true, call: x, until: {within: 10s, interval: 10ms}, expect: {asserts: [result.structuredContent.n >= 5]}}
        - {it: never does, call: x, until: 200ms, expect: {asserts: [result.structuredContent.n >= 1000]}}
    """, server=serve(COUNTER))  # fmt: skip
    assert list(done.statuses.values()) == ["passed", "failed"], done.all
    assert "flaky" not in done.outcomes["becomes true"]


@pytest.mark.parametrize(
    "action",
    [
        "call: x",
        pytest.param("list: tools"),
        "request: {method: tools/list}",
        "raw: '{]'",
    ],
)
def test_a_step_has_a_time_out_of_its_own(check, serve, action):
    server = serve("""
        hello(tools={})
        while True:
            request = json.loads(sys.stdin.readline() or sys.exit(0)) if False else sys.stdin.readline()
            if not request: break
            if '"ping"' in request:
                result(json.loads(request), {})
    """)
    done = check(
        f"""
        - {{it: waits in vain, {action}, timeout: 200ms, expect: {{ok: true}}}}
        - {{it: goes on, request: {{method: ping}}, expect: {{ok: true}}}}
        """,
        "--step-timeout", "20s", server=server,
    )  # fmt: skip
    assert done.code == 1
    assert done.statuses == {"waits in vain": "failed", "goes on": "passed"}
    assert "0.2 s" in done.findings("waits in vain")
    assert done.seconds < 10


def test_the_time_out_of_a_file_and_of_a_run_hold_for_each_step(check, serve):
    silent = serve("hello(tools={})\nserve({'x': {}} if not hear() else {})\n")
    done = check("- {it: waits, call: x, expect: {ok: true}}", head="timeout: 200ms", server=silent)
    assert "0.2 s" in done.findings("waits")
    done = check("- {it: waits, call: x, expect: {ok: true}}", "--step-timeout", "300ms", server=silent)
    assert "0.3 s" in done.findings("waits")


def test_what_we_send_never_has_the_id_of_a_request_in_the_file(check):
    done = check(
        """
        - it: sends two at once
          parallel:
            - {request: {id: 2, method: tools/call, params: {name: slow}}, expect: {asserts: ["result.content[0].text == at last"]}}
            - {call: motto, expect: {asserts: ["result.content[0].text startsWith Nobody"]}}
        - {it: sends more, list: tools, expect: {ok: true}}
        - {it: has an id that comes later, request: {id: 4, method: ping}, expect: {ok: true}}
        """,
        "-vv",
    )
    assert done.code == 0, done.out
    sent = re.findall(r'request +{"jsonrpc":"2.0","id":(\d+)', done.out)
    assert sorted(sent) == sorted(set(sent)), sent


def test_the_name_of_a_test_shows_the_values_of_its_row(check):
    done = check(
        """
        - it: "{{ what }}: {{ row.a }} and {{ b }} at {{ uuid() }}"
          parametrize: [{row: {a: 1}, b: x}, {row: {a: 2}, b: true}]
          call: motto
          expect: {ok: true}
        - it: "greets {{ said }} in {{ place }}"
          vars: {place: London}
          call: motto
          expect: {ok: true}
        - {it: "{{ b }}", parametrize: [{b: 1, c: 1}, {b: 1, c: 2}], call: motto, expect: {ok: true}}
        """,
        "--var", "said=hush",
        head="vars: {what: both}",
    )  # fmt: skip
    assert list(done.statuses) == [
        "both: 1 and x at {{ uuid() }}",
        "both: 2 and true at {{ uuid() }}",
        "greets {{ said }} in London",
        "1 [b=1, c=1]",
        "1 [b=1, c=2]",
    ]


def test_variables_may_stand_in_the_settings(conductor, suite, write, book):
    file = suite("- {it: x, call: {tool: echo, args: {message: '{{ one }}-{{ two }}-{{ three.four }}'}}, "
                 "expect: {result: {content: [{type: text, text: match:any}]}, asserts: ['result.content[0].text contains 1-b-HOME5']}}")  # fmt: skip
    entry = {"command": book[0], "args": book[1:], "vars": {"one": 1, "two": 2, "three": {"four": "HOME${FIVE}"}}}
    write("conductor.config.json", json.dumps({**entry, "name": "book"}))
    assert conductor("test", file, "--var", "two=b", FIVE="5").code == 0
    write("conductor.config.json", json.dumps({"mcpServers": {"book": entry}, "vars": entry.pop("vars")}))
    assert conductor("test", file, "--var", "two=b", FIVE="5").code == 0
    write("conductor.config.json", json.dumps({"mcpServers": {"book": entry}, "vars": {"not a name": 1}}))
    done = conductor("test", file)
    assert (done.code, "conductor.config.json: vars.not a name cannot be a variable" in done.err) == (2, True), done.err
