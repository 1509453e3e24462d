"""Reading never raises, writing never loses a digit, and every verdict names the first broken rule."""

import json

import pytest

from mcp_conductor.protocol.message import build, classify, compact, decode, kind_of, parse, read, render

NINES = "9" * 5000


def reply(members: str) -> str:
    return '{"jsonrpc":"2.0",' + members + "}"


@pytest.mark.parametrize(
    ("text", "kind", "identity"),
    [
        (reply('"id":1,"method":"ping"'), "request", 1),
        (reply('"id":"a","method":"ping"'), "request", "a"),
        (reply('"id":0,"method":"ping"'), "request", 0),
        (reply('"id":"","method":"ping"'), "request", ""),
        (reply('"id":1.0,"method":"ping"'), "request", 1),
        (reply('"method":"notifications/initialized"'), "notification", None),
        (reply('"method":"x","params":{}'), "notification", None),
        (reply('"id":1,"result":{}'), "result", 1),
        (reply('"id":1,"result":null'), "result", 1),
        (reply('"id":1,"error":{"code":-32601,"message":"no"}'), "error", 1),
        (reply('"id":1,"error":{"code":1.0,"message":"no"}'), "error", 1),
        (reply('"id":null,"error":{"code":-32700,"message":"what?"}'), "error", None),
        (reply('"error":{"code":-32700,"message":"what?"}'), "error", None),
        (reply('"id":-9007199254740993,"result":{}'), "result", -9007199254740993),
        ('[{"jsonrpc":"2.0","id":1,"result":{}}]', "batch", None),
    ],
)
def test_a_proper_message_has_a_kind_and_an_id_and_no_problem(text, kind, identity):
    message = parse(text)
    assert (message.kind, message.id, message.problem) == (kind, identity, None)


@pytest.mark.parametrize(
    ("text", "kind", "identity", "problem"),
    [
        ("[]", "batch", None, "an empty batch"),
        ("5", "invalid", None, "a message must be an object, not a number"),
        ('"hello"', "invalid", None, "a message must be an object, not a string"),
        ("null", "invalid", None, "a message must be an object, not null"),
        ("true", "invalid", None, "a message must be an object, not a boolean"),
        ("{}", "invalid", None, "has neither method, result nor error"),
        (reply('"id":1'), "invalid", 1, "has neither method, result nor error"),
        (reply('"id":1,"result":{},"error":{}'), "invalid", 1, "has both result and error"),
        (reply('"result":{}'), "invalid", None, "a result without an id"),
        (reply('"id":null,"result":{}'), "invalid", None, "a result without an id"),
        (reply('"id":null,"method":"x"'), "invalid", None, "a request must not have the id null"),
        (reply('"id":1.5,"method":"x"'), "request", 1.5, "an id must not have a fraction"),
        (reply('"id":1.5,"result":{}'), "result", 1.5, "an id must not have a fraction"),
        (reply('"id":true,"method":"x"'), "invalid", None, "an id must be a string or an integer, not a boolean"),
        (reply('"id":true,"result":{}'), "invalid", None, "an id must be a string or an integer, not a boolean"),
        (reply('"id":[1],"result":{}'), "invalid", None, "an id must be a string or an integer, not an array"),
        (reply('"id":{},"method":"x"'), "invalid", None, "an id must be a string or an integer, not an object"),
        (reply('"id":1,"method":5'), "invalid", None, "method must be a string, not a number"),
        (reply('"id":1,"method":null'), "invalid", None, "method must be a string, not null"),
        (reply('"id":1,"method":"x","result":{}'), "request", 1, "has a method and an answer at once"),
        (reply('"method":"x","error":{}'), "notification", None, "has a method and an answer at once"),
        (reply('"id":1,"method":"x","params":[1]'), "request", 1, "params must be an object, not an array"),
        (reply('"method":"x","params":null'), "notification", None, "params must be an object, not null"),
        (reply('"id":1,"error":"no"'), "error", 1, "error must be an object, not a string"),
        (reply('"id":1,"error":{"message":"no"}'), "error", 1, "error.code must be an integer"),
        (reply('"id":1,"error":{"code":true,"message":"no"}'), "error", 1, "error.code must be an integer"),
        (reply('"id":1,"error":{"code":"1","message":"no"}'), "error", 1, "error.code must be an integer"),
        (reply('"id":1,"error":{"code":1.5,"message":"no"}'), "error", 1, "error.code must be an integer"),
        (reply('"id":1,"error":{"code":1}'), "error", 1, "error.message must be a string"),
        (reply('"id":1,"error":{"code":1,"message":null}'), "error", 1, "error.message must be a string"),
        ('{"id":1,"method":"x"}', "request", 1, '"jsonrpc": "2.0" is missing'),
        ('{"jsonrpc":"1.0","id":1,"result":{}}', "result", 1, '"jsonrpc" must be "2.0", not "1.0"'),
        ('{"jsonrpc":2.0,"id":1,"result":{}}', "result", 1, '"jsonrpc" must be "2.0", not 2.0'),
        ('{"jsonrpc":null,"method":"x"}', "notification", None, '"jsonrpc" must be "2.0", not null'),
    ],
)
def test_the_first_broken_rule_is_named_and_the_message_stays_usable_where_it_can(text, kind, identity, problem):
    message = parse(text)
    assert (message.kind, message.id, message.problem) == (kind, identity, problem)
    assert message.text == text


def test_build_and_parse_agree_on_every_verdict():
    for raw in ({"jsonrpc": "2.0", "id": 1, "method": "x"}, {"id": 1}, [], [1], 5, {"jsonrpc": "2.0", "error": {}}):
        built = build(raw)
        parsed = parse(built.text)
        assert (built.kind, built.id, built.problem) == (parsed.kind, parsed.id, parsed.problem) == classify(raw)


@pytest.mark.parametrize("params", ["[1,2]", "null", "5"])
def test_params_that_are_no_object_read_as_empty(params):
    assert parse(reply(f'"method":"x","params":{params}')).params == {}


def test_the_parts_of_a_message_are_as_they_came():
    assert parse(reply('"id":1,"method":"x","params":{"a":1}')).method == "x"
    assert parse(reply('"id":1,"method":"x","params":{"a":1}')).params == {"a": 1}
    assert parse(reply('"id":1,"result":[1]')).result == [1]
    assert parse(reply('"id":1,"error":{"code":1,"message":"","data":[]}')).error == {
        "code": 1,
        "message": "",
        "data": [],
    }


@pytest.mark.parametrize(
    "text",
    ["", " ", "hello", "{", '{"a":}', "{'a':1}", '{"a":1}{"b":2}', '{"a":01}', "[1,]", '"\x01"', '"\\x"', "\ufeff{}"],
)
def test_text_that_is_not_json_is_an_invalid_message_that_says_where(text):
    message = parse(text)
    assert (message.kind, message.raw, message.text) == ("invalid", None, text)
    assert message.problem is not None
    assert message.problem.startswith("not JSON: ")
    assert " at character " in message.problem


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_not_json(word):
    message = parse(reply(f'"id":4,"result":{word}'))
    assert (message.kind, message.id, message.problem) == ("invalid", 4, f"not JSON: {word} is not a JSON value")
    with pytest.raises(ValueError):  # noqa: PT011
        read(word)


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        (reply('"id":7,"result":NaN'), 7),
        ('{"jsonrpc":"2.0","id":7,"result":{"a":', 7),
        ('{"id":"seven","result":oops}', "seven"),
        ('  { "jsonrpc" : "2.0" , "id" : -7 , "result" : oops }', -7),
        ('{"id":"a\\"b\\u00e9","result":oops}', 'a"bé'),
        ('{"jsonrpc":"2.0","result":oops,"id":7}', 7),
        ('{"jsonrpc":"2.0","result":{"id":3,"x":oops},"id":7} ', 7),
        ('{"jsonrpc":"2.0","result":{"id":3,"x":oops}}', None),
        ('{"jsonrpc":"2.0","id":7,"method":"x","params":oops}', None),
        ('{"id":7.5,"result":oops}', None),
        ('{"id":null,"result":oops}', None),
        ('{"jsonrpc":"2.0","result":"\\"id\\":3,', None),
        ("debug: id 7", None),
    ],
)
def test_the_id_of_an_unreadable_answer_is_salvaged_from_its_text(text, identity):
    message = parse(text)
    assert (message.kind, message.id) == ("invalid", identity)


def test_the_id_of_an_inner_object_is_never_taken_for_the_id_of_a_cut_off_message():
    assert parse('{"jsonrpc":"2.0","result":{"name":"x","id":5}').id is None


@pytest.mark.parametrize(
    "identity",
    ['"\\q"', '"a\tb"', "007", "\u0661", NINES],
    ids=["escape", "control character", "leading zeros", "other digits", "5000 digits"],
)
def test_reading_does_not_raise_when_the_salvaged_id_is_no_json_either(identity):
    assert parse(reply(f'"id":{identity},"result":oops')).kind == "invalid"


@pytest.mark.parametrize("depth", [10_000, 100_000])
@pytest.mark.parametrize(
    "text", ['{{"jsonrpc":"2.0","id":7,"result":{}}}', '{{"jsonrpc":"2.0","result":{},"id":7}}'], ids=["first", "last"]
)
@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "1}")], ids=["arrays", "objects"])
def test_deep_nesting_is_read_or_refused_but_never_raised_and_the_id_survives(depth, text, begin, end):
    nested = begin * depth + end[:-1] + end[-1] * depth
    message = parse(text.format(nested))
    assert message.id == 7
    assert message.kind == "result" or message.problem == "nested too deeply to be read"
    assert message.remarks() == []


def test_a_nested_text_that_is_cut_off_does_not_raise():
    assert parse("[" * 100_000).kind == "invalid"


@pytest.mark.parametrize(
    "text",
    [
        "1.10",
        "1.0",
        "1E5",
        "1e5",
        "1e400",
        "-1e400",
        "-0.0",
        "0.1",
        "0.12345678901234567890123",
        "1e-400",
        "9007199254740993",
        "123456789012345678901234567890",
        "-" + "9" * 4000,
        NINES,
        "-" + NINES,
        "true",
        "null",
        '"é \\" \\\\ \\n \U0001f600"',
        "[]",
        "{}",
        f'{{"a":[1,{{"b":null,"c":[{NINES}]}}],"d":{{}}}}',
        '{"z":1,"a":2}',
    ],
    ids=lambda text: text[:24],
)
def test_a_value_is_shown_exactly_as_it_was_written(text):
    assert render(read(text)) == text


def test_minus_zero_keeps_its_sign():
    assert render(read("-0")) == "-0"


@pytest.mark.parametrize(
    "text",
    [
        NINES,
        "1e400",
        "9007199254740993",
        "-0.0",
        pytest.param("1.10"),
        pytest.param(
            "0.12345678901234567890123",
        ),
    ],
    ids=lambda text: text[:24],
)
def test_a_number_is_sent_as_it_was_written(text):
    assert build({"n": read(text)}).text == f'{{"n":{text}}}'


@pytest.mark.parametrize("number", ["1e400", NINES], ids=["exponent", "digits"])
def test_an_endless_error_code_does_not_raise(number):
    message = parse(reply(f'"id":1,"error":{{"code":{number},"message":"no"}}'))
    assert (message.kind, message.id) == ("error", 1)


def test_an_integer_id_of_any_length_has_no_fraction():
    assert parse(reply(f'"id":{NINES},"result":{{}}')).problem is None


def test_a_value_is_indented_as_json_dumps_does():
    value = {"a": [1, {"b": "é"}, [], {}], "c": {}, "d": {"e": [[1], [2, 3]]}, "f": None}
    assert render(value, 2) == json.dumps(value, indent=2, ensure_ascii=False)
    assert render(value) == compact(value) == json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("value", [None, [], {}, "", 0, False])
def test_an_empty_value_is_shown_as_itself(value):
    assert render(value, 2) == compact(value) == json.dumps(value)


def test_a_value_nested_too_deeply_for_the_standard_encoder_is_still_written():
    value: list = []
    for _ in range(19_999):
        value = [value]
    assert compact(value) == render(value) == "[" * 20_000 + "]" * 20_000


@pytest.mark.parametrize("escape", ["\\ud800", "\\udfff", "\\ud800x"])
def test_lone_surrogates_are_read_and_written_back_as_escapes(escape):
    text = reply(f'"id":1,"result":{{"{escape}":"{escape}"}}')
    message = parse(text)
    assert (message.kind, message.problem) == ("result", None)
    assert build(message.raw).text == render(message.raw) == text
    assert render(message.raw).encode()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}', "not UTF-8: byte 0xff at offset 39"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xc3"}}', "not UTF-8: byte 0xc3 at offset 39"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xed\xa0\x80"}}', "not UTF-8: byte 0xed at offset 39"),
    ],
)
def test_broken_utf8_is_kept_and_complained_about(line, problem):
    message = decode(line)
    assert (message.kind, message.id, message.problem) == ("result", 1, problem)
    assert message.text.encode(errors="surrogateescape") == line


def test_of_two_problems_the_one_of_the_message_is_told_before_the_one_of_its_bytes():
    assert decode(b'{"id":1,"result":"\xff"}').problem == '"jsonrpc": "2.0" is missing'
    assert decode(b"\xff\xfe").kind == "invalid"


def test_good_bytes_are_read_like_their_text():
    text = reply('"id":1,"result":"é"')
    assert decode(text.encode()) == parse(text)


@pytest.mark.parametrize(
    ("result", "remarks"),
    [
        ('{"a":1,"b":2}', []),
        ('{"a":1,"a":2}', ['the key "a" stands twice in one object']),
        (
            '[{"a":1,"a":2},{"b":{"c":1,"c":1,"c":1}}]',
            ['the key "a" stands twice in one object', 'the key "c" stands twice in one object'],
        ),
        ('[{"a":1},{"a":2}]', []),
        ("9007199254740991", []),
        ("9007199254740992", ["9007199254740992 is beyond 2^53 - 1: many peers cannot hold it"]),
        ("-9007199254740992", ["-9007199254740992 is beyond 2^53 - 1: many peers cannot hold it"]),
        ("9007199254740993.0", []),
        (NINES, [f"{'9' * 40} is beyond 2^53 - 1: many peers cannot hold it"]),
    ],
    ids=lambda value: str(value)[:24],
)
def test_repeated_keys_and_unsafe_integers_are_noticed(result, remarks):
    message = parse(reply(f'"id":1,"result":{result}'))
    assert message.problem is None
    assert message.remarks() == remarks


def test_a_repeated_id_is_noticed_and_the_last_one_counts():
    message = parse(reply('"id":1,"id":2,"result":{}'))
    assert (message.id, message.remarks()) == (2, ['the key "id" stands twice in one object'])


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (True, "a boolean"), ("", "a string"), (1, "a number"), (1.5, "a number")]
    + [(read(NINES), "a number"), ([], "an array"), ({}, "an object")],
    ids=lambda value: str(value)[:12],
)
def test_every_kind_of_value_has_a_word(value, kind):
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": "\n"}', "invalid control character at character 8"),
        ('{"a": "b', "unterminated string starting at character 7"),
        ('{"a": "\\x"}', "invalid \\escape at character 8"),
        ("{", "expecting property name enclosed in double quotes at character 2"),
    ],
)
def test_what_is_wrong_with_json_is_one_sentence(text, problem):
    assert parse(text).problem == f"not JSON: {problem}"
