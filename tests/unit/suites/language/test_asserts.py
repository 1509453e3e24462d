"""Assertions on one line: what they accept, what they say otherwise, and which lines are none."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import Document
from mcp_conductor.suites.language.asserts import compile_assert

REPLY = {
    "result": {
        "tools": [{"name": "read_file"}, {"name": "write_file"}],
        "content": [{"type": "text", "text": '{"items": [1, 2, 3]}'}],
        "isError": False,
        "n": 5,
        "text": "Hello, World",
        "digits": "5",
        "version": "1.0",
        "none": None,
        "list": [1, "two", {"a": 1}],
        "empty": [],
        "blank": "",
        "since": "2024-05-01T00:00:00Z",
        "object": {"key": 1},
    },
    "notifications": [{"method": "notifications/progress"}, {"method": "notifications/progress"}],
    "duration": 0.312,
}


def assertion(text):
    data = [text]
    return compile_assert(Field(Document("a.test.yml", f"- {text}", data, json=False), (0,), text))


@pytest.mark.parametrize(
    "text",
    [
        "any result.tools[*].name == read_file",
        "any  result.tools[*].name  not contains write",
        "result.tools[*].name contains _file",
        "result.tools[*].name contains:_file",
        "result.tools[*].name not contains delete",
        "result.content[0].text | json | items  count >= 3",
        "result.content[0].text | json | items | count == 3",
        "result.content[0].text | json | items length < 4",
        "duration < 400ms",
        "duration<1s",
        "duration >= 0.3s",
        "notifications[method=notifications/progress] count >= 2",
        "notifications[method=notifications/message] count == 0",
        "result.isError == false",
        "result.isError != true",
        "result.n == 5",
        "result.n = 5.0",
        "result.n==5",
        "result.n != 6",
        "result.n > 4.5",
        "result.n <= 5",
        "result.digits > 4",
        'result.digits == "5"',
        'result.version == "1.0"',
        "result.version == '1.0'",
        "result.text == Hello, World",
        'result.text == "Hello, World"',
        "result.text contains lo, W",
        'result.text contains "World"',
        "result.text startsWith Hello",
        "result.text endsWith World",
        "result.text matches /^hello/i",
        "result.text matches ^Hello, \\w+$",
        "result.text not matches /bye/",
        "result.text exists",
        "result.none not exists",
        "result.missing not exists",
        "result.empty isEmpty",
        "result.blank isEmpty",
        "result.list not isEmpty",
        'result.list == [1, "two", {"a": 1.0}]',
        "result.list contains 1",
        "result.list contains two",
        'result.list contains {"a": 1}',
        "result.object contains key",
        "result.object count == 1",
        "result.none == null",
        "result.since > 2024-01-01",
        "result.n between:1:5",
        "result.n type:integer",
        "result.n greaterThan 4",
        "result.tools count 2",
        "result.n not between:6:9",
        "result.text stringLength:12",
        "result.tools arrayContains:name:read_file",
        "result.since dateAfter:2024-01-01T10:00:00Z",
        "result.list contains  two",
        "match:any",
    ],
)
def test_a_true_assertion_has_no_complaint(text):
    assert assertion(text).check(REPLY) is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "result.tools[*].name contains read",
            "fails for 1 of 2 values: result.tools[1].name does not contain 'read': 'write_file'",
        ),
        (
            "any result.tools[*].name == list_files",
            "fails for 2 of 2 values: result.tools[0].name is 'read_file', not 'list_files', and 1 more",
        ),
        ("result.tools[name=read_file].name == x", "is 'read_file', not 'x'"),
        ("result.tools[*].nme contains x", "is missing: no element there fits, or has it"),
        ("result.tools count >= 3", "has 2 elements, not at least 3"),
        ("result.n count == 3", "is the number 5, which cannot be counted"),
        ("result.text count == 3", "is the string 'Hello, World', which cannot be counted"),
        ("result.text length == 3", "has 12 characters, not 3"),
        ("duration < 200ms", "is 312 ms, not less than 200 ms"),
        ("duration > 1s", "is 312 ms, not greater than 1000 ms"),
        ("result.n > 5", "is 5, not greater than 5"),
        ("result.n == 6", "is 5, not 6"),
        ("result.n != 5", "is 5, but must not be"),
        ("result.text > 5", "is the string 'Hello, World', not a number"),
        ("result.none > 5", "is null, not a number"),
        ("result.digits == 5", 'is the string \'5\', not the number 5 (a text is written in quotes: == "5")'),
        ("result.isError == 0", "is false, not the number 0"),
        ("result.text == Hello", "continues after the expected text with ', World'"),
        ("result.text contains world", "does not contain 'world': 'Hello, World'"),
        ("result.n contains 5", "is the number 5, not text, an array or an object"),
        ("result.object contains ke", "has no member 'ke'; it has 'key'"),
        ("result.text startsWith World", "does not start with 'World', but with 'Hello, World'"),
        ("result.text matches /^World/", "is 'Hello, World', which does not match /^World/"),
        ("result.n matches /5/", "is the number 5, not text"),
        ("result.none exists", "is null"),
        ("result.isErorr exists", "is missing: result has no 'isErorr'; it has 'isError'"),
        ("result.missing != 5", "is missing: result has no 'missing'; it has " + ", ".join(
            repr(name) for name in list(REPLY["result"])[:8]) + ", …"),
        ("result.list isEmpty", 'is not empty: [1,"two",{"a":1}]'),
        ("result.n isEmpty", "is the number 5, which is never empty"),
        ("result.text not contains World", "is 'Hello, World', but `contains World` must not be true of it"),
        ("result.n between:6:9", "is 5, not from 6 to 9"),
        ("result.since < 2024-01-01", "is '2024-05-01T00:00:00Z', not less than '2024-01-01'"),
    ],
)  # fmt: skip
def test_a_false_assertion_says_what_is_the_case(text, complaint):
    assert assertion(text).check(REPLY) == complaint


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("result.tools", "only a path", "for example"),
        ("result.tools containz x", "unknown predicate 'containz'", "did you mean 'contains'?"),
        ("result.tools contains", "nothing follows 'contains'", "for example"),
        ("result.n ==", "nothing follows ==", "for example"),
        ("result.n between:5:1", "reversed", "match:between:LOW:HIGH"),
        ("result.n betwen:1:5", "unknown predicate 'betwen'", "did you mean 'between'?"),
        ("result.text matches /(/", "not a regular expression", "for example"),
        ("duration < 200", "'200' is not a time with its unit", "for example"),
        ("duration < fast", "'fast' is not a time", "for example"),
        ("result..n == 1", "a name is missing after the dot", "for example"),
        ("result.n greaterThan", "has nothing after 'greaterThan'", "match:greaterThan:NUMBER"),
        ("== 5", "should begin with a name", "for example"),
        ("result.n @ 5", "cannot read '@ 5'", "for example"),
        ("any result.n == 5", "has `any`, but selects only one value", "before a path with [*] or a filter"),
        ("any result.tools[*] count == 5", "has `any`, but counts all values", "without count"),
        ("any result.tools[*] | count == 5", "has `any`, but selects only one value", "without count"),
    ],
)
def test_a_line_that_is_no_assertion_is_refused_where_it_stands(text, message, hint):
    with pytest.raises(UsageError) as caught:
        assertion(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_an_assertion_must_be_a_text():
    with pytest.raises(UsageError):
        assertion({"result": 1})


# What is selected by a filter or by *.


SELECTING = {
    "result": {
        "tools": [{"name": "aa", "note": 1, "tags": ["x", "y"]}, {"name": "ab", "tags": []}],
        "none": [],
        "lists": [[1, 2], [3]],
        "texts": ["1", "2", "22"],
        "same": [5, 5.0],
    },
    "notifications": [],
}


@pytest.mark.parametrize(
    ("text", "of_all", "of_any"),
    [
        ("result.tools[*].name exists", True, True),
        ("result.tools[*].note exists", False, True),
        ("result.tools[*].nope exists", False, False),
        ("result.none[*] exists", False, False),
        ("result.none[*].x exists", False, False),
        ("result.missing[*] exists", False, False),
        ("result.tools[name=aa] exists", True, True),
        ("result.tools[name=aa].note exists", True, True),
        ("result.tools[name=zz].note exists", False, False),
        ("result.tools[*].nope not exists", True, True),
        ("result.tools[*].note not exists", False, True),
        ("result.tools[*].name not exists", False, False),
        ("result.none[*] not exists", True, False),
        ("notifications[method=x] not exists", True, False),
        ("result.missing[*] not exists", True, True),
        ("result.tools[*].name == aa", False, True),
        ("result.same[*] == 5", True, True),
        ("result.tools[*].note == 1", False, True),
        ("result.none[*] == 1", False, False),
        ("result.tools[*].name != aa", False, True),
        ("result.tools[*].name != zz", True, True),
        ("result.tools[*].note != 2", False, True),
        ("result.none[*] != 1", False, False),
        ("result.tools[name=zz].name != x", False, False),
        ("result.tools[*].name not == aa", False, True),
        ("result.tools[*].name contains a", True, True),
        ("result.tools[*].name contains b", False, True),
        ("result.tools[*].tags contains x", False, True),
        ("result.tools[*].tags[*] contains x", False, True),
        ("result.tools[*].name not contains b", False, True),
        ("result.tools[*].name not contains z", True, True),
        ("result.tools[*].note not contains z", True, True),
        ("result.tools[*].nmae not contains a", False, False),
        ("result.none[*].name not contains z", True, False),
        ("notifications[method=x].params.data not contains secret", True, False),
        ("result.tools[*].name startsWith a", True, True),
        ("result.tools[*].name endsWith b", False, True),
        ("result.tools[*].name matches /^a.$/", True, True),
        ("result.tools[*].name matches /b/", False, True),
        ("result.tools[*].name not matches /b/", False, True),
        ("result.tools[*].name regex:^a", True, True),
        ("result.tools[*].name type:string", True, True),
        ("result.tools[*].note type:number", False, True),
        ("result.tools[*].tags type:array", True, True),
        ("result.texts[*] > 1", False, True),
        ("result.texts[*] >= 1", True, True),
        ("result.texts[*] between:1:2", False, True),
        ("result.texts[*] | json == 22", False, True),
        ("result.texts[*] length == 1", False, True),
        ("result.texts[*] | length == 1", False, True),
        ("result.texts[*] | size <= 2", True, True),
        ("result.tools[*].tags length <= 2", True, True),
        ("result.tools[*].tags arrayLength:2", False, True),
        ("result.tools[*].tags arrayContains:x", False, True),
        ("result.lists[*] == [1, 2]", False, True),
        ("result.lists[*][*] < 4", True, True),
        ("result.tools[*].tags isEmpty", False, True),
        ("result.tools[*].tags not isEmpty", False, True),
        ("notifications[method=x] isEmpty", False, False),
    ],
)
def test_a_predicate_is_about_each_of_several_values_and_about_one_after_any(text, of_all, of_any):
    assert (assertion(text).check(SELECTING) is None) == of_all
    assert (assertion(f"any {text}").check(SELECTING) is None) == of_any


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("result.tools[*] count == 2", True),
        ("result.tools[*].note count == 1", True),
        ("result.tools[*].note | count == 1", True),
        ("result.tools[*].tags[*] count == 2", True),
        ("result.tools[*].tags[*] | count == 2", True),
        ("result.tools[*].nope count == 0", False),  # most likely misspelled
        ("result.tools[*].nope | count == 0", False),
        ("result.none[*].nope count == 0", True),
        ("result.none[*] | count == 0", True),
        ("result.missing[*] count == 0", False),
        ("notifications[method=x] count == 0", True),
        ("result.tools[*] count 2", True),
        ("result.tools[*] not count == 3", True),
        ("result.tools[tags.*=x] count == 0", True),
    ],
)
def test_count_is_about_all_values_together(text, holds):
    assert (assertion(text).check(SELECTING) is None) == holds


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("result.tools[*].note exists", "any result.tools[*].note exists"),
        ("result.tools[*].name contains aa", "any result.tools[*].name == aa"),
        ("result.tools[*].name not contains b", "result.tools[*].name != b"),
        ("result.texts[*] length == 3", "result.texts[*] count == 3"),
        ("result.texts[*] | length == 3", "result.texts[*] count == 3"),
        ("result.texts[*] length:3", "result.texts[*] count == 3"),
        ("result.texts[*] arrayLength:3", "result.texts[*] count == 3"),
        ("notifications[method=x] isEmpty", "notifications[method=x] count == 0"),
        ('result.texts[*] == ["1", "2", "22"]', "match:extractField, under `result`, compares the array"),
        ("result.texts[*] == 5", None),
        ("result.tools[*].name contains zz", None),
        ("result.tools[*].name != aa", None),
        ("result.texts[*] | length == 7", None),
        ("result.missing[*] | length == 7", None),
        ("any result.texts[*] == 5", None),
        ("result.tools[*].note size < 100", None),  # which is younger than that
    ],
)
def test_a_line_that_was_once_true_of_the_array_says_how_to_write_it_now(text, better):
    line = assertion(text)
    assert line.check(SELECTING) is not None
    start = "a path to several values means each of them, no longer their array: "
    assert line.hint(SELECTING) == (better and f"{start}{better.removeprefix(start)}")


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("result.tools[*] length == 2", "result.tools[*] count …"),
        ("result.tools[*] | length > 0", "result.tools[*] count …"),
        ("result.content[type=text] length == 1", "result.content[type=text] count …"),
        ("result.tools[name=x] isEmpty", "result.tools[name=x] count == 0"),
        ("result.tools[name=x] not isEmpty", "result.tools[name=x] count > 0"),
        ("result.tools[*] not isEmpty", "result.tools[*] count > 0"),
        ("notifications[*] not isEmpty", "notifications[*] count > 0"),
        ("notifications[method=x] not isEmpty", "notifications[method=x] count > 0"),
        ("result | length < 2000", "result size …"),
        ("result length <= 2000", "result size …"),
        ("result length == 1", None),
        ("result | length > 0", None),
        ("result.text length < 2000", None),
        ("result size < 2000", None),
        ("result.structuredContent length < 2000", None),
        ("result.structuredContent.names[*] length > 0", None),
        ("result.structuredContent.names[*] not isEmpty", None),
        ("result.structuredContent.tools[*] | length > 3", None),
        ("result.content[0].text | json | tools[*] not isEmpty", None),
        ("result.tools[*].name length > 0", None),
        ("result.tools[*].name not isEmpty", None),
        ("any result.tools[*] not isEmpty", None),
        ("result.tools[*] count == 2", None),
    ],
)
def test_a_line_that_is_true_of_anything_or_of_nothing_is_doubted(text, better):
    doubt = assertion(text).doubt
    assert doubt is None if better is None else f"`{better}`" in doubt


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("result.word", 3),  # é is two
        ("result.map", 14),
        ("result.list", 8),
        ("result.none", 4),
        ("result.half", 3),
        ("result.word | json", None),
    ],
)
def test_size_is_bytes_of_a_text_or_of_compact_json(text, bytes_):
    document = {
        "result": {"word": "é!", "map": {"a": ["é", 1]}, "list": [1, " 2", {}][:2], "none": None, "half": "\ud83d"}
    }
    for form in (f"{text} size == {bytes_}", f"{text} | size == {bytes_}"):
        if bytes_ is None:
            assert "is missing" in assertion(form.replace("None", "0")).check(document)
        else:
            assert assertion(form).check(document) is None, assertion(form).check(document)
    if bytes_ is not None:
        assert assertion(f"{text} size < 2").check(document) == f"has {bytes_} bytes, not less than 2"


def test_after_json_size_is_a_member():
    assert assertion("result.text | json | size == 7").check({"result": {"text": '{"size": 7}'}}) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("tools[0].name exists", "result.tools[0].name"),
        ("reslt.isError exists", "result.isError"),
        ("text contains Ada", "result.content[0].text"),
        ("message contains lost", "error.message"),
        ("code == 1", "error.code"),
        ("response.error.code == 1", "error.code"),
    ],
)
def test_a_root_that_is_nowhere_is_answered_with_the_path_that_was_meant(text, meant):
    with pytest.raises(UsageError) as raised:
        assertion(text)
    assert f"did you mean {meant!r}?" in raised.value.hint


@pytest.mark.parametrize("text", ["reslt.isError not exists", "tools[0].name == x", "notification[0] exists"])
def test_a_root_that_is_nowhere_is_a_mistake(text):
    with pytest.raises(UsageError, match="which is not a root of a path"):
        assertion(text)


def test_after_a_dollar_any_member_of_an_odd_reply_can_be_looked_at():
    assert assertion("$.odd == 1").check({"odd": 1}) is None
