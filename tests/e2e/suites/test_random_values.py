"""Random values: others in each run, and the same again where that is asked for."""

import re


def test_random_values_are_others_in_each_run_unless_a_seed_is_given(check):
    test = "- {it: one, call: {tool: echo, args: {message: '{{ uuid() }}'}}, expect: {result: {content: []}}}"
    runs = [check(test).all, check(test).all]
    drawn = [re.search(r"Echo: ([0-9a-f-]{36})", run)[1] for run in runs]
    assert drawn[0] != drawn[1]
    seed = re.search(r"again: .* (--seed \d+)", runs[0])[1]
    assert f"Echo: {drawn[0]}" in check(test, *seed.split()).all
