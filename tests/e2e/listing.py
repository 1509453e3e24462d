"""What the tests of bad servers have in common: a call that should succeed, and how to see that it did."""

import json

LIST = ("--method", "tools/list")
TOOLS = {"tools": []}
ANSWERS = "serve({'tools/list': {'tools': []}})"


def assert_listed(run, *warnings):
    """The tools were listed; besides, these warnings were given, or none."""
    assert (run.code, json.loads(run.out)) == (0, TOOLS), run
    for warning in warnings:
        assert warning in run.err
    if not warnings:
        assert run.err == ""
