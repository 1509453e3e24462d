"""The exit code says what the report says."""

import pytest

from mcp_conductor.cli.process.exit_codes import (
    COULD_NOT_RUN,
    FAILED,
    NO_SERVER,
    OK,
    PROGRAMS,
    TIMED_OUT,
    code_of,
    code_of_error,
)
from mcp_conductor.errors import ConfigError, MethodError, ProtocolError, RequestTimeout, TransportError
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.model import Finding, Outcome, Report, strict


def outcome(status, **members):
    return Outcome(id=f"a::{status}", title=status, group="g", status=status, **members)


def report(*statuses, **members):
    return Report(kind="test", target="a", outcomes=tuple(map(outcome, statuses)), **members)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (report("passed"), OK),
        (report("passed", "skipped", "warned"), OK),
        (report("skipped"), OK),
        (report("passed", "failed"), FAILED),
        (report("errored"), FAILED),
        (report("passed", "not-run"), FAILED),
        (report(), COULD_NOT_RUN),
        (report("passed", stopped="timeout"), TIMED_OUT),
        (report("failed", "not-run", stopped="timeout"), TIMED_OUT),
        (report("passed", stopped="interrupted"), FAILED),
        (Report(kind="test", target="a", outcomes=(outcome("errored", cause="server"), outcome("failed"))), NO_SERVER),
        (Report(kind="test", target="a", outcomes=(outcome("not-run", cause="server"),)), NO_SERVER),
    ],
)
def test_the_code_of_a_report(given, code):
    assert code_of(given) == code


LITTLE = {"ungraded": "--only", "unseen": "less than half of the checks could be carried out"}


@pytest.mark.parametrize(
    ("statuses", "metrics", "code"),
    [
        (("passed", "failed", "skipped"), LITTLE, FAILED),
        (("passed", "errored"), LITTLE, FAILED),
        (("passed", "warned", "skipped"), LITTLE, COULD_NOT_RUN),
        (("passed", "warned", "skipped"), {"ungraded": "--only"}, OK),
        (("skipped",), {}, COULD_NOT_RUN),
    ],
)
def test_a_broken_must_comes_before_how_much_a_check_saw(statuses, metrics, code):
    checked = Report(kind="check", target="a", outcomes=tuple(map(outcome, statuses)), metrics=metrics)
    assert code_of(checked) == code


@pytest.mark.parametrize("statuses", [("warned",), ("warned", "passed")])
def test_warnings_of_tests_are_failures_if_one_is_strict(statuses):
    assert code_of(report(*statuses)) == OK
    made = strict(report(*statuses))
    assert (code_of(made), made.summary["warned"], made.summary["failed"]) == (FAILED, 0, 1)


def test_what_is_a_failure_because_one_is_strict_is_no_warning_in_a_report():
    warned = outcome("warned", findings=(Finding(message="odd", warning=True),))
    made = strict(Report(kind="test", target="a", outcomes=(warned,)))
    assert made.outcomes[0].findings == (Finding(message="odd"),)
    assert '<failure message="odd" type="failed">' in REPORTERS.get("junit").write(made)


def test_warnings_that_belong_to_no_test_are_failures_of_their_own_if_one_is_strict():
    made = strict(report("passed", warnings=(Finding(message="odd", warning=True), Finding(message="odder"))))
    assert [(each.status, each.title) for each in made.outcomes] == [
        ("passed", "passed"), ("failed", "warning 1"), ("failed", "warning 2"),
    ]  # fmt: skip
    assert made.warnings == ()
    assert code_of(made) == FAILED


@pytest.mark.parametrize(
    ("statuses", "members", "code"),
    [
        (("passed",), {"metrics": {"grade": "A"}}, OK),
        (("passed", "failed"), {"metrics": {"grade": "B"}}, FAILED),
        (("skipped",), {}, COULD_NOT_RUN),
        ((), {}, COULD_NOT_RUN),
    ],
)
def test_the_code_of_a_check(statuses, members, code):
    assert code_of(Report(kind="check", target="a", outcomes=tuple(map(outcome, statuses)), **members)) == code


def test_a_server_that_went_away_in_a_check_is_a_failure_of_the_server():
    died = outcome("failed", cause="server")
    assert code_of(Report(kind="check", target="a", outcomes=(died,), metrics={"grade": "F"})) == FAILED


@pytest.mark.parametrize(
    ("program", "usage", "server", "method", "timeout"),
    [
        ("mcp-cli", 1, 1, 2, 124),
        ("conductor", 2, 3, 3, 3),
        ("conductor serve", 2, 2, 2, 2),
        ("server-composable", 1, 1, 1, 1),
    ],
)
def test_the_code_of_an_error_is_that_of_its_program(program, usage, server, method, timeout):
    codes = PROGRAMS[program]
    assert code_of_error(ConfigError("bad file"), codes) == usage
    assert code_of_error(TransportError("cannot start"), codes) == server
    assert code_of_error(ProtocolError("what is that"), codes) == server
    assert code_of_error(MethodError("ping", {"code": -32601, "message": "no"}), codes) == method
    assert code_of_error(RequestTimeout("ping", 1.0), codes) == timeout
