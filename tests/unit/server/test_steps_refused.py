"""Steps that cannot be done are refused when the file is read, with the place and the nearest name."""

import json

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.server import inline


def read(*steps, result="done") -> None:
    definition = {"name": "tool", "steps": list(steps), "result": result}
    inline.tool(Field.root(parse(json.dumps(definition), "server.json"), {}))


def refusal(*steps, result="done") -> UsageError:
    with pytest.raises(UsageError) as caught:
        read(*steps, result=result)
    assert caught.value.where is not None
    return caught.value


@pytest.mark.parametrize(
    ("step", "hint"),
    [
        ({"logg": "x"}, "did you mean 'log'?"),
        ("close_streams", "did you mean 'close_stream'?"),
        ({"log": {"data": 1, "levl": "info"}}, "did you mean 'level'?"),
        ({"sample": {"promt": "x"}}, "did you mean 'prompt'?"),
        ({"elicit": {"message": "x", "shema": {}}}, "did you mean 'schema'?"),
        ({"ask": {"a": {"elict": {}}}}, "did you mean 'elicit'?"),
        ({"add_resource": {"uri": "x", "text": "y", "mimetype": "z"}}, "did you mean 'mimeType'?"),
        ({"log": "{{ argument.a }}"}, "did you mean 'arguments'?"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(step, hint):
    assert refusal(step).hint == hint


@pytest.mark.parametrize(
    "step",
    [
        5,
        {},
        {"log": "a", "sleep": 1},
        {"log": {"level": "info"}},
        {"log": {"data": "x", "level": "loud"}},
        {"log": 5},
        {"progress": {}},
        {"progress": -1},
        {"progress": {"progress": 1, "total": []}},
        {"sleep": "soon"},
        {"sleep": None},
        {"notify": {"params": {}}},
        {"notify": {"method": "x", "params": "{{ arguments }}"}},
        {"sample": {}},
        {"sample": {"prompt": "x", "messages": []}},
        {"sample": {"messages": "x"}},
        {"elicit": {"message": "x"}},
        {"elicit": {"schema": {}}},
        {"elicit": {"message": "x", "schema": {}, "url": "y"}},
        {"elicit": {"message": "x", "schema": {}, "elicitationId": "y"}},
        {"list_roots": "x"},
        {"ask": {"a": {}}},
        {"ask": {"a": {"elicit": {"message": "x", "schema": {}, "as": "b"}}}},
        {"ask": {"a": {"list_roots": {}, "ifSupported": "yes"}}},
        {"require": []},
        {"require": {"roots": True}},
        {"update_resource": {"text": "x"}},
        {"update_resource": {"uri": "x", "text": "y", "blob": "z"}},
        {"add_resource": {"uri": "x"}},
        {"add_resource": {"uri": "x", "blob": "no base64"}},
        {"remove_resource": {}},
        {"list_changed": "roots"},
        {"close_stream": 5},
        {"fail": {"message": "x"}},
        {"fail": {"code": 1}},
        {"fail": None},
    ],
    ids=json.dumps,
)
def test_a_step_that_cannot_be_done_is_refused(step):
    refusal(step)


def test_two_questions_cannot_have_one_key():
    refusal({"list_roots": {"as": "a"}}, {"sample": {"prompt": "p", "as": "a"}})
    refusal({"ask": {"list_roots_1": {"list_roots": {}}}}, "list_roots")


def test_an_answer_that_is_not_there_yet_is_refused():
    late = {"log": "{{ answers.place }}"}
    asked = {"elicit": {"message": "m", "schema": {"type": "object"}, "as": "place"}}
    read(asked, late)
    refusal(late, asked)
    assert refusal(asked, result="{{ answers.palce }}").hint == "did you mean 'place'?"


def test_what_a_wrong_step_would_have_asked_is_no_second_mistake():
    error = refusal({"sample": {"messges": []}}, {"log": "{{ answers.sample_1 }}"}, result="{{ answers.sample_1 }}")
    assert error.more == ()


def test_every_wrong_step_is_told():
    error = refusal({"logg": "x"}, {"sleep": "long"}, result=5)
    assert [each.message for each in error.more] == [
        'server.json: steps[1].sleep must be a time such as 500 (milliseconds), 500ms or 2s, not "long"',
        "server.json: result must be a text, an array (content) or an object (all of the result), not a number",
    ]
