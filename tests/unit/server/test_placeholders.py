"""Placeholders: what they become, and what is refused before anything is served."""

import json

import pytest
from tests.unit.server.harness import config_of

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.message import build
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import Client
from mcp_conductor.server.placeholders import FILTERS, KNOWN, ROOTS, Draft, Scope, draft, text_draft
from mcp_conductor.server.server import Server

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
    client.info = {"name": "shelf", "version": "1"}
    return Scope(Call(Server(config_of()), client, build(raw), lambda _: None))


def filled(value):
    return draft(field(value)).filled(scope())


def refusal(value, known=KNOWN) -> UsageError:
    with pytest.raises(UsageError) as caught:
        draft(field(value), known)
    return caught.value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{{ arguments.age }}", 36),
        ("{{ arguments.missing }}", None),
        ("<{{ arguments.missing }}>", "<>"),
        (
            {"a": ["{{ arguments.tags[-1] }}", r"\{{ {{ arguments.deep.x-y | json }}"]},
            {"a": ["b", '{{ {"a.b":[10,20]}']},
        ),
    ],
)
def test_what_is_missing_is_null_or_empty(value, expected):
    assert filled(value) == expected


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
        "client.info.name": "shelf",
        "client.protocolVersion": "2025-11-25",
        "server.info.name": "server",
        "task.id": None,
    }
    assert {path.partition(".")[0] for path in paths} == set(ROOTS)
    assert {path: draft(field(f"{{{{ {path} }}}}")).filled(here) for path in paths} == paths


def test_a_text_that_must_stay_a_text_does():
    assert text_draft(field("{{ arguments.age }}")).filled(scope()) == "36"


def test_a_draft_can_be_made_by_hand():
    assert Draft("x").filled(scope()) == "x"
    assert Draft(None, lambda here: here.call.arguments["age"]).filled(scope()) == 36


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


def test_a_server_file_has_no_variables_and_no_functions():
    assert refusal('{{ name ?? "Ada" }}').hint == "known here: " + ", ".join(ROOTS)
    assert refusal("{{ arguments() }}").message.endswith("which cannot be read")


def test_a_member_that_will_not_be_there_is_refused():
    known = {**KNOWN, "answers": ["place"]}
    assert refusal("{{ answers.palce }}", known).hint == "did you mean 'place'?"
    assert draft(field("{{ answers.place }} {{ answers }}"), known).fill is not None
