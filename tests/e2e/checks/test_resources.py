"""Checks of resources: each is kept by a polite server, and reports one that breaks it."""

import pytest
from tests.e2e.checks.polite import assert_reported, report, reported

NEW = "2025-11-25"
OLD = "2024-11-05"
MODERN = "2026-07-28"
SUBSCRIBING = """
capabilities['resources']['subscribe'] = True
methods['resources/subscribe'] = methods['resources/unsubscribe'] = lambda params: {}
"""
FILES = "resource['uri'] = item['uri'] = 'file:///srv/notes/one.txt'\n"
UPDATE = "methods['resources/subscribe'] = lambda params: notify('notifications/resources/updated', uri=%s) or {}"


async def test_a_server_that_takes_subscriptions_breaks_nothing(serve):
    found = await report(serve, NEW, SUBSCRIBING + UPDATE % "params['uri'] + '/part'")
    assert reported(found) == set()
    assert found["resources-subscribe-accepted"].status == "passed"
    assert found["resources-updated-only-subscribed"].status == "passed"


async def test_a_server_that_serves_files_carefully_breaks_nothing(serve):
    found = await report(serve, NEW, FILES)
    assert reported(found) == set()
    assert found["resources-uri-validated"].status == "passed"


async def test_an_unknown_resource_may_be_told_by_either_code(serve):
    for code in (-32002, -32602):
        change = f"read = lambda params: {{'contents': [item]}} if params['uri'] == item['uri'] else refuse({code})"
        assert reported(await report(serve, NEW, change)) == set()


async def test_templates_need_not_be_there(serve):
    found = await report(serve, NEW, "del methods['resources/templates/list']")
    assert reported(found) == set()
    assert found["resources-templates-array"].status == "skipped"


@pytest.mark.parametrize(
    "template", ["file:///{+path}", "a://{b,c}/{d:3}{/e*}{?f,g}{#h}", "a:b", "note:///{user.name}/%20{a_b}"]
)
async def test_templates_by_rfc_6570_are_fine(serve, template):
    assert reported(await report(serve, NEW, f"template['uriTemplate'] = {template!r}")) == set()


@pytest.mark.parametrize(
    ("name", "version", "change"),
    [
        ("resources-capability-declared", NEW, "del capabilities['resources']"),
        ("resources-capability-declared", OLD, "del methods['resources/list']"),
        ("resources-capability-flags", NEW, "capabilities['resources']['listChanged'] = 'yes'"),
        ("resources-list-array", NEW, "methods['resources/list'] = lambda params: {'resources': None}"),
        ("resources-list-served", MODERN, "methods['resources/list'] = lambda params: refuse(-32603)"),
        ("resources-item-uri-name", NEW, "resources.append({'name': 'no uri'})"),
        ("resources-item-uri-name", NEW, "resources.append({'uri': 'note:///two'})"),
        ("resources-item-uri-name", NEW, "resources.append({'uri': '/no/scheme', 'name': 'two'})"),
        ("resources-item-uri-name", OLD, "resources.append({'uri': 'note:///a b', 'name': 'two'})"),
        ("resources-item-uri-name", NEW, "resources.append('note:///two')"),
        ("resources-item-optional", NEW, "resource['size'] = 1.5"),
        ("resources-item-optional", NEW, "resource['annotations'] = {'priority': 'high'}"),
        ("resources-uri-unique", NEW, "resources.append(resource)"),
        (
            "resources-listchanged-needs-capability",
            NEW,
            "methods['ping'] = lambda params: notify('notifications/resources/list_changed') or {}",
        ),
        ("resources-templates-array", NEW, "methods['resources/templates/list'] = lambda params: {'templates': []}"),
        ("resources-template-uritemplate", NEW, "template['uriTemplate'] = 'note:///{name'"),
        ("resources-template-uritemplate", NEW, "template['uriTemplate'] = 'note:///{user-id}'"),
        ("resources-template-uritemplate", OLD, "del template['uriTemplate']"),
        ("resources-template-name", NEW, "del template['name']"),
        ("resources-template-optional", NEW, "template['mimeType'] = None"),
        (
            "resources-read-contents",
            NEW,
            "read = lambda params: {'contents': item} if 'note' in params['uri'] else refuse(-32602)",
        ),
        ("resources-read-item", NEW, "del item['uri']"),
        ("resources-read-item", NEW, "del item['text']"),
        ("resources-read-item", MODERN, "item['blob'] = 'AAAA'"),
        ("resources-read-mimetype", NEW, "del item['mimeType']"),
        ("resources-read-listed", NEW, "resources.append({'uri': 'note:///two', 'name': 'two'})"),
        ("resources-read-binary-base64", NEW, "del item['text']; item['blob'] = 'not base64!'"),
        ("resources-not-found-32002", NEW, "methods['resources/read'] = lambda params: refuse(-32603)"),
        ("resources-not-found-32602", MODERN, "methods['resources/read'] = lambda params: refuse(-32002)"),
        (
            "resources-not-found-no-empty",
            MODERN,
            "read = lambda params: {'contents': [item] if params['uri'] == item['uri'] else []}",
        ),
        (
            "resources-not-found-data-uri",
            NEW,
            (
                "error = lambda request, code, text: say({'id': request['id'], 'error': "
                "{'code': code, 'message': text, 'data': {'uri': 'note:///another'}}})"
            ),
        ),
        (
            "resources-uri-validated",
            NEW,
            FILES + "read = lambda params: refuse(-32602) if not params['uri'].startswith('file:///srv/notes') else "
            "{'contents': [{**item, 'text': 'root:x:0:0:root' if '..' in params['uri'] else '1'}]}",
        ),
        (
            "resources-subscribe-accepted",
            NEW,
            SUBSCRIBING + "methods['resources/subscribe'] = lambda params: refuse(-32603)",
        ),
        ("resources-subscribe-accepted", OLD, SUBSCRIBING + "del methods['resources/unsubscribe']"),
        ("resources-subscribe-needs-capability", NEW, SUBSCRIBING + "del capabilities['resources']['subscribe']"),
        (
            "resources-listchanged-notification",
            NEW,
            (
                "capabilities['resources']['listChanged'] = True\n"
                "methods['tools/call'] = lambda params: ("
                "len(resources) < 2 and resources.append({'uri': 'note:///two', 'name': 'two'}), call(params))[1]"
            ),
        ),
        ("resources-updated-only-subscribed", NEW, SUBSCRIBING + UPDATE % "'note:///another'"),
    ],
)
async def test_resources_are_what_the_specification_says(serve, name, version, change):
    await assert_reported(serve, name, version, change)


async def test_a_scheme_that_is_none_is_no_uri_either(serve):
    change = "resources.append({'uri': 'my_notes:///two', 'name': 'two'})"
    await assert_reported(serve, "resources-custom-scheme", NEW, change, also={"resources-item-uri-name"})
