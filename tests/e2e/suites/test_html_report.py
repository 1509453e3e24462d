"""`--report html`: a page with the results, and what was said in the tests that `--trace` keeps."""

import json
import re
import sys

import pytest

TESTS = """
    - {it: good, call: motto, expect: {ok: true}}
    - it: bad
      call: {tool: echo, args: {message: hush-hush}}
      expect:
        result: {content: [{type: text, text: other}]}
    - {it: left out, skip: not today, call: motto, expect: {ok: true}}
"""


@pytest.fixture
def page(conductor, suite, book, tmp_path):
    """The data of the page after a run."""

    def run(*words: str, tests: str = TESTS, code: int = 1):
        suite(tests)
        done = conductor("test", "--report", "html:out/page.html", *words, "--", *book)
        assert done.code == code, done.all
        text = (tmp_path / "out" / "page.html").read_text()
        found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
        assert found is not None
        return json.loads(found[1])

    return run


def by_title(data):
    return {outcome["title"]: outcome for outcome in data["outcomes"]}


def test_a_failed_test_has_its_file_its_conversation_and_the_finding_at_its_message(page):
    data = page()
    bad = by_title(data)["bad"]
    assert data["summaryLine"].startswith("1 failed, 1 passed, 1 skipped in ")
    lines = data["sources"]["a.test.mcp.yml"].split("\n")[bad["line"] - 1 : bad["last"]]
    assert [line.strip() for line in lines][:2] == ["- it: bad", "call: {tool: echo, args: {message: hush-hush}}"]
    said = [(frame["source"], json.loads(frame["text"])) for frame in bad["frames"]]
    assert [source for source, _ in said] == ["client", "server"]
    assert said[0][1]["params"]["arguments"] == {"message": "hush-hush"}
    assert {finding["frame"] for finding in bad["findings"] if not finding.get("whole")} == {1}
    assert "conductor test a.test.mcp.yml:" in bad["again"]
    assert bad["worker"] == 0
    assert bad["began"] > 0


@pytest.mark.parametrize(
    ("when", "kept"),
    [((), ["bad"]), (("--trace", "retain-on-failure"), ["bad"]), (("--trace", "on"), ["good", "bad"])],
)
def test_trace_says_of_which_tests_the_frames_are_kept(page, when, kept):
    assert [title for title, outcome in by_title(page(*when)).items() if "client" in sources(outcome)] == kept


def test_without_a_trace_only_what_every_report_has_is_there(page):
    bad = by_title(page("--trace", "off"))["bad"]
    assert {frame["at"] for frame in bad["frames"]} == {None}


def sources(outcome):
    return [frame["source"] for frame in outcome.get("frames", [])]


def test_the_first_test_has_the_opening_of_the_conversation(page):
    good = by_title(page("--trace", "on"))["good"]
    methods = [json.loads(frame["text"]).get("method") for frame in good["frames"] if frame["source"] == "client"]
    assert methods == ["initialize", "notifications/initialized", "tools/call"]


def test_what_we_ask_to_explain_a_failure_is_no_part_of_the_next_test(page):
    data = page("--trace", "on", tests="""
        - {it: wrong, call: mottoo, expect: {ok: true}}
        - {it: right, call: motto, expect: {ok: true}}
    """)  # fmt: skip
    assert "motto" in by_title(data)["wrong"]["findings"][0]["hint"]
    assert len(by_title(data)["right"]["frames"]) == 2


def test_a_trace_does_not_change_what_came_out(page):
    outcomes = [by_title(page("--trace", when)) for when in ("on", "off")]
    told = [{title: (each["status"], each.get("reason")) for title, each in found.items()} for found in outcomes]
    assert told[0] == told[1]


def test_a_secret_is_nowhere_in_the_page(page, tmp_path):
    page("--secret", "word=hush-hush", "--trace", "on", "--env", "API_TOKEN=abcdefgh12345678")
    text = (tmp_path / "out" / "page.html").read_text()
    assert "hush-hush" not in text
    assert "abcdefgh12345678" not in text


def test_an_unknown_trace_is_refused(conductor, suite, book):
    suite(TESTS)
    done = conductor("test", "--trace", "always", "--", *book)
    assert done.code == 2
    assert "--trace" in done.err
    assert "retain-on-failure" in done.err


BROKEN = """
from plain import Plain

class Server(Plain):
    tools = [{"name": "look"}, {"name": "look", "inputSchema": {"type": "object"}}]

Server().run()
"""


def test_what_judges_say_is_shown_at_the_messages_that_prove_it(conductor, suite, write, tmp_path):
    write("server.py", BROKEN)
    suite("- {it: lists, list: tools, expect: {ok: true}}")
    words = ("test", "--trace", "on", "--report", "html:page.html", "--", sys.executable, "server.py")
    assert conductor(*words).code == 0
    found = re.search(r'id="data">(.*?)</script>', (tmp_path / "page.html").read_text(), re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    (remark,) = [each for each in data["remarks"] if each["requirement"] == "tools-item-inputschema"]
    assert remark["texts"][0] in [frame["text"] for frame in data["outcomes"][0]["frames"]]
    assert data["rules"]["tools-item-inputschema"]["remedy"]


def test_a_check_has_its_grade_and_the_frames_that_prove_what_is_broken(conductor, write, tmp_path):
    write("server.py", BROKEN)
    done = conductor("check", "--quiet", "--report", "html:page.html", "--", sys.executable, "server.py", limit=60)
    assert done.code == 1, done.all
    found = re.search(r'id="data">(.*?)</script>', (tmp_path / "page.html").read_text(), re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert data["grade"]["letter"] == "C"
    assert data["grading"]["C"] == "a MUST is broken"
    (broken,) = [each for each in data["outcomes"] if each["id"] == "tools-item-inputschema"]
    assert "tools/list" in broken["frames"][0]["text"]
    assert broken["findings"][0]["frame"] == 1
    asked, answered = (frame["at"] for frame in broken["frames"])
    assert 0 < answered - asked < 60, "with their times"
    assert "--only tools-item-inputschema" in broken["again"]
    assert data["rules"]["tools-item-inputschema"]["remedy"]
    assert data["reach"][""].startswith("-- ")


DYING = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "tools/list":
        print("out of memory", file=sys.stderr, flush=True)
        sys.exit(7)
    if "id" in request:
        info = {"name": "dying", "version": "1"}
        opened = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": opened}), flush=True)
"""


def test_a_check_shows_what_a_server_was_asked_before_it_died(conductor, write, tmp_path):
    write("server.py", DYING)
    words = ("--only", "base-response-once-server", "--report", "html:page.html")
    done = conductor("check", *words, "--", sys.executable, "server.py", limit=60)
    assert done.code == 1, done.all
    found = re.search(r'id="data">(.*?)</script>', (tmp_path / "page.html").read_text(), re.DOTALL)
    assert found is not None
    (outcome,) = json.loads(found[1])["outcomes"]
    assert [frame["source"] for frame in outcome["frames"]] == ["client", "client", "process"]
    assert json.loads(outcome["frames"][0]["text"])["method"] == "notifications/roots/list_changed"  # said just before
    assert json.loads(outcome["frames"][1]["text"])["method"] == "tools/list"
    assert outcome["frames"][2]["text"] == "the server exited with code 7"
    assert outcome["findings"][0]["frame"] == 1
    assert outcome["stderr"] == ["out of memory"]


@pytest.mark.parametrize(("words", "warned"), [((), False), (("--trace", "off"), False), (("--trace", "on"), True)])
def test_a_trace_without_a_page_is_for_nothing_and_a_warning_says_so(conductor, suite, book, words, warned):
    suite(TESTS)
    done = conductor("test", "--quiet", *words, "--", *book)
    told = "warning: --trace keeps what tests say for --report html"
    assert (told in done.err) is warned, done.err
