"""Whose fault a finding is: the framework's only where it is as that of its bare server."""

from dataclasses import replace

import pytest

from mcp_conductor.checks.explain import explained
from mcp_conductor.checks.frameworks import Fault, Form, Framework, KnownFramework, broken_by, frameworks
from mcp_conductor.checks.frameworks.recognition import Recognised, ServerClass
from mcp_conductor.checks.requirements import requirement, requirements
from mcp_conductor.protocol.message import compact
from mcp_conductor.report.model import Finding, Outcome

CLASS = ServerClass("hello-sdk", "hello_sdk", "Server", npm=False)
DEATH = Form("…the server exited with code …", "ends with BrokenError in hello_sdk/streams.py")
FORMS = (
    Form("tool … is odd", "result…"),
    Form("tool … is odd", "error -32602 Unknown tool: … Known: …"),
    Form("'_hello' is not a key", "result…"),
    Form("no text block has structuredContent", "result with structuredContent.result"),
    Form("logging is not declared", 'notifications/message {"level":"error","logger":"hello_sdk","data":"failed"}'),
    Form("a line of stdout is not a message", "text [hello] … attempts"),
    DEATH,
)
ENDED = ("Traceback (most recent call last):", '  File "/x/site-packages/hello_sdk/streams.py", line 7, in send')


def outcome(*messages, **members):
    said = {"id": 4, "result": {"isError": True}} | members.pop("said", {})
    wire = ('--> {"jsonrpc":"2.0","id":4,"method":"tools/call"}', f"<-- {compact(said)}")
    known = {"id": "tools-item-name", "title": "", "group": "tools", "level": "MUST", "status": "failed", **members}
    findings = tuple(Finding(message=each, said=(0, 2)) for each in messages or ("tool 'look' is odd",))
    return Outcome(findings=findings, wire=wire, **known)


def notification(method, **params):
    return {"method": method, "params": params}


def known(version="1.9.0"):
    fault = Fault("tools-item-name", ("1.2.0",), FORMS, None)
    return KnownFramework(Framework("Hello SDK", (CLASS,), "1", None, (fault,)), Recognised(CLASS, version, "x"))


def excused(told, framework=None):
    return (framework or known()).attributed(told).framework is not None


def test_what_the_bare_server_breaks_is_the_frameworks_whatever_the_tool_is_called():
    told = known().attributed(outcome("tool 'find' is odd"))
    assert (told.status, told.framework, told.reason) == ("skipped", "Hello SDK 1.9.0", "of the Hello SDK 1.9.0")
    assert told.findings == outcome("tool 'find' is odd").findings
    assert told.to_json()["framework"] == "Hello SDK 1.9.0"
    assert "xfail" not in told.to_json()
    unknown = "Unknown tool: conductor_no_such_tool. Known: look_up, greet_user_in_a_very_long_winded_way"
    assert excused(outcome(said={"error": {"code": -32602, "message": unknown}}))
    assert excused(outcome(said={"error": {"code": -32602, "message": f"{unknown}\nand more"}}))


@pytest.mark.parametrize(
    "told",
    [
        outcome("tool 'look' has no name"),
        outcome(said={"error": {"code": -32603, "message": "Unknown tool: x. Known: y"}}),
        outcome(said={"error": {"code": -32602, "message": "tool 'look' failed"}}),
        outcome(said={"error": {"code": -32602, "message": "Unknown tool: x"}}),
        outcome(id="tools-item-inputschema"),
        outcome(status="errored"),
        outcome("'bad key!' is not a key"),
        outcome("no text block has structuredContent", said={"result": {"structuredContent": {"page": 1}}}),
        outcome("logging is not declared", said=notification("notifications/message", level="info", data="mine")),
        outcome("logging is not declared", said=notification("roots/list")),
        outcome("tool 'look' is odd", "tool 'own' has no name"),
    ],
)
def test_anything_else_is_the_authors(told):
    assert known().attributed(told) is told


@pytest.mark.parametrize("version", ["1.0.0", "1.2.0", "1.5.0", "1.10.0"])
def test_what_one_version_breaks_is_excused_in_the_whole_major_version(version):
    assert excused(outcome(), known(version))


def test_a_line_of_the_framework_on_stdout_is_told_from_one_of_the_author():
    def noise(line):
        return replace(outcome("a line of stdout is not a message"), wire=("--> {}", f"<-- {line}"))

    assert excused(noise("[hello] gave up after 10 attempts"))
    assert not excused(noise("Loading notes"))


def test_a_member_of_a_result_that_is_called_error_does_not_make_it_an_error():
    error = {"code": 7, "message": "no such page"}
    assert excused(outcome(said={"result": {"isError": True, "structuredContent": {"error": error}}}))
    assert excused(
        outcome("no text block has structuredContent", said={"result": {"structuredContent": {"result": error}}})
    )
    assert not excused(outcome(said={"error": error}))


def test_a_server_that_ends_is_excused_for_the_same_error_under_any_requirement():
    def ended(*messages, error="BrokenError: x", **members):
        return outcome(*messages, id="base-response-once-server", cause="server", stderr=(*ENDED, error), **members)

    assert excused(ended("the server exited with code 1"))
    assert excused(ended("it stops answering: the server exited with code 1", said={"error": {}}))
    assert not excused(ended("the server exited with code 1", error="KeyError: x"))
    assert not excused(ended("the server exited with code 1", "the server exited with code 3"))  # of another cause
    assert not excused(ended("tool 'look' is odd", "the server exited with code 1"))
    assert not excused(outcome("the server exited with code 1", stderr=(*ENDED, "BrokenError: x")))
    assert not excused(outcome("the server exited with code 1", cause="server", stderr=("BrokenError: x",)))


def test_the_faults_of_the_sdk_below_a_framework_are_inherited():
    for each in frameworks():
        first, *others = each.lineage()
        assert first is each
        assert bool(others) == (each.base is not None)
    by_name = {(each.name, each.major): each for each in frameworks()}
    for major in ("2", "3"):
        inherited = {fault.id for each in by_name["FastMCP", major].lineage() for fault in each.faults}
        assert {"cancel-race-server", "base-response-once-server", "batch-receive-server"} <= inherited


def test_a_death_that_was_measured_in_one_framework_is_excused_in_all_on_the_same_sdk():
    sdk = next(each for each in frameworks() if each.major == "1" and each.classes[0].module == "mcp.server.lowlevel")
    assert {(each.name, each.major) for each in sdk.family()} == {
        ("Python SDK", "1"),
        ("FastMCP", "2"),
        ("FastMCP", "3"),
    }
    (race,) = [fault for fault in sdk.faults if fault.id == "cancel-race-server"]
    ending = next(form.shown for form in race.forms if form.shown.startswith("ends with anyio.BrokenResourceError"))
    stderr = (
        "Traceback (most recent call last):",
        '  File "/v/lib/python3.12/site-packages/mcp/server/stdio.py", line 71, in stdin_reader',
        '  File "/v/lib/python3.12/site-packages/anyio/streams/memory.py", line 287, in send',
        "anyio.BrokenResourceError",
    )
    died = outcome("the server exited with code 1", id="base-response-once-server", cause="server", stderr=stderr)
    assert (
        ending
        == "ends with anyio.BrokenResourceError in anyio/streams/memory.py, called by stdin_reader of mcp/server/stdio.py"
    )
    for each in sdk.family():
        assert excused(died, KnownFramework(each, Recognised(each.classes[0], f"{each.major}.0", "x")))


def test_the_table_names_requirements_and_versions_that_exist():
    for each in frameworks():
        for fault in each.faults:
            assert fault.id in requirements()
            assert fault.forms
            assert {version.partition(".")[0] for version in fault.versions} == {each.major}
            assert fault.address is None or fault.address.startswith("https://")


def test_no_form_in_the_table_has_what_the_author_of_a_server_chooses():
    forms = [form for each in frameworks() for fault in each.faults for form in fault.forms]
    assert [
        form for form in forms if any(word in " ".join(form).lower() for word in ("greet", "world", "conductor"))
    ] == []


def test_no_class_is_in_the_table_for_two_frameworks_of_one_major_version():
    seen = [(server_class, each.major) for each in frameworks() for server_class in each.classes]
    assert len(seen) == len(set(seen))


def test_the_explanation_of_a_requirement_names_the_frameworks_of_which_a_bare_server_breaks_it():
    name = "taskc-undeclared-ignored-server"
    told = explained([requirement(name)])
    assert "frameworks   a hello-world server of these breaks it: TypeScript SDK" in told
    assert broken_by(name)[0].startswith("TypeScript SDK 1.")
    assert broken_by("tools-item-name") == []
