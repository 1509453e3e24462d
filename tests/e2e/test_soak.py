"""A short soak: some runs of every class of benchmarks/soak, the same ones each time."""

import pytest
from benchmarks.soaking import doors, files, hostile, oauth, signals, starts

SEED = 1
HOSTILE = (
    "mcp-cli, stdio server: batch_of_200_000",
    "mcp-cli, stdio server: daemon_holds_the_pipes",
    "mcp-cli, stdio server: evil_error",
    "test, stdio server: evil_texts",
    "mcp-cli, HTTP server: endless_body",
    "mcp-cli, HTTP server: redirects_elsewhere",
    "test, HTTP server: always_401",
)
FILES = (
    "serve --validate, aliases, 9 levels",
    "mcp-cli --config, merge keys, 8 levels",
    "test, pattern (a+)+$",
    "test, python tag",
    "test, control characters",
    "bridge, deep objects",
    "check --expected-failures, deep flow",
    "mcp-cli --config, NUL in a command",
)


def named(cases, names):
    found = [case for case in cases if case.name.partition(": ")[2] in names]
    assert len(found) == len(names)
    return found


CASES = {
    "starts": starts.cases(12, SEED),
    # Without a signal, a check of a server that never answers takes its time; so does a server that ignores all.
    "signals": [
        case for case in signals.cases(12, SEED) if "no signal" not in case.name and "ignores" not in case.name
    ],
    "hostile": named(hostile.cases(hostile.RUNS, SEED), HOSTILE),
    "files": named(files.cases(files.RUNS, SEED), FILES),
    "oauth": oauth.cases(4, SEED),
    "doors": doors.cases(12, SEED),
}
EVERY = [pytest.param(case, id=f"{name} {case.name}") for name, cases in CASES.items() for case in cases]


@pytest.mark.parametrize("case", EVERY)
def test_a_run_under_bad_conditions_ends_well(case):
    assert [str(complaint) for complaint in case.run().complaints] == []
