"""Where others rely on a run: `only` and snapshots where CI is set, and warnings that are failures."""

ONLY = """
    - {it: one, only: true, call: motto, expect: snapshot}
    - {it: two, call: motto, expect: {ok: true}}
"""
# The schema of its tool is not one of an object, as it must be.
RUDE = """
    hello(tools={})
    serve({"tools/list": lambda params: {"tools": [{"name": "x", "inputSchema": {"type": "array"}}]}})
"""
BREAKS = "the server breaks tools-item-inputschema: tool 'x': inputSchema.type must be \"object\""


def test_where_ci_is_set_nothing_is_left_out_by_only(run, suite, starts):
    suite(ONLY)
    done = run(CI="true")
    assert (done.code, starts()) == (2, 0), done.out
    assert "error: `only: true` would leave out other tests, and CI is set\n  --> a.test.mcp.yml:4:5" in done.out
    assert "hint: remove it, or give --conductor-allow-only" in done.out


def test_where_ci_is_set_flags_allow_only_and_new_snapshots(run, suite, project):
    suite(ONLY)
    done = run("--conductor-allow-only", "--conductor-update-snapshots", "-W", "default", CI="1")
    assert (done.code, done.statuses) == (0, {"one": "PASSED"}), done.out
    assert "SuiteWarning: a.test.mcp.yml:4:5: `only: true` leaves out 1 test\n" in done.out
    assert (project / "__snapshots__" / "a.test.mcp.snap.yml").exists()


def test_what_a_server_says_wrong_is_told_once_and_without_a_traceback(run, suite, serve, write):
    for name in ("a.test.mcp.yml", "b.test.mcp.yml"):
        suite("- {it: lists, list: tools, expect: {ok: true}}", name=name)
    write("pytest.ini", "[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    done = run("--conductor-command", " ".join(serve(RUDE)), "-W", "error")
    assert (done.code, done.text.count(f"\nSuiteWarning: {BREAKS}")) == (1, 1), done.out
    assert "collecting.py" not in done.out
