"""Checks of tools: each is kept by a polite server, and reports one that breaks it."""

import sys

import pytest
from tests.conftest import ROOT
from tests.e2e.checks.polite import REVISIONS, assert_reported, failed, outcomes, report, reported

NEW = "2025-11-25"
MODERN = "2026-07-28"
SERVE = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())", "serve")
EXAMPLES = ROOT / "examples" / "servers"
# Every call adds something to a list, up to a point, and no client is told.
GROWING = """
capabilities['%s']['listChanged'] = True
more = lambda: None
def grow(params):
    if len(tools) < 3:
        tools.append({**look, 'name': f'look{len(tools)}'})
        more()
    return call(params)
methods['tools/call'] = grow
"""


@pytest.mark.parametrize("version", REVISIONS)
async def test_a_polite_server_breaks_nothing(serve, version):
    assert reported(await report(serve, version)) == set()


@pytest.mark.parametrize("version", REVISIONS[2:])
async def test_a_server_with_every_kind_of_content_breaks_no_must(version):
    found = await outcomes((*SERVE, str(EXAMPLES / "content.yaml")), version)
    assert failed(found) == set()
    for kind in ("text", "image", "audio", "resource-link", "embedded-resource"):
        assert found[f"tools-content-{kind}"].status == "passed"


async def test_what_is_not_declared_is_skipped(serve):
    found = await report(serve, NEW, "capabilities.clear(); methods = {m: methods[m] for m in ('initialize', 'ping')}")
    assert found["tools-item-name"].reason == "the server does not declare tools"
    assert reported(found) == set()


@pytest.mark.parametrize(
    ("name", "version", "change"),
    [
        ("tools-capability-declared", NEW, "del capabilities['tools']"),
        ("tools-capability-declared", "2024-11-05", "del methods['tools/list']"),
        ("tools-listchanged-flag", NEW, "capabilities['tools']['listChanged'] = 'yes'"),
        ("tools-list-array", NEW, "methods['tools/list'] = lambda params: {'tools': {'look': look}}"),
        ("tools-list-array", MODERN, "methods['tools/list'] = lambda params: {}"),
        ("tools-item-name", NEW, "tools.append({'inputSchema': schema})"),
        ("tools-item-name", NEW, "tools.append({'name': 7, 'inputSchema': schema})"),
        ("tools-item-name", NEW, "tools.append(look)"),
        ("tools-item-name", "2025-06-18", "tools.append({'name': '', 'inputSchema': schema})"),
        ("tools-item-name", NEW, "tools.append('a tool')"),
        ("tools-item-inputschema", NEW, "tools.append({'name': 'bare'})"),
        ("tools-item-inputschema", NEW, "tools.append({'name': 'bare', 'inputSchema': None})"),
        ("tools-item-inputschema", NEW, "tools.append({'name': 'bare', 'inputSchema': {}})"),
        ("tools-item-inputschema", "2024-11-05", "schema['properties'] = ['city']"),
        ("tools-item-outputschema-object", NEW, "look['outputSchema'] = {'type': 'array'}; called['isError'] = True"),
        ("tools-item-description", NEW, "look['description'] = None"),
        ("tools-item-title", NEW, "look['title'] = 7"),
        ("tools-item-annotations", NEW, "look['annotations'] = {'readOnlyHint': 'yes'}"),
        ("tools-item-annotations", NEW, "look['annotations'] = {'readOnlyHint': True, 'destructiveHint': True}"),
        ("tools-item-execution", NEW, "look['execution'] = {'taskSupport': 'always'}"),
        ("tools-name-length-charset", NEW, "look['name'] = 'look around'"),
        (
            "tools-list-deterministic",
            MODERN,
            (
                "tools.append({**look, 'name': 'b'})\n"
                "methods['tools/list'] = lambda params: (tools.reverse(), {'tools': tools})[1]\n"
                "methods['tools/call'] = lambda params: refuse(-32602)"
            ),
        ),
        ("tools-list-served", MODERN, "methods['tools/list'] = lambda params: refuse(-32603)"),
        (
            "tools-listchanged-needs-capability",
            NEW,
            "methods['ping'] = lambda params: notify('notifications/tools/list_changed') or {}",
        ),
        ("tools-listchanged-notification", NEW, GROWING % "tools"),
    ],
)
async def test_tools_are_listed_as_the_specification_says(serve, name, version, change):
    await assert_reported(serve, name, version, change)


TEXT = "{'type': 'text', 'text': '{\"a\": 1}'}"


@pytest.mark.parametrize(
    ("name", "version", "change"),
    [
        ("tools-call-content-array", NEW, "del called['content']; called['structuredContent'] = {}"),
        ("tools-call-content-array", MODERN, "called['content'] = 'fine'"),
        ("tools-call-iserror-flag", NEW, "called['isError'] = 'no'"),
        ("tools-call-content-types", "2024-11-05", "content.append({'type': 'audio', 'data': '', 'mimeType': 'a/b'})"),
        ("tools-call-content-types-audio", "2025-03-26", "content[0] = {'type': 'resource_link', **resource}"),
        ("tools-call-content-types-link", NEW, "content.append({'type': 'video'})"),
        ("tools-call-content-types-link", MODERN, "content.append('fine')"),
        ("tools-content-text", NEW, "content[0] = {'type': 'text'}"),
        ("tools-content-image", NEW, "content[0] = {'type': 'image', 'data': 'a-b_', 'mimeType': 'image/png'}"),
        ("tools-content-image", "2024-11-05", "content[0] = {'type': 'image', 'data': 'AAAA'}"),
        ("tools-content-audio", NEW, "content[0] = {'type': 'audio', 'data': 'AAA', 'mimeType': 'audio/wav'}"),
        ("tools-content-embedded-resource", NEW, "content[0] = {'type': 'resource', 'resource': {'uri': 'a:b'}}"),
        ("tools-content-embedded-resource", NEW, "content[0] = {'type': 'resource', 'resource': {'text': 'a'}}"),
        (
            "tools-content-embedded-resource",
            NEW,
            "content[0] = {'type': 'resource', 'resource': {'uri': 'a:b', 'blob': '?'}}",
        ),
        ("tools-content-resource-link", NEW, "content[0] = {'type': 'resource_link', 'uri': 'a:b'}"),
        ("tools-content-annotations", NEW, "content[0]['annotations'] = {'priority': 2}"),
        ("tools-content-annotations", NEW, "content[0]['annotations'] = {'audience': ['all']}"),
        (
            "tools-embedded-resource-capability",
            NEW,
            (
                "content[0] = {'type': 'resource', 'resource': item}\n"
                "del capabilities['resources']; methods['resources/list'] = lambda params: refuse(-32601)"
            ),
        ),
        ("tools-structured-content-conforms", NEW, "look['outputSchema'] = {'type': 'object'}"),
        (
            "tools-structured-content-conforms",
            MODERN,
            f"look['outputSchema'] = {{'required': ['b']}}; called['structuredContent'] = {{'a': 1}}; content[0] = {TEXT}",
        ),
        ("tools-structured-content-object", NEW, "called['structuredContent'] = [1]"),
        ("tools-structured-content-text", NEW, "called['structuredContent'] = {'a': 1}"),
    ],
)
async def test_results_of_tools_are_what_the_specification_says(serve, name, version, change):
    await assert_reported(serve, name, version, change)


@pytest.mark.parametrize(
    ("name", "version", "change"),
    [
        ("tools-call-unknown-tool", NEW, "methods['tools/call'] = lambda params: {'content': [], 'isError': True}"),
        (
            "tools-call-missing-name",
            NEW,
            "methods['tools/call'] = lambda params: call({'arguments': {}, **params, 'name': 'look'})",
        ),
        ("tools-validate-input", NEW, "methods['tools/call'] = lambda params: called"),
        ("tools-validate-input", "2024-11-05", "methods['tools/call'] = lambda params: called"),
        (
            "tools-validate-input",
            NEW,
            "schema['properties'] = {'size': {'enum': ['s', 'm']}}; schema['required'] = []",
        ),
        (
            "tools-call-invalid-args-tool-error",
            NEW,
            "methods['tools/call'] = lambda params: refuse(-32602) if call(params) is not called else called",
        ),
        (
            "tools-call-arguments-omitted",
            NEW,
            (
                "schema['required'] = []; schema['properties'] = {}\n"
                "methods['tools/call'] = lambda params: call(params) if 'arguments' in params else refuse(-32602)"
            ),
        ),
    ],
)
async def test_wrong_calls_are_refused(serve, name, version, change):
    await assert_reported(serve, name, version, change)


async def test_a_list_that_changes_with_notice_is_fine(serve):
    told = "more = lambda: notify('notifications/tools/list_changed')"
    found = await report(serve, NEW, GROWING % "tools" + told)
    assert found["tools-listchanged-notification"].status == "passed"


async def test_a_list_that_stays_as_it_is_needs_no_notice(serve):
    found = await report(serve, NEW, "capabilities['tools']['listChanged'] = True")
    assert found["tools-listchanged-notification"].reason.startswith("tools/list lists the same every time")


async def test_only_tools_that_may_be_called_are_called(serve):
    trap = "methods['tools/call'] = lambda params: os._exit(3) if params.get('name') == 'look' else refuse(-32602)"
    assert reported(await report(serve, NEW, trap, call=())) == set()


async def test_what_a_tool_repeats_of_our_own_arguments_is_not_its_fault(serve):
    repeat = "methods['tools/call'] = lambda params: call(params) if call(params) is not called else {'content': [\n"
    repeat += "    {'type': 'resource_link', 'uri': params['arguments']['city'], 'name': 'yours'}]}"
    assert failed(await report(serve, NEW, repeat)) == set()


@pytest.mark.parametrize("version", [NEW, MODERN])
@pytest.mark.parametrize("value", ["None", "7", "'x'", "True", "[]", "[[]]", "{}", "[{}]", "{'x': [{}]}"])
async def test_nothing_that_a_server_says_upsets_the_checks(serve, version, value):
    things = "(info, look, schema, content[0], called, resource, template, item, prompt, message, message['content'])"
    change = f"for thing in {things}:\n    for key in thing:\n        thing[key] = {value}\n"
    change += "    for key in ('icons', 'annotations', 'outputSchema', 'structuredContent', 'execution', 'title'):\n"
    change += f"        thing[key] = {value}\n"
    change += "call = read = get = lambda params: {**called, 'contents': [item], 'messages': [message]}"
    found = await report(serve, version, change)
    assert "tools-item-inputschema" in failed(found)
