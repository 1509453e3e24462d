"""What is concluded from what was seen."""

import pytest

from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.engine.judging import CheckResult, ServerEnd, outcome_of
from mcp_conductor.checks.requirements import requirement


@pytest.mark.parametrize("name", ["tools-item-name", "pagination-invalid-cursor", "batch-receive-server"])
def test_the_death_of_a_server_is_critical_whatever_it_was_asked(name):
    outcome = outcome_of(requirement(name), CheckResult([fault("the server ended")], server_end=ServerEnd("it ended")))
    assert (outcome.severity, outcome.cause) == ("critical", "server")


def test_a_server_that_ends_as_it_may_has_broken_nothing():
    outcome = outcome_of(requirement("tools-item-name"), CheckResult([], server_end=ServerEnd("it ended")))
    assert (outcome.status, outcome.severity, outcome.cause) == ("passed", "major", None)
