"""Whose fault a finding is: the framework's only where it is as that of its bare server."""

import json

import pytest

from mcp_conductor.checks.explain import explained
from mcp_conductor.checks.frameworks import Fault, Framework, KnownFramework, broken_by, forms_of, frameworks
from mcp_conductor.checks.frameworks.recognition import Recognised, ServerClass
from mcp_conductor.checks.requirements import requirement, requirements
from mcp_conductor.report.model import Finding, Outcome

CLASS = ServerClass("hello-sdk", "hello_sdk", "Server", npm=False)
ANSWER = '<-- {"jsonrpc": "2.0", "id": 4, "result": {"isError": true}}'
REFUSED = '<-- {"jsonrpc": "2.0", "id": 4, "error": {"code": -32603, "message": "tool \\"look\\" failed"}}'


def outcome(message="tool 'look' is odd", answer=ANSWER, **members):
    wire = ('--> {"jsonrpc":"2.0","id":4,"method":"tools/call"}', answer)
    known = {"id": "tools-item-name", "title": "", "group": "tools", "level": "MUST", "status": "failed", **members}
    return Outcome(findings=(Finding(message=message, said=(0, 2)),), wire=wire, **known)


def known(*, versions=("1.2.0", "1.9.0"), measured=("1.2.0", "1.9.0"), version="1.9.0"):
    fault = Fault("tools-item-name", "stdio", versions, frozenset(forms_of(outcome())), None)
    return KnownFramework(Framework("Hello SDK", (CLASS,), "1", measured, (fault,)), Recognised(CLASS, version, "x"))


def excused(framework, told, transport="stdio"):
    return framework.attributed(told, transport).framework


def test_what_the_bare_server_breaks_is_the_frameworks_whatever_the_tool_is_called():
    told = known().attributed(outcome("tool 'find' is odd"), "stdio")
    assert (told.status, told.framework, told.reason) == ("skipped", "Hello SDK 1.9.0", "of the Hello SDK 1.9.0")
    assert told.findings == outcome("tool 'find' is odd").findings
    assert told.to_json()["framework"] == "Hello SDK 1.9.0"
    assert "xfail" not in told.to_json()


@pytest.mark.parametrize(
    "told",
    [
        outcome("tool 'look' has no name"),
        outcome(answer=REFUSED),
        outcome(id="tools-item-inputschema"),
        outcome(cause="server", stderr=("ValueError: x",)),
        outcome(status="errored"),
    ],
)
def test_anything_else_is_the_authors(told):
    assert known().attributed(told, "stdio") is told


def test_a_member_of_a_result_that_is_called_error_does_not_make_it_an_error():
    result = {"isError": True, "structuredContent": {"error": {"code": 7, "message": "no such page"}}}
    assert excused(known(), outcome(answer=f"<-- {json.dumps({'id': 4, 'result': result})}"))
    refused = {"code": -32603, "message": "no such page"}
    assert not excused(known(), outcome(answer=f"<-- {json.dumps({'id': 4, 'error': refused})}"))


def test_one_finding_of_the_author_makes_the_requirement_the_authors():
    both = outcome()
    mixed = Outcome(
        id=both.id, title="", group="tools", level="MUST", status="failed", wire=both.wire,
        findings=(*both.findings, Finding(message="tool 'own' has no name", said=(0, 2))),
    )  # fmt: skip
    assert excused(known(), mixed) is None


def test_an_excuse_is_for_one_transport():
    assert excused(known(), outcome(), transport="http") is None


@pytest.mark.parametrize(
    ("version", "versions", "holds"),
    [
        ("1.1.9", ("1.2.0", "1.9.0"), False),  # older than what was measured
        ("1.5.0", ("1.2.0", "1.9.0"), True),
        ("1.5.0", ("1.2.0",), False),  # mended somewhere between
        ("1.2.0", ("1.2.0",), True),
        ("1.5.0", ("1.9.0",), False),
        ("1.10.0", ("1.9.0",), True),  # newer: not known to be mended
        ("1.10.0", ("1.2.0",), False),
    ],
)
def test_an_excuse_is_for_the_versions_that_were_measured_and_those_between(version, versions, holds):
    assert (excused(known(version=version, versions=versions), outcome()) is not None) == holds


def test_a_server_that_ends_is_excused_only_for_the_same_exception():
    ended = outcome("it stops: exit code 1", cause="server", stderr=("…", "AssertionError: twice"))
    form = forms_of(ended)
    assert form == {("it stops: exit code …", "ends with AssertionError")}
    assert forms_of(outcome("it stops: exit code 1", cause="server", stderr=("KeyError: 'x'",))) != form


def test_the_table_names_requirements_revisions_and_versions_that_exist():
    assert frameworks()
    for each in frameworks():
        assert {version.partition(".")[0] for version in each.measured} == {each.major}
        for fault in each.faults:
            assert fault.id in requirements()
            assert fault.transport in ("stdio", "http", "sse")
            assert fault.forms
            assert fault.versions
            assert set(fault.versions) <= set(each.measured)
            assert fault.address is None or fault.address.startswith("https://")


def test_no_class_is_in_the_table_for_two_frameworks_of_one_major_version():
    seen = [(server_class, each.major) for each in frameworks() for server_class in each.classes]
    assert len(seen) == len(set(seen))


def test_the_explanation_of_a_requirement_names_the_frameworks_of_which_a_bare_server_breaks_it():
    name = "taskc-undeclared-ignored-server"
    told = explained([requirement(name)])
    assert "frameworks   a hello-world server of these breaks it: TypeScript SDK" in told
    assert broken_by(name)[0].startswith("TypeScript SDK 1.")
    assert broken_by("tools-item-name") == []
