"""Values are checked against schemas."""

import pytest

from mcp_conductor.protocol.message import read
from mcp_conductor.protocol.schema import Undecided, checker, complaints, unknown_members

STRING, INTEGER, NUMBER, BOOLEAN = ({"type": word} for word in ("string", "integer", "number", "boolean"))
OBJECT, ARRAY, NULL = ({"type": word} for word in ("object", "array", "null"))


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"a": 1}, {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]}),
        ({"a": 1}, {}),
        ({"a": 1}, True),
        ([1, "a"], {"prefixItems": [INTEGER, STRING]}),
        (2**70, INTEGER),
        (10**400, INTEGER),
        (read("1.10"), NUMBER),
        (read("[2.0e0]"), {"items": INTEGER}),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_that_fits_its_schema_has_no_complaints(value, schema):
    assert complaints(value, schema) == []


def test_a_lone_surrogate_in_a_value_is_not_blamed_on_the_schema():
    assert not any(complaint.startswith("the schema") for complaint in complaints("\ud800", STRING))


@pytest.mark.parametrize(
    ("value", "schema", "places"),
    [
        ({"a": "x"}, {"properties": {"a": INTEGER}}, ["a"]),
        ({}, {"required": ["a"]}, ["the value"]),
        ({"a": [{"b": 1}]}, {"properties": {"a": {"items": {"properties": {"b": STRING}}}}}, ["a[0].b"]),
        ({"a": 1, "b": 2}, {"additionalProperties": STRING}, ["a", "b"]),
        ([1], False, ["the value"]),
        (True, INTEGER, ["the value"]),
        (read("1.10"), INTEGER, ["the value"]),
    ],
)
def test_every_misfit_is_told_with_its_place(value, schema, places):
    assert [complaint.partition(": ")[0] for complaint in complaints(value, schema)] == places


@pytest.mark.parametrize(
    "schema",
    [5, [], None, "x", {"type": "nonsense"}, {"required": 5}, {"pattern": "("}, {"$ref": "#/missing"}]
    + [{"$ref": "https://example.com/schema.json"}, {"$schema": "https://example.com/dialect"}, {"$schema": 5}],
    ids=str,
)
def test_a_schema_that_cannot_be_used_is_a_complaint(schema):
    (complaint,) = complaints({"a": 1}, schema)
    assert complaint.startswith("the schema itself cannot be used: ")


def test_deep_values_and_deep_schemas_do_not_raise():
    value: dict = {}
    schema: dict = {}
    for _ in range(20_000):
        value, schema = {"a": value}, {"properties": {"a": schema}}
    assert len(complaints(value, {})) <= 1
    assert len(complaints({}, schema)) <= 1


@pytest.mark.parametrize("schema", [OBJECT, {"type": "object", "patternProperties": {"^(?!b)": {}}}], ids=str)
def test_a_value_that_is_too_deep_is_blamed_itself_and_not_the_schema(schema):
    value: dict = {}
    for _ in range(5000):
        value = {"a": value}
    (complaint,) = complaints(value, schema)
    assert complaint == "the value is nested too deeply to be checked"
    assert isinstance(complaint, Undecided)


@pytest.mark.parametrize("limit", ["1e3", "1000.00", "1E3"])
def test_the_numbers_of_a_schema_may_be_written_in_any_way(limit):
    assert complaints(1500, read(f'{{"minimum":{limit}}}')) == []


@pytest.mark.parametrize(("text", "schema"), [("9" * 5000, INTEGER), ("1e400", NUMBER)], ids=["digits", "exponent"])
def test_a_number_of_any_size_is_a_number(text, schema):
    assert complaints(read(text), schema) == []


def test_a_checker_judges_many_values_by_one_schema():
    check = checker({"type": "object", "properties": {"a": INTEGER}, "required": ["a"]})
    assert check({"a": 1}) == []
    assert [complaint.partition(": ")[0] for complaint in check({"a": "x"})] == ["a"]
    assert [complaint.partition(": ")[0] for complaint in check({})] == ["the value"]
    assert check({"a": read("2.0e0")}) == []


@pytest.mark.parametrize(
    "schema", [5, {"type": "nonsense"}, {"$ref": "#/missing"}, {"$ref": "https://example.com/schema.json"}], ids=str
)
def test_a_checker_by_a_schema_that_cannot_be_used_complains_of_every_value(schema):
    check = checker(schema)
    for value in ({}, 1, None):
        (complaint,) = check(value)
        assert complaint.startswith("the schema itself cannot be used: ")


def test_the_complaints_of_a_checker_belong_to_the_caller():
    check = checker(5)
    check({}).clear()
    assert len(check({})) == 1


def test_a_checker_survives_a_value_that_is_too_deep():
    check = checker(OBJECT)
    value: dict = {}
    for _ in range(20_000):
        value = {"a": value}
    assert len(check(value)) <= 1
    assert check({}) == []


def test_a_checker_keeps_the_schema_as_it_was():
    schema = {"type": "integer"}
    check = checker(schema)
    schema["type"] = "string"
    assert check(1) == []


@pytest.mark.parametrize(
    ("schema", "unknown"),
    [
        ({"properties": {"a": {}}}, [("b", ["a"], False)]),
        ({"properties": {"a": {}}, "additionalProperties": False}, [("b", ["a"], True)]),
        ({"additionalProperties": False}, [("a", [], True), ("b", [], True)]),
        ({"properties": {"a": {}}, "additionalProperties": True}, []),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}, []),
        ({"properties": {"a": {}}, "patternProperties": {"^b": {}}}, []),
        ({"type": "object"}, []),
        ({"properties": {}}, []),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, []),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": {}}}}}, [("b", ["a"], False)]),
        ({"properties": {"a": {}}, "anyOf": [{"additionalProperties": True}]}, []),
        ({"properties": 3}, []),
        (None, []),
        (True, []),
    ],
)
def test_members_that_a_schema_does_not_list_are_found_where_that_is_certain(schema, unknown):
    assert unknown_members(["a", "b"], schema) == unknown
