"""Text becomes what a tool's schema asks for, or is refused by name."""

import time

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.coercion import coerce_arguments
from mcp_conductor.protocol.message import render

STRING, INTEGER, NUMBER, BOOLEAN = ({"type": word} for word in ("string", "integer", "number", "boolean"))
OBJECT, ARRAY, NULL = ({"type": word} for word in ("object", "array", "null"))


def tool(member, **more):
    return {"type": "object", "properties": {"x": member}, **more}


def coerced(text, schema, name="x"):
    """TEXT as the argument called NAME, whose schema is SCHEMA."""
    return coerce_arguments([(name, text)], {"properties": {name: schema}})[name]


@pytest.mark.parametrize("text", ["5", "true", "null", "", " x ", '{"a":1}', "[1]", '"quoted"', "1e400"])
@pytest.mark.parametrize(
    "schema", [STRING, {}, None, True, [], {"type": []}, {"type": "nonsense"}, {"type": ["string", "number"]}], ids=str
)
def test_text_stays_text_for_a_string_and_without_a_known_type(schema, text):
    assert coerced(text, schema) == text


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (NUMBER, "5", 5),
        (NUMBER, "-5.5", -5.5),
        (NUMBER, "1e3", 1000.0),
        (NUMBER, "9007199254740993", 9007199254740993),
        (INTEGER, "5", 5),
        (INTEGER, "5.0", 5),
        (INTEGER, "1e3", 1000),
        (INTEGER, "123456789012345678901234567890", 123456789012345678901234567890),
        (BOOLEAN, "true", True),
        (BOOLEAN, "false", False),
        (NULL, "null", None),
        (OBJECT, '{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
        (OBJECT, "{}", {}),
        (ARRAY, '[1, "a", [2]]', [1, "a", [2]]),
        (ARRAY, "[]", []),
        (ARRAY, " [1]", [1]),
    ],
)
def test_text_is_read_as_the_type_of_the_schema(schema, text, value):
    result = coerced(text, schema)
    assert (result, type(result)) == (value, type(value) if not isinstance(value, float) else type(result))


@pytest.mark.parametrize("text", ["1.10", "1e400", "9" * 5000, "0.12345678901234567890123"], ids=lambda text: text[:9])
def test_no_digit_of_a_number_is_lost(text):
    assert render(coerced(text, NUMBER)) == text


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (NUMBER, "five"),
        (NUMBER, ""),
        (NUMBER, "0x10"),
        (NUMBER, "1_000"),
        (NUMBER, "01"),
        (NUMBER, ".5"),
        (NUMBER, "5."),
        (NUMBER, "+5"),
        (NUMBER, " 5"),
        (NUMBER, "NaN"),
        (NUMBER, "Infinity"),
        (NUMBER, "true"),
        (INTEGER, "5.5"),
        (INTEGER, "1e-3"),
        (BOOLEAN, "True"),
        (BOOLEAN, "1"),
        (BOOLEAN, "yes"),
        (NULL, ""),
        (OBJECT, "{bad"),
        (OBJECT, "[1]"),
        (OBJECT, "5"),
        (OBJECT, ""),
        (OBJECT, "{" * 100_000),
        (ARRAY, "[1,"),
        (ARRAY, "{}"),
        ({"type": "array", "items": INTEGER}, "1,two"),
        ({"enum": [1, 2]}, "3"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_text_that_cannot_be_read_as_the_wanted_type_is_an_error_that_names_the_argument(schema, text):
    with pytest.raises(UsageError) as caught:
        coerced(text, schema, "count")
    assert "argument 'count'" in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("9" * 400, id="400 digits"),
        pytest.param("9" * 5000, id="5000 digits"),
        pytest.param("12345678901234567890.0"),
        pytest.param("1e23"),
    ],
)
def test_no_digit_of_an_integer_is_lost(text):
    assert render(coerced(text, INTEGER)) in (text, text.removesuffix(".0"), "1" + "0" * 23)


def test_digits_of_other_scripts_are_no_number():
    with pytest.raises(UsageError):
        coerced("1\u0662", NUMBER)


@pytest.mark.parametrize(
    ("items", "text", "value"),
    [
        (STRING, "a,b", ["a", "b"]),
        (STRING, "a, b ,c", ["a", "b", "c"]),
        (STRING, "a", ["a"]),
        (STRING, "", []),
        (STRING, "1,true", ["1", "true"]),
        (INTEGER, "1,2", [1, 2]),
        (BOOLEAN, "true,false", [True, False]),
        ({}, "a,1", ["a", "1"]),
        (True, "a", ["a"]),
        ({"enum": [1, 2]}, "2,1", [2, 1]),
    ],
)
def test_elements_separated_by_commas_are_read_by_the_items_of_the_schema(items, text, value):
    assert coerced(text, {"type": "array", "items": items}) == value


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"enum": ["a", "b"]}, "a", "a"),
        ({"enum": ["a", "b"]}, "c", "c"),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["1", 2]}, "1", "1"),
        ({"enum": [True, None]}, "true", True),
        ({"enum": [True, None]}, "null", None),
        ({"enum": [[1, 2]]}, "[1,2]", [1, 2]),
        ({"const": 5}, "5", 5),
        ({"type": "integer", "enum": [1, 2]}, "1", 1),
        ({"oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]}, "g", "g"),
    ],
)
def test_an_allowed_value_is_recognised_by_its_spelling(schema, text, value):
    result = coerced(text, schema)
    assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"anyOf": [INTEGER, NULL]}, "5", 5),
        ({"anyOf": [INTEGER, NULL]}, "null", None),
        ({"type": ["integer", "null"]}, "null", None),
        ({"anyOf": [STRING, NULL]}, "null", "null"),
        ({"oneOf": [BOOLEAN, NUMBER]}, "true", True),
        ({"oneOf": [BOOLEAN, NUMBER]}, "1.5", 1.5),
        ({"allOf": [INTEGER, {"minimum": 3}]}, "5", 5),
        ({"type": ["integer", "number"]}, "1.5", 1.5),
        ({"type": ["object", "array"]}, "[1]", [1]),
        ({"type": ["object", "array"]}, '{"a":1}', {"a": 1}),
        ({"anyOf": [{"type": "array", "items": INTEGER}, NULL]}, "1,2", [1, 2]),
        ({"anyOf": "nonsense"}, "5", "5"),
        ({"anyOf": [5, None, INTEGER]}, "5", 5),
    ],
)
def test_of_several_types_the_one_that_fits_is_taken(schema, text, value):
    result = coerced(text, schema)
    assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"anyOf": [{"const": "auto"}, INTEGER]}, "5", 5),
        ({"anyOf": [{"enum": [1, 2]}, STRING]}, "many", "many"),
    ],
)
def test_an_allowed_value_next_to_a_type_leaves_the_type_possible(schema, text, value):
    assert coerced(text, schema) == value


@pytest.mark.parametrize("kind", [5, True])
def test_a_type_that_is_none_is_no_type(kind):
    assert coerced("5", {"type": kind}) == "5"


@pytest.mark.parametrize(
    ("member", "more"),
    [
        ({"$ref": "#/$defs/n"}, {"$defs": {"n": INTEGER}}),
        ({"$ref": "#/definitions/a~1b~0c"}, {"definitions": {"a/b~c": INTEGER}}),
        ({"$ref": "#/$defs/m"}, {"$defs": {"m": {"anyOf": [{"$ref": "#/$defs/n"}, NULL]}, "n": INTEGER}}),
        ({"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/missing"}]}, {"$defs": {"n": INTEGER}}),
    ],
)
def test_local_references_are_followed(member, more):
    assert coerce_arguments([("x", "5")], tool(member, **more)) == {"x": 5}


@pytest.mark.parametrize(
    "reference",
    ["#/properties/x", "#/missing", "#missing", "", "other.json", "https://example.com/s", "#/a/0/b", 5],
)
def test_a_reference_to_itself_to_nothing_or_elsewhere_leaves_text(reference):
    assert coerce_arguments([("x", "5")], tool({"$ref": reference})) == {"x": "5"}


def test_references_that_meet_again_cost_no_exponential_time():
    defs = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(13)}
    began = time.perf_counter()
    coerce_arguments([("x", "5")], tool({"$ref": "#/$defs/d0"}, **{"$defs": {**defs, "d13": INTEGER}}))
    assert time.perf_counter() - began < 0.05


def test_arguments_are_read_one_by_one():
    schema = {"properties": {"city": STRING, "days": INTEGER}, "allOf": [{"properties": {"wet": BOOLEAN}}]}
    pairs = [("city", "5"), ("days", "5"), ("wet", "true"), ("unknown", "5")]
    assert coerce_arguments(pairs, schema) == {"city": "5", "days": 5, "wet": True, "unknown": "5"}


@pytest.mark.parametrize("schema", [None, 5, [], {}, {"properties": None}, {"properties": {"x": None}}])
def test_without_a_usable_schema_every_argument_is_text(schema):
    assert coerce_arguments([("x", "5")], schema) == {"x": "5"}


@pytest.mark.parametrize(
    ("items", "texts", "value"),
    [
        (STRING, ["a", "b", "c"], ["a", "b", "c"]),
        (INTEGER, ["1", "2"], [1, 2]),
        (STRING, ["a,b", "c"], ["a,b", "c"]),
        (ARRAY, ["[1]", "2,3"], [[1], ["2", "3"]]),
    ],
)
def test_a_repeated_key_fills_an_array(items, texts, value):
    assert coerce_arguments([("x", text) for text in texts], tool({"type": "array", "items": items})) == {"x": value}


@pytest.mark.parametrize("member", [STRING, INTEGER, {}])
def test_a_repeated_key_is_refused_where_no_array_is_wanted(member):
    with pytest.raises(UsageError) as caught:
        coerce_arguments([("x", "1"), ("x", "2")], tool(member))
    assert "'x'" in caught.value.message


@pytest.mark.parametrize(
    ("other", "first"), [("string", "a"), ("null", "null"), ("integer", "1"), ("object", "{}")], ids=str
)
def test_a_repeated_key_never_crashes_where_an_array_is_one_of_several_types(other, first):
    try:
        arguments = coerce_arguments([("x", first), ("x", "b")], tool({"type": ["array", other]}))
    except UsageError:
        return
    assert arguments["x"][-1] == "b"


@pytest.mark.parametrize(
    ("kind", "text", "hinted"),
    [("object", "{a:1}", True), ("array", "[a,b]", True), ("object", '{"a"}', False), ("integer", "x", False)],
)
def test_json_of_which_a_shell_took_the_quotes_is_answered_with_how_to_write_it(kind, text, hinted):
    with pytest.raises(UsageError) as raised:
        coerce_arguments([("x", text)], tool({"type": kind}))
    assert ("single quotes" in (raised.value.hint or "")) is hinted


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"additionalProperties": INTEGER}, 5),
        ({"additionalProperties": {"$ref": "#/$defs/n"}, "$defs": {"n": INTEGER}}, 5),
        ({"additionalProperties": True}, "5"),
        ({"patternProperties": {"^x": INTEGER}}, 5),
        ({"patternProperties": {"^y": INTEGER}}, "5"),
        ({"patternProperties": {"^y": BOOLEAN}, "additionalProperties": INTEGER}, 5),
        ({"patternProperties": {"^x": STRING}, "additionalProperties": INTEGER}, "5"),
        ({"properties": {"x1": {}}, "additionalProperties": INTEGER}, "5"),
        ({"patternProperties": {"(": INTEGER}}, "5"),
        ({"patternProperties": {"^x": 7}}, "5"),
        ({"patternProperties": []}, "5"),
        ({"allOf": [{"additionalProperties": INTEGER}]}, 5),
    ],
    ids=str,
)
def test_an_argument_that_is_not_listed_has_the_type_of_its_pattern_or_of_all_others(schema, value):
    assert coerce_arguments([("x1", "5")], {"type": "object", **schema}) == {"x1": value}
