"""Foreign text is safe to show: nothing hides, nothing moves the cursor, nothing is taken for a command."""

import json
import time

import pytest

from mcp_conductor.text.visible import blank, cut_to_columns, harmless, json_escaped, one_line, printable, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 😀", "plain é 😀"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\\r\nb"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b[2J\x08", "\\x1b[2J\\x08"),
        ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
        ("\u202eright\u2066", "\\u202eright\\u2066"),
        ("\u061c\u200b\u200e\u200f\xad", "\\u061c\\u200b\\u200e\\u200f\\xad"),
        ("\u2028\ufeff\uffff", "\\u2028\\ufeff\\uffff"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        (b"\xff".decode(errors="surrogateescape"), "\\xff"),
        ("👩\u200d👩 می\u200cخواهم", "👩\u200d👩 می\u200cخواهم"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(text, shown):
    assert visible(text) == shown
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", "\\x3a:error::x"),
        ("ok\n \t\u3000::set-output name=a::b", "ok\n \t\u3000\\x3a:set-output name=a::b"),
        ("\x1b[0m::error::x", "\\x3a:error::x"),
        ("a ##[error]b ##vso[task]c ##teamcity[d]", "a \\x23#[error]b \\x23#vso[task]c \\x23#teamcity[d]"),
        ("###[error]", "#\\x23#[error]"),
        ("std::string ## heading # [x]", "std::string ## heading # [x]"),
        (": :", ": :"),
    ],
)
def test_workflow_commands_are_made_harmless(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["\x1b[31m::error::\x07", "##[x]\u202e", "\\x1b", "::::::", "####[a]["])
def test_what_has_been_made_visible_stays_as_it_is(text):
    assert visible(visible(text)) == visible(text)


def test_a_form_may_have_an_escape_of_its_own():
    assert harmless("::a\n##[b]", lambda character: f"&#{ord(character)};") == "&#58;:a\n&#35;#[b]"


def test_json_means_the_same_with_the_escapes_of_json():
    value = {"a": "##[error] \x7f\x9b\u202e \U000e0041 é 😀 ::x\n::y \ud800"}
    shown = json_escaped(json.dumps(value, ensure_ascii=False))
    assert json.loads(shown) == value
    assert visible(shown) == shown
    assert "é 😀" in shown


def test_one_line_is_one_line():
    assert one_line("a\r\nb\nc\x0bd\u2028e") == "a b c d e"
    assert one_line("::a") == "\\x3a:a"


@pytest.mark.parametrize("text", [" " * 300_000, "\n" * 300_000, "#" * 300_000, ":" * 300_000, "##a" * 100_000])
def test_no_text_takes_longer_than_it_is_long(text):
    began = time.process_time()
    visible(f"{text}::##")
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", "   "), ("日本", "    "), ("a\tb", " \t "), ("e\u0301", " "), ("👋", "  "), ("\x1b", "    ")],
)
def test_what_is_blank_is_as_wide_as_the_text_when_it_is_shown(text, width):
    assert blank(text) == width


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("漢字漢字", 8, "漢字漢字"), ("漢字漢字", 7, "漢字漢…"), ("漢字漢字", 6, "漢字…"), ("a漢b", 3, "a…")],
)  # fmt: skip
def test_a_text_is_cut_to_the_columns_that_it_takes(text, most, shown):
    assert cut_to_columns(text, most) == shown
