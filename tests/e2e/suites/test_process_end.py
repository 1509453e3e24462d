"""How a server ends: exit codes, shutdown, what it leaves behind."""

import pytest

POLITE = "hello(tools={})\nserve({'tools/call': {'content': []}})\n"


def test_the_exit_code_is_looked_at(check):
    done = check("""
        - {it: ends so, call: crash, expect: {exitCode: 70}}
        - {it: does not end so, call: crash, expect: {exitCode: 0}}
        - {it: does not end, call: motto, timeout: 300ms, expect: {exitCode: 0}}
        - {it: goes on with a new one, call: motto, expect: {ok: true}}
    """)
    assert done.code == 1
    assert list(done.statuses.values()) == ["passed", "failed", "failed", "passed"], done.all
    assert "the server ended with exit code 70, not 0" in done.findings("does not end so")
    assert "the server is still running" in done.findings("does not end")


def test_a_server_is_to_end_when_its_stdin_is_closed(check, serve):
    done = check("""
        - {it: ends, call: x, expect: {ok: true, shutdown: {within: 5s, exitCode: 0}}}
        - {it: ends with another code, call: x, expect: {shutdown: {within: 5s, exitCode: 3}}}
        - {it: and on, call: x, expect: {ok: true, shutdown: {}}}
    """, server=serve(POLITE))  # fmt: skip
    assert list(done.statuses.values()) == ["passed", "failed", "passed"], done.all
    assert "exit code 0, not 3" in done.findings("ends with another code")


def test_a_server_that_does_not_end_in_time_is_told_of_and_killed(check, serve):
    server = serve("""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        hello(tools={})
        result(hear(), {"content": []})
        while True:
            time.sleep(60)
    """)
    done = check("- {it: lingers, call: x, expect: {shutdown: {within: 200ms}}}", server=server)
    assert done.code == 1
    assert "the server is still running 0.2 s after its stdin was closed" in done.findings("lingers")


def test_a_server_that_leaves_processes_behind_is_told_of(check, serve):
    server = serve("""
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        hello(tools={})
        serve({"tools/call": {"content": []}})
    """)
    done = check("- {it: litters, call: x, expect: {shutdown: {within: 5s}}}", server=server)
    assert done.code == 1
    assert "the server left a process running" in done.findings("litters")
    assert "time.sleep(300)" in done.findings("litters")


def test_a_process_in_a_session_of_its_own_is_told_of_too(check, serve):
    server = serve("""
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
        hello(tools={})
        serve({"tools/call": {"content": []}})
    """)
    done = check("- {it: litters, call: x, expect: {shutdown: {within: 5s}}}", server=server)
    assert done.code == 1
    assert "the server left a process running" in done.findings("litters")
    assert "time.sleep(300)" in done.findings("litters")


def test_processes_that_a_server_leaves_behind_are_always_ended(check, serve):
    server = serve("""
        subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)"])
        hello(tools={})
        serve({"tools/call": {"content": []}})
    """)
    assert (
        check("- {it: litters, call: x, expect: {ok: true}}", server=server).code == 0
    )  # the fixture looks for survivors


def test_a_reply_is_looked_at_although_the_server_ends_after_it(check, serve):
    server = serve("""
        hello(tools={})
        result(hear(), {"content": [], "structuredContent": {"n": 1}})
        sys.exit(4)
    """)
    done = check("""
        - {it: right, call: x, expect: {result: {content: [], structuredContent: {n: 1}}, exitCode: 4}}
        - {it: wrong, call: x, expect: {result: {content: [], structuredContent: {n: 2}}, exitCode: 4}}
    """, server=server)  # fmt: skip
    assert done.statuses == {"right": "passed", "wrong": "failed"}


def test_a_signal_is_a_negative_exit_code(check, serve):
    server = serve("hello(tools={})\nhear()\nos.kill(os.getpid(), signal.SIGKILL)\n")
    done = check("- {it: killed, call: x, expect: {exitCode: -9}}", server=server)
    assert done.code == 0, done.all


def test_the_end_of_a_server_at_a_url_cannot_be_expected(check, http):
    done = check("- {it: x, request: {method: ping}, expect: {shutdown: {within: 1s}}}", server=(http().url,))
    assert done.code == 1
    assert "URL" in done.findings("x") or "url" in done.findings("x")


@pytest.mark.parametrize("value", ["{within: soon}", "{exitCode: ok}", "{withn: 1s}", "2s"])
def test_a_shutdown_that_cannot_be_is_refused(check, value):
    done = check(f"- {{it: x, call: x, expect: {{shutdown: {value}}}}}", server=("/nonexistent",))
    assert done.code == 2
    assert "a.test.mcp.yml:4:" in done.err


def test_a_death_that_is_the_expected_failure_of_a_test_is_no_error_in_any_report(check, tmp_path):
    reports = ("--report", "tap:report.tap", "--report", "junit:report.xml")
    done = check("- {it: dies, xfail: bug 7, call: crash, expect: {ok: true}}", *reports)
    assert done.code == 0, done.all
    assert done.statuses == {"dies": "skipped"}
    assert "cause" not in done.report["outcomes"][0]
    assert "not ok 1 - about it: dies # TODO" in (tmp_path / "report.tap").read_text()
    assert 'failures="0" errors="0"' in (tmp_path / "report.xml").read_text()


def test_what_could_not_be_run_after_an_expected_death_is_red(check):
    done = check("""
        - {it: dies, xfail: bug 7, call: crash, expect: {ok: true}}
        - {it: after, call: motto, expect: {ok: true}}
    """)  # fmt: skip
    assert done.code == 3
    assert done.statuses == {"dies": "skipped", "after": "not-run"}
