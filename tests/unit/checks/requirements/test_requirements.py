"""What the catalogue says of a requirement besides its sentence."""

import pytest

from mcp_conductor.checks import requirements as catalogue
from mcp_conductor.checks.requirements import SEVERITIES, requirement, requirements, requirements_of
from mcp_conductor.checks.requirements.topics import texts
from mcp_conductor.protocol.dialect import DIALECTS, HANDSHAKE, MODERN
from mcp_conductor.protocol.message import read


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("base-jsonrpc-envelope-server", "critical"),
        ("http-origin-validated", "critical"),
        ("lifecycle-initialize-first-client", "critical"),
        ("tools-item-name", "major"),
        ("pagination-invalid-cursor", "minor"),
        ("stdio-stderr-logging-server", "minor"),
    ],
)
def test_the_severity_follows_from_the_level_unless_the_catalogue_says_another(name, severity):
    assert requirement(name).severity == severity


def test_only_a_must_is_critical():
    assert {each.level for each in requirements().values() if each.severity == "critical"} == {"MUST"}


def test_the_catalogue_names_a_severity_only_where_it_is_not_the_usual_one():
    entries = [entry for _, text in texts("requirements.json") for entry in read(text)]
    usual = {"MUST": "major", "SHOULD": "minor", "MAY": "minor"}
    named = [entry for entry in entries if "severity" in entry]
    assert {entry["severity"] for entry in named} <= set(SEVERITIES)
    assert [entry["id"] for entry in named if entry["severity"] == usual[entry["level"]]] == []


@pytest.mark.parametrize(
    ("name", "versions"),
    [
        ("base-jsonrpc-envelope-server", tuple(DIALECTS)),
        ("batch-receive-server", ("2025-03-26",)),
        ("taskc-get", ("2025-11-25",)),
        ("lifecycle-initialize-first-client", HANDSHAKE),
        ("versioning-discover-shape", MODERN),
    ],
)
def test_a_requirement_holds_since_a_revision_and_until_one_or_for_all_that_follow(name, versions):
    assert requirement(name).revisions == versions
    assert tuple(version for version in DIALECTS if requirement(name).holds_for(version, "http")) == versions


def test_every_requirement_holds_in_some_revision():
    assert [each.id for each in requirements().values() if not each.revisions] == []


def test_some_requirements_are_those_of_the_whole_in_the_same_order():
    whole = [each for each in requirements().values() if each.group == "tools" and each.level in ("MUST", "MAY")]
    names = {each.id for each in requirements().values() if each.group == "tools"}
    assert requirements_of(names, ("MUST", "MAY")) == whole != []


def test_requirements_that_are_not_asked_for_are_not_made():
    catalogue._made.cache_clear()
    (one,) = requirements_of({"tools-item-name"}, ("MUST",))
    assert (one.id, catalogue._made.cache_info().currsize) == ("tools-item-name", 1)
