"""Which schemas are too much to be applied at once, by an estimate alone."""

import time

import pytest

from mcp_conductor.protocol.samples import filled_in, sample_arguments
from mcp_conductor.protocol.schema import parts
from mcp_conductor.protocol.schema_weight import Weight, resolved


def levels(word, times, deep, below=lambda reference: reference):
    """DEEP definitions, each of which refers to the next so many TIMES."""
    named = {f"l{n}": {word: [below({"$ref": f"#/$defs/l{n + 1}"})] * times} for n in range(deep)}
    return {"$ref": "#/$defs/l0", "$defs": {**named, f"l{deep}": {"type": "string"}}}


def nested(deep, value=5):
    for _ in range(deep):
        value = {"x": value}
    return value


def everything_refers_to_everything(count):
    named = [f"#/$defs/d{n}" for n in range(count)]
    return {"$ref": named[0], "$defs": {f"d{n}": {"anyOf": [{"$ref": each} for each in named]} for n in range(count)}}


IN_X = {"properties": {"x": {"$ref": "#"}}}
HEAVY = {
    "references that multiply": (levels("anyOf", 4, 14), 5),
    "all of them must hold": (levels("allOf", 2, 20), 5),
    "by way of members": (
        levels("anyOf", 4, 10, below=lambda reference: {"properties": {"x": reference}}),
        nested(10),
    ),
    "two recursions into the same member": ({"anyOf": [IN_X, IN_X]}, nested(12)),
    "recursion in place": ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, 5),
    "many ways round": (everything_refers_to_everything(12), 5),
    "lookahead": ({"properties": {"a": {"pattern": "(?=x?)(.*)*a$"}}}, {"a": "aaa"}),
    "a back reference": ({"patternProperties": {r"^(a+)+\1$": {}}}, {}),
    "large counts in patterns": ({"pattern": "((a{0,100}){0,100}){0,100}$"}, ""),
    "many patterns": ({"anyOf": [{"pattern": "(.*.*){1,99}=$"}] * 500}, ""),
    "dynamic references": ({"$dynamicAnchor": "a", "items": {"$dynamicRef": "#a"}}, []),
    "schemas with names of their own": ({"$defs": {"a": {"$id": "other"}}}, 1),
    "a reference by way of an array": ({"anyOf": [{"anyOf": [{"$ref": "#/anyOf/1"}] * 600}, {"type": "null"}]}, 5),
    "a large value": ({"items": {"anyOf": [{"type": "string"}] * 20}}, list(range(10_000))),
    "a long text, quoted by each error": ({"allOf": [{"type": "null"}] * 400}, "x" * 1_000_000),
    "a large schema": ({"enum": list(range(200_000))}, 1),
    "what was evaluated, again at each level": (
        {"unevaluatedProperties": False, "allOf": [IN_X], "properties": {"x": {"$ref": "#"}}},
        nested(20),
    ),
}


@pytest.mark.parametrize("name", HEAVY)
def test_hostile_schemas_are_heavy_and_that_is_known_at_once(name):
    schema, value = HEAVY[name]
    began = time.process_time()
    assert Weight(schema).is_heavy_for(value)
    assert time.process_time() - began < 1


PERSON = {"type": "object", "properties": {"name": {"type": "string", "pattern": "^[A-Z][a-z]+( [A-Z][a-z]+)*$"}}}
TREE = {"type": "object", "properties": {"name": {"type": "string"}, "children": {"items": {"$ref": "#"}}}}
EXPRESSION = {
    "oneOf": [{"type": "number"}, {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "required": ["left"]}]
}
LIGHT = {
    "an object": ({"type": "object", "properties": {"people": {"items": PERSON}}}, {"people": [{"name": "Ada"}] * 500}),
    "references": ({"items": {"$ref": "#/$defs/a%20b"}, "$defs": {"a b": PERSON}}, [{}] * 1000),
    "a tree": (TREE, {"children": [{"children": [{"name": "x"}] * 9}] * 9}),
    "expressions": (EXPRESSION, {"left": {"left": 1, "right": 2}, "right": {"left": 3, "right": 4}}),
    "alternatives": ({"anyOf": [{"const": n} for n in range(100)]}, 5),
    "a thousand words": ({"enum": [f"word {n}" for n in range(1000)]}, "word 7"),
    "true": (True, [1, 2]),
    "nothing to refer to": ({"$ref": "#/$defs/none"}, 1),
}


@pytest.mark.parametrize("name", LIGHT)
def test_ordinary_schemas_are_light(name):
    schema, value = LIGHT[name]
    assert not Weight(schema).is_heavy_for(value)


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", {"a": [{"b/c": 1}, 2], "": 3}),
        ("#/a/1", 2),
        ("#/a/0/b~1c", 1),
        ("#/a/0/b%7E1c", 1),
        ("#/", 3),
        ("#/a/7", None),
        ("#/a/x", None),
        ("#/a/1/x", None),
        ("#name", None),
        ("http://example.com#", None),
    ],
)
def test_local_references_are_followed_as_json_pointers(reference, found):
    assert resolved(reference, {"a": [{"b/c": 1}, 2], "": 3}) == found


def size(value):
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(size, members))


def test_samples_of_hostile_schemas_are_small_and_soon_made():
    array = {"type": "integer"}
    for _ in range(7):
        array = {"type": "array", "items": array, "minItems": 1000}
    all_of_itself = {"allOf": [{"$ref": "#/$defs/t"}] * 20}
    twenty = {name: {"$ref": "#/$defs/t"} for name in "abcdefghijklmnopqrst"}
    for schema in (
        {"type": "object", "properties": {"a": array}, "required": ["a"]},
        {"type": "object", "required": list(twenty), "properties": twenty, "$defs": {"t": {"properties": twenty, "required": list(twenty)}}},
        {"type": "object", **all_of_itself, "$defs": {"t": all_of_itself}},
    ):  # fmt: skip
        assert size(filled_in(schema)) < 10_000
        assert size(sample_arguments(schema)) < 100_000
        assert len(parts(schema, schema)) < 50
