"""What a test sends and expects: each way once as it should be, and once not."""

import pytest

SEND = {
    "a request as it is": ("request: {method: tools/call, params: {name: motto}}", "Nobody is a stranger"),
    "a call": ("call: {tool: echo, args: {message: hi}}", "Echo: hi"),
    "a call by name alone": ("call: motto", "Nobody is a stranger"),
    "a resource": ("read: people://ada", "Ada lives in London"),
    "a prompt": ("prompt: {name: letter, args: {to: Ada}}", "Write to Ada."),
    "a completion": ('complete: {prompt: letter, argument: to, value: "Al"}', "Alan"),
    "all pages of a list": ("list: tools", "motto"),
    "any text at all": ("""raw: '{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "motto"}}'""", "Nobody"),
}  # fmt: skip


@pytest.mark.parametrize("sent", SEND)
def test_what_is_sent_is_answered_and_seen(check, sent):
    action, answer = SEND[sent]
    done = check(f"""
        - it: works
          {action}
          expect: {{ok: true, snapshot: true}}
        - it: does not
          {action}
          expect: {{result: {{"match:partial": {{nonsense: 1}}}}}}
    """, "-vv")  # fmt: skip
    assert done.code == 1
    assert done.statuses == {"works": "passed", "does not": "failed"}
    assert "nonsense" in done.findings("does not") or "nonsense" in done.out
    assert answer in done.out


def test_a_list_is_all_of_its_pages(check):
    done = check("""
        - it: has every tool
          list: tools
          expect: {asserts: [result.tools.length == 8]}
        - it: has one page
          request: {method: tools/list}
          expect: {asserts: [result.tools.length == 8]}
    """)
    assert done.statuses == {"has every tool": "passed", "has one page": "failed"}


def test_a_notification_is_sent_and_nothing_answers_it(check, serve):
    server = serve("""
        hello(tools={})
        heard = []
        while True:
            message = hear()
            heard.append(message["method"])
            if "id" in message:
                result(message, {"heard": heard})
    """)
    done = check(
        """
        - {it: tells, notify: notifications/roots/list_changed, expect: {stdout: clean}}
        - {it: tells more, notify: {method: notifications/x, params: {a: 1}}, expect: {stdout: clean}}
        - it: was told
          request: {method: ping}
          expect: {result: {heard: [notifications/roots/list_changed, notifications/x, ping]}}
        """,
        server=server,
    )
    assert done.code == 0, done.all


ERRORS = ("lose", "burn")


@pytest.mark.parametrize("tool", ERRORS)
def test_an_error_is_an_error_whether_json_rpc_or_the_tool_says_so(check, tool):
    done = check(f"""
        - {{it: any error, call: {tool}, expect: {{ok: false}}}}
        - {{it: this error, call: {tool}, expect: {{error: "match:contains:the book is"}}}}
        - {{it: no error, call: {tool}, expect: {{ok: true}}}}
        - {{it: another error, call: {tool}, expect: {{error: "match:contains:flood"}}}}
        - {{it: expects one in vain, call: motto, expect: {{error: {{}}}}}}
        - {{it: expects any in vain, call: motto, expect: {{ok: false}}}}
    """.replace("the book is", "ook is"))  # fmt: skip
    assert list(done.statuses.values()) == ["passed", "passed", "failed", "failed", "failed", "failed"]
    assert "ook is" in done.findings("no error")
    assert "flood" in done.findings("another error")
    assert "succeeded with a result, but an error is expected" in done.findings("expects one in vain")
    assert "succeeded with a result, but an error is expected" in done.findings("expects any in vain")


def test_an_error_can_be_looked_at_by_its_members(check):
    done = check("""
        - {it: right, call: burn, expect: {error: {code: -32050, data: {page: 7}}}}
        - {it: wrong, call: burn, expect: {error: {code: -32602}}}
    """)
    assert done.statuses == {"right": "passed", "wrong": "failed"}
    assert "-32602" in done.out
    assert "-32050" in done.out


def test_a_request_keeps_the_id_that_the_file_gives_it(check):
    done = check("""
        - it: keeps it
          request: {jsonrpc: "2.0", id: mine, method: ping}
          expect: {response: {jsonrpc: "2.0", id: mine, result: {}}}
        - it: has another
          request: {jsonrpc: "2.0", id: mine, method: ping}
          expect: {response: {jsonrpc: "2.0", id: yours, result: {}}}
    """)
    assert done.statuses == {"keeps it": "passed", "has another": "failed"}


def test_tests_may_all_have_the_same_id(check):
    done = check("""
        - {it: one, request: {jsonrpc: "2.0", id: 1, method: ping}, expect: {response: {jsonrpc: "2.0", id: 1, result: {}}}}
        - {it: two, request: {jsonrpc: "2.0", id: 1, method: ping}, expect: {response: {jsonrpc: "2.0", id: 1, result: {}}}}
        - {it: three, request: {jsonrpc: "2.0", id: 1, method: ping}, expect: {response: {jsonrpc: "2.0", id: 1, result: {}}}}
    """)
    assert done.code == 0
    assert set(done.statuses.values()) == {"passed"}


def test_a_reply_to_a_shorthand_needs_no_id_in_what_is_expected(check):
    done = check("""
        - it: says it
          call: motto
          expect: {response: {result: {content: [{type: text, text: Nobody is a stranger twice.}]}}}
    """)
    assert done.code == 0, done.all


def test_structured_content_is_held_against_the_output_schema(check, serve):
    server = serve("""
        hello(tools={})
        schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
        serve({"tools/list": {"tools": [{"name": t, "inputSchema": {"type": "object"}, "outputSchema": schema} for t in "ab"]},
               "tools/call": lambda p: {"content": [], "structuredContent": {"n": 1 if p["name"] == "a" else "1"}}})
    """)
    done = check(
        """
        - {it: fits, call: a, expect: {result: {content: [], structuredContent: "match:outputSchema"}}}
        - {it: does not, call: b, expect: {result: {content: [], structuredContent: "match:outputSchema"}}}
        """,
        server=server,
    )
    assert done.statuses == {"fits": "passed", "does not": "failed"}, done.all


def test_assertions_see_the_reply_the_time_and_the_notifications(check):
    done = check("""
        - it: holds
          call: loud
          expect:
            asserts:
              - result.content[0].text == said
              - duration < 5s
              - notifications.length == 2
        - it: does not
          call: loud
          expect: {asserts: [notifications.length == 3]}
    """)
    assert done.statuses == {"holds": "passed", "does not": "failed"}, done.all
    assert "notifications.length" in done.out


NOTIFICATIONS = {
    "in order": ("[{params: {data: first}}, {params: {data: second}}]", "[{params: {data: second}}, {params: {data: first}}]"),
    "some in order": ("{in_order: [{params: {data: second}}]}", "{in_order: [{params: {data: third}}]}"),
    "exactly": (
        "{exactly: [{params: {data: first}}, {params: {data: second}}]}",
        "{exactly: [{params: {data: first}}]}",
    ),
    "in any order": (
        "{unordered: [{params: {data: second}}, {params: {data: first}}]}",
        "{unordered: [{params: {data: second}}, {params: {data: second}}]}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", NOTIFICATIONS)
def test_notifications_are_expected(check, how):
    right, wrong = NOTIFICATIONS[how]
    done = check(f"""
        - {{it: right, call: loud, expect: {{notifications: {right}}}}}
        - {{it: wrong, call: loud, expect: {{notifications: {wrong}}}}}
    """)
    assert done.statuses == {"right": "passed", "wrong": "failed"}, done.all
    assert "notification" in done.findings("wrong")


def test_no_notification_is_expected(check):
    done = check("""
        - {it: silent, call: motto, expect: {notifications: none}}
        - {it: loud, call: loud, expect: {notifications: none}}
    """)
    assert done.statuses == {"silent": "passed", "loud": "failed"}
    assert "2 notifications came, not 0" in done.findings("loud")


def test_an_empty_list_of_notifications_means_none(check):
    done = check("- {it: loud, call: loud, expect: {notifications: []}}")
    assert done.code != 0


def test_a_notification_may_come_after_the_reply(check, serve):
    server = serve("""
        hello(tools={})
        request = hear()
        result(request, {"content": []})
        time.sleep(0.2)
        notify("notifications/message", level="info", data="late")
        serve({})
    """)
    done = check("- {it: waits, call: x, expect: {notifications: [{params: {data: late}}]}}", server=server)
    assert done.code == 0, done.all


def test_the_time_of_a_reply_has_bounds(check):
    done = check("""
        - {it: quick enough, call: motto, expect: {performance: {maxResponseTime: 5000}}}
        - {it: slow enough, call: slow, expect: {performance: {minResponseTime: 200ms}}}
        - {it: too slow, call: slow, expect: {performance: {maxResponseTime: 100}}}
        - {it: too quick, call: motto, expect: {performance: {minResponseTime: 10s}}}
    """)
    assert list(done.statuses.values()) == ["passed", "passed", "failed", "failed"]
    assert "more than 100 ms" in done.findings("too slow")
    assert "less than 10000 ms" in done.findings("too quick")


def test_stderr_is_looked_at_test_by_test(check, serve):
    server = serve("""
        hello(tools={})
        def call(params):
            if params["name"] == "mutters":
                print("disk is full", file=sys.stderr, flush=True)
            return {"content": []}
        serve({"tools/call": call})
    """)
    done = check(
        """
        - {it: silent, call: silent, expect: {stderr: toBeEmpty}}
        - {it: mutters, call: mutters, expect: {stderr: "match:contains:disk is full"}}
        - {it: silent again, call: silent, expect: {stderr: toBeEmpty}}
        - {it: should be silent, call: mutters, expect: {stderr: toBeEmpty}}
        - {it: should mutter, call: silent, expect: {stderr: "match:contains:disk"}}
        """,
        server=server,
    )
    assert list(done.statuses.values()) == ["passed", "passed", "passed", "failed", "failed"]
    assert "stderr is not empty: disk is full" in done.findings("should be silent").replace('"', "").replace("'", "")


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
def test_a_path_may_begin_with_what_the_server_said_of_itself(check, protocol):
    done = check(f"""
        - it: is so
          call: motto
          expect:
            asserts:
              - session.serverInfo.name == book
              - session.protocolVersion == "{protocol}"
              - session.capabilities.tools exists
              - session.capabilities.tasks not exists
              - session.instructions not exists
          capture: {{version: session.serverInfo.version}}
        - it: is kept
          call: {{tool: echo, args: {{message: "{{{{ version }}}}"}}}}
          expect: {{asserts: ['result.content[0].text == "Echo: 1.0.0"']}}
        - it: is not so
          call: motto
          expect: {{asserts: [session.serverInfo.name == library, session.serverinfo exists]}}
    """, "--protocol", protocol)  # fmt: skip
    assert done.statuses == {"is so": "passed", "is kept": "passed", "is not so": "failed"}
    assert done.findings("is not so").split("\n") == [
        "session.serverInfo.name is 'book', not 'library'",
        "session.serverinfo is missing: session has no 'serverinfo'; it has 'serverInfo'",
    ]
