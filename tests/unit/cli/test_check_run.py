"""What a check concludes: the grade is about the specification, not about what plugins require."""

import pytest

from mcp_conductor.checks import requirements
from mcp_conductor.checks.engine.judging import Verdicts
from mcp_conductor.cli.commands.check.server_run import grade_of
from mcp_conductor.report.model import Outcome

PASSED = Outcome(id="base-response-once-server", title="", group="base", status="passed", level="MUST")
FOREIGN = Outcome(id="acme-x", title="", group="acme", status="failed", level="MUST", severity="critical")


@pytest.fixture
def required(monkeypatch):
    monkeypatch.setattr(requirements, "_of_plugins", {})
    known = {"since": None, "group": "acme", "severity": None, "plugin": "ours.py", "remedy": None}
    requirements.require("acme-x", level="MUST", text="x", **known)


@pytest.mark.usefixtures("required")
def test_what_a_plugin_requires_does_not_count_for_the_grade():
    found = grade_of([Verdicts("2025-11-25", outcomes=[PASSED, FOREIGN])], None)
    assert (found["grade"]["letter"], found["ofPlugins"]) == ("A", 1)


@pytest.mark.usefixtures("required")
def test_where_only_plugins_required_something_there_is_no_grade():
    found = grade_of([Verdicts("2025-11-25", outcomes=[FOREIGN])], None)
    assert found == {"ungraded": "only requirements of plugins were checked", "ofPlugins": 1}


def test_without_plugins_nothing_is_said_of_them():
    assert "ofPlugins" not in grade_of([Verdicts("2025-11-25", outcomes=[PASSED])], None)
