"""Checks of prompts: each is kept by a polite server, and reports one that breaks it."""

import pytest
from tests.e2e.checks.polite import assert_reported, failed, report, reported

NEW = "2025-11-25"
OLD = "2024-11-05"
MODERN = "2026-07-28"
IMAGE = "message['content'] = {'type': 'image', 'data': %r, 'mimeType': %r}"
EMBEDDED = "message['content'] = {'type': 'resource', 'resource': %s}"


@pytest.mark.parametrize(
    "content",
    [
        "{'type': 'image', 'data': 'AAAA', 'mimeType': 'image/png'}",
        "{'type': 'audio', 'data': '', 'mimeType': 'audio/wav; rate=8000'}",
        "{'type': 'resource', 'resource': item}",
        "{'type': 'resource', 'resource': {'uri': 'a:b', 'mimeType': 'image/png', 'blob': 'AAAA'}}",
        "{'type': 'resource_link', 'uri': 'a:b', 'name': 'b'}",
    ],
)
async def test_all_kinds_of_content_are_fine(serve, content):
    assert reported(await report(serve, NEW, f"message['content'] = {content}")) == set()


@pytest.mark.parametrize(
    ("name", "version", "change"),
    [
        ("prompts-capability-declared", NEW, "del capabilities['prompts']"),
        ("prompts-capability-declared", OLD, "del methods['prompts/list']"),
        ("prompts-listchanged-flag", NEW, "capabilities['prompts']['listChanged'] = 1"),
        ("prompts-list-array", NEW, "methods['prompts/list'] = lambda params: {'prompts': {}}"),
        ("prompts-list-served", MODERN, "methods['prompts/list'] = lambda params: refuse(-32603)"),
        ("prompts-item-name", NEW, "prompts.append({'description': 'nameless'})"),
        ("prompts-item-name", NEW, "prompts.append(prompt)"),
        ("prompts-item-optional", NEW, "prompt['description'] = 7"),
        ("prompts-item-optional", NEW, "methods['prompts/get'] = lambda params: {**get(params), 'description': 5}"),
        ("prompts-item-optional", NEW, "prompt['arguments'].append({'description': 'nameless'})"),
        (
            "prompts-listchanged-needs-capability",
            NEW,
            "methods['ping'] = lambda params: notify('notifications/prompts/list_changed') or {}",
        ),
        ("prompts-get-messages", NEW, "methods['prompts/get'] = lambda params: get(params) and {'text': 'hello'}"),
        ("prompts-message-shape", NEW, "message['role'] = 'system'"),
        ("prompts-message-shape", NEW, "message['content'] = [message['content']]"),
        ("prompts-content-types", NEW, "message['content'] = {'type': 'video'}"),
        ("prompts-content-types", OLD, "message['content'] = {'type': 'audio', 'data': '', 'mimeType': 'audio/wav'}"),
        ("prompts-content-types", "2025-03-26", "message['content'] = {'type': 'resource_link', **resource}"),
        ("prompts-content-types", MODERN, "message['content'] = {'type': 'text', 'text': None}"),
        ("prompts-content-binary", NEW, IMAGE % ("a-b_", "image/png")),
        ("prompts-content-binary", NEW, IMAGE % ("AAAA", "png")),
        ("prompts-content-resource", NEW, EMBEDDED % "{'uri': 'a:b', 'text': 'no type'}"),
        ("prompts-content-resource", NEW, EMBEDDED % "{'uri': 'nowhere', 'text': 'a', 'mimeType': 'text/plain'}"),
        ("prompts-content-resource", MODERN, EMBEDDED % "{'uri': 'a:b', 'mimeType': 'text/plain'}"),
        (
            "prompts-arguments-applied",
            NEW,
            "methods['prompts/get'] = lambda params: get(params) and {'messages': [message]}",
        ),
        (
            "prompts-listchanged-notification",
            NEW,
            (
                "capabilities['prompts']['listChanged'] = True\n"
                "methods['tools/call'] = lambda params: ("
                "len(prompts) < 2 and prompts.append({'name': 'later'}), call(params))[1]"
            ),
        ),
        (
            "prompts-unknown-name",
            NEW,
            "methods['prompts/get'] = lambda params: get({**params, 'name': 'greet', 'arguments': {'who': 'x'}})",
        ),
        (
            "prompts-missing-argument",
            NEW,
            "methods['prompts/get'] = lambda params: get(params) if params.get('arguments') else refuse(0)",
        ),
        (
            "prompts-arguments-validated",
            NEW,
            (
                "methods['prompts/get'] = lambda params: get("
                "{**params, 'arguments': {key: str(value) for key, value in params.get('arguments', {}).items()}})"
            ),
        ),
    ],
)
async def test_prompts_are_what_the_specification_says(serve, name, version, change):
    await assert_reported(serve, name, version, change)


async def test_what_a_prompt_repeats_of_our_own_arguments_is_not_its_fault(serve):
    repeat = "methods['prompts/get'] = lambda params: get(params) and {'messages': [{'role': 'user', 'content':\n"
    repeat += "    {'type': 'resource', 'resource': {**item, 'uri': params['arguments']['who']}}}]}"
    assert failed(await report(serve, NEW, repeat)) == set()
