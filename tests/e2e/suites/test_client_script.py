"""The client of a test: what it answers when the server asks, what it expects to be asked, what it takes back."""

import pytest

ASKER = """
    hello(tools={})
    while True:
        request = hear()
        if request.get("method") != "tools/call":
            answer(request, {})
            continue
        said = []
        for number, question in enumerate(request["params"]["arguments"]["questions"]):
            reply = ask(f"q{number}", question["method"], **question.get("params", {}))
            said.append(reply.get("result", reply.get("error")))
        result(request, {"content": [], "structuredContent": {"said": said}})
"""
SAMPLE = '{method: sampling/createMessage, params: {messages: [{role: user, content: {type: text, text: "capital of France?"}}], maxTokens: 5}}'
ELICIT = "{method: elicitation/create, params: {message: Your name?, requestedSchema: {type: object, properties: {name: {type: string, default: Ada}}, required: [name]}}}"
ROOTS = "{method: roots/list}"


def asking(*questions):
    return f"call: {{tool: x, args: {{questions: [{', '.join(questions)}]}}}}"


def test_sampling_is_answered_in_order(check, serve):
    done = check(f"""
        - it: gets both
          {asking(SAMPLE, SAMPLE)}
          client: {{sampling: [Paris, {{reply: {{model: m, content: {{type: text, text: Lyon}}}}}}]}}
          expect:
            asserts:
              - result.structuredContent.said[0].content.text == Paris
              - result.structuredContent.said[1].content.text == Lyon
              - result.structuredContent.said[1].model == m
              - result.structuredContent.said[0].role == assistant
        - it: gets the wrong one
          {asking(SAMPLE)}
          client: {{sampling: [Lyon]}}
          expect: {{asserts: ['result.structuredContent.said[0].content.text == Paris']}}
    """, server=serve(ASKER))  # fmt: skip
    assert done.statuses == {"gets both": "passed", "gets the wrong one": "failed"}, done.all


def test_what_the_server_asks_is_looked_at(check, serve):
    expect = 'expect: {messages: [{content: {text: "match:contains:WHAT"}}]}, reply: Paris'
    done = check(f"""
        - it: asks for it
          {asking(SAMPLE)}
          client: {{sampling: [{{{expect.replace("WHAT", "France")}}}]}}
          expect: {{ok: true}}
        - it: asks for something else
          {asking(SAMPLE)}
          client: {{sampling: [{{{expect.replace("WHAT", "Spain")}}}]}}
          expect: {{ok: true}}
    """, server=serve(ASKER))  # fmt: skip
    assert done.statuses == {"asks for it": "passed", "asks for something else": "failed"}, done.all
    assert "what the server asked for: messages[0].content.text" in done.findings("asks for something else")
    assert "Spain" in done.findings("asks for something else")


def test_an_unexpected_question_fails_the_test(check, serve):
    done = check(f"""
        - {{it: none, {asking(SAMPLE)}, client: {{sampling: []}}, expect: {{ok: true}}}}
        - {{it: one too many, {asking(ELICIT, ELICIT)}, client: {{elicitation: [accept]}}, expect: {{ok: true}}}}
    """, server=serve(ASKER))  # fmt: skip
    assert set(done.statuses.values()) == {"failed"}
    assert "asked for sampling/createMessage, and the test has no answer" in done.findings("none")
    assert "asked for elicitation/create, and the test has no answer" in done.findings("one too many")


def test_an_answer_that_is_never_asked_for_fails_the_test(check, serve):
    done = check(f"""
        - {{it: unasked, {asking(SAMPLE)}, client: {{sampling: [Paris, Lyon]}}, expect: {{ok: true}}}}
    """, server=serve(ASKER))  # fmt: skip
    assert done.statuses == {"unasked": "failed"}
    assert done.findings("unasked") == "the server did not ask for sampling/createMessage"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("accept", {"action": "accept", "content": {"name": "Ada"}}),
        ("decline", {"action": "decline"}),
        ("cancel", {"action": "cancel"}),
        ("{name: Bob}", {"action": "accept", "content": {"name": "Bob"}}),
        ("{action: accept, content: {name: Eve}}", {"action": "accept", "content": {"name": "Eve"}}),
        ("{reply: {content: {name: Joe}}}", {"action": "accept", "content": {"name": "Joe"}}),
        ("{error: {code: -1, message: no}}", {"code": -1, "message": "no"}),
    ],
)
def test_an_elicitation_is_answered(check, serve, reply, said):
    import json

    done = check(f"""
        - it: answers
          {asking(ELICIT)}
          client: {{elicitation: [{reply}]}}
          expect: {{result: {{content: [], structuredContent: {{said: [{json.dumps(said)}]}}}}}}
    """, server=serve(ASKER))  # fmt: skip
    assert done.code == 0, done.all


def test_an_elicitation_answer_that_is_no_word_we_know_is_refused(check, serve):
    done = check(
        f"- {{it: x, {asking(ELICIT)}, client: {{elicitation: [acept]}}, expect: {{ok: true}}}}",
        server=("/nonexistent",),
    )
    assert done.code == 2
    assert "must be one of auto, accept, decline" in done.err


def test_roots_are_given(check, serve):
    done = check(f"""
        - it: has them
          {asking(ROOTS)}
          client: {{roots: ["file:///a", {{uri: "file:///b", name: B}}]}}
          expect: {{result: {{content: [], structuredContent: {{said: [{{roots: [{{uri: "file:///a"}}, {{uri: "file:///b", name: B}}]}}]}}}}}}
        - it: has others
          {asking(ROOTS)}
          client: {{roots: ["file:///c"]}}
          expect: {{asserts: ['result.structuredContent.said[0].roots.length == 1']}}
    """, server=serve(ASKER))  # fmt: skip
    assert done.code == 0, done.all


def test_the_roots_of_one_test_are_not_those_of_the_next(check, serve):
    done = check(f"""
        - {{it: has some, {asking(ROOTS)}, client: {{roots: ["file:///a"]}}, expect: {{ok: true}}}}
        - {{it: has none of its own, {asking(ROOTS)}, expect: {{asserts: ['result.structuredContent.said[0].roots.length == 0']}}}}
    """, server=serve(ASKER))  # fmt: skip
    assert done.code == 0, done.all


def test_a_file_answers_for_all_of_its_tests(check, serve):
    done = check(f"""
        - {{it: one, {asking(SAMPLE, SAMPLE)}, expect: {{asserts: ['result.structuredContent.said[1].content.text == Paris']}}}}
        - {{it: two, {asking(SAMPLE)}, client: {{sampling: [Lyon]}}, expect: {{asserts: ['result.structuredContent.said[0].content.text == Lyon']}}}}
        - {{it: three, {asking(SAMPLE)}, expect: {{asserts: ['result.structuredContent.said[0].content.text == Paris']}}}}
    """, server=serve(ASKER), head="client: {sampling: Paris}")  # fmt: skip
    assert done.code == 0, done.all


def test_the_client_declares_what_it_answers_and_nothing_else(check, serve):
    server = serve("""
        given = hello(tools={})
        serve({"tools/call": {"content": [], "structuredContent": given["capabilities"]}})
    """)
    done = check("- {it: nothing, call: x, expect: {result: {content: [], structuredContent: {}}}}", server=server)
    assert done.code == 0, done.all
    done = check("""
        - {it: some, call: x, client: {roots: []}, expect: {result: {content: [], structuredContent: {roots: {listChanged: true}, sampling: {}}}}}
    """, server=server, head="client: {sampling: auto}")  # fmt: skip
    assert done.code == 0, done.all


def test_placeholders_are_filled_in_what_the_client_answers(check, serve):
    done = check(f"""
        - {{it: gives, request: {{method: ping}}, expect: {{ok: false}}, capture: {{code: error.code}}}}
        - it: uses
          {asking(SAMPLE)}
          client: {{sampling: [{{expect: {{maxTokens: "{{{{ five }}}}"}}, reply: "code {{{{ code }}}}"}}]}}
          expect: {{asserts: ['result.structuredContent.said[0].content.text == "code -32601"']}}
    """, server=serve(ASKER), head="vars: {five: 5}")  # fmt: skip
    assert done.code == 0, done.all


def test_questions_of_the_modern_era_are_answered_by_the_same_script(check, write, book):
    write("asking.yaml", """
        serverInfo: {name: a, version: "1"}
        transport: {type: stdio, modern: true}
        tools:
          - name: who
            steps: [{elicit: {message: "Who?", schema: {type: object, properties: {name: {type: string}}, required: [name]}, as: w}}]
            result: "it is {{ answers.w.content.name }}"
    """)  # fmt: skip
    done = check(
        """
        - {it: answers, call: who, client: {elicitation: [{expect: {message: "Who?"}, reply: {name: Bob}}]},
           expect: {result: {content: [{type: text, text: it is Bob}]}}}
        """,
        head='protocol: ["2025-11-25", "2026-07-28"]',
        server=(*book[:-1], "asking.yaml"),
    )  # fmt: skip
    assert done.code == 0, done.all
    assert done.statuses == {"answers [2025-11-25]": "passed", "answers [2026-07-28]": "passed"}


CANCELLED = """
    import threading
    hello(tools={})
    heard = []
    while True:
        message = hear()
        if message.get("method") == "notifications/cancelled":
            heard.append(message["params"]["requestId"])
        elif message.get("method") == "ping":
            result(message, {"cancelled": len(heard), "distinct": len(set(heard))})
        elif message["params"]["name"] == "stubborn":
            threading.Timer(0.3, result, (message, {"content": []})).start()
"""


def test_a_cancelled_request_is_not_answered(check, serve):
    done = check("""
        - {it: obeys, call: obedient, cancel_after: 50ms, expect: {no_response_within: 200ms}}
        - {it: was told once, request: {method: ping}, expect: {result: {cancelled: 1, distinct: 1}}}
        - {it: does not obey, call: stubborn, cancel_after: 50ms, expect: {no_response_within: 5s}}
    """, server=serve(CANCELLED))  # fmt: skip
    assert done.statuses["obeys"] == "passed"
    assert done.statuses["does not obey"] == "failed"
    assert "a reply came, but none was expected" in done.findings("does not obey")
    assert done.statuses["was told once"] == "passed", done.all


def test_a_request_is_cancelled_for_every_expectation(check, serve):
    done = check("""
        - {it: is answered all the same, call: stubborn, cancel_after: 50ms, expect: {ok: true}}
        - {it: was told, request: {method: ping}, expect: {asserts: [result.cancelled == 1]}}
    """, server=serve(CANCELLED))  # fmt: skip
    assert done.code == 0, done.all


def test_silence_after_a_notification_or_any_text_is_looked_for_too(check, serve):
    server = serve("""
        hello(tools={})
        while True:
            line = sys.stdin.readline()
            if not line: break
            if line.startswith("{"):
                message = json.loads(line)
                if "id" in message:
                    result(message, {})
    """)
    done = check("""
        - {it: a notification, notify: notifications/x, expect: {no_response_within: 100ms}}
        - {it: no message, raw: hello, expect: {no_response_within: 100ms}}
    """, server=server)  # fmt: skip
    assert done.code == 0, done.all


def test_parallel_requests_are_sent_at_once_and_matched_by_id(check, serve):
    server = serve("""
        hello(tools={})
        waiting = []
        while True:
            waiting.append(hear())
            if len(waiting) == 3:
                for request in reversed(waiting):
                    result(request, {"content": [], "structuredContent": {"is": request["params"]["name"]}})
                waiting = []
    """)
    done = check("""
        - it: right
          parallel:
            - {call: a, expect: {asserts: [result.structuredContent.is == a]}}
            - {call: b, expect: {asserts: [result.structuredContent.is == b]}}
            - {call: c, expect: {ok: true}}
        - it: wrong
          parallel:
            - {call: a, expect: {asserts: [result.structuredContent.is == a]}}
            - {call: b, expect: {asserts: [result.structuredContent.is == a]}}
            - {call: c}
    """, server=server)  # fmt: skip
    assert done.statuses == {"right": "passed", "wrong": "failed"}, done.all


def test_parallel_requests_each_see_what_happened_meanwhile(check):
    done = check("""
        - it: hears
          parallel:
            - {call: motto, expect: {ok: true}}
            - {call: loud, expect: {notifications: {unordered: [{params: {data: first}}, {params: {data: second}}]}}}
    """)
    assert done.code == 0, done.all


@pytest.mark.parametrize(
    "nothing",
    [
        "[]",
        "{}",
        "[{expect: {ok: true}}]",
    ],
)
def test_nothing_in_parallel_is_refused(check, nothing):
    done = check(f"- {{it: x, parallel: {nothing}}}")
    assert done.code == 2
    assert "parallel" in done.err
