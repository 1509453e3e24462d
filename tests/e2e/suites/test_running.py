"""How a run goes: how much of it, how often, in which order, on how many servers, how long, and what is shown meanwhile."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

TWO = "- {it: one, call: motto, expect: {ok: true}}\n- {it: two, call: motto, expect: {ok: true}}"
FAILING = """
    - {it: good, call: motto, expect: {ok: true}}
    - {it: bad, call: lose, expect: {ok: true}}
    - {it: worse, call: burn, expect: {ok: true}}
    - {it: also good, call: motto, expect: {ok: true}}
"""
# Each server says which it is by the number of servers before it.
NUMBERED = """
    with open("servers", "a+") as file:
        file.write("x")
    number = os.path.getsize("servers")
    hello(tools={})
    serve({"tools/call": lambda params: {"content": [], "structuredContent": {"server": number}}})
"""


@pytest.mark.parametrize(("flags", "names"), [
    (("-x",), ["worse", "also good"]),
    (("--exitfirst",), ["worse", "also good"]),
    (("--max-failures", "2"), ["also good"]),
    (("--max-failures", "3"), []),
])  # fmt: skip
def test_a_run_stops_after_so_many_failures(check, flags, names):
    done = check(FAILING, *flags)
    assert done.code == 1
    assert [name for name, status in done.statuses.items() if status == "not-run"] == names


def test_a_run_of_several_files_that_stops_shows_what_stopped_it(conductor, suite, book):
    suite(FAILING)
    suite(TWO, name="b.test.mcp.yml")
    done = conductor("test", "-x", "--report", "json:report.json", "--", *book)
    assert done.code == 1
    assert [name for name, status in done.statuses.items() if status != "not-run"] == ["good", "bad"]
    assert "The book is lost." in done.out
    assert "1 failed, 4 not run, 1 passed" in done.out
    assert "(the run was stopped after 1 failure)" in done.out


def test_repeat_says_what_is_not_always_the_same(conductor, suite, serve):
    server = serve("""
        with open("runs", "a+") as file:
            file.write("x")
        runs = os.path.getsize("runs")
        hello(tools={})
        serve({"tools/call": lambda p: {"content": [], "isError": p["name"] == "moody" and runs == 2}})
    """)
    suite("- {it: moody, call: moody, expect: {ok: true}}\n- {it: steady, call: steady, expect: {ok: true}}")
    done = conductor("test", "--repeat", "3", "--report", "json:report.json", "--", *server)
    assert done.code == 1
    assert done.report["metrics"]["flaky"] == {"a.test.mcp.yml::moody": "failed 1 of 3"}
    assert done.statuses == {"moody": "failed", "steady": "passed"}
    assert "not always the same" in done.out


@pytest.mark.parametrize("flag", ["-q", "--errors-only"])
def test_repeat_shows_a_failure_once_where_failures_alone_are_shown(check, flag):
    done = check("- {it: fails, call: lose, expect: {ok: true}}", "--repeat", "3", flag)
    assert (done.code, done.out.count("FAIL  a.test.mcp.yml:4  fails")) == (1, 1)
    assert "3 runs, all with the same outcomes" in done.out


def test_repeat_of_what_is_always_the_same_says_so(check):
    done = check(TWO, "--repeat", "3")
    assert done.code == 0
    assert "3 runs, all with the same outcomes" in done.out


def test_shuffle_makes_another_order_that_a_seed_makes_again(conductor, suite):
    suite("\n".join(f"- {{it: t{n}, call: motto, expect: {{ok: true}}}}" for n in range(30)))
    plain = conductor("test", "--collect-only").out
    one, again, other = (
        conductor("test", "--collect-only", "--shuffle", "--seed", seed).out for seed in ("1", "1", "2")
    )
    assert one == again
    assert len({plain, one, other}) == 3
    assert sorted(plain.splitlines()) == sorted(one.splitlines())


def test_shuffle_tells_its_seed(check):
    done = check(TWO, "--shuffle")
    assert done.code == 0
    assert str(done.report["metrics"]["seed"]) in done.out


@pytest.mark.parametrize(("isolation", "servers"), [("run", 1), ("file", 2), ("test", 4), (None, 2)])
def test_servers_are_shared_as_one_wants(conductor, suite, serve, tmp_path, isolation, servers):
    server = serve(NUMBERED)
    suite("- {it: a1, call: x, expect: {ok: true}}\n- {it: a2, call: x, expect: {ok: true}}")
    suite("- {it: b1, call: x, expect: {ok: true}}\n- {it: b2, call: x, expect: {ok: true}}", name="b.test.mcp.yml")
    flags = () if isolation is None else ("--isolation", isolation)
    done = conductor("test", *flags, "--report", "json:report.json", "--", *server)
    assert done.code == 0, done.all
    assert len(done.statuses) == 4
    assert (tmp_path / "servers").stat().st_size == servers


def test_a_file_can_say_how_its_servers_are_shared(check, serve, tmp_path):
    done = check(TWO, head="isolation: test", server=serve(NUMBERED))
    assert done.code == 0
    assert (tmp_path / "servers").stat().st_size == 2


def test_setup_is_done_on_each_server(check, serve):
    done = check(
        """
        - {it: one, call: x, expect: {asserts: ["result.structuredContent.server == {{ n }}"]}}
        - {it: two, call: x, expect: {asserts: ["result.structuredContent.server == {{ n }}"]}}
        """,
        "--isolation", "test",
        head="setup: [{call: x, capture: {n: result.structuredContent.server}}]",
        server=serve(NUMBERED),
    )  # fmt: skip
    assert done.code == 0, done.all


def test_files_run_at_once_if_one_wants(conductor, suite, serve, tmp_path):
    # Each server answers only when the other is there too.
    server = serve("""
        hello(tools={})
        request = hear()
        open(f"here-{request['params']['name']}", "w").close()
        deadline = time.monotonic() + 20
        while len([name for name in os.listdir() if name.startswith("here-")]) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        result(request, {"content": [], "isError": time.monotonic() > deadline})
        serve({})
    """)
    for name in "ab":
        suite(f"- {{it: {name}, call: {name}, timeout: 25s, expect: {{ok: true}}}}", name=f"{name}.test.mcp.yml")
    done = conductor("test", "-j", "2", "--report", "json:report.json", "--", *server, limit=60)
    assert done.code == 0, done.all


def test_files_that_run_at_once_are_shown_one_after_the_other(conductor, suite, book):
    for name in "abcd":
        suite(
            "\n".join(f"- {{it: {name}{n}, call: motto, expect: {{ok: true}}}}" for n in range(10)),
            name=f"{name}.test.mcp.yml",
        )
    done = conductor("test", "-j", "auto", "-v", "--", *book)
    shown = re.findall(r"^  ok   (\w)\d", done.out, re.MULTILINE)
    assert len(shown) == 40
    assert len([1 for left, right in zip(shown, shown[1:], strict=False) if left != right]) == 3


def test_a_run_that_takes_too_long_is_ended(check, serve):
    server = serve("hello(tools={})\nresult(hear(), {'content': []})\nhear()\nhear()\n")
    done = check(TWO, "--timeout", "500ms", server=server)
    assert done.code == 124
    assert "the run took longer than 0.5 s" in done.err
    assert done.seconds < 10


def test_a_run_that_is_ended_by_its_time_still_reports_what_there_is(conductor, suite, serve):
    server = serve("""
        hello(tools={})
        while True:
            request = hear()
            if request["params"].get("name") != "slow":
                result(request, {"content": [], "isError": request["params"].get("name") == "bad"})
    """)
    suite("- {it: bad, call: bad, expect: {ok: true}}\n- {it: slow, call: slow, expect: {ok: true}}")
    suite("- {it: elsewhere, call: slow, expect: {ok: true}}", name="b.test.mcp.yml")
    done = conductor("test", "--timeout", "700ms", "--report", "json:report.json", "--", *server)
    assert done.code == 124
    assert "bad" in done.out
    assert done.statuses["bad"] == "failed"


# What is shown.


def test_a_line_for_each_file_is_enough_unless_one_wants_more(check):
    done = check(FAILING)
    assert "good" not in done.out.replace("also good", "").replace("bad", "")
    assert "FAIL  a.test.mcp.yml:5  bad" in done.out
    assert done.out.splitlines()[-1].startswith("2 failed, 2 passed in ")
    assert done.err == ""


def test_verbose_has_a_line_for_each_test(check):
    done = check(FAILING, "-v")
    assert re.search(r"^  ok   good ", done.out, re.MULTILINE)
    assert "about it" in done.out


@pytest.mark.parametrize("flag", ["-q", "--quiet", "--errors-only"])
def test_quiet_has_failures_and_the_last_line(check, flag):
    done = check(TWO, flag)
    assert re.fullmatch(r"2 passed in [\d.]+ m?s\n", done.out)
    assert "The book is lost." in check(FAILING, flag).out


def test_wire_shows_what_was_said(check):
    done = check(TWO, "-vv")
    assert '"method":"tools/call"' in done.out
    assert "Nobody is a stranger" in done.out


def test_so_many_findings_are_shown_and_no_more(check):
    expect = "expect: {result: {content: [], a: 1, b: 2, c: 3, d: 4}}"
    every = check(f"- {{it: x, call: motto, {expect}}}").out
    some = check(f"- {{it: x, call: motto, {expect}}}", "--max-errors", "2").out
    assert every.count("is missing") == 4
    assert some.count("is missing") < 3


def test_times_are_shown_if_one_wants(check):
    assert re.search(r"about it.*\([\d.]+ m?s\)", check(TWO, "--timing").out)
    done = check(TWO.replace("call: motto", "call: slow", 1), "--durations", "1")
    assert re.search(r"the slowest:\n +3\d\d ms  a.test.mcp.yml:4  one\n", done.out), done.out


def test_a_test_that_checks_nothing_is_warned_of(check):
    tests = "- {it: looks, call: motto}\n- {it: looks too, call: motto, expect: {}}\n- {it: checks, call: motto, expect: {ok: true}}"
    done = check(tests)
    assert done.code == 0
    assert "warning: a.test.mcp.yml:4:5: 'looks' checks nothing" in done.out
    assert "'looks too' checks nothing" in done.out
    assert "'checks' checks nothing" not in done.out
    done = check(tests, "--strict")
    assert done.code in (1, 2)
    assert "'looks' checks nothing" in done.all


def test_colour_is_there_when_one_wants_it(check):
    assert "\x1b[" not in check(FAILING).out
    assert "\x1b[" in check(FAILING, "--color", "always").out
    assert "\x1b[" not in check(FAILING, "--color", "never").out


# How it ends.


def started(words, directory, surroundings):
    command = [
        sys.executable,
        "-c",
        "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())",
        *words,
    ]
    return subprocess.Popen(
        command,
        cwd=directory,
        env=surroundings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_nothing_behind(suite, serve, tmp_path, surroundings, survivors, number, code):
    server = serve("hello(tools={})\nhear()\nopen('asked', 'w').close()\nhear()\nhear()\n")
    suite("- {it: waits, call: x, timeout: 60s, expect: {ok: true}}")
    process = started(["test", "--", *server], tmp_path, surroundings)
    wait_for((tmp_path / "asked").exists)
    process.send_signal(number)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == code
    assert b"Traceback" not in output
    assert survivors() == []


class Watching:
    """A run with --watch: what it says, change after change."""

    def __init__(self, words, directory, surroundings):
        self._process = started(["test", "--watch", *words], directory, surroundings)
        os.set_blocking(self._process.stdout.fileno(), False)
        self._seen = b""
        self._rounds = 0
        self.next_round()

    def next_round(self):
        """What was said until all is done, and a change is waited for."""
        self._rounds += 1
        wait_for(self._waits)
        return self._seen.split(b"waiting for a change")[self._rounds - 1]

    def _waits(self):
        self._seen += self._process.stdout.read() or b""
        return self._seen.count(b"waiting for a change") >= self._rounds

    def end(self):
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=20)
        self._process.stdout.close()
        return self._process.returncode


def test_watch_runs_again_when_a_file_changes(suite, book, tmp_path, surroundings, survivors):
    file = tmp_path / suite(TWO)
    run = Watching(["-v", "--", *book], tmp_path, surroundings)
    file.write_text(file.read_text() + "  - {it: three, call: motto, expect: {ok: true}}\n")
    assert b"3 passed" in run.next_round()
    file.write_text("description: [")
    assert b"is not YAML" in run.next_round()
    assert run.end() == 130
    assert survivors() == []


def test_watch_says_why_it_runs_again(suite, book, tmp_path, surroundings):
    file = tmp_path / suite(TWO)
    run = Watching(["--", *book], tmp_path, surroundings)
    file.write_text(file.read_text() + "  - {it: three, call: motto, expect: {ok: true}}\n")
    assert b"; Ctrl-C ends\n\n--- a.test.mcp.yml changed ---------" in run.next_round()
    assert run.end() == 130


def test_watch_on_a_terminal_runs_again_and_ends_as_it_is_told(suite, book, tmp_path, surroundings):
    suite("- {it: passes, call: motto, expect: {ok: true}}\n- {it: fails, call: motto, expect: {ok: false}}")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "mcp_conductor", "test", "--watch", "-q", "--", *book]
    process = subprocess.Popen(command, cwd=tmp_path, env=surroundings, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.set_blocking(ours, False)
    seen = ""

    def said(text):
        nonlocal seen

        def read():
            nonlocal seen
            with suppress(BlockingIOError):
                seen += os.read(ours, 65536).decode().replace("\r\n", "\n")
            return text in seen

        wait_for(read)
        seen = seen.partition(text)[2]

    try:
        said("1 failed, 1 passed in ")
        said("Enter runs all again, f Enter those that failed, q Enter or Ctrl-C ends\n")
        os.write(ours, b"f\n")
        said("--- failed tests only ---")
        said("1 failed, 1 deselected in ")
        said("ends\n")
        os.write(ours, b"\n")
        said("--- all tests ---")
        said("1 failed, 1 passed in ")
        said("ends\n")
        os.write(ours, b"q\n")
        assert process.wait(timeout=20) == 1
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_watch_loads_a_plugin_again_when_it_changes(suite, book, tmp_path, surroundings):
    suite('- {it: one, call: motto, expect: {result: {content: "match:ours"}}}')
    plugin = tmp_path / "ours.py"
    says = 'from mcp_conductor import matcher\n\n\n@matcher("ours")\ndef ours(actual):\n    return {}\n'
    plugin.write_text(says.format("'is the first'"))
    run = Watching(["--plugin", "ours.py", "--", *book], tmp_path, surroundings)
    plugin.write_text(says.format("'is the second one'"))
    assert b"is the second one" in run.next_round()
    plugin.write_text("@matcher(\n")
    assert b"the plugin ours.py is not Python" in run.next_round()
    plugin.write_text(says.format("None"))
    assert b"1 passed" in run.next_round()
    assert run.end() == 130


def test_a_reader_who_goes_away_is_no_error(suite, book, tmp_path, surroundings, survivors):
    suite("\n".join(f"- {{it: t{n}, call: motto, expect: {{ok: true}}}}" for n in range(50)))
    process = started(["test", "-v", "--", *book], tmp_path, surroundings)
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=20) in (0, 141)
    wait_for(lambda: survivors() == [])


def test_the_help_tells_of_every_flag(conductor):
    done = conductor("test", "--help", "all")
    assert done.code == 0
    for flag in [
        "--config",
        "--server",
        "-k",
        "--tag",
        "--filter",
        "-x",
        "--max-failures",
        "--lf",
        "--repeat",
        "--shuffle",
        "--isolation",
        "-j",
        "--shard",
        "--watch",
        "--collect-only",
        "--timeout",
        "-v",
        "-q",
        "--errors-only",
        "--max-errors",
        "--timing",
        "--durations",
        "--update-snapshots",
        "--report",
        "--coverage",
        "--min-coverage",
        "--restart",
        "--var",
        "--vars-file",
        "--secret",
        "--strict",
    ]:
        assert re.search(rf"(^|\s){re.escape(flag)}\b", done.out, re.MULTILINE), flag


def test_only_tests_that_are_run_are_warned_of(check):
    tests = "- {it: looks, call: motto}\n- {it: is left out, call: motto, skip: later}\n- {it: checks, call: motto, expect: {ok: true}}"
    assert "'is left out' checks nothing" not in check(tests).out
    done = check(tests, "-k", "checks", "--strict")
    assert (done.code, "checks nothing" in done.all) == (0, False)


@pytest.mark.parametrize("flag", ["-q", "--errors-only"])
def test_warnings_are_left_out_where_one_wants_failures_alone_unless_they_are_failures(check, flag):
    looks = "- {it: looks, call: motto}"
    assert "checks nothing" not in check(looks, flag).all
    done = check(looks, flag, "--strict")
    assert (done.code, "'looks' checks nothing" in done.out) == (1, True)
