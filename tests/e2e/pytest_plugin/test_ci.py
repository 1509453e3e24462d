"""Where others rely on a run: `only` and snapshots where CI is set, judges, and warnings that are failures."""

import pytest

ONLY = """
    - {it: one, only: true, call: motto, expect: {ok: true}}
    - {it: two, call: motto, expect: {ok: true}}
"""
# The schema of its tool is not one of an object, as it must be.
RUDE = """
    hello(tools={})
    serve({"tools/list": lambda params: {"tools": [{"name": "x", "inputSchema": {"type": "array"}}]}})
"""
BREAKS = "the server breaks tools-item-inputschema: the inputSchema of 'x' has not the type object"


def test_what_only_leaves_out_is_a_warning(run, suite):
    suite(ONLY)
    done = run("-W", "default")
    assert (done.code, done.statuses) == (0, {"one": "PASSED"}), done.out
    assert "SuiteWarning: a.test.mcp.yml:4:5: `only: true` leaves out 1 test\n" in done.out


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_where_ci_is_set_nothing_is_left_out_by_only(run, suite, starts, workers):
    suite(ONLY)
    done = run(*workers, CI="true")
    assert (done.code, starts()) == (1 if workers else 2, 0), done.out
    assert "error: `only: true` would leave out other tests, and CI is set\n  --> a.test.mcp.yml:4:5" in done.out
    assert "hint: take it away, or give --conductor-allow-only" in done.out
    assert run(*workers, "--conductor-allow-only", "-W", "default", CI="true").statuses == {"one": "PASSED"}


def test_where_ci_is_set_snapshots_are_written_when_that_is_said(run, suite, project):
    suite("- {it: says it, call: motto, expect: snapshot}")
    assert run(CI="1").statuses == {"says it": "FAILED"}
    assert run("--conductor-update-snapshots", CI="1").code == 0
    assert (project / "__snapshots__" / "a.test.mcp.snap.yml").exists()
    assert run(CI="1").code == 0


def test_what_a_server_says_wrong_is_told_once_without_a_traceback(run, suite, serve, write):
    for name in ("a.test.mcp.yml", "b.test.mcp.yml"):
        suite("- {it: lists, list: tools, expect: {ok: true}}", name=name)
    words = ("--conductor-command", " ".join(serve(RUDE)))
    write("pytest.ini", "[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    done = run(*words)
    assert (done.code, done.out.count(BREAKS)) == (0, 1), done.out
    done = run(*words, "-W", "error")
    assert (done.code, done.text.count(f"SuiteWarning: {BREAKS}")) == (1, 1), done.out
    assert "collecting.py" not in done.out
