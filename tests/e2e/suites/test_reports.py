"""Reports: every form, several at once, stdout never mixed, nothing secret in any of them; coverage."""

import json
import re
import xml.etree.ElementTree as ET

import pytest

TESTS = """
    - {it: good, call: motto, expect: {ok: true}}
    - {it: bad, call: lose, expect: {ok: true}}
    - {it: left out, skip: not today, call: motto, expect: {ok: true}}
"""
KINDS = ("json", "junit", "tap", "github", "markdown", "html")


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_on_stdout_has_stdout_to_itself(check, kind):
    done = check(TESTS, "--report", kind)
    assert done.code == 1
    assert "bad" in done.out
    assert "1 failed, 1 passed, 1 skipped" in done.err
    if kind == "json":
        assert json.loads(done.out)["summary"]["failed"] == 1
    if kind == "junit":
        root = ET.fromstring(done.out)
        assert {case.get("name") for case in root.iter("testcase")} == {"good", "bad", "left out"}
        assert len(list(root.iter("failure"))) == 1
        assert len(list(root.iter("skipped"))) == 1
    if kind == "tap":
        lines = done.out.splitlines()
        assert lines[0].startswith("TAP version")
        assert "1..3" in lines
        assert sum(line.startswith("not ok ") for line in lines) == 1
    if kind == "github":
        assert "::error file=a.test.mcp.yml,line=5" in done.out


def test_several_reports_are_written_at_once(check, tmp_path):
    words = [word for kind in KINDS if kind != "json" for word in ("--report", f"{kind}:out/{kind}.txt")]
    done = check(TESTS, *words)
    assert done.code == 1
    assert all("bad" in (tmp_path / "out" / f"{kind}.txt").read_text() for kind in KINDS if kind != "json")
    assert done.statuses == {"good": "passed", "bad": "failed", "left out": "skipped"}
    assert "1 failed, 1 passed, 1 skipped" in done.out


def test_json_is_short_for_a_report_in_json(check):
    done = check(TESTS, "--json")
    assert json.loads(done.out)["kind"] == "test"
    assert json.loads(done.out)["server"]["name"] == "book"


def test_only_one_report_can_have_stdout(check):
    done = check(TESTS, "--json", "--report", "tap")
    assert done.code == 2
    assert "only one report can go to stdout" in done.err


def test_an_unknown_report_is_answered_with_the_nearest(check):
    done = check(TESTS, "--report", "junti")
    assert done.code == 2
    assert "junit" in done.err


def test_a_report_that_cannot_be_written_is_an_error(check, write):
    write("file", "")
    done = check(TESTS, "--report", "tap:file/x")
    assert done.code == 2
    assert "cannot write the report to file/x" in done.err


# GitHub Actions.


def test_github_is_given_paths_from_the_root_and_a_summary_without_secrets(conductor, suite, book, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    suite(TESTS + "    - {it: tells, call: {tool: echo, args: {message: hush-hush}}, expect: {result: {a: 1}}}\n")
    words = ("test", "--secret", "word=hush-hush", "--report", "github:out.txt", "--", *book)
    done = conductor(*words, GITHUB_STEP_SUMMARY=str(summary), GITHUB_WORKSPACE=str(tmp_path.parent))
    assert done.code == 1
    assert f"::error file={tmp_path.name}/a.test.mcp.yml,line=5," in (tmp_path / "out.txt").read_text()
    text = summary.read_text()
    assert text.startswith("before\n## conductor test: 2 failed, 1 passed, 1 skipped")
    assert "hush-hush" not in text
    conductor("test", "--report", "tap", "--", *book, GITHUB_STEP_SUMMARY=str(summary))
    assert summary.read_text() == text, "the report for GitHub was not asked for"


# Coverage.


def test_coverage_says_what_no_test_has_touched(check):
    done = check("""
        - {it: one, call: motto, expect: {ok: true}}
        - {it: two, read: "people://ada", expect: {ok: true}}
    """, "--coverage")  # fmt: skip
    assert done.code == 0
    figures = done.report["metrics"]["coverage"]
    assert figures["tools"]["total"] == 8
    assert figures["tools"]["touched"] == 1
    assert "burn" in figures["tools"]["untouched"]
    assert figures["resources"] == {"total": 1, "touched": 1, "untouched": []}
    assert figures["prompts"]["untouched"] == ["letter"]
    assert "1 of 8 used" in done.out


@pytest.mark.parametrize(("least", "code"), [("20", 0), ("21", 1)])
def test_coverage_has_a_least(check, least, code):
    tests = "- {it: one, call: motto, expect: {ok: true}}\n- {it: two, read: 'people://ada', expect: {ok: true}}"
    done = check(tests, "--min-coverage", least)
    assert done.code == code
    assert ("20.0 % of them were used, less than 21 %" in done.out) is (code == 1)


def test_a_file_that_ends_the_server_is_covered_as_any_other(check):
    done = check("""
        - {it: one, call: motto, expect: {ok: true}}
        - {it: ends, call: motto, expect: {shutdown: {within: 5s}}}
    """, "--min-coverage", "50")  # fmt: skip
    assert done.code == 1
    assert done.report["metrics"]["coverage"]["tools"]["touched"] == 1


def test_what_is_called_in_any_file_and_isolation_counts(conductor, suite, book):
    suite("- {it: one, call: motto, expect: {ok: true}}")
    suite(
        "- {it: one, call: loud, expect: {ok: true}}\n- {it: two, call: add, expect: {ok: false}}",
        name="b.test.mcp.yml",
    )
    for isolation in ("run", "file", "test"):
        done = conductor("test", "--coverage", "--isolation", isolation, "--report", "json:report.json", "--", *book)
        assert done.report["metrics"]["coverage"]["tools"]["touched"] == 3, isolation


# Secrets.

SECRET = "hunter2hunter2"
ALL = [word for kind in KINDS for word in ("--report", f"{kind}:secret.{kind}")]


def everything(done, tmp_path):
    return done.all + "".join(
        (tmp_path / f"secret.{kind}").read_text() for kind in KINDS if (tmp_path / f"secret.{kind}").exists()
    )


LEAKS = {
    "a test": ("", "- {it: x, call: {tool: echo, args: {message: '{{ password }}'}}, expect: {result: {content: [], x: '{{ password }}'}}}"),
    "an assertion": ("", "- {it: x, call: {tool: echo, args: {message: '{{ password }}'}}, expect: {asserts: ['result.content[0].text == x']}}"),
    "setup": ("setup: [{call: {tool: echo, args: {message: '{{ password }}'}}, expect: {result: {content: []}}}]", "- {it: x, call: motto, expect: {ok: true}}"),
    "teardown": ("teardown: [{call: {tool: echo, args: {message: '{{ password }}'}}, expect: {result: {content: []}}}]", "- {it: x, call: motto, expect: {ok: true}}"),
    "before_each": ("before_each: [{call: {tool: echo, args: {message: '{{ password }}'}}, expect: {result: {content: []}}}]", "- {it: x, call: motto, expect: {ok: true}}"),
    "a captured value": ("", "- {it: c, call: {tool: echo, args: {message: 'hunter2{{ half }}'}}, expect: {ok: true}, capture: {got: {from: 'result.content[0].text', secret: true}}}\n- {it: x, call: {tool: echo, args: {message: '{{ got }}'}}, expect: {ok: false}}"),
}  # fmt: skip


@pytest.mark.parametrize(
    "place",
    [pytest.param(each) if each in ("setup", "teardown") else each for each in LEAKS],
)
def test_a_secret_is_shown_nowhere(check, tmp_path, place):
    head, tests = LEAKS[place]
    done = check(tests, "-vv", *ALL, "--secret", f"password={SECRET}", "--var", "half=hunter2", head=head)
    assert done.code in (1, 3)
    shown = everything(done, tmp_path)
    if place == "a captured value":  # it became a secret when it was captured; the test that sent it did not know
        shown = shown.partition("succeeded with a result, but an error is expected")[2]
    assert SECRET not in shown, [line for line in shown.splitlines() if SECRET in line][:5]
    assert "[redacted]" in shown


DYING = """
    print("key", os.environ.get("API_KEY"), file=sys.stderr, flush=True)
    {when}
    print("key", os.environ.get("API_KEY"), file=sys.stderr, flush=True)
    os._exit(1)
"""


@pytest.mark.parametrize("when", ["pass", "hello(tools={}); hear()"])
def test_the_environment_of_a_server_is_shown_nowhere(conductor, suite, serve, write, tmp_path, when):
    command, *arguments = serve(DYING.format(when=when))
    config = {"name": "s", "command": command, "args": arguments, "env": {"API_KEY": SECRET}}
    write("conductor.config.json", json.dumps(config))
    suite("- {it: x, call: y, expect: {ok: true}}\n- {it: z, call: y, expect: {ok: true}}")
    done = conductor("test", "-vv", *ALL)
    assert done.code == 3
    shown = everything(done, tmp_path)
    assert SECRET not in shown
    assert "key [redacted]" in shown


def test_the_secrets_of_the_command_line_are_hidden_when_a_server_dies(conductor, suite, serve, tmp_path):
    suite("- {it: x, call: '{{ password }}', expect: {ok: true}}\n- {it: z, call: y, expect: {ok: true}}")
    server = serve("hello(tools={})\nprint(hear()['params']['name'], file=sys.stderr, flush=True)\nos._exit(1)\n")
    done = conductor("test", *ALL, "--secret", f"password={SECRET}", "--", *server)
    assert done.code == 3
    assert SECRET not in everything(done, tmp_path)


def test_the_headers_of_a_server_are_shown_nowhere(conductor, suite, http, tmp_path):
    suite("- {it: x, request: {method: ping}, expect: {ok: true}}")
    done = conductor("test", "-vv", *ALL, "--header", f"X-Key: {SECRET}", "--token", f"t-{SECRET}", "--", http().url)
    assert done.code == 1
    assert SECRET not in everything(done, tmp_path)


def test_a_secret_given_in_the_wrong_way_is_not_shown_either(conductor, suite):
    suite("- {it: x, call: y, expect: {ok: true}}")
    done = conductor("test", "--secret", SECRET, "--", "x")
    assert done.code == 2
    assert SECRET not in done.all
    assert not re.search("hunter", done.all)


@pytest.mark.parametrize("name", ["The <Book> & Co", "x" * 10_000, "two\nlines"])
def test_the_name_in_the_settings_heads_every_report(conductor, suite, write, book, tmp_path, name):
    shown = {"x": f"{'x' * 99}…", "t": "two lines"}.get(name[0], name)
    settings = {"name": name, "command": book[0], "args": book[1:]}
    write("conductor.config.json", json.dumps(settings))
    file = suite("- {it: a, call: motto, expect: {ok: true}}")
    kinds = ("json", "junit", "markdown", "html", "github")
    reports = [word for kind in kinds for word in ("--report", f"{kind}:report.{kind}")]
    done = conductor("test", file, *reports)
    assert (done.code, done.out.splitlines()[0]) == (0, shown), done.all
    texts = {kind: (tmp_path / f"report.{kind}").read_text() for kind in kinds}
    assert json.loads(texts["json"])["name"] == shown
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert f'<testsuites name="conductor test: {escaped}"' in texts["junit"]
    assert all(shown[:4] in text and name != text and "x" * 101 not in text for text in texts.values())
    assert f"conductor test%3A {shown}" in texts["github"]
    assert conductor("test", file, "-q").out.startswith("1 passed")


def test_a_name_that_is_no_text_is_a_mistake(conductor, suite, write, book):
    write("conductor.config.json", json.dumps({"name": 5, "command": book[0], "args": book[1:]}))
    done = conductor("test", suite("- {it: a, call: motto, expect: {ok: true}}"))
    assert (done.code, "name must be a string, not a number" in done.err) == (2, True)
