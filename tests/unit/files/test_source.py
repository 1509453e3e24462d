"""JSON and YAML as plain data with places: YAML by the rules of 1.2, JSON with comments, repeats refused."""

import json

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files import yaml_nodes
from mcp_conductor.files.source import load, parse


def refusal(text: str, file: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse(text, file)
    return caught.value


@pytest.mark.parametrize(
    "text",
    ["yes", "no", "on", "off", "Yes", "2024-01-01", "2024-01-01T00:00:00Z", "12:30", "1_000", "0b1", "1.2.3", "nullish"]
    + ["tRUE", "n", "y", "0o8", "0xg", "--1", "1e", "=", "abc"],
)
def test_what_yaml_1_2_calls_text_stays_text(text):
    assert parse(f"a: {text}", "x.yaml").data == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_plain_scalars_are_read_by_the_core_schema_of_yaml_1_2(text, value):
    data = parse(f"a: {text}", "x.yaml").data
    assert data == {"a": value}
    assert type(data["a"]) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"5"', "5"),
        ("'true'", "true"),
        ('""', ""),
        ("'~'", "~"),
        ("|\n  5", "5\n"),
        (">-\n  5\n  6", "5 6"),
    ],
)
def test_quoted_text_and_blocks_stay_text(text, value):
    assert parse(f"a: {text}\n", "x.yaml").data == {"a": value}


@pytest.mark.parametrize("text", ["5", "true", "~"])
def test_a_value_tagged_as_text_stays_text(text):
    assert parse(f"a: !!str {text}\n", "x.yaml").data == {"a": text}


@pytest.mark.parametrize("text", ["!!int x", "!mine 5", "!!float true"])
def test_a_tag_that_does_not_fit_is_refused(text):
    with pytest.raises(UsageError):
        parse(f"a: {text}\n", "x.yaml")


@pytest.mark.parametrize("text", ["1e999", "9" * 5000], ids=["exponent", "digits"])
def test_a_number_beyond_the_range_of_floats_does_not_become_infinity(text):
    with pytest.raises(UsageError):
        parse(f"a: {text}\n", "x.yaml")


def test_keys_are_always_text():
    assert list(parse("1: a\ntrue: b\n~: c\n", "x.yaml").data) == ["1", "true", "~"]


def test_an_empty_yaml_file_is_nothing():
    assert parse("", "x.yaml").data is None
    assert parse("# only a comment\n", "x.yaml").data is None
    assert parse("", "x.yaml").locate(()) is None


def test_nothing_has_a_place_in_an_empty_file():
    assert parse("", "x.yaml").locate(("a",)) is None


@pytest.mark.parametrize(
    ("text", "file", "place"),
    [
        ("a: x\nb: y\na: z\n", "x.yaml", "x.yaml:3:1"),
        ("- a: x\n  b: {c: x, c: y}\n", "x.yml", "x.yml:2:13"),
        ('{"a": 1,\n "b": {"c": 1, "c": 2}}', "x.json", "x.json:2:16"),
        ('{"a": 1, // one\n  "\\u0061": 2}', "x.json", "x.json:2:3"),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_its_place(text, file, place):
    assert str(refusal(text, file).where) == place


def test_an_anchor_is_one_value_wherever_it_is_used():
    data = parse("a: &x [one]\nb: *x\n", "x.yaml").data
    assert data == {"a": ["one"], "b": ["one"]}
    assert data["a"] is data["b"]


def aliases(count):
    return "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, count))


def test_a_file_of_aliases_is_read_as_long_as_all_that_they_stand_for_is_not_too_much():
    assert len(parse(aliases(12), "x.yaml").data) == 12
    refused = refusal(aliases(100), "x.yaml")
    assert refused.message == "x.yaml: it has more than 1,000,000 values"
    assert (refused.where.line, refused.where.column) == (19, 6)


def test_a_file_of_too_many_values_is_refused_before_they_are_in_memory(monkeypatch):
    monkeypatch.setattr(yaml_nodes, "MOST_VALUES", 20_000)
    assert refusal("- a\n" * 20_000, "x.yaml").message == "x.yaml: it has more than 20,000 values"


@pytest.mark.parametrize("text", ["/*" * 500_000, '"' * 500_001, ", " * 500_000, '["' + "x" * 5_000_000 + '"'])
def test_json_that_is_none_is_refused_in_linear_time(text):
    assert refusal(text, "x.json").where is not None


@pytest.mark.parametrize("text", ["a: &x [*x]\n", "&x {a: *x}\n", "a: &x\n  b: {c: [*x]}\n"])
def test_a_value_that_contains_itself_is_refused_with_its_place(text):
    assert refusal(text, "x.yaml").where.line == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1\nb: 2", 2),
        ("a:\n\tb: 2", 2),
        ("a: 1\n---\nb: 2", 2),
        ("a: *unknown", 1),
        ("? [a]\n: 1\n", 1),
        ("? {a: 1}\n: 1\n", 1),
        ("a: 'x", 1),
        ("a: b: c", 1),
    ],
)
def test_broken_yaml_is_refused_with_its_place(text, line):
    where = refusal(text, "x.yaml").where
    assert (where.file, where.line) == ("x.yaml", line)


def test_control_characters_in_yaml_are_refused():
    assert refusal("a: \x00", "x.yaml").message.startswith("x.yaml is not YAML")


@pytest.mark.parametrize("depth", [1_000, 5_000])
def test_yaml_that_is_nested_too_deeply_is_refused(depth):
    refusal("[" * depth + "]" * depth, "x.yaml")


@pytest.mark.parametrize("file", ["x.json", "X.JSON", "x.jsonc", "/some.yaml/x.json"])
def test_json_may_have_comments_and_trailing_commas(file):
    text = '{\n  // one\n  "a": [1, 2,], /* two\n lines */ "b": {"c": null, }, // last\n}\n'
    assert parse(text, file).data == {"a": [1, 2], "b": {"c": None}}


@pytest.mark.parametrize("value", ["http://x//y", "/* no comment */", ",]", ', }"', '\\"//', "a\\", "#"])
def test_what_looks_like_a_comment_or_a_comma_inside_a_string_stays(value):
    assert parse(json.dumps({"a": value, "b": [value]}), "x.json").data == {"a": value, "b": [value]}


@pytest.mark.parametrize(
    ("text", "place", "source"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "x.json:3:3", '  "b": 2'),
        ("", "x.json:1:1", ""),
        ('{"a": oops}', "x.json:1:7", '{"a": oops}'),
        ('/* one\n two */ {"a": }', "x.json:2:15", ' two */ {"a": }'),
        ('{"a": 1} // done\nextra', "x.json:2:1", "extra"),
        ("{'a': 1}", "x.json:1:2", "{'a': 1}"),
    ],
)
def test_broken_json_is_refused_with_its_place_in_the_text_as_it_was_written(text, place, source):
    where = refusal(text, "x.json").where
    assert (str(where), where.source) == (place, source)


@pytest.mark.parametrize("text", ["[" * 20_000 + "]" * 20_000, '{"a": ' + "9" * 5000 + "}"], ids=["deep", "long"])
def test_json_that_cannot_be_held_is_refused(text):
    assert refusal(text, "x.json").message.startswith("x.json is not JSON")


@pytest.mark.parametrize("word", ["NaN", "-Infinity"])
def test_nan_is_not_json(word):
    refusal(f'{{"a": {word}}}', "x.json")


def test_a_raw_tab_in_a_json_string_is_not_silently_changed():
    refusal('{"a": "x\ty"}', "x.json")


@pytest.mark.parametrize("separator", ["\u2028", "\x85"])
def test_the_source_line_is_the_line_that_an_editor_would_show(separator):
    assert refusal(f'{{"a": "x{separator}y",\n  "b": oops}}', "x.json").where.source == '  "b": oops}'


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), "1:1"),
        (("a",), "2:3"),
        (("a", "b"), "2:9"),
        (("a", "b", 1), "2:20"),
        (("a", "b", 1, "c"), "2:21"),
        (("d",), "4:3"),
        (("d", "missing"), "4:3"),
        (("missing", "d"), "1:1"),
        (("a", "b", 7), "2:9"),
    ],
)
def test_every_part_of_a_json_file_has_a_place(path, place):
    document = parse('{\n  "a": {"b": ["x", {"c":1}]}, // one\n  /* two */\n  "d": 2,\n}', "x.json")
    assert str(document.locate(path)) == f"x.json:{place}"


def test_places_in_yaml_are_those_of_keys_and_items():
    document = parse("a:\n  - b: x\n  - c\n", "x.yaml")
    assert str(document.locate(("a", 0, "b"))) == "x.yaml:2:5"
    assert str(document.locate(("a", 1))) == "x.yaml:3:5"
    assert document.locate(("a", 1)).source == "  - c"


def test_tabs_of_a_json_file_count_as_one_column():
    where = parse('{\n\t"a": 1,\n\t"b": 2\n}', "x.json").locate(("b",))
    assert (str(where), where.source) == ("x.json:3:2", '\t"b": 2')


@pytest.mark.parametrize(
    "text",
    ['{"a":"\\ud83d\\ude00","b":2}', '{"a":"\x7f","b":2}', '{"' + "k" * 2000 + '":1,"b":2}', '{"a"\n:1,"b":2}'],
    ids=["surrogates", "delete", "long key", "colon on the next line"],
)
def test_a_place_is_found_in_every_json_text(text):
    assert parse(text, "x.json").locate(("b",)) is not None


def test_a_file_is_loaded_with_or_without_a_byte_order_mark(tmp_path):
    file = tmp_path / "x.json"
    file.write_bytes(b'\xef\xbb\xbf{"a": "\xc3\xa9"}\r\n')
    document = load(str(file), "shown.json")
    assert (document.data, document.file) == ({"a": "é"}, "shown.json")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d\ude00"', "😀"),
        (r'"\uD83D\uDE00 and \ud83d\ude01"', "😀 and 😁"),
        (r'"\\ud83d"', r"\ud83d"),
        (r'"\\\ud83d\ude00"', "\\😀"),
        (r'"\ud83d"', "\ud83d"),
        (r'"\ude00\ud83d"', "\ude00\ud83d"),
        (r"'\ud83d\ude00'", r"\ud83d\ude00"),
        (r"\ud83d\ude00", r"\ud83d\ude00"),
        ("|-\n  \\ud83d\\ude00", r"\ud83d\ude00"),
    ],
)
def test_a_character_may_be_spelled_as_two_halves_in_double_quotes_as_in_json(text, value):
    assert parse(f"a: {text}\n", "x.yaml").data == {"a": value}


def test_halves_of_characters_in_a_file_change_no_place():
    document = parse('{"\\ud83d\\ude00": "\\ud83d\\ude00", "b": [1]}', "x.yaml")
    assert document.data == {"😀": "😀", "b": [1]}
    assert str(document.locate(("b", 0))) == "x.yaml:1:40"
    assert str(refusal('a: "\\ud83d\\ude00" b', "x.yaml").where) == "x.yaml:1:19"


MERGED = """\
x-one: &one {a: 1, b: 2}
x-two: &two
  b: 3
  c: [4]
whole:
  d: 5
  <<: [*one, *two]
  a: 6
"""


def test_a_merge_key_takes_in_the_members_of_mappings_and_what_is_written_out_wins():
    document = parse(MERGED, "x.yaml")
    assert document.data["whole"] == {"d": 5, "a": 6, "b": 2, "c": [4]}
    assert list(document.data["whole"]) == ["d", "a", "b", "c"]  # where they are merged: variables may use those before
    assert document.data["x-one"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(("path", "place"), [("a", "8:3"), ("b", "1:20"), ("c", "4:3"), ("d", "6:3"), ("e", "5:1")])
def test_a_merged_member_has_the_place_where_it_was_written(path, place):
    assert str(parse(MERGED, "x.yaml").locate(("whole", path))) == f"x.yaml:{place}"


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("{<<: {a: 1}, <<: {a: 2, b: 3}}", {"a": 1, "b": 3}),
        ('{"<<": 1}', {"<<": 1}),
        ("[&x {a: 1}, &y {<<: *x, b: 2}, {<<: *y, c: 3}]", [{"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}]),
        ("{<<: []}", {}),
    ],
)
def test_merge_keys_can_stand_twice_and_below_each_other_and_are_names_in_quotes(text, data):
    assert parse(text, "x.yaml").data == data


@pytest.mark.parametrize("text", ["{<<: 1}", "{<<: }", "{<<: [{}, 1]}", "{<<: [[{}]]}"])
def test_only_mappings_can_be_merged(text):
    refused = refusal(text, "x.yaml")
    assert (str(refused.where), refused.hint) == ("x.yaml:1:2", "<<: *NAME, or <<: [*NAME, *NAME]")


@pytest.mark.parametrize(
    "merging",
    [
        "".join(f"b{n}: {{<<: *a}}\n" for n in range(200)),
        "b: {" + "<<: *a, " * 200 + "}",
        f"b: {{<<: [{'*a, ' * 200}]}}",
    ],
    ids=["many mappings", "many keys", "a list"],
)
def test_what_is_merged_counts_each_time(monkeypatch, merging):
    monkeypatch.setattr(yaml_nodes, "MOST_VALUES", 20_000)
    members = ", ".join(f"k{n}: 1" for n in range(200))
    assert refusal(f"a: &a {{{members}}}\n{merging}\n", "x.yaml").message == "x.yaml: it has more than 20,000 values"


def test_a_file_that_cannot_be_read_is_named_as_the_user_called_it(tmp_path):
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    for name in ("missing.json", "", "latin.json"):
        with pytest.raises(UsageError) as caught:
            load(str(tmp_path / name), "shown.json")
        assert caught.value.message.startswith("cannot read shown.json: ")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a:\n\tb: 1\n", "indent with spaces: YAML allows no tab there"),
        ("tests:\n  - it:greets\n    call: x\n", "a space is missing after it:"),
        ("a: 1\nb:2\nc: 3\n", "a space is missing after b:"),
        ("it: does: this\n", 'a text with ": " in it must be in quotes'),
        ("x: [{text: match: Hello}]\n", 'a text with ": " in it must be in quotes'),
        ("a: {{ user }}\n", 'a text with {{ … }} must be in quotes: "{{ name }}"'),
        ("a: {{ user }} and more\n", 'a text with {{ … }} must be in quotes: "{{ name }}"'),
        ("a: [1, 2\nb: 3\n", "is what begins with [ in line 1 closed?"),
        ("é: 1\na: 'b\nc: 3\n", "is what begins with ' in line 2 closed?"),
        ('a: "b" c\n', "there is more text after the closing quote"),
        ('a: "\\d+"\n', "in double quotes a backslash begins an escape; use 'single quotes', or write it twice"),
        ("a: @b\n", "a text that begins with @ ` % * & or ! must be in quotes"),
        ("a: *b\n", "a text that begins with @ ` % * & or ! must be in quotes"),
        ("a:\n  b: 1\n c: 2\n", "is the indentation right? What belongs together begins in one column"),
        ("tests:\n  - it: x\n  expect: y\n", "is the indentation right? What belongs together begins in one column"),
        ("a: 1\n---\nb: 2\n", None),
        ("[a, b]: 1\n", None),
    ],
)
def test_a_mistake_in_yaml_that_many_make_has_a_hint(text, hint):
    with pytest.raises(UsageError) as raised:
        parse(text, "a.yml")
    assert raised.value.hint == hint


@pytest.mark.parametrize(
    ("text", "data"),
    [("a: !!str [b, 1]", {"a": ["b", 1]}), ("a: !!str {b: 1}", {"a": {"b": 1}}), ("a: !!str 1", {"a": "1"})],
)
def test_a_tag_of_text_makes_text_of_scalars_only(text, data):
    assert parse(text, "file.yml").data == data
