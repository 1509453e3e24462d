"""Tests of files that another plugin runs again: pytest-rerunfailures sets a file up twice, and ends it once."""

import sys
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(not find_spec("pytest_rerunfailures"), reason="pytest-rerunfailures is not installed")

# It fails the first call of `odd`, and dies of the first call of `die`; a stubborn one is ended by SIGKILL alone.
SERVER = """
    import json, os, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("started", file=open("starts", "a"))
    if "missing" in sys.argv:
        sys.exit("no settings")
    info = {"serverInfo": {"name": "x", "version": "1"}, "capabilities": {"tools": {}}}
    calls = 0
    for line in sys.stdin:
        message = json.loads(line)
        if message["method"] == "initialize":
            result = info | {"protocolVersion": message["params"]["protocolVersion"]}
        else:
            result = {"content": []}
        if message["method"] == "tools/call":
            name = message["params"]["name"]
            if name == "die" and not os.path.exists("died"):
                open("died", "w").close()
                os._exit(3)
            calls += name == "odd"
            result["isError"] = name == "lose" or (name == "odd" and calls == 1)
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    while "stubborn" in sys.argv:
        time.sleep(60)
"""
COMPLAINTS = ("never awaited", "no current event loop", "asynchronous generator", "Traceback")


@pytest.fixture
def rerun(run, suite, write):
    """Run tests of a file, each at most twice."""

    def rerun_tests(tests, manner="", head=""):
        write("server.py", SERVER)
        suite(tests, head=head)
        command = f"{sys.executable} server.py {manner}"
        done = run("--reruns", "1", "--conductor-command", command, "-W", "default")  # which looks for survivors
        assert not [each for each in COMPLAINTS if each in done.out], done.out
        return done

    return rerun_tests


def test_a_test_is_run_again_on_the_same_server(rerun, starts):
    done = rerun("""
        - {it: fails once, call: odd, expect: {ok: true}}
        - {it: always fails, call: lose, expect: {ok: true}}
        - {it: passes, call: x, expect: {ok: true}}
    """)
    assert done.statuses == {"fails once": "PASSED", "always fails": "FAILED", "passes": "PASSED"}
    assert done.out.startswith("R.RF.")
    assert starts() == 1


def test_a_test_whose_server_died_is_run_again_on_a_new_one(rerun, starts):
    done = rerun("""
        - {it: dies once, call: die, expect: {ok: true}}
        - {it: passes, call: x, expect: {ok: true}}
    """)
    assert done.statuses == {"dies once": "PASSED", "passes": "PASSED"}
    assert starts() == 2


def test_a_server_that_cannot_be_started_is_an_error_of_every_attempt(rerun, starts):
    done = rerun("- {it: has no server, call: x, expect: {ok: true}}", "missing")
    assert done.statuses == {"has no server": "ERROR"}
    assert starts() == 2


@pytest.mark.slow
def test_a_server_that_ends_by_force_alone_is_ended_after_the_last_attempt(rerun, starts):
    done = rerun("- {it: fails, call: lose, expect: {ok: true}}", "stubborn")
    assert (done.statuses, starts()) == ({"fails": "FAILED"}, 1)


def test_where_each_test_has_its_own_server_so_has_each_attempt(rerun, starts):
    done = rerun("- {it: fails, call: lose, expect: {ok: true}}", head="isolation: test")
    assert done.statuses == {"fails": "FAILED"}
    assert starts() == 2
