"""Arguments and forms are made from schemas."""

import pytest

from mcp_conductor.protocol.samples import filled_in, optional_arguments, sample_arguments
from mcp_conductor.protocol.schema import complaints

STRING, INTEGER, BOOLEAN = ({"type": word} for word in ("string", "integer", "boolean"))


@pytest.mark.parametrize(
    ("member", "value"),
    [
        (STRING, ""),
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"type": "string", "format": "email"}, "user@example.invalid"),
        ({"type": "string", "format": "uri"}, "http://127.0.0.1:9/"),
        ({"type": "string", "format": "date"}, "2026-01-01"),
        ({"type": "string", "format": "date-time"}, "2026-01-01T00:00:00Z"),
        ({"type": "string", "default": "d"}, "d"),
        ({"type": "string", "default": None}, None),
        (INTEGER, 0),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "number", "minimum": 1.5}, 1.5),
        (BOOLEAN, False),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}, "r"),
        ({"type": "array", "items": {"enum": ["a"]}}, []),
        ({"type": "array", "minItems": 2, "items": {"anyOf": [{"const": "a"}]}}, ["a", "a"]),
    ],
    ids=str,
)
def test_a_required_field_gets_its_default_or_something_plain_that_fits(member, value):
    schema = {"type": "object", "properties": {"a": member}, "required": ["a"]}
    assert filled_in(schema) == {"a": value}
    assert value is None or complaints({"a": value}, schema) == []


def test_optional_fields_are_filled_in_only_with_their_defaults():
    assert filled_in({"properties": {"a": STRING, "b": {"type": "integer", "default": 0}}}) == {"b": 0}


@pytest.mark.parametrize("schema", [None, 5, [], {}, {"properties": None}, {"properties": [], "required": ["a"]}])
def test_without_properties_nothing_is_filled_in(schema):
    assert filled_in(schema) == {}


def test_the_least_integer_is_not_below_its_minimum():
    assert filled_in({"properties": {"a": {"type": "integer", "minimum": 0.5}}, "required": ["a"]}) == {"a": 1}


SCHEMAS = [
    {"type": "object"},
    {},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
    {"type": "object", "required": ["unlisted"]},
    {"type": "object", "properties": {"n": {"type": "number", "exclusiveMinimum": 5}}, "required": ["n"]},
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3, "multipleOf": 5}}, "required": ["n"]},
    {"type": "object", "properties": {"n": {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}}, "required": ["n"]},
    {"type": "object", "properties": {"n": {"type": "integer", "maximum": -7}}, "required": ["n"]},
    {"type": "object", "properties": {"s": {"type": "string", "minLength": 20, "maxLength": 20}}, "required": ["s"]},
    {"type": "object", "properties": {"s": {"type": "string", "maxLength": 2}}, "required": ["s"]},
    {"type": "object", "properties": {"s": {"type": "string", "pattern": "^[A-Z]{3}$"}}, "required": ["s"]},
    {"type": "object", "properties": {"s": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "format": "date"}}, "required": ["s"]},
    {"type": "object", "properties": {"s": {"format": "uuid", "type": "string"}}, "required": ["s"]},
    {"type": "object", "properties": {"e": {"enum": ["x", "y"]}}, "required": ["e"]},
    {"type": "object", "properties": {"e": {"const": {"k": 1}}}, "required": ["e"]},
    {"type": "object", "properties": {"x": {}}, "required": ["x"]},
    {"type": "object", "properties": {"x": True}, "required": ["x"]},
    {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True}}, "required": ["l"]},
    {"type": "object", "properties": {"l": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/p"}}}, "required": ["l"],
     "$defs": {"p": {"type": "object", "properties": {"q": {"type": "boolean"}}, "required": ["q"]}}},
    {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string"}]}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": ["integer", "null"], "minimum": 9}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "minProperties": 2},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"required": ["b"]}]},
    {"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/definitions/i"}], "description": "as pydantic writes"}}, "required": ["a"],
     "definitions": {"i": {"type": "integer", "minimum": 2}}},
    {"type": "object", "properties": {"node": {"$ref": "#/$defs/n"}}, "required": ["node"],
     "$defs": {"n": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}, "required": ["next"]}}},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_arguments_are_made_that_fit_the_schema(schema):
    arguments = sample_arguments(schema)
    assert complaints(arguments, schema) == []


def test_what_the_schema_offers_is_taken_before_what_is_made_up():
    members = {
        "d": {"type": "string", "default": "x"},
        "e": {"type": "string", "examples": ["y"]},
        "o": {"type": "string"},
    }
    schema = {"type": "object", "properties": members, "required": ["d", "e"]}
    assert sample_arguments(schema) == {"d": "x", "e": "y"}
    assert optional_arguments(schema, {"d": 1, "e": 1}) == {"o": {"type": "string"}}


@pytest.mark.parametrize("schema", [None, 5, "x", {"type": "object", "properties": 5, "required": 7}, {"anyOf": 3}])
def test_a_schema_that_is_none_gives_some_arguments_all_the_same(schema):
    assert isinstance(sample_arguments(schema), dict)
