"""`--script`: one connection, one line in, one answer out, events between them; driven by a file, a pipe or an agent."""

import json
import signal
import subprocess
import threading

import pytest
from tests.conftest import MCP_CLI

LIMIT = 20
ECHO = """
    hello(tools={}, resources={"subscribe": True})
    def call(params):
        if params["name"] == "tell":
            notify("notifications/message", level="info", data=params["arguments"])
        if params["name"] == "die":
            sys.stderr.write("last words\\n")
            sys.exit(3)
        return {"content": [], "structuredContent": params["arguments"], "isError": params["name"] == "fail"}
    serve({"tools/call": call, "ping": {}, "tools/list": {"tools": []}})
"""


def call(name, identity=None, more=None, **arguments):
    """A line that calls a tool."""
    line = {"method": "tools/call", "params": {"name": name, "arguments": arguments}, **(more or {})}
    return json.dumps(line if identity is None else {"id": identity, **line}) + "\n"


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def run(cli, serve):
    """Run a script that comes from stdin, on a server that echoes."""

    def begin(*script, flags=(), server=ECHO):
        return cli(*serve(server), "--script", "-", *flags, stdin="".join(script))

    return begin


@pytest.fixture
def start(in_background):
    """mcp-cli with its pipes in our hands; it is killed when a line that is waited for does not come."""

    def begin(*words):
        process = in_background([*MCP_CLI, *words])
        guard = threading.Timer(LIMIT, process.kill)
        guard.daemon = True
        guard.start()

        def say(line):
            process.stdin.write(line.encode())
            process.stdin.flush()

        return process, say, lambda: json.loads(process.stdout.readline())

    return begin


def test_each_line_is_answered_in_order_and_by_its_id(run):
    done = run(call("a", "first", n=1), '{"method": "ping"}\n', "\n", call("b", n=2))
    assert [(each["id"], each["result"].get("structuredContent")) for each in lines(done.out)] == [
        ("first", {"n": 1}), (2, None), (4, {"n": 2}),
    ]  # fmt: skip
    assert (done.code, done.err) == (0, "")


def test_what_one_line_captures_later_lines_use(run):
    capture = {
        "capture": {
            "number": "result.structuredContent.n",
            "deep": {"from": "result.structuredContent.text", "json": "a"},
        }
    }
    done = run(
        call("a", more=capture, n=41, text='{"a": [1]}'), call("b", n="{{ number }}", text="is {{ number }}{{ deep }}")
    )
    assert lines(done.out)[1]["result"]["structuredContent"] == {"n": 41, "text": "is 41[1]"}


def test_a_capture_that_finds_nothing_is_an_error_beside_the_result(run):
    done = run(call("a", more={"capture": {"id": "result.nowhere"}}, n=1), call("b", n="{{ id }}"))
    first, second = lines(done.out)
    assert first["result"]["structuredContent"] == {"n": 1}
    why = "result has no 'nowhere'; it has 'content', 'structuredContent', 'isError'"
    assert first["error"]["message"] == f"capture 'id': nothing was found at result.nowhere: {why}"
    assert "unknown name 'id'" in second["error"]["message"]
    assert done.code == 1


def test_events_stand_before_the_answer_that_they_came_before(run):
    done = run(call("tell", a=1))
    event, answer = lines(done.out)
    assert (event["event"], event["params"]["data"]) == ("log", {"a": 1})
    assert answer["id"] == 1


def test_a_script_waits_for_an_event_that_came_already_or_comes_later(run):
    wanted = {"event": "log", "params": {"data": {"a": "{{ a }}"}}}
    script = [
        call("tell", more={"capture": {"a": "result.structuredContent.a"}}, a=7),
        json.dumps({"await": wanted, "id": "w"}),
    ]
    answer = lines(run(*script).out)[-1]
    assert (answer["id"], answer["result"]["params"]["data"]) == ("w", {"a": 7})


def test_an_event_that_never_comes_is_told_with_what_came(run):
    done = run(call("tell", a=1), '{"await": "update", "timeout": "100ms"}\n')
    assert lines(done.out)[-1]["error"] == {
        "kind": "RUNTIME_MCP_TIMEOUT",
        "message": "update did not come within 0.1 s; there came 1 log",
    }
    assert done.code == 2


@pytest.mark.parametrize(
    ("line", "code", "kind"),
    [
        (call("fail"), 2, None),
        ('{"method": "no/such"}\n', 2, -32601),
        ("nonsense\n", 1, "RUNTIME_MCP_INVALID_USAGE"),
        ('{"method": "ping", "tiemout": 1}\n', 1, "RUNTIME_MCP_INVALID_USAGE"),
    ],
)
def test_an_error_decides_the_exit_code_and_ends_the_script_if_that_is_wanted(run, line, code, kind):
    script = (line, call("after"))
    done = run(*script)
    first, after = lines(done.out)
    assert after["result"]["isError"] is False
    assert kind is None or kind in first["error"].values()
    assert done.code == code
    quick = run(*script, flags=("--fail-fast",))
    assert (lines(quick.out), quick.code) == ([first], code)


def test_a_server_that_dies_in_the_middle_is_told_for_each_open_line(run):
    done = run(call("a", "bg", {"background": True}), call("die", "d"), call("after"))
    *_, lost = lines(done.out)
    assert lost["id"] == "d"
    assert lost["error"]["kind"] == "RUNTIME_MCP_CONNECTION_LOST"
    assert "exited with code 3" in lost["error"]["message"]
    assert done.code == 1
    assert done.err.startswith("error: the server exited with code 3")
    assert "last words" in done.err


SLOW = """
    hello(tools={})
    first = hear()
    answer(hear(), {"ping": {}})
    result(first, {"content": []})
    hear()
"""


def test_lines_in_the_background_do_not_hold_up_others_and_are_answered_before_the_end(run):
    done = run(call("slow", "slow", {"background": True}), '{"id": "p", "method": "ping"}\n', server=SLOW)
    assert [each["id"] for each in lines(done.out)] == ["p", "slow"]
    assert done.code == 0


def test_an_answer_in_the_background_can_be_waited_for(run):
    script = (
        call("slow", "slow", {"background": True}),
        '{"method": "ping"}\n',
        '{"await": {"id": "slow"}, "id": "w"}\n',
    )
    assert lines(run(*script, server=SLOW).out)[-1] == {"id": "w", "result": {"id": "slow", "result": {"content": []}}}


def test_what_is_open_in_the_background_at_the_end_has_its_own_time(run):
    line = call("slow", "slow", {"background": True, "timeout": "200ms"})
    done = run(line, server="hello(tools={})\nhear()\nassert hear()['method'] == 'notifications/cancelled'\nhear()")
    assert lines(done.out) == [
        {"id": "slow", "error": {"kind": "RUNTIME_MCP_TIMEOUT", "message": "no answer to tools/call within 0.2 s"}}
    ]
    assert done.code == 2


def test_a_notification_is_sent_and_answered_with_null(run):
    script = '{"method": "notifications/made/up", "params": {"a": 1}}\n'
    server = "hello()\nnotify('notifications/message', level='info', data=hear())\nanswer(hear(), {'ping': {}})\nhear()"
    answer, event, _ = lines(run(script, '{"method": "ping"}\n', server=server).out)
    assert answer == {"id": 1, "result": None}
    assert event["params"]["data"] == {"jsonrpc": "2.0", "method": "notifications/made/up", "params": {"a": 1}}


def test_pseudo_methods_and_all_pages_are_as_with_method(run):
    server = """
        hello(tools={})
        pages = {None: {"tools": [{"name": "a"}], "nextCursor": "2"}, "2": {"tools": [{"name": "b"}]}}
        serve({"tools/list": lambda params: pages[params.get("cursor")]})
    """
    page = '{"method": "tools/list", "params": {"cursor": "2"}}\n'
    info, every, one = lines(run('{"method": "server/info"}\n', '{"method": "tools/list"}\n', page, server=server).out)
    assert info["result"]["name"] == "raw"
    assert [tool["name"] for tool in every["result"]["tools"]] == ["a", "b"]
    assert [tool["name"] for tool in one["result"]["tools"]] == ["b"]


MODERN = """
    while True:
        request = hear()
        meta = request["params"]["_meta"]
        more = {"content": [], "structuredContent": {"level": meta.get(f"{META}logLevel")}}
        if request["method"] == "server/discover":
            more = {"supportedVersions": [meta[f"{META}protocolVersion"]], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}
        result(request, {"resultType": "complete", **more})
"""


def test_in_the_modern_era_the_log_level_is_asked_for_by_each_later_line(run):
    level = '{"method": "logging/setLevel", "params": {"level": "debug"}}\n'
    done = run(call("a"), level, call("b"), server=MODERN, flags=("--protocol", "modern"))
    before, set_level, after = lines(done.out)
    assert (before["result"]["structuredContent"], set_level["result"]) == ({"level": None}, {})
    assert after["result"]["structuredContent"] == {"level": "debug"}
    assert "later lines ask for the level in _meta" in done.err


def test_an_agent_drives_it_line_by_line(start, serve):
    process, say, hear = start(*serve(ECHO), "--script", "-")
    say(call("a", "one", n=1))
    assert hear()["id"] == "one"
    say("nonsense\n")
    assert hear()["error"]["kind"] == "RUNTIME_MCP_INVALID_USAGE"
    say('{"method": "pi')  # a line may come in pieces
    say('ng"}\n')
    assert hear() == {"id": 3, "result": {}}
    say(call("tell", more={"capture": {"n": "result.structuredContent.n"}}, n=5))
    assert [hear().get("event"), hear()["id"]] == ["log", 4]
    say(call("a", n="{{ n }}"))
    assert hear()["result"]["structuredContent"] == {"n": 5}
    process.stdin.close()
    process.stdin = None  # or `communicate` would flush it
    assert process.wait(LIMIT) == 1  # for the line that was not understood


def test_a_server_that_goes_away_while_nothing_is_asked_ends_the_script(start, serve):
    process, say, hear = start(*serve("hello()\nanswer(hear(), {'ping': {}})\nsys.exit(3)"), "--script", "-")
    say('{"method": "ping"}\n')
    assert hear() == {"id": 1, "result": {}}
    assert process.wait(LIMIT) == 1
    assert b"the server exited with code 3" in process.stderr.read()


def test_a_stdout_that_is_not_read_any_more_ends_the_script_with_its_code_so_far(start, serve):
    process, say, hear = start(*serve(ECHO), "--script", "-")
    say(call("fail"))
    assert hear()["result"]["isError"] is True
    process.stdout.close()
    assert process.wait(LIMIT) == 2
    assert process.stderr.read() == b""


@pytest.mark.parametrize("waits", ["for a line", "for an event", "for an answer"])
def test_an_interrupt_ends_a_script_in_good_order(start, serve, waits):
    process, say, hear = start(*serve("hello(tools={})\nanswer(hear(), {'ping': {}})\nhear(); hear()"), "--script", "-")
    say('{"method": "ping"}\n')
    assert hear() == {"id": 1, "result": {}}
    if waits != "for a line":
        say('{"await": "log"}\n' if waits == "for an event" else call("a"))
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 130
    assert process.stderr.read() == b""


def test_a_time_limit_of_the_whole_run_holds_for_scripts_too(start, serve):
    process, *_ = start(*serve(ECHO), "--script", "-", "--timeout", "500ms")
    assert process.wait(LIMIT) == 124
    assert b"error: the script did not end within 0.5 s" in process.stderr.read()


def test_a_file_is_understood_completely_before_a_server_is_started(cli, serve, tmp_path):
    (tmp_path / "s.jsonl").write_text(
        '{"method": "ping"}\n{"await": "updat"}\n{"method": "a", "params": {"x": "{{ y }}"}}\n'
    )
    done = cli(*serve("open('started', 'w')"), "--script", "s.jsonl")
    assert done.code == 1
    assert "s.jsonl:2:2" in done.err
    assert "s.jsonl:3:28" in done.err
    assert not (tmp_path / "started").exists()


def test_secrets_that_are_captured_are_not_shown_in_errors_of_ours(run):
    capture = {"capture": {"key": {"from": "result.structuredContent.k", "secret": True}}}
    script = (call("a", more=capture, k="s3cr3t-value-1"), '{"await": {"a": "{{ key }}"}, "timeout": 50}\n')
    assert "s3cr3t-value-1" not in lines(run(*script).out)[-1]["error"]["message"]


def test_lines_of_a_regular_file_on_stdin_are_read_too(serve, environment, tmp_path):
    (tmp_path / "s.jsonl").write_text('{"method": "ping"}\n{"method": "ping"}')
    with open(tmp_path / "s.jsonl", "rb") as script:
        done = subprocess.run(
            [*MCP_CLI, *serve(ECHO), "--script", "-"], stdin=script, capture_output=True, timeout=LIMIT, check=False,
            env=environment, cwd=tmp_path,
        )  # fmt: skip
    assert lines(done.stdout.decode()) == [{"id": 1, "result": {}}, {"id": 2, "result": {}}]
    assert done.returncode == 0


PING = '{"method": "ping"}\n'
DEEP = '{"a":' * 800 + "1" + "}" * 800


@pytest.mark.parametrize(
    "line",
    [f'{{"method": "ping", "params": {DEEP}}}\n', f'{{"await": {DEEP}}}\n'],
    ids=["params", "await"],
)
def test_a_line_that_is_nested_too_deeply_is_answered_and_the_script_goes_on(run, line):
    done = run(line, PING)
    first, second = lines(done.out)
    assert first["error"]["message"] == "stdin: line 1 is nested too deeply"
    assert (second, done.code) == ({"id": 2, "result": {}}, 1)


def test_an_answer_too_deep_to_be_waited_for_again_is_an_error_of_that_line(run):
    capture = {"capture": {"deep": "result.structuredContent"}}
    server = f"""
        hello(tools={{}})
        deep = {{"structuredContent": json.loads('{DEEP}'), "content": []}}
        serve({{"tools/call": deep, "ping": {{}}, "tools/list": {{"tools": []}}}})
    """
    again = '{"await": {"id": "b", "result": {"structuredContent": "{{ deep }}"}}, "timeout": 50}\n'
    done = run(call("a", "b", {**capture, "background": True}), call("a", more=capture), again, PING, server=server)
    assert lines(done.out)[2]["error"]["message"] == "stdin: line 3 is nested too deeply"
    assert lines(done.out)[3] == {"id": 4, "result": {}}


def test_a_line_of_a_file_that_is_nested_too_deeply_is_refused_with_its_place(cli, tmp_path):
    (tmp_path / "s.jsonl").write_text(f'{{"method": "ping"}}\n{{"method": "ping", "params": {{"x": {DEEP}}}}}\n')
    done = cli("none", "--script", "s.jsonl")
    assert (done.code, "s.jsonl: line 2 is nested too deeply" in done.err) == (1, True)


def test_a_placeholder_without_a_value_is_told_with_its_line(cli, serve, tmp_path):
    (tmp_path / "s.jsonl").write_text('{"method": "ping"}\n{"method": "ping", "params": {"x": "{{ env.NOT_SET }}"}}\n')
    done = cli(*serve(ECHO), "--script", "s.jsonl")
    assert (lines(done.out)[1]["error"]["where"], done.code) == ("s.jsonl:2:31", 1)


def test_an_id_that_no_line_has_is_not_waited_for(run):
    done = run('{"await": {"id": "zzz"}}\n', '{"await": {"id": "{{ env.HOME }}"}}\n', PING)
    first, second, third = lines(done.out)
    assert "must be that of an earlier line in the background" in first["error"]["message"]
    assert "must be that of an earlier line in the background" in second["error"]["message"]
    assert (third, done.code) == ({"id": 3, "result": {}}, 1)


@pytest.mark.parametrize("params", ['{"level": "trace"}', '{"level": 7}', "{}"])
def test_in_the_modern_era_an_unknown_log_level_is_refused(run, params):
    level = f'{{"method": "logging/setLevel", "params": {params}}}\n'
    done = run(level, call("a"), server=MODERN, flags=("--protocol", "modern"))
    refused, after = lines(done.out)
    assert "is not a level of MCP" in refused["error"]["message"]
    assert "emergency" in refused["error"]["hint"]
    assert (after["result"]["structuredContent"], done.code) == ({"level": None}, 1)
