"""Matchers that are keys: partial and other structures, alternatives, arrays in any order; and what holds of any document."""

import copy
import random
import time
from itertools import permutations

import pytest

from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.suites.matching.comparison import Place, Trials
from mcp_conductor.suites.matching.expected import compare, compile_expected, compile_node


def check(yaml, actual, *, partial=False, tools=None, file="a.test.mcp.yml"):
    return compile_expected(Field.root(parse(yaml, file), {}), partial=partial).check(actual, tools)


def told(yaml, actual, **options):
    return [f"{each.path}: {each.message}" for each in check(yaml, actual, **options)]


def document(value):
    return compile_expected(Field(parse("x", "a.yml"), (), value))


USER = {"name": "Ann", "age": 30, "tags": ["a", "b", "c"], "at": {"city": "X", "zip": 1}}
TOOLS = {"tools": [{"name": "read", "n": 1}, {"name": "write", "n": 2}]}


@pytest.mark.parametrize(
    ("yaml", "actual"),
    [
        ("match:partial: {name: Ann}", USER),
        ("match:partial: {at: {city: X}}", USER),
        ("match:partial: {tags: [a, match:any]}", USER),
        ("match:partial: {}", USER),
        ("match:partial: [{name: read}]", TOOLS["tools"]),
        ("match:partial: {at: {match:partial: {zip: 1}}}", USER),
        ("match:partial: {gone: match:not:exists}", USER),
        ("match:partial: match:type:object", USER),
        ("{match:partial: {name: Ann}, age: 30}", USER),
        ("tools: {match:arrayElements: {name: match:type:string, n: match:type:number}}", TOOLS),
        ("tools: {match:arrayElements: {match:partial: {name: match:regex:^\\w+$}}}", TOOLS),
        ("match:arrayElements: match:type:number", [1, 2]),
        ("match:arrayElements: match:type:number", []),
        ("{match:extractField: tools.*.name, value: [read, write]}", TOOLS),
        ("{match:extractField: 'tools[*].name', value: match:arrayContains:read}", TOOLS),
        ("{match:extractField: tools.0.name, value: read}", TOOLS),
        ("{match:extractField: tools.5.name, value: match:not:exists}", TOOLS),
        ("{match:extractField: 'tools[*].gone', value: [match:not:exists, match:not:exists]}", TOOLS),
        ("{match:extractField: tools.length, value: 2}", TOOLS),
        ("{match:extractField: at.zip, value: 1, name: Ann}", USER),
        ("match:crossField: age > at.zip", USER),
        ("match:crossField: [age > at.zip, age < 31]", USER),
        ("{match:crossField: age > 0, name: Ann}", USER),
        ("match:not:crossField: age < at.zip", USER),
        ("match:not:crossField: age < gone", USER),
        ("{match:crossField: age > 0, match:not:crossField: age > 100, match:partial: {name: Ann}}", USER),
        ("match:json: {a: match:type:number}", '{"a": 1}'),
        ("match:json: {match:partial: {a: 1}}", '{"a": 1.0, "b": 2}'),
        ("match:partial: {text: {match:json: {a: 1}}}", {"text": '{"a": 1, "b": 2}', "x": 1}),
        ("match:schema: {type: object, required: [name]}", USER),
        ("match:unordered: [1, 2, 2]", [2, 1, 2]),
        ("match:unordered: []", []),
        ("match:unordered: [match:any, {id: 1}]", [{"id": 1}, {"id": 2}]),
        ("match:unordered: [match:type:number, 1, match:any]", [1, "x", 1]),
        ("match:partial: {tools: {match:unordered: [{name: write}, {name: read}]}}", TOOLS),
        ("match:containsAll: [1, 2]", [3, 2, 1]),
        ("match:containsAll: [match:type:string, a]", ["a", "b"]),
        ("match:partial: {tools: {match:containsAll: [{name: write}]}}", TOOLS),
        ("match:anyOf: [1, match:type:string]", "x"),
        ("a: {match:anyOf: [1, match:not:exists]}", {}),
        ("match:allOf: [match:contains:a, match:contains:b]", "ab"),
        ("match:allOf: [match:arrayLength:2, {match:arrayElements: match:type:number}]", [1, 2]),
        ("match:not: 5", 6),
        ("match:not: {a: 1}", {"a": 1, "b": 2}),
        ("match:not: {match:anyOf: [1, 2]}", 3),
    ],
)
def test_a_structure_accepts_what_it_says(yaml, actual):
    assert check(yaml, actual) == []


@pytest.mark.parametrize(
    ("yaml", "actual", "said"),
    [
        ("match:partial: {name: Bob}", USER, ["name: is 'Ann', not 'Bob'"]),
        ("match:partial: {nam: Ann}", USER, ["nam: is missing"]),
        ("match:partial: {tags: [b]}", USER, ["tags[0]: is 'a', not 'b'"]),
        ("match:partial: {tags: [a, b, c, d]}", USER, ["tags: has 3 elements, not at least 4; missing: [3] 'd'"]),
        ("match:partial: {a: {}}", {"a": []}, ["a: is an empty array, not an object"]),
        ("{match:partial: {name: Ann}, age: 31}", USER, ["age: is 30, not 31"]),
        ("{match:partial: {name: Ann}, at: {city: X}}", USER, ["at.zip: is not expected"]),
        ("tools: {match:arrayElements: {name: match:type:string}}", TOOLS, ["tools[0].n: is not expected", "tools[1].n: is not expected"]),
        ("match:partial: {tools: {match:arrayElements: {name: match:type:string}}}", TOOLS, ["tools[0].n: is not expected", "tools[1].n: is not expected"]),
        ("match:arrayElements: match:type:number", [1, "2"], ["[1]: is the string '2', not a number"]),
        ("match:arrayElements: match:any", {}, [": is an empty object, not an array"]),
        ("{match:arrayElements: match:any, n: 1}", [1], [": is an array, not an object"]),
        ("{match:extractField: tools.*.name, value: [read]}", TOOLS, ["tools.*.name: has 2 elements, not 1; unexpected: [1] 'write'"]),
        ("{match:extractField: tools.*.name, value: [read, x]}", TOOLS, ["tools.*.name[1]: is 'write', not 'x'"]),
        ("{match:extractField: 'tools[*].gone', value: [a, match:any]}", TOOLS, ["tools[*].gone[0]: is missing, not the string 'a'", "tools[*].gone[1]: is missing"]),
        ("{match:extractField: tools.7.name, value: x}", TOOLS, ["tools.7.name: is missing: tools is an array of 2 elements, without [7]"]),
        ("a: {match:extractField: '[0]', value: x}", {"a": ["y"]}, ["a[0]: is 'y', not 'x'"]),
        ("{match:extractField: at.zip, value: 1, name: Bob}", USER, ["name: is 'Ann', not 'Bob'"]),
        ("{match:crossField: age > 0, name: Bob}", USER, ["name: is 'Ann', not 'Bob'"]),
        ("match:crossField: [age > 40, age < 31]", USER, [": has age = 30, not greater than 40"]),
        ("match:crossField: age > gone", USER, [": has no 'gone' to compare: the document has no 'gone'; it has 'name', 'age', 'tags', 'at'"]),
        ("match:not:crossField: age > 5", USER, [": must not have 'age > 5', but has"]),
        ("match:json: {a: 1}", "{", [": is not JSON: expecting property name enclosed in double quotes at character 2: '{'"]),
        ("match:json: {a: 1}", {"a": 1}, [": is an object, not a text with JSON"]),
        ("text: {match:json: {a: [1]}}", {"text": '{"a": [2]}'}, ["text | json | a[0]: is 2, not 1"]),
        ("text: {match:json: [1]}", {"text": "[2]"}, ["text | json | $[0]: is 2, not 1"]),
        ("text: {match:json: 1}", {"text": "2"}, ["text | json: is 2, not 1"]),
        ("match:schema: {required: [x]}", USER, [': does not fit the schema: the value: "x" is a required property']),
        ("match:unordered: [1, 2]", [1, 3], ["[1]: is 3, not 2"]),
        ("match:unordered: [{id: 1, v: a}, {id: 2, v: b}]", [{"id": 2, "v": "b"}, {"id": 1, "v": "x"}], ["[1].v: is 'x', not 'a'"]),
        ("match:unordered: [1, 2, 3]", [1, 4, 5], [": has no element that matches [1] 2; left over: [1] 4, [2] 5", ": has no element that matches [2] 3; left over: [1] 4, [2] 5", "[1]: is not expected", "[2]: is not expected"]),
        ("match:unordered: [1, 2]", [2, 1, 3], [": has 3 elements, not 2", "[2]: is not expected"]),
        ("match:unordered: [1, 1]", [1, 2, 1], [": has 3 elements, not 2", "[1]: is not expected"]),
        ("match:unordered: [1]", {}, [": is an empty object, not an array"]),
        ("match:unordered: [true]", [1], ["[0]: is the number 1, not true"]),
        ("match:containsAll: [1, 1]", [1, 2], [": has no element that matches [1] 1; left over: [1] 2"]),
        ("match:containsAll: [a]", [], [": has no element that matches [0] 'a'"]),
        ("match:anyOf: [1, match:type:string]", 2, [": matches none of the 2 alternatives"]),
        ("match:allOf: [match:contains:a, match:contains:b]", "c", [": does not contain 'a'", ": does not contain 'b'"]),
        ("match:not: 5", 5, [": must not equal this, but does: 5"]),
        ("match:not: {match:partial: {name: Ann}}", USER, [': must not match this, but does: {"match:partial":{"name":"Ann"}}']),
    ],
)  # fmt: skip
def test_a_structure_says_what_is_the_case(yaml, actual, said):
    assert told(yaml, actual) == said


def test_the_closest_alternative_is_explained():
    (mismatch,) = check("match:anyOf: [{a: 1, b: 2}, {a: 1, b: match:type:string}]", {"a": 1, "b": 3})
    assert mismatch.hint == "closest is the first, but b is 3, not 2"
    (mismatch,) = check("match:anyOf: [match:contains:x, {a: 1}]", {"a": 2})
    assert mismatch.hint == "closest is the second, but a is 2, not 1"


def test_the_closest_element_is_explained():
    yaml = "match:containsAll: [{type: text, text: match:contains:x}]"
    (mismatch,) = check(yaml, [{"type": "image", "data": ""}, {"type": "text", "text": "abc"}])
    assert mismatch.hint == "closest is [1], but [1].text does not contain 'x'"


def test_everything_can_be_partial_from_the_outside():
    assert check("{a: {b: 1}}", {"a": {"b": 1, "c": 2}, "d": 3}, partial=True) == []
    assert told("{a: {b: 1}}", {"a": {"b": 2, "c": 2}, "d": 3}, partial=True) == ["a.b: is 2, not 1"]
    assert check("match:contains:x", "axb", partial=True) == []


def test_a_schema_may_stand_in_a_file_beside_the_tests(tmp_path):
    (tmp_path / "user.schema.json").write_text('{"type": "object", "required": ["name"]}')
    yaml = "match:schema: {file: user.schema.json}"
    file = str(tmp_path / "a.test.mcp.yml")
    assert check(yaml, USER, file=file) == []
    assert told(yaml, {}, file=file) == [': does not fit the schema: the value: "name" is a required property']


def test_the_output_schema_is_looked_up_where_the_structured_content_stands():
    tools = {"add": {"outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    yaml = "match:partial: {result: {structuredContent: match:outputSchema}}"
    assert check(yaml, {"result": {"structuredContent": {"n": 1}, "content": []}}, tools=tools) == []
    assert told(yaml, {"result": {"structuredContent": {"n": "x"}}}, tools=tools) == [
        'result.structuredContent: does not fit the outputSchema of \'add\': n: "x" is not of type "integer"'
    ]
    assert check("result: match:outputSchema", {"result": {"structuredContent": {"n": 1}}}, tools=tools) == []
    assert check("match:outputSchema", {"result": {"structuredContent": {"n": "x"}}}, tools=tools) != []


def test_what_is_left_open_is_accepted_by_every_key():
    for key in (
        "unordered",
        "containsAll",
        "anyOf",
        "allOf",
        "schema",
        "crossField",
        "json",
        "arrayElements",
        "partial",
    ):
        compile_expected(Field.root(parse(f"match:{key}: match:any", "a.yml"), {}))


# What holds of any document.


def random_value(chance, depth=0):
    kind = chance.randrange(9 if depth < 4 else 6)
    if kind < 6:
        return chance.choice(
            [
                None,
                True,
                False,
                0,
                1,
                -1,
                1.5,
                10**20,
                "",
                "a",
                "A",
                "1",
                "true",
                "text\n",
                "é",
                "contains:x",
                chance.random(),
            ]
        )
    if kind < 8:
        names = chance.sample(["a", "b", "c", "value", "x.y", "", "length", "0"], chance.randrange(5))
        return {name: random_value(chance, depth + 1) for name in names}
    return [random_value(chance, depth + 1) for _ in range(chance.randrange(5))]


def places(value, path=()):
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def changed(value, path, chance):
    """VALUE with something else at PATH."""
    if not path:
        other = value
        while alike(other, value):
            other = random_value(chance)
        return other
    value = copy.copy(value)
    value[path[0]] = changed(value[path[0]], path[1:], chance)
    return value


def alike(one, other):
    """Equality of JSON, said in another way than the code says it."""
    kinds = [type(each) if isinstance(each, (bool, str, dict, list, type(None))) else float for each in (one, other)]
    if kinds[0] is not kinds[1]:
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(alike(*pair) for pair in zip(one, other, strict=True))
    return one == other


@pytest.mark.parametrize("seed", range(150))
def test_a_document_matches_itself_and_no_other(seed):
    chance = random.Random(seed)
    value = random_value(chance)
    expected = document(value)
    assert expected.check(copy.deepcopy(value)) == []
    assert document({"match:partial": value}).check(copy.deepcopy(value)) == []
    assert document({"match:allOf": [value, {"match:anyOf": [value]}]}).check(value) == []
    path = chance.choice(list(places(value)))
    other = changed(value, path, chance)
    assert expected.check(other) != []
    assert document({"match:not": value}).check(other) == []


@pytest.mark.parametrize("seed", range(60))
def test_what_is_wrong_is_found_at_its_place_or_above(seed):
    chance = random.Random(seed)
    value = {"root": [random_value(chance), {"k": random_value(chance)}]}
    path = chance.choice([each for each in places(value) if each])
    mismatches = document(value).check(changed(value, path, chance))
    assert mismatches
    for mismatch in mismatches:
        shorter = min(len(mismatch.at), len(path))
        assert mismatch.at[:shorter] == path[:shorter]


@pytest.mark.parametrize("seed", range(60))
def test_the_order_does_not_matter_to_unordered(seed):
    chance = random.Random(seed)
    values = [random_value(chance) for _ in range(chance.randrange(1, 8))]
    patterns = [chance.choice([value, value, "match:any"]) for value in values]
    shuffled = chance.sample(values, len(values))
    chance.shuffle(patterns)
    assert document({"match:unordered": patterns}).check(shuffled) == []
    assert document({"match:containsAll": patterns}).check([*shuffled, "one more"]) == []
    assert document({"match:unordered": patterns}).check([*shuffled, "one more"]) != []
    assert document({"match:unordered": [*patterns, {"not": "there"}]}).check(shuffled) != []


@pytest.mark.parametrize("seed", range(40))
def test_an_assignment_is_found_whenever_there_is_one(seed):
    chance = random.Random(seed)
    count = chance.randrange(2, 9)
    numbers = list(range(count))
    # Each pattern accepts its own number and some before it: greedy choices go wrong, but all can be satisfied.
    patterns = [f"match:between:{chance.randrange(number + 1)}:{number}" for number in numbers]
    chance.shuffle(patterns)
    chance.shuffle(numbers)
    assert document({"match:unordered": patterns}).check(numbers) == []
    assert document({"match:containsAll": [*patterns, "match:any"]}).check(numbers) != []


@pytest.mark.parametrize("seed", range(60))
def test_what_a_long_array_contains_is_what_some_assignment_shows(seed):
    chance = random.Random(seed)
    numbers = [chance.randrange(12) for _ in range(chance.randrange(3, 8))]
    bounds = [sorted((chance.randrange(12), chance.randrange(12))) for _ in range(3)]
    possible = any(
        all(low <= number <= high for (low, high), number in zip(bounds, chosen, strict=True))
        for chosen in permutations(numbers, len(bounds))
    )
    found = document({"match:containsAll": [f"match:between:{low}:{high}" for low, high in bounds]}).check(numbers)
    assert (found == []) is possible


def test_patterns_that_fit_everything_do_not_look_at_everything():
    expected = document({"match:containsAll": [{"b": "match:type:string"}] * 50})
    began = time.process_time()
    assert expected.check([{"b": "x"}] * 200_000) == []
    assert time.process_time() - began < 5  # ten million trials would take ten times as long


@pytest.mark.parametrize(
    "expected",
    [
        {"match:containsAll": ["match:contains:y", "match:contains:z"]},
        {"match:unordered": ["match:contains:y"] * 100},
        {"match:arrayElements": {"match:anyOf": ["match:contains:y", "match:contains:x"]}},
        {"match:not": {"match:containsAll": ["match:contains:y"]}},
    ],
)
def test_what_takes_too_many_trials_is_undecided(expected):
    node = compile_node(Field(parse("x", "a.yml"), (), expected), partial=False)
    trials = Trials()
    trials.left = 99
    (found,) = compare(node, ["x"] * 100, None, Place(), trials)
    assert found.undecided
    assert found.message.startswith("cannot be compared: after 1000000 trials it is still unknown")


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("prices[*] > 0", None),
        ("prices[*] < 9", "has prices[1] = 9, not less than 9"),
        ("9 >= prices.*", None),
        ("none[*] > 0", "has no 'none[*]' to compare: there are no elements"),
        ("items[*].n > 0", "has no 'items[*].n' to compare: no element there fits, or has it"),
        ("items[*].m > 0", "has no 'items[*].m' to compare: no element there fits, or has it"),
    ],
)
def test_a_condition_on_several_values_is_about_each_of_them(pattern, complaint):
    actual = {"prices": [1, 9], "none": [], "items": [{"n": 1}, {}]}
    found = document({"match:crossField": pattern}).check(actual)
    assert [each.message for each in found] == ([] if complaint is None else [complaint])


@pytest.mark.parametrize(("pattern", "passes"), [("tags[*]:a", False), ("tags[*]:b", True), ("tags[*]:c", False)])
def test_a_field_with_several_values_is_this_one_if_each_is(pattern, passes):
    actual = [{"tags": ["a", "c"]}, {"tags": ["b", "b"]}, {"tags": []}]
    found = document(f"match:arrayContains:{pattern}").check(actual)
    assert (found == []) == passes
