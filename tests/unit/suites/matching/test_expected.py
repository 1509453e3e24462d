"""An expected document matches what it says, and every mismatch names its place on both sides and what is the case."""

import time

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.protocol.message import Digits, read
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.expected import compile_expected, compile_text


def given(yaml):
    return Field.root(parse(yaml, "a.test.mcp.yml"), {})


def check(yaml, actual, *, partial=False, tools=None):
    return compile_expected(given(yaml), partial=partial).check(actual, tools)


def told(yaml, actual, **options):
    return [f"{each.path}: {each.message}" for each in check(yaml, actual, **options)]


@pytest.mark.parametrize(
    ("yaml", "actual"),
    [
        ("1", 1.0),
        ("1.0", 1),
        ("100", 1e2),
        ("0.1", Digits("0.10")),
        ("1", Digits("1.000")),
        ("3.14159265358979323846", read("3.14159265358979323846")),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        (f"match:unordered: [1{'0' * 400}, -1{'0' * 400}]", [Digits("-1e400"), Digits("1e400")]),
        ("match:greaterThan:5", Digits("1e99999999999999999999")),
        ("'1'", "1"),
        ("true", True),
        ("a: null", {"a": None}),
        ("{a: 1, b: 2}", {"b": 2, "a": 1}),
        ("[1, [2, {a: 3}]]", [1, [2, {"a": 3}]]),
        ("{}", {}),
        ("[]", []),
        ("a: 2024-01-01", {"a": "2024-01-01"}),
        ("a: contains:x", {"a": "contains:x"}),
        ("a: match:not:exists", {}),
        ("a: match:not:exists", {"a": None}),
        ("a: {match:not: match:exists}", {}),
        ("match:contains:x", "axb"),
        ("[match:any, 2]", [None, 2]),
        ("a: match:literal:match:any", {"a": "match:any"}),
    ],
)
def test_what_is_equal_matches(yaml, actual):
    assert check(yaml, actual) == []


@pytest.mark.parametrize(
    ("yaml", "actual", "said"),
    [
        ("1", "1", [": is the string '1', not the number 1"]),
        ("'1'", 1, [": is the number 1, not the string '1'"]),
        ("'1'", None, [": is null, not the string '1'"]),
        ("1", True, [": is true, not the number 1"]),
        ("true", 1, [": is the number 1, not true"]),
        ("0", False, [": is false, not the number 0"]),
        ("false", None, [": is null, not false"]),
        ("null", 0, [": is the number 0, not null"]),
        ("5", 6, [": is 6, not 5"]),
        ("1", Digits("1.00000000000000000001"), [": is 1.00000000000000000001, not 1"]),
        ("123456789012345678901", 123456789012345678902, [": is 123456789012345678902, not 123456789012345678901"]),
        ("a", ["a"], [": is an array, not the string 'a'"]),
        ("{a: 1}", [1], [": is an array, not an object"]),
        ("[1]", {"a": 1}, [": is an object, not an array"]),
        ("[1]", None, [": is null, not an array"]),
        ("a: null", {}, ["a: is missing"]),
        ("a: match:exists", {}, ["a: is missing"]),
        ("a: match:any", {}, ["a: is missing"]),
        ("a: match:not:contains:x", {}, ["a: is missing"]),
        ("a: {match:not: 5}", {}, ["a: is missing"]),
        ("constructor: match:any", {}, ["constructor: is missing"]),
        ("{}", {"a": 1}, ["a: is not expected"]),
        ("a: {b: 1}", {"a": {"b": 1, "c": 2}}, ["a.c: is not expected"]),
        ("[1, 2]", [2, 1], [": has these elements, but in another order"]),
        ("[1, 2]", [1], [": has 1 element, not 2; missing: [1] 2"]),
        ("[1, 2, 3]", [1, 3], [": has 2 elements, not 3; missing: [1] 2"]),
        ("[1, 3]", [1, 2, 3], [": has 3 elements, not 2; unexpected: [1] 2"]),
        ("[1]", [1, 2, 3, 4, 5], [": has 5 elements, not 1; unexpected: [1] 2, [2] 3, [3] 4, …"]),
        ("[]", [1], [": has 1 element, not 0; unexpected: [0] 1"]),
        ("[1]", [], [": has no elements, not 1; missing: [0] 1"]),
        ("[1, 2]", [3, 4, 5], [": has 3 elements, not 2", "[0]: is 3, not 1", "[1]: is 4, not 2"]),
        ("[match:any, b]", ["x", "c"], ["[1]: is 'c', not 'b'"]),
        ("a.b: {c d: 1}", {"a.b": {"c d": 2}}, ['["a.b"]["c d"]: is 2, not 1']),
        ("match:literal:match:x", "match:y", [": is 'match:y', not 'match:x' (differs at character 7)"]),
    ],
)
def test_what_differs_is_told_with_its_path(yaml, actual, said):
    assert told(yaml, actual) == said


LONG = "The quick brown fox jumps over the lazy dog, and then goes home to sleep for a while."


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        ("Hello", "hello", "differs only in case: 'hello', not 'Hello'"),
        ("Hello", "Hello\n", "has a trailing newline that is not expected: 'Hello\\n', not 'Hello'"),
        ("Hello\n", "Hello", "does not have the trailing newline that is expected: 'Hello', not 'Hello\\n'"),
        ("Hello", " Hello", "differs only in white space at the start: ' Hello', not 'Hello'"),
        ("Hello", " Hello  ", "differs only in white space at the start and the end: ' Hello  ', not 'Hello'"),
        ("a\nb", "a\r\nb", "differs only in the ends of lines: 'a\\r\\nb', not 'a\\nb'"),
        ("a  b", "a b", "differs only in white space: 'a b', not 'a  b'"),
        ("caf\u00e9", "cafe\u0301", "differs only in how characters are encoded (Unicode normalization): 'cafe\u0301', not 'caf\u00e9'"),
        ("Hello", "", "is an empty string, not the string 'Hello'"),
        ("", "Hello", "is the string 'Hello', not an empty string"),
        ("Hello", "Hello, World", "continues after the expected text with ', World'"),
        ("Hello, World", "Hello", "ends too early: ', World' is missing"),
        ("Hello, World", "Hello, Worms", "is 'Hello, Worms', not 'Hello, World' (differs at character 11)"),
        ("abc", "xyz", "is 'xyz', not 'abc'"),
        (LONG, LONG.replace("lazy", "idle"), "differs at character 36: '…ps over the idle dog, and then goes home to sleep for a while.', not '…ps over the lazy dog, and then goes home to sleep for a while.'"),
        (f"1\n2\n{LONG}", f"1\n2\n{LONG[:-6]}time.", "differs at line 3, character 80: '…sleep for a time.', not '…sleep for a while.'"),
    ],
)  # fmt: skip
def test_texts_that_differ_are_told_apart_where_they_part(expected, actual, said):
    field = Field(parse("x", "a.yml"), (), expected)
    assert [each.message for each in compile_expected(field).check(actual)] == [said]


def test_a_missing_member_has_the_name_that_it_probably_has():
    missing, extra = check("{name: a, id: 1}", {"nmae": "a", "id": 1})
    assert (missing.path, missing.hint) == ("name", "it has 'nmae'; is that it?")
    assert (extra.path, extra.hint) == ("nmae", None)


def test_an_unexpected_member_comes_with_advice():
    (extra,) = check("{id: 1}", {"id": 1, "annotations": {}})
    assert extra.hint == "expect it too, or put `match:partial` around what is expected"
    assert (extra.expected, extra.actual) == (NOTHING, {})


def test_a_missing_result_is_explained_by_the_error_that_came_instead():
    missing, extra = check("{result: {}}", {"error": {"code": -32601, "message": "no"}})
    assert missing.hint == 'the reply is an error: {"code":-32601,"message":"no"}'
    assert extra.path == "error"
    (missing,) = check("{match:partial: {error: {}}}", {"result": {"isError": True}})
    assert missing.hint == "the reply is a result with isError: true, which is how tools report failures"


@pytest.mark.parametrize("text", ["contains:x", "not:contains:x", "exists", "type:string", "greaterThan:5"])
def test_a_pattern_without_its_prefix_is_plain_text_with_a_hint(text):
    (mismatch,) = check(f"a: {text}", {"a": "something"})
    assert mismatch.hint == f"did you mean {'match:' + text!r}?"


def test_text_that_only_resembles_a_pattern_has_no_hint():
    for text in ("contain:x", "existing", "type"):
        assert check(f"a: {text}", {"a": "something"})[0].hint is None


@pytest.mark.parametrize(
    ("yaml", "actual", "line", "column"),
    [
        ("a:\n  b: 1\n", {"a": {"b": 2}}, 2, 3),
        ("a:\n  b: 1\n", {"a": {}}, 2, 3),
        ("a:\n  b: 1\n", {"a": {"b": 1, "c": 2}}, 1, 1),
        ("a:\n  - 1\n  - 2\n", {"a": [1, 3]}, 3, 5),
        ("match:partial:\n  a:\n    b: match:contains:x\n", {"a": {"b": "y"}}, 3, 5),
        ("a:\n  match:arrayElements:\n    n: match:type:number\n", {"a": [{"n": "x"}]}, 3, 5),
        ("match:extractField: a.b\nvalue: 5\n", {"a": {"b": 6}}, 2, 1),
        ("match:extractField: a.b\nvalue: 5\n", {}, 1, 1),
        ("a: 1\nmatch:crossField: a > b\n", {"a": 1, "b": 2}, 2, 1),
        ("match:crossField:\n  - a < b\n  - a > b\n", {"a": 1, "b": 2}, 3, 5),
        ("match:json:\n  a: 1\n", '{"a": 2}', 2, 3),
        ("match:unordered:\n  - {a: 1}\n  - {a: 2}\n", [{"a": 2}, {"a": 3}], 2, 6),
        ("match:containsAll:\n  - 1\n  - 2\n", [1], 3, 5),
        ("match:allOf:\n  - match:contains:a\n  - match:contains:b\n", "a", 3, 5),
        ("a: 1\nmatch:anyOf: [1, 2]\n", {"a": 1}, 2, 1),
    ],
)
def test_a_mismatch_points_at_the_line_to_blame(yaml, actual, line, column):
    field = given(yaml)
    (mismatch, *_) = compile_expected(field).check(actual)
    where = field.document.locate((*field.path, *mismatch.at))
    assert (where.line, where.column) == (line, column)


def test_mismatches_come_shortest_path_first():
    yaml = "{a: {b: {c: 1}}, d: [1], e: 5}"
    assert told(yaml, {"a": {"b": {"c": 2}}, "d": [2], "e": 6, "f": 7}) == [
        "f: is not expected", "e: is 6, not 5", "d[0]: is 2, not 1", "a.b.c: is 2, not 1",
    ]  # fmt: skip


def test_no_more_than_a_thousand_mismatches_are_told():
    field = Field(parse("x", "a.yml"), (), list(range(5000)))
    assert len(compile_expected(field).check([-1] * 5000)) == 1000


def test_only_a_document_without_patterns_has_no_matchers():
    assert not compile_expected(given("{a: [1, {b: contains:x}]}")).has_matchers
    assert compile_expected(given("{a: [1, {b: match:contains:x}]}")).has_matchers
    assert compile_expected(given("{a: [1, {match:partial: {}}]}")).has_matchers
    assert compile_expected(given("{a: 1}"), partial=True).has_matchers


def test_a_large_document_is_compared_in_no_time():
    def document():
        return {"tools": [{"name": f"t{n}", "n": n, "ok": True, "schema": {"type": "object"}} for n in range(10_000)]}

    expected = compile_expected(Field(parse("x", "a.yml"), (), document()))
    other = document()
    other["tools"][-1]["ok"] = 1
    start = time.thread_time()
    assert expected.check(document()) == []
    assert [each.path for each in expected.check(other)] == ["tools[9999].ok"]
    assert time.thread_time() - start < 2  # it takes a tenth of that


def nested(depth, innermost):
    for _ in range(depth):
        innermost = {"a": innermost}
    return innermost


def test_a_document_as_deep_as_a_file_can_be_is_compared():
    expected = compile_expected(Field(parse("x", "a.yml"), (), nested(490, 1)))
    assert expected.check(nested(490, 1)) == []
    assert expected.check(nested(490, 2)) != []


def test_nesting_beyond_measure_is_a_mismatch_and_no_crash():
    assert check("a: {a: 1}", nested(100_000, 1)) != []
    assert check("match:partial: {a: {match:not: {a: 5}}}", nested(100_000, 1)) == []
    expected = compile_expected(Field(parse("x", "a.yml"), (), nested(2000, 1)))
    assert expected.check(nested(2000, 1)) == []
    assert [each.message for each in expected.check(nested(2000, 2))] == ["is nested too deeply to be compared"]
    with pytest.raises(UsageError):
        compile_expected(Field(parse("x", "a.yml"), (), nested(2000, "match:any")))


@pytest.mark.parametrize(
    ("yaml", "message", "hint"),
    [
        ("a: match:containz:x", "a 'match:containz:x' asks for the unknown matcher 'containz'", "'match:contains:x'"),
        ("a: match:between:5:1", "reversed", "match:between:LOW:HIGH"),
        ("a: 'match:regex:('", "at character 1", "match:regex:REGEX"),
        ("match:parial: {}", "is not a known special key", "did you mean 'match:partial'?"),
        ("match:frobnicate: {}", "is not a known special key", "known: match:allOf"),
        ("match:arrayLength: 3", "is not a known special key", "it is a value, not a key: 'match:arrayLength:…'"),
        ("match:extractField: a.b", "has no `value` next to it", None),
        ("{match:extractField: a..b, value: 1}", "must be a path", None),
        ("{match:extractField: 5, value: 1}", "must be a string", None),
        ("match:crossField: a", "is not a condition", "startDate < endDate"),
        ("match:crossField: []", "must have a condition", None),
        ("match:unordered: 5", "must be an array", None),
        ("match:anyOf: []", "must not be empty", None),
        ("match:schema: {type: strin}", "match:schema cannot be used", None),
        ("match:schema: 5", "must be a JSON Schema", None),
        ("match:schema: {file: none.json}", "cannot read none.json", None),
        ("match:json: {a: match:containz:x}", "unknown matcher 'containz'", "'match:contains:x'"),
        ("match:partial: {a: match:type:text}", "'text' is not one of string", "match:type:TYPE"),
    ],
)
def test_a_mistake_in_the_file_is_refused_where_it_stands(yaml, message, hint):
    with pytest.raises(UsageError) as caught:
        compile_expected(given(yaml))
    assert message in caught.value.message
    assert caught.value.where.line == 1
    assert hint is None or hint in caught.value.hint


@pytest.mark.parametrize(
    ("expected", "text", "complaint"),
    [
        ("toBeEmpty", " \n", None),
        ("toBeEmpty", "oops\n", "is not empty: 'oops'"),
        ("match:ready", "server ready\n", None),
        ("match:not:Error", "server ready\n", None),
        ("match:not:Error", "Error: x\n", "matches 'Error', but must not"),
        ("match:^started$", "started\n", "is the string 'started\\n', which does not match it"),
        ("match:any", "", None),
        ("started", "started\n", None),
        ("started", "stopped\n", "is 'stopped', not 'started'"),
        ("started", "", "is an empty string, not the string 'started'"),
    ],
)
def test_a_text_such_as_stderr_is_empty_or_matches_or_is_the_same(expected, text, complaint):
    assert compile_text(given(f"a: '{expected}'").members()["a"])(text) == complaint


@pytest.mark.parametrize("yaml", ["a: {}", "a: null", "a: match:containz:x"])
def test_a_text_must_be_expected_as_a_text(yaml):
    with pytest.raises(UsageError):
        compile_text(given(yaml).members()["a"])


def test_what_is_written_alike_in_a_file_is_compiled_once_unless_a_type_differs():
    text = """\
first: {id: 1, result: {n: "match:type:number", list: [1]}}
second: {id: 2, result: {n: "match:type:number", list: [1]}}
third: {id: 3, result: {n: "match:type:number", list: [1.0]}}
fourth: {id: 4, result: {n: "match:type:number", list: ["1"]}}
"""
    document = parse(text, "a.yml")
    whole = {key: compile_expected(Field(document, (key,), value)) for key, value in document.data.items()}
    nodes = [expected._node.nodes["result"] for expected in whole.values()]
    assert [node is nodes[0] for node in nodes] == [True, True, False, False]
    (mismatch,) = whole["second"].check({"id": 2, "result": {"n": "x", "list": [1]}})
    assert (mismatch.path, mismatch.at) == ("result.n", ("result", "n"))
    assert not whole["third"].check({"id": 3, "result": {"n": 1, "list": [1]}})
    assert [each.path for each in whole["fourth"].check({"id": 4, "result": {"n": 1, "list": [1]}})] == [
        "result.list[0]"
    ]
