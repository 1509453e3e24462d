"""Servers that are rude: noise, wrong ids, silence, sudden death. Each is blamed where it happened, and the run goes on."""

import sys
from pathlib import Path

import pytest

QUIET = "expect: {ok: true, stderr: toBeEmpty}"


def test_a_line_on_stdout_that_is_no_message_fails_the_test(check, serve):
    server = serve("""
        hello(tools={})
        def call(params):
            if params["name"] == "noisy":
                shout("Listening on port 8080\\n")
            return {"content": []}
        serve({"tools/call": call})
    """)
    done = check("""
        - {it: before, call: x, expect: {ok: true}}
        - {it: noisy, call: noisy, expect: {ok: true}}
        - {it: allowed, call: noisy, expect: {ok: true, stdout: any}}
        - {it: looks at nothing, call: noisy}
        - {it: after, call: x, expect: {ok: true}}
    """, server=server)  # fmt: skip
    assert done.code == 1
    assert "not a message: 'Listening on port 8080'" in done.findings("noisy")
    assert list(done.statuses.values()) == ["passed", "failed", "passed", "failed", "passed"]


def test_no_line_of_stderr_is_blamed_on_a_neighbour(check, serve):
    server = serve("""
        hello(tools={})
        def call(params):
            print("about", params["name"], file=sys.stderr, flush=True)
            return {"content": []}
        serve({"tools/call": call})
    """)
    tests = "\n".join(f"- {{it: t{n}, call: t{n}, expect: {{stderr: about t{n}}}}}" for n in range(200))
    done = check(tests, server=server)
    assert done.code == 0, done.all[:3000]
    assert len(done.statuses) == 200


def test_no_line_of_stderr_that_comes_after_the_reply_is_blamed_on_a_neighbour(check, serve):
    server = serve("""
        hello(tools={})
        while True:
            request = hear()
            if request.get("method") == "tools/call":
                result(request, {"content": []})
                time.sleep(0.002)
                print("about", request["params"]["name"], file=sys.stderr, flush=True)
            elif "id" in request:
                result(request, {})
    """)
    tests = "\n".join(f"- {{it: t{n}, call: t{n}, expect: {{stderr: about t{n}}}}}" for n in range(200))
    done = check(tests, server=server)
    assert done.code == 0, done.all[:3000]


def test_what_is_written_to_stderr_at_start_belongs_to_no_test(check, serve):
    server = serve("""
        print("starting", file=sys.stderr, flush=True)
        hello(tools={})
        serve({"tools/call": {"content": []}})
    """)
    done = check(f"- {{it: one, call: x, {QUIET}}}", server=server)
    assert done.code == 0, done.all


def test_what_is_written_to_stderr_because_of_the_handshake_is_blamed_on_no_test(check, serve):
    server = serve("""
        hello(tools={})
        time.sleep(0.01)
        for number in range(3):
            print("a client has come", number, file=sys.stderr, flush=True)
            time.sleep(0.1)
        serve({"tools/call": {"content": []}})
    """)
    done = check(f"- {{it: one, call: x, {QUIET}}}\n- {{it: two, call: x, {QUIET}}}", server=server)
    assert done.code == 0, done.all


def test_a_server_that_writes_to_stderr_without_end_is_not_waited_for_without_end(check, serve):
    server = serve("""
        hello(tools={})
        import threading
        def write():
            while True:
                print("still here", file=sys.stderr, flush=True)
                time.sleep(0.02)
        threading.Thread(target=write, daemon=True).start()
        serve({"tools/call": lambda _: time.sleep(0.1) or {"content": []}})
    """)
    done = check(f"- {{it: one, call: x, {QUIET}}}", server=server)
    assert done.code == 1
    assert "stderr" in done.findings("one")


def test_the_first_words_of_the_filesystem_server_are_blamed_on_no_test(check, tmp_path):
    program = Path(__file__).parents[2] / "peers/node_modules/.bin/mcp-server-filesystem"
    server = (str(program), str(tmp_path))
    done = check(f"- {{it: one, call: list_allowed_directories, {QUIET}}}", server=server)
    assert done.code == 0, done.all


def test_notifications_and_questions_before_the_reply_do_not_shift_it(check, serve):
    server = serve("""
        hello(tools={})
        def call(params):
            notify("notifications/message", level="info", data="x")
            say({"id": "q", "method": "ping"})
            assert hear()["id"] == "q"
            notify("notifications/message", level="info", data="y")
            return {"content": [], "structuredContent": {"is": params["name"]}}
        serve({"tools/call": call})
    """)
    tests = "\n".join(
        f"- {{it: t{n}, call: t{n}, expect: {{asserts: [result.structuredContent.is == t{n}]}}}}" for n in range(20)
    )
    done = check(tests, server=server)
    assert done.code == 0, done.all


def test_a_reply_under_another_id_is_no_reply_and_is_named(check, serve):
    server = serve("""
        hello(tools={})
        while True:
            request = hear()
            if "id" in request:
                say({"id": 4711 if request["params"].get("name") == "bad" else request["id"], "result": {"content": []}})
    """)
    done = check("""
        - {it: bad, call: bad, timeout: 300ms, expect: {ok: true}}
        - {it: good, call: good, expect: {ok: true}}
    """, server=server)  # fmt: skip
    assert done.code == 1
    assert done.statuses == {"bad": "failed", "good": "passed"}
    assert "no answer to tools/call within 0.3 s" in done.findings("bad")
    assert "4711" in done.findings("bad")


def test_a_late_reply_is_not_taken_for_the_next(check, serve):
    server = serve("""
        hello(tools={})
        first = hear()
        while True:
            request = hear()
            if request.get("method") == "tools/call":
                result(first, {"content": [], "structuredContent": {"is": "late"}})
                result(request, {"content": [], "structuredContent": {"is": request["params"]["name"]}})
                first = request
    """)
    done = check("""
        - {it: late, call: a, timeout: 200ms, expect: {ok: true}}
        - {it: next, call: b, expect: {asserts: [result.structuredContent.is == b]}}
    """, server=server)  # fmt: skip
    assert list(done.statuses.values())[0] == "failed"
    assert list(done.statuses.values())[1] in ("passed", "warned"), done.all


def test_a_server_that_dies_fails_the_test_and_the_rest_of_the_file_is_not_run(conductor, suite, write, serve):
    server = serve("""
        hello(tools={})
        def call(params):
            if params["name"] == "die":
                print("out of memory", file=sys.stderr, flush=True)
                os._exit(42)
            return {"content": []}
        serve({"tools/call": call})
    """)
    suite("""
        - {it: before, call: x, expect: {ok: true}}
        - {it: dies, call: die, expect: {ok: true}}
        - {it: after, call: x, expect: {ok: true}}
        - {it: skipped anyway, skip: true, call: x, expect: {ok: true}}
    """)
    suite("- {it: elsewhere, call: x, expect: {ok: true}}", name="b.test.mcp.yml")
    done = conductor("test", "--report", "json:report.json", "--", *server)
    assert done.code == 3
    assert done.statuses == {
        "before": "passed", "dies": "failed", "after": "not-run", "skipped anyway": "skipped", "elsewhere": "passed",
    }  # fmt: skip
    assert "the server exited with code 42 before it answered tools/call" in done.findings("dies")
    assert "(the server went away after 'dies' (line 5))" in done.out
    assert "out of memory" in done.out


def test_a_server_that_died_is_started_again_if_one_wants(check):
    done = check("""
        - {it: before, call: motto, expect: {ok: true}}
        - {it: dies, call: crash, expect: {ok: true}}
        - {it: after, call: motto, expect: {ok: true}}
        - {it: dies again, call: crash, expect: {ok: true}}
        - {it: at last, call: motto, expect: {ok: true}}
    """, "--restart")  # fmt: skip
    assert done.code == 1
    assert list(done.statuses.values()) == ["passed", "failed", "passed", "failed", "passed"]


@pytest.mark.parametrize(("flags", "head"), [(("--isolation", "test"), ""), ((), "isolation: test")])
def test_where_each_test_has_its_own_server_a_death_is_the_failure_of_one_test(check, flags, head):
    done = check("""
        - {it: dies, call: crash, expect: {ok: true}}
        - {it: after, call: motto, expect: {ok: true}}
        - {it: dies again, call: crash, expect: {ok: true}}
    """, *flags, head=head)  # fmt: skip
    assert done.code == 1
    assert done.statuses == {"dies": "failed", "after": "passed", "dies again": "failed"}


def test_files_that_share_a_server_go_on_with_a_new_one_when_it_dies(conductor, suite, book):
    suite("- {it: dies, call: crash, expect: {ok: true}}\n- {it: rest, call: motto, expect: {ok: true}}")
    suite("- {it: elsewhere, call: motto, expect: {ok: true}}", name="b.test.mcp.yml")
    done = conductor("test", "--isolation", "run", "--report", "json:report.json", "--", *book)
    assert done.code == 3
    assert done.statuses == {"dies": "failed", "rest": "not-run", "elsewhere": "passed"}


DEATHS = {
    "at start": ("print('no config', file=sys.stderr, flush=True)\nsys.exit(9)", "exited with code 9"),
    "in the handshake": ("hear()\nprint('no config', file=sys.stderr, flush=True)\nos._exit(9)", "exited with code 9"),
    "by a signal": (
        "hear()\nprint('no config', file=sys.stderr, flush=True)\nos.kill(os.getpid(), 11)",
        "killed by SIGSEGV",
    ),
}


@pytest.mark.parametrize("how", DEATHS)
def test_a_server_that_dies_before_the_first_test_is_told_of_once_and_no_test_is_run(check, serve, how):
    code, words = DEATHS[how]
    done = check(
        "- {it: one, call: x, expect: {ok: true}}\n- {it: two, call: x, expect: {ok: true}}", server=serve(code)
    )
    assert done.code == 3
    assert done.statuses == {"one": "errored", "two": "not-run"}
    assert words in done.findings("one")
    assert "no config" in done.out


def test_a_server_that_cannot_be_started_is_named(check):
    done = check("- {it: one, call: x, expect: {ok: true}}", "--restart", server=("/no/such/server",))
    assert done.code == 3
    assert "cannot start '/no/such/server'" in done.out


def test_a_server_that_refuses_the_handshake_is_told_of(check, serve):
    server = serve("error(hear(), -32602, 'Unsupported protocol version')\nhear()\n")
    done = check("- {it: one, call: x, expect: {ok: true}}", server=server)
    assert done.code == 3
    assert "Unsupported protocol version" in done.out


def test_a_server_that_never_answers_the_handshake_is_given_up(check, serve):
    done = check(
        "- {it: one, call: x, expect: {ok: true}}", "--step-timeout", "300ms", server=serve("hear()\nhear()\nhear()")
    )
    assert done.code == 3
    assert "initialize" in done.out


@pytest.mark.parametrize(
    "reply",
    [
        "[]",
        "17",
        pytest.param('{"jsonrpc": "2.0", "id": 2}'),
        '{"jsonrpc": "2.0", "id": 2, "result": {}',
        "null",
    ],
)
def test_a_reply_that_is_no_reply_never_passes_and_never_ends_the_run(check, serve, reply):
    server = serve(f"""
        hello(tools={{}})
        hear()
        shout({reply!r} + "\\n")
        while True:
            request = hear()
            if request.get("method") == "ping":
                result(request, {{}})
    """)
    done = check("""
        - {it: broken, call: x, timeout: 300ms, expect: {ok: true}}
        - {it: goes on, request: {method: ping}, expect: {ok: true}}
    """, server=server)  # fmt: skip
    assert done.code == 1
    assert list(done.statuses.values()) == ["failed", "passed"], done.all


def test_a_server_that_ignores_sigterm_and_closed_pipes_is_gone_in_the_end(check, serve):
    server = serve("""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        hello(tools={})
        result(hear(), {"content": []})
        while True:
            time.sleep(60)
    """)
    done = check("- {it: one, call: x, expect: {ok: true}}", server=server)
    assert done.code == 0
    assert done.seconds < 15


def test_a_server_that_never_stops_writing_to_stderr_can_be_tested(check, serve):
    server = serve("""
        import threading
        def chatter():
            while True:
                os.write(2, b"chatter\\n" * 50)
        threading.Thread(target=chatter, daemon=True).start()
        hello(tools={})
        serve({"tools/call": {"content": []}})
    """)
    done = check("- {it: one, call: x, expect: {ok: true}}\n- {it: two, call: x, expect: {ok: true}}", server=server)
    assert done.code == 0, done.all[:2000]


def test_a_mistake_that_shows_only_in_the_run_is_that_tests_alone(check):
    done = check("""
        - {it: gives, call: {tool: echo, args: {message: "("}}, expect: {ok: true}, capture: {bad: "result.content[0].text"}}
        - {it: uses it badly, call: motto, expect: {result: {content: [{type: text, text: "match:regex:{{ bad }}"}]}}}
        - {it: goes on, call: motto, expect: {ok: true}}
    """)  # fmt: skip
    assert done.code == 1
    assert list(done.statuses.values()) == ["passed", "failed", "passed"], done.all


DIES_AFTER_THE_HANDSHAKE = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {},
                  "serverInfo": {"name": "s", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    else:
        print("no database at all", file=sys.stderr, flush=True)
        sys.exit(3)
"""


def test_a_server_that_dies_after_the_handshake_is_shown_with_its_last_words(check, write):
    server = (sys.executable, str(write("server.py", DIES_AFTER_THE_HANDSHAKE)))
    for _ in range(3):  # it may be gone before the first request, or while that is under way
        done = check("- {it: asks, list: tools}\n- {it: asks again, list: tools}", server=server)
        assert done.code == 3
        assert "exited with code 3" in done.out
        assert done.out.count("| no database at all") == 1, done.out


def test_the_last_words_of_a_server_are_shown_although_an_earlier_test_has_seen_them(check, write):
    text = DIES_AFTER_THE_HANDSHAKE.replace("else:", 'elif message["method"] == "tools/list":').replace(
        "        sys.exit(3)",
        '        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}}), flush=True)\n        sys.exit(3)',
    )
    tests = """
        - {it: asks, request: {method: tools/list}, expect: {ok: true, stderr: "match:contains:no database"}}
        - {it: asks again, request: {method: tools/list}, expect: {ok: true}}
    """
    done = check(tests, server=(sys.executable, str(write("server.py", text))))
    assert done.statuses == {"asks": "passed", "asks again": "failed"}
    assert "| no database at all" in done.out


@pytest.mark.parametrize("flood", ["os.write(2, b'noise\\n' * 5000)", "notify('x', data='y' * 1_000_000)"])
def test_a_run_against_a_server_that_never_stops_talking_ends_in_time(check, serve, flood):
    server = serve(f"from select import select\nhello(); hear()\nwhile not select([0], [], [], 0)[0]: {flood}")
    done = check("- {it: waits, request: {method: x}}", "--timeout", "1s", server=server)
    assert done.code == 124
    assert "the run took longer than 1 s" in done.err


def test_what_is_forgotten_of_a_conversation_is_said(check, serve):
    server = serve(
        "hello(); request = hear(); [os.write(2, b'noise\\n' * 500) for _ in range(4)]; result(request, {}); serve({})"
    )
    done = check(
        "- {it: is loud, request: {method: x}, expect: {ok: true}}", "--max-stderr-size", "50kB", server=server
    )
    assert done.code == 0, done.all
    assert "stderr lines" in done.out
    assert "--max-stderr-size keeps more" in done.out
