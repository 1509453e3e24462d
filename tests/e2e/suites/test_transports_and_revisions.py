"""One file, several servers or revisions: servers by words, URL or settings file; what differs between them."""

import json
import subprocess

import pytest

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
TEST = "- {it: echoes, call: {tool: echo, args: {message: hi}}, expect: {ok: true}}"


@pytest.fixture
def served(write, book, tmp_path):
    """Serve a file over HTTP; its URL."""
    running = []

    def start(text, name):
        write(name, text)
        process = subprocess.Popen([*book[:-1], name, "--port", "0"], cwd=tmp_path, stderr=subprocess.PIPE)
        running.append(process)
        line = process.stderr.readline().decode()
        return line.split()[-1]

    yield start
    for process in running:
        process.terminate()
        process.wait(timeout=10)
        process.stderr.close()


ECHO = 'serverInfo: {{name: e, version: "1"}}\ntools: [{{preset: echo}}{more}]\ntransport: {{type: {kind}}}\n'


def test_a_file_is_run_once_for_each_revision(check):
    done = check(
        """
        - {it: says it, call: motto, expect: {result: {content: [{type: text, text: Nobody is a stranger twice.}]}}}
        - {it: only in the newest, skip_if: {protocol: "2024-11-05"}, call: motto, expect: {ok: true}}
        """,
        head=f"protocol: {json.dumps(VERSIONS)}",
    )
    assert done.code == 0, done.all
    assert len(done.statuses) == 10
    assert done.statuses["says it [2026-07-28]"] == "passed"
    assert done.statuses["only in the newest [2024-11-05]"] == "skipped"


def test_a_revision_that_the_server_does_not_speak_errors_its_tests_alone(check, serve):
    server = serve("hello('2025-06-18', tools={})\nserve({'tools/call': {'content': []}})\n")
    done = check("- {it: x, call: x, expect: {ok: true}}", head='protocol: ["2025-06-18", "2024-11-05"]', server=server)
    assert done.code == 3
    assert done.statuses["x [2025-06-18]"] == "passed"
    assert done.statuses["x [2024-11-05]"] == "errored"


def test_an_unknown_revision_is_refused(check):
    done = check(TEST, head='protocol: ["2025-06-81"]', server=("/nonexistent",))
    assert done.code == 2
    assert "2025-06-81" in done.err
    assert "a.test.mcp.yml:2:" in done.err


@pytest.mark.parametrize("kind", ["streamable-http", "sse"])
def test_a_server_at_a_url_is_tested_as_any_other(check, served, kind):
    url = served(ECHO.format(kind=kind, more=""), "h.yaml")
    done = check(TEST + "\n- {it: not there, call: nobody, expect: {ok: true}}", server=(url,))
    assert done.code == 1
    assert done.statuses == {"echoes": "passed", "not there": "failed"}, done.all


def test_a_server_at_a_url_that_is_not_there_could_not_be_reached(check):
    done = check(TEST, server=("http://127.0.0.1:9/mcp",))
    assert done.code == 3
    assert "127.0.0.1:9" in done.out


def settings(write, **servers):
    write("conductor.config.json", json.dumps({"mcpServers": servers}))


def entry(words):
    return {"command": words[0], "args": list(words[1:])}


def test_the_server_is_that_of_the_settings_file(conductor, suite, write, book):
    suite(TEST)
    settings(write, book=entry(book))
    assert conductor("test").code == 0
    settings(write, book=entry(book), other=entry(("false",)))
    done = conductor("test")
    assert done.code == 2
    assert "--server" in done.err
    assert conductor("test", "--server", "book").code == 0
    write("elsewhere.json", json.dumps({"name": "book", **entry(book)}))
    assert conductor("test", "--config", "elsewhere.json").code == 0


def test_a_file_can_name_its_server(conductor, suite, write, book):
    suite(TEST, head="server: book")
    suite(TEST, head="server: bok", name="b.test.mcp.yml")
    settings(write, book=entry(book), other=entry(("false",)))
    done = conductor("test", "a.test.mcp.yml")
    assert done.code == 0, done.all
    done = conductor("test", "b.test.mcp.yml")
    assert done.code == 2
    assert "did you mean 'book'?" in done.err


def test_the_words_of_the_command_line_win_over_the_server_that_a_file_names(conductor, suite, write, book):
    suite(TEST, head="server: other")
    settings(write, other=entry(("false",)))
    done = conductor("test", "--", *book)
    assert done.code == 0, done.all


def test_flags_for_the_server_hold_for_one_that_a_file_names(conductor, suite, write, serve):
    server = serve(
        "hello(tools={})\nserve({'tools/call': lambda p: {'content': [], 'structuredContent': {'is': os.environ.get('SHADE', 'none')}}})\n"
    )
    suite("- {it: x, call: x, expect: {asserts: [result.structuredContent.is == green]}}", head="server: one")
    settings(write, one=entry(server), two=entry(server))
    done = conductor("test", "--env", "SHADE=green")
    assert done.code == 0, done.all


def test_a_file_is_run_over_several_transports(conductor, suite, write, book, served):
    url = served(ECHO.format(kind="streamable-http", more=""), "h.yaml")
    settings(write, pipe=entry(book), web={"url": url})
    suite(TEST, head="transports: [pipe, web]")
    done = conductor("test", "--report", "json:report.json")
    assert done.code == 0, done.all
    assert done.statuses == {"echoes [pipe]": "passed", "echoes [web]": "passed"}


def test_what_differs_between_transports_is_reported(conductor, suite, write, book, served):
    url = served(ECHO.format(kind="streamable-http", more=", {name: motto, result: Another motto.}"), "h.yaml")
    settings(write, pipe=entry(book), web={"url": url})
    suite(TEST + "\n- {it: says its motto, call: motto, expect: {ok: true}}", head="transports: [pipe, web]")
    done = conductor("test", "--report", "json:report.json")
    assert done.code == 1
    assert done.statuses["says its motto [web]"] == "failed"
    assert done.statuses["echoes [web]"] == "passed"
    assert "the reply differs from that of [pipe]" in done.findings("says its motto [web]")
    assert "the reply differs from that of [pipe]" in done.out
    assert "Another motto." in done.out


# A server whose replies have a time, an id and a number that are new in each process.
NEW_EACH_TIME = """
import datetime, uuid
hello(tools={})
def call(params):
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    text = json.dumps({"at": now, "pid": os.getpid()})
    kept = {"id": str(uuid.uuid4()), "here": os.getcwd(), "rows": [{"n": os.getpid()}, {"n": 2}]}
    return {"content": [{"type": "text", "text": text if params["name"] == "all" else now}], "structuredContent": kept if params["name"] == "all" else {}}
serve({"tools/call": call})
"""


def test_times_and_ids_are_no_difference_between_transports(conductor, suite, write, serve):
    server = serve(NEW_EACH_TIME)
    settings(write, one=entry(server), two=entry(server))
    suite("- {it: tells the time, call: time, expect: {ok: true}}", head="transports: [one, two]")
    done = conductor("test")
    assert done.code == 0, done.all


def test_what_is_ignored_is_no_difference_between_transports(conductor, suite, write, serve):
    server = serve(NEW_EACH_TIME)
    settings(write, one=entry(server), two=entry(server))
    suite(
        """
        - it: differs
          call: all
          expect: {ok: true}
        - it: ignores
          call: all
          ignore: ["result.structuredContent.rows[0].n"]
          expect: {ok: true}
        - it: ignores in steps
          ignore: result.structuredContent.rows[*].n
          steps: [{call: all, expect: {ok: true}}, {call: all, expect: {ok: true}}]
        """,
        head="transports: [one, two]\nignore: ['result.content[0].text | json | pid']",
    )
    done = conductor("test", "--report", "json:report.json")
    assert done.statuses["ignores [two]"] == done.statuses["ignores in steps [two]"] == "passed", done.all
    [finding] = done.outcomes["differs [two]"]["findings"]
    assert (finding["line"], finding["message"]) == (2, "the reply differs from that of [one]")
    assert "ignore: ['result.structuredContent.rows[0].n']" in finding["hint"]
    assert "transports: [one, two]\n" in done.out
    assert "^^^^^^^^^^ the reply differs from that of [one]" in done.out


def test_ignore_without_transports_is_said_to_change_nothing(conductor, suite, book):
    suite("- {it: echoes, ignore: [result.a], call: motto, expect: {ok: true}}")
    done = conductor("test", "--", *book)
    assert done.code == 0
    assert "`ignore` changes nothing" in done.all


def test_a_path_of_ignore_must_lead_to_a_part_of_a_reply(conductor, suite, book):
    suite("- {it: echoes, ignore: [result.a | count, ..], call: echo, expect: {ok: true}}", head="transports: [x]")
    done = conductor("test", "--", *book)
    assert done.code == 2
    assert "ignore[0] is not a part of a reply" in done.err
    assert "ignore[1] is not a path" in done.err


def test_revisions_of_one_transport_are_not_compared_with_each_other(conductor, suite, write, book, served):
    url = served(ECHO.format(kind="streamable-http, modern: true", more=""), "h.yaml")
    settings(write, pipe={**entry((*book[:-1], "p.yaml"))}, web={"url": url})
    write("p.yaml", ECHO.format(kind="stdio, modern: true", more=""))
    suite(
        "- {it: lists, list: tools, expect: {ok: true}}",
        head='transports: [pipe, web]\nprotocol: ["2025-11-25", "2026-07-28"]',
    )
    done = conductor("test", "--report", "json:report.json")
    assert done.code == 0, done.all
    assert len(done.statuses) == 4


def test_an_unknown_transport_is_refused_before_anything_starts(conductor, suite, write, book):
    settings(write, pipe=entry(("/nonexistent",)))
    suite(TEST, head="transports: [pipe, wbe]")
    done = conductor("test")
    assert done.code == 2
    assert "'wbe'" in done.err
