"""What is concluded from what was seen."""

import pytest

from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.engine.judging import CheckResult, ServerEnd, outcome_of
from mcp_conductor.checks.requirements import requirement


def test_a_known_limit_is_told_with_the_finding_and_is_no_less_a_failure():
    limited = requirement("batch-receive-server")
    outcome = outcome_of(limited, CheckResult([fault("no answer"), fault("none again")]))
    assert (outcome.status, outcome.severity, outcome.limit) == ("failed", "minor", limited.limit)
    assert [finding.hint for finding in outcome.findings] == [limited.limit, None]
    assert outcome.to_json()["limit"] == limited.limit


def test_a_known_limit_does_not_replace_a_hint():
    limited = requirement("batch-receive-server")
    outcome = outcome_of(limited, CheckResult([fault("no answer", hint="try again")]))
    assert outcome.findings[0].hint == f"try again; {limited.limit}"


def test_what_is_kept_has_no_limit():
    assert outcome_of(requirement("batch-receive-server"), CheckResult([])).limit is None


@pytest.mark.parametrize("name", ["tools-item-name", "pagination-invalid-cursor", "batch-receive-server"])
def test_the_death_of_a_server_is_critical_whatever_it_was_asked(name):
    outcome = outcome_of(requirement(name), CheckResult([fault("the server ended")], server_end=ServerEnd("it ended")))
    assert (outcome.severity, outcome.cause, outcome.limit) == ("critical", "server", None)


def test_a_server_that_ends_as_it_may_has_broken_nothing():
    outcome = outcome_of(requirement("tools-item-name"), CheckResult([], server_end=ServerEnd("it ended")))
    assert (outcome.status, outcome.severity, outcome.cause) == ("passed", "major", None)
