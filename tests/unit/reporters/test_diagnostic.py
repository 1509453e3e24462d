"""A finding is shown as our errors are: headline, place, source line, caret, values, hint."""

import pytest

from mcp_conductor.cli.terminal import diagnostic
from mcp_conductor.errors import Location, UsageError
from mcp_conductor.report import Finding, Outcome
from mcp_conductor.reporters.diagnostic import Style, cut, excerpt, findings, one_finding, stderr, wire


class Words(str):
    """What a matcher says of a value."""

    __slots__ = ()


def outcome(**more) -> Outcome:
    return Outcome(id="a::b", title="b", group="a", status="failed", **more)


def test_an_excerpt_has_the_form_of_our_errors():
    where = Location("a.yml", 31, 9, "  text: é\tx")
    error = diagnostic(UsageError("wrong", where=where)).split("\n")
    assert [f"  {line}" for line in excerpt(where)] == error[1:]


def test_a_place_without_its_line_is_the_place_alone():
    assert excerpt(Location("a.yml", 31, 9)) == ["--> a.yml:31:9"]


@pytest.mark.parametrize(
    ("source", "column", "below"),
    [
        ("text: x", 7, "      ^"),
        ("\ttext: x", 2, "\t^"),
        ("日本: x", 5, "      ^"),
        ("e\u0301: x", 5, "   ^"),
        ("\x00: x", 4, "      ^"),
        ("short", 20, "     ^"),
        ("x\r", 1, "^"),
    ],
)
def test_the_caret_stands_below_what_it_means(source, column, below):
    assert excerpt(Location("a.yml", 7, column, source))[2] == f"  | {below}"


def test_of_a_long_line_the_part_around_the_caret_is_shown():
    source = "a" * 500 + "X" + "b" * 500
    _, line, caret = excerpt(Location("a.yml", 7, 501, source), room=60)
    assert line == f"7 | …{'a' * 20}X{'b' * 39}…"
    assert line[caret.index("^")] == "X"


def test_a_long_text_is_cut_in_the_middle():
    assert cut("abcdefghijklmnopqrstuvwxyz", 15) == "abcdefgh … wxyz"
    assert cut("short", 15) == "short"
    assert cut("abcdefghijklmnopqrstuvwxyz", None) == "abcdefghijklmnopqrstuvwxyz"


def test_words_about_a_value_have_no_quotes_and_a_value_has():
    finding = Finding(message="differs", expected=Words('text that starts with "H"'), actual="Bye")
    assert one_finding(finding, Style()) == [
        "differs",
        '    expected  text that starts with "H"',
        '    actual    "Bye"',
    ]


def test_null_is_a_value_and_nothing_is_none():
    assert one_finding(Finding(message="differs", actual=None), Style()) == ["differs", "    actual    null"]
    assert one_finding(Finding(message="differs"), Style()) == ["differs"]


def test_long_values_are_shown_where_they_begin_to_differ():
    finding = Finding(message="differs", expected="a" * 300 + "X" + "c" * 300, actual="a" * 300 + "Y" + "c" * 300)
    _, expected, actual = one_finding(finding, Style(width=80))
    assert expected == f"    expected  …{'a' * 20}X{'c' * 41}…"
    assert actual == f"    actual    …{'a' * 20}Y{'c' * 41}…"


def test_nothing_is_cut_where_all_is_wanted():
    finding = Finding(message="differs", expected="a" * 300, actual="b" * 300)
    assert one_finding(finding, Style(width=80, whole=True))[1] == f'    expected  "{"a" * 300}"'


def test_documents_are_shown_as_a_difference():
    finding = Finding(message="differs", expected={"a": 1}, actual={"a": 2}, hint="look\nagain")
    assert one_finding(finding, Style()) == [
        "differs",
        "    - expected  + actual",
        "     {",
        '    -  "a": 1',
        '    +  "a": 2',
        "     }",
        "    hint: look",
        "    again",
    ]


def test_documents_that_differ_in_kind_stand_side_by_side():
    finding = Finding(message="differs", expected={"a": 1}, actual=[1])
    assert one_finding(finding, Style()) == ["differs", '    expected  {"a":1}', "    actual    [1]"]


def test_of_a_long_difference_sixty_lines_are_shown():
    finding = Finding(message="differs", expected=list(range(100)), actual=list(range(200, 300)))
    assert len(one_finding(finding, Style())) == 2 + 60 + 1
    assert one_finding(finding, Style())[-1] == "    … and 142 more lines (-vv)"
    assert len(one_finding(finding, Style(whole=True))) == 2 + 202


def test_findings_beyond_the_limit_are_counted():
    found = outcome(findings=tuple(Finding(message=f"wrong {number}") for number in range(9)))
    assert findings(found, Style(max_errors=2)) == ["wrong 0", "wrong 1", "… and 7 more (--max-errors)"]
    assert len(findings(found, Style())) == 9


def test_colours_are_used_where_they_are_wanted():
    finding = Finding(message="differs", expected=[1], actual=[2], where=Location("a.yml", 1, 1))
    assert one_finding(finding, Style(colour=True)) == [
        "\x1b[1mdiffers\x1b[0m",
        " \x1b[36m--> a.yml:1:1\x1b[0m",
        "    \x1b[31m- expected\x1b[0m  \x1b[32m+ actual\x1b[0m",
        "     [",
        "    \x1b[31m-  1\x1b[0m",
        "    \x1b[32m+  2\x1b[0m",
        "     ]",
    ]


def test_each_message_is_called_what_it_is():
    said = outcome(
        wire=(
            '--> {"jsonrpc":"2.0","id":1,"method":"tools/call"}',
            '<-- {"jsonrpc":"2.0","id":2,"method":"roots/list"}',
            '--> {"jsonrpc":"2.0","id":2,"result":{}}',
            '<-- {"jsonrpc":"2.0","method":"notifications/message"}',
            '--> {"jsonrpc":"2.0","method":"notifications/cancelled"}',
            '<-- {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
            "<-- listening on port 3000",
            "http: 200",
        )
    )
    assert [line[:18].rstrip() for line in wire(said, Style())] == [
        "request",
        "server request",
        "our response",
        "notification",
        "our notification",
        "response",
        "invalid",
        "",
    ]


def test_a_long_message_is_cut_in_the_middle_unless_all_is_wanted():
    text = f'{{"jsonrpc":"2.0","id":1,"result":{{"text":"{"x" * 500}","last":true}}}}'
    (line,) = wire(outcome(wire=(f"<-- {text}",)), Style(width=80))
    assert len(line) == 78
    assert line.endswith('"last":true}}')
    assert wire(outcome(wire=(f"<-- {text}",)), Style(whole=True)) == [f"response  {text}"]


def test_of_many_messages_the_first_and_the_last_are_shown():
    said = outcome(wire=tuple(f'<-- {{"jsonrpc":"2.0","method":"n{number}"}}' for number in range(30)))
    lines = wire(said, Style())
    assert len(lines) == 11
    assert "n4" in lines[4]
    assert lines[5] == "… 20 more messages (-vv)"
    assert "n25" in lines[6]
    assert len(wire(said, Style(whole=True))) == 30


def test_of_a_long_stderr_the_middle_is_left_out():
    assert stderr(outcome(), Style()) == []
    assert stderr(outcome(stderr=("\x1b[31moh\x1b[0m",)), Style()) == ["stderr    (1 line)", "  | oh"]
    lines = stderr(outcome(stderr=tuple(map(str, range(25)))), Style())
    first, last = ([f"  | {number}" for number in numbers] for numbers in (range(3), range(18, 25)))
    assert lines == ["stderr    (25 lines)", *first, "  … 15 more lines (-vv)", *last]
    assert len(stderr(outcome(stderr=tuple(map(str, range(25)))), Style(whole=True))) == 26
    assert len(stderr(outcome(stderr=tuple(map(str, range(11)))), Style())) == 12


def test_of_a_long_line_of_stderr_the_middle_is_left_out():
    (_, line) = stderr(outcome(stderr=("a" * 5000 + "z" * 10,)), Style(width=80))
    assert line.startswith("  | aaa")
    assert line.endswith("zzz")
    assert " more characters " in line
    assert len(line) <= 80
    (_, line) = stderr(outcome(stderr=("a" * 5000,)), Style(width=80, whole=True))
    assert line == "  | " + "a" * 5000
