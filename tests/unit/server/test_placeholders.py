"""Placeholders: what they become, and what is refused before anything is served."""

import json

import pytest
from tests.unit.server.harness import config_of

from mcp_conductor.errors import UsageError
from mcp_conductor.fields import Field
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.message import build
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import Client
from mcp_conductor.server.placeholders import FILTERS, KNOWN, ROOTS, Draft, Scope, draft, text_draft
from mcp_conductor.server.server import Server
from mcp_conductor.source import parse

ARGUMENTS = {
    "name": "Ada",
    "age": 36,
    "none": None,
    "empty": "",
    "no": False,
    "tags": ["a", "b"],
    "deep": {"x-y": {"a.b": [10, 20]}},
}


def field(value) -> Field:
    return Field.root(parse(json.dumps(value), "server.json"), {})


def scope(**params) -> Scope:
    raw = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": ARGUMENTS, **params}}
    client = Client(lambda _: None, DIALECTS["2025-11-25"], {"roots": {}})
    return Scope(Call(Server(config_of()), client, build(raw), lambda _: None))


def filled(value):
    return draft(field(value)).filled(scope())


def refusal(value, known=KNOWN) -> UsageError:
    with pytest.raises(UsageError) as caught:
        draft(field(value), known)
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ arguments.name }}", "Ada"),
        ("{{arguments.age}}", 36),
        ("{{ arguments.tags }}", ["a", "b"]),
        ("{{ arguments.no }}", False),
        ("{{ arguments.none }}", None),
        ("{{ arguments.missing }}", None),
        ("{{ arguments.name.deeper }}", None),
    ],
)
def test_a_lone_placeholder_keeps_the_type_of_its_value(text, expected):
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, {{ arguments.name }}!", "Hello, Ada!"),
        (" {{ arguments.age }}", " 36"),
        ("{{ arguments.tags }} {{ arguments.deep }}", '["a","b"] {"x-y":{"a.b":[10,20]}}'),
        ("<{{ arguments.none }}>", "<null>"),
        ("<{{ arguments.missing }}>", "<>"),
        ("{{ arguments.name }}{{ arguments.name }}", "AdaAda"),
        ("no placeholder, } or }} or { alone", "no placeholder, } or }} or { alone"),
    ],
)
def test_within_a_text_strings_stand_as_they_are_and_other_values_as_json(text, expected):
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tags[0]", "a"),
        ("tags[-1]", "b"),
        ("tags[2]", None),
        ("tags[-3]", None),
        ("tags.0", None),
        ("deep.x-y", {"a.b": [10, 20]}),
        ('deep.x-y["a.b"][1]', 20),
        ('["name"]', "Ada"),
        ("name[0]", None),
    ],
)
def test_a_path_goes_through_members_and_indexes(path, expected):
    dot = "" if path.startswith("[") else "."
    assert filled(f"{{{{ arguments{dot}{path} }}}}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{{ arguments.missing ?? "nobody" }}', "nobody"),
        ("{{ arguments.none ?? 0 }}", 0),
        ('{{ arguments.empty ?? "x" }}', ""),
        ("{{ arguments.no ?? true }}", False),
        ('{{ arguments.missing ?? {"a": {"b": "}} | ??"}} }}', {"a": {"b": "}} | ??"}}),
        ("{{arguments.missing??null}}", None),
        ("<{{ arguments.missing ?? [] }}>", "<[]>"),
    ],
)
def test_a_default_stands_in_for_what_is_missing_or_null(text, expected):
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ arguments.name | json }}", '"Ada"'),
        ("{{ arguments.missing | json }}", "null"),
        ("{{ arguments.age | text }}", "36"),
        ("{{ arguments.missing | text }}", ""),
        ("{{ arguments.tags | count }}", 2),
        ("{{ arguments.deep | count }}", 1),
        ("{{ arguments.missing | count }}", 0),
        ("{{ arguments.age | count }}", 0),
        ("{{ arguments.missing ?? [1, 2] | count }}", 2),
        ("{{ arguments.tags | json | count }}", 9),
        ("{{ arguments.tags | count }} tags", "2 tags"),
    ],
)
def test_filters_come_after_the_default(text, expected):
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\{{ arguments.name }}", "{{ arguments.name }}"),
        (r"\{{ {{ arguments.name }}", "{{ Ada"),
        (r"{{ arguments.name }}\{{", "Ada{{"),
        (r"\{ \\", r"\{ \\"),
    ],
)
def test_a_backslash_keeps_two_braces_as_they_are(text, expected):
    assert filled(text) == expected


def test_every_root_leads_to_its_value():
    here = scope(_meta={"progressToken": 7}, name="tool")
    here.call.variables = {"id": "5"}
    here.answers = {"q": {"action": "accept"}}
    paths = {
        "arguments.name": "Ada",
        "variables.id": "5",
        "answers.q.action": "accept",
        "meta.progressToken": 7,
        "params.name": "tool",
        "client.capabilities.roots": {},
        "client.protocolVersion": "2025-11-25",
        "server.info.name": "server",
        "task.id": None,
    }
    assert {path.partition(".")[0] for path in paths} == set(ROOTS)
    assert {path: draft(field(f"{{{{ {path} }}}}")).filled(here) for path in paths} == paths


def test_placeholders_are_found_at_any_depth_but_not_in_keys():
    value = {"{{ no }}": 1, "list": [1, {"x": "{{ arguments.age }}"}, "{{ arguments.name }}"], "fixed": {"a": [None]}}
    assert filled(value) == {"{{ no }}": 1, "list": [1, {"x": 36}, "Ada"], "fixed": {"a": [None]}}


def test_members_stay_in_their_order():
    assert list(filled({"b": "{{ arguments.age }}", "a": 1, "c": "{{ arguments.age }}"})) == ["b", "a", "c"]


def test_what_has_no_placeholders_is_the_same_value_every_time():
    fixed = draft(field({"content": [{"type": "text", "text": r"\{{ }}"}]}))
    assert fixed == Draft({"content": [{"type": "text", "text": "{{ }}"}]})
    assert fixed.filled(scope()) is fixed.filled(scope())


def test_filling_in_does_not_change_the_draft():
    some = draft(field({"a": ["{{ arguments.age }}"]}))
    first = some.filled(scope())
    first["a"].append("mine")
    assert some.filled(scope()) == {"a": [36]}


@pytest.mark.parametrize(("text", "expected"), [("{{ arguments.age }}", "36"), ("{{ arguments.missing }}", "")])
def test_a_text_that_must_stay_a_text_does(text, expected):
    assert text_draft(field(text)).filled(scope()) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{{ argument.name }}", "did you mean 'arguments'?"),
        ("{{ arguments.name | jsn }}", "did you mean 'json'?"),
        ("{{ client.capabilites }}", "did you mean 'capabilities'?"),
        ("{{ task.status }}", "known here: id"),
        ("{{ xyz }}", f"known here: {', '.join(ROOTS)}"),
        ("{{ arguments | xyz }}", f"known here: {', '.join(FILTERS)}"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(text, hint):
    error = refusal(["fine", text])
    assert error.hint == hint
    assert error.where is not None
    assert str(error.where).startswith("server.json:1:")


@pytest.mark.parametrize(
    "text",
    [
        "{{",
        "{{ }}",
        "{{ arguments.name",
        "{{ arguments.name }",
        "{{ arguments. }}",
        "{{ arguments[x] }}",
        "{{ arguments name }}",
        "{{ arguments.name ?? }}",
        "{{ arguments.name ?? nobody }}",
        "{{ arguments.name ?? NaN }}",
        "{{ arguments.name | }}",
        "{{ arguments.name | json ?? 1 }}",
    ],
)
def test_what_cannot_be_read_is_refused(text):
    assert refusal(text).hint


def test_a_member_that_will_not_be_there_is_refused():
    known = {**KNOWN, "answers": ["place"]}
    assert refusal("{{ answers.palce }}", known).hint == "did you mean 'place'?"
    assert draft(field("{{ answers.place }} {{ answers }}"), known).fill is not None
