"""The pure parts of discover: YAML that reads back as it was meant, arguments that fit, replies as expectations."""

import random

import pytest

from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import Document, parse
from mcp_conductor.protocol.dialect import NEWEST_HANDSHAKE
from mcp_conductor.protocol.message import Digits
from mcp_conductor.suites.authoring.case_drafts import CaseDraft
from mcp_conductor.suites.authoring.discover import Discovery, WrittenCase
from mcp_conductor.suites.authoring.personal import Personal
from mcp_conductor.suites.authoring.recorder import Recorder, plain_data
from mcp_conductor.suites.authoring.suite_text import suite_text, template
from mcp_conductor.suites.authoring.yaml_text import block, comment, entry, is_writable
from mcp_conductor.suites.language.expectations import Observed, read_expect
from mcp_conductor.suites.language.variables import Variables, filling

NASTY = [
    "", " ", "a", "no", "Yes", "off", "null", "~", "true", "NaN", ".inf", "0", "-1", "1e3", "0x1f", "0o17", "1_000", "12:30",
    "2026-01-01", "- a", "-", "? a", "a: b", "a:", ":a", "a #b", "#a", "a#b", "&a", "*a", "!a", "%a", "@a", "`a`", "|", ">", "=", "<<",
    "[a]", "{a}", "{{ a }}", r"\{{ a", "{{{", "a, b", "'", '"', "''", "it's", 'say "hi"', "\\", "\\n", r"C:\path\x41", "a\nb", "a\nb\n",
    "\na", "a\n", "a\n\nb", "a \nb", " a\nb", "a\r\nb", "\t", "a\tb", "\0", "\x07", "\x7f", "\x85", "\xa0", "é", "日本", "😀", "\u2028",
    "\ufeff", "\ufffe", "---", "...", "--- a", "match:any", "match:contains:x", "match:literal:match:x", "match:", "x" * 2000, "a b" * 500,
    "# a\n# b", "key: v\n- x", "a\n  b\n c", "'a\nb'", "y", "n", "a  b", "trailing ", "ends: ", "\ud7ff\ue000",
]  # fmt: skip


def read(lines):
    return parse("\n".join(lines) + "\n", "x.yml").data


@pytest.mark.parametrize("text", NASTY)
def test_a_text_is_read_back_as_it_was(text):
    for value in (text, [text], {"k": text}, [[text], {"k": {"k": [text, {"k": text}]}}], {"long": ["x" * 100, text]}):
        assert read(entry("key", value)) == {"key": value}
        assert read(block([value, value])) == [value, value]
    if is_writable({text: 1}):
        assert read(entry(text, {text: 1, "b": {text: text}})) == {text: {text: 1, "b": {text: text}}}


@pytest.mark.parametrize(
    "value", [None, True, False, 0, -1, 1.5, -0.0, 1e300, 1e-7, 10**30, [], {}, [[]], [{}], {"a": []}]
)
def test_what_is_no_text_is_read_back_as_it_was(value):
    assert read(entry("key", value)) == {"key": value}
    assert read(block([value])) == [value]


def test_any_data_is_read_back_as_it_was():
    chance = random.Random(1)

    def some(depth):
        kind = chance.randrange(6 if depth < 5 else 3)
        if kind < 2:
            return "".join(chance.choices(NASTY, k=chance.randrange(3)))[:400]
        if kind == 2:
            return chance.choice([None, True, 1, 2.5])
        if kind == 3:
            return [some(depth + 1) for _ in range(chance.randrange(4))]
        return {"".join(chance.choices(NASTY, k=2))[:400]: some(depth + 1) for _ in range(chance.randrange(4))}

    for _ in range(500):
        data = some(0)
        assert read(entry("key", data)) == {"key": data}


def test_short_things_stand_on_one_line_and_long_texts_as_blocks():
    assert entry("call", {"tool": "add", "args": {"a": 1}}) == ["call: {tool: add, args: {a: 1}}"]
    assert entry("text", "one\ntwo\n", 2) == ["  text: |", "    one", "    two"]
    assert entry("read", "test://static") == ["read: test://static"]
    assert entry("text", '{"a": 1}') == ["text: '{\"a\": 1}'"]
    assert entry("expect", {"result": "match:type:string"}) == ['expect: {result: "match:type:string"}']


def test_a_comment_is_one_printable_line():
    assert comment("two\nlines \x07 and\u2028more") == "# two lines \ufffd and more"
    assert len(comment("x" * 1000)) < 110


def test_lone_surrogates_and_endless_keys_cannot_be_written():
    assert not is_writable("\ud800")
    assert not is_writable([{"\udfff": 1}])
    assert not is_writable({"k" * 2000: 1})
    assert not is_writable(Digits("1e400"))


NOW = 1_790_000_000.0
MINE = {"EDITOR": "/opt/tools/my-editor", "USER": "ada", "FAVOURITE": "hazelnut", "MODE": "on"}
PERSONAL = Personal(MINE, paths=["/home/me/project"], host="adas-laptop")
RECORDER = Recorder(now=NOW, personal=PERSONAL, redact=lambda text: text.replace("s3cret", "***"))


def passes(expected, actual):
    """Whether an expectation, written and read again, accepts ACTUAL."""
    again = read(entry("expect", {"result": expected}))["expect"]
    expect = read_expect(Field(Document("x", "", again, json=True), (), again), None)
    observed = Observed(NEWEST_HANDSHAKE, {"jsonrpc": "2.0", "id": 1, "result": actual})
    return not expect.findings(observed, Variables(), verbatim=False)


@pytest.mark.parametrize("text", NASTY)
def test_a_recorded_text_is_expected_again_and_no_other(text):
    expected = RECORDER.expected({"text": text}, {"text": text})
    assert passes(expected, {"text": text})
    assert not passes(expected, {"text": "no" + text})
    assert not passes(expected, {"text": text, "more": 1})


@pytest.mark.parametrize("text", NASTY)
def test_a_text_that_is_sent_arrives_as_it_was(text):
    written = read(entry("call", {"args": plain_data({"k": [text]})}))["call"]["args"]
    assert filling(Field(Document("x", "", written, json=True), (), written), None).filled(Variables()) == {"k": [text]}


CHANGING = [
    ("2026-09-21T12:00:00Z", "2026-09-22T12:00:01.5+02:00", "noon"),
    ("id 123e4567-e89b-12d3-a456-426614174000.", "id 00000000-e89b-12d3-a456-426614174fff.", "id 5."),
    ("at 2026-09-21T12:00 {{ok}}", "at 2026-09-21T13:00 {{ok}}", "at 12:00 {{ok}}"),
    ("in /home/me/project/src (1)", "in /elsewhere/src (1)", "in /elsewhere/src (2)"),
    ("by ada on adas-laptop", "by bob on server", "by bob at work"),
    ("likes hazelnut", "likes tea", "hates tea"),
    ("created at 4:33:07 AM", "created at 11:05:59 PM", "created at noon"),
    ("modified: Mon Sep 21 2026 14:13:20 GMT+0000 (UTC)", "modified: Tue Jan 05 2027 01:02:03", "modified: today"),
    ("a Monday", "a Friday", "a day"),
    ("Y3JlYXRlZCBhdCA0OjMzOjA3IEFN", "Y3JlYXRlZCBhdCAxMTowNTo1OSBQTQ==", "created at 4:33:07 AM"),
    (int(NOW), int(NOW) + 3, "soon"),
    (int(NOW * 1000), int(NOW * 1000) + 3, "soon"),
    ("key=s3cret", "key=other", 5),
    ("x" * 5000, "x" * 5000, "y" * 5000),
    (["a"] * 200, ["b"] * 200, ["a"] * 201),
    ({"match:x": 1}, {"match:x": 1}, []),
]


@pytest.mark.parametrize(("recorded", "later", "other"), CHANGING, ids=str)
def test_what_cannot_stay_the_same_becomes_a_pattern(recorded, later, other):
    expected = RECORDER.expected({"it": recorded}, {"it": recorded})
    assert passes(expected, {"it": recorded})
    assert passes(expected, {"it": later})
    assert not passes(expected, {"it": other})


def test_words_that_only_contain_a_personal_value_are_expected_as_they_are():
    for text in ("adamant hazelnuts", "mode on"):
        assert RECORDER.expected(text, text) == text


def test_a_text_or_an_object_that_shows_the_environment_may_be_any():
    shown = "\n".join(f"{key}={value}" for key, value in {**MINE, "SHELL": "/bin/zsh-5"}.items())
    recorder = Recorder(now=NOW, personal=Personal({**MINE, "SHELL": "/bin/zsh-5"}))
    assert recorder.expected(shown, shown) == "match:type:string"
    settings = {**MINE, "MORE": "1"}
    assert recorder.expected(settings, settings) == "match:type:object"


def test_a_personal_value_at_the_end_of_what_is_shown_of_a_long_text_is_not_shown_in_part():
    text = "x " * 97 + "/home/me/project/src " + "y" * 2000
    assert "home" not in RECORDER.expected(text, text)
    assert passes(RECORDER.expected(text, text), text)


def test_a_personal_value_beside_something_that_differs_is_not_written():
    expected = RECORDER.expected("in /home/me/project 17 of hazelnut", "in /home/me/project 23 of hazelnut")
    assert expected == "match:regex:^in [^]*$"
    assert PERSONAL.hidden("no file /home/me/project/a of ada") == "no file …/a of …"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("took 12 ms", "took 345 ms", "match:regex:^took [^]* ms$"),
        ("abc", "xyz", "match:type:string"),
        (1, 2, "match:type:number"),
        ([1], [1, 2], "match:type:array"),
        ([1, "a"], [1, "a"], [1, "a"]),
        ({"a": 1, "b": 2}, {"a": 1}, {"match:partial": {"a": 1}}),
        (None, 1, "match:any"),
        (True, True, True),
        (True, 1, "match:any"),
        (Digits("0.1000000000000000000001"), Digits("0.1000000000000000000001"), "match:type:number"),
    ],
)
def test_what_differs_between_two_calls_is_not_pinned(first, second, expected):
    assert RECORDER.expected(first, second) == expected
    assert passes(expected, first)
    assert passes(expected, second)


def test_a_case_that_cannot_be_written_is_listed_with_the_reason_and_one_to_skip_has_it():
    gap = CaseDraft(group="Tools", what="tool 'x'", title="calls x", gap="it\nhangs")
    skipped = CaseDraft(
        group="Tools", what="tool 'y'", title="calls y", action={"call": {"tool": "y"}}, skip="it fails: no"
    )
    text = suite_text(Discovery({"name": "s"}, tuple(WrittenCase(each, {"ok": True}) for each in (gap, skipped))))
    assert parse(text, "x.yml").data == {
        "description": "s",
        "tests": [{"it": "calls y", "skip": "it fails: no", "call": {"tool": "y"}, "expect": {"ok": True}}],
    }
    assert text.endswith("# Left out:\n# - tool 'x': it hangs\n")


def test_the_template_and_what_is_commented_out_in_it_are_suites():
    plain, opened = template(), template().replace("  # - it", "  - it").replace("  #   ", "    ")
    assert len(parse(plain, "x.yml").data["tests"]) == 1
    assert [test["it"] for test in parse(opened, "x.yml").data["tests"]][1:] == [
        "adds two numbers", "refuses what is not a number", "reads a resource"
    ]  # fmt: skip
