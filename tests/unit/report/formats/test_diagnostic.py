"""A finding is shown as our errors are: headline, place, source line, caret, values, hint."""

import pytest

from mcp_conductor.errors import Location
from mcp_conductor.report.formats.diagnostic import Style, cut, findings, one_finding, stderr
from mcp_conductor.report.model import Finding, Outcome


class Words(str):
    """What a matcher says of a value."""

    __slots__ = ()


def outcome(**more) -> Outcome:
    return Outcome(id="a::b", title="b", group="a", status="failed", **more)


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
    assert expected == f"    expected  …{'a' * 18}X{'c' * 37}…"
    assert actual == f"    actual    …{'a' * 18}Y{'c' * 37}…"


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


def test_what_is_found_in_one_file_is_one_excerpt_and_one_difference():
    content = Location("a.yml", 7, 5, "    content:", (5, 13))
    kind = Location("a.yml", 8, 7, "    - type: image", (13, 18))
    wanted, came = [{"type": "image"}], [{"type": "text"}, {"type": "text"}]
    found = (
        Finding(message="result has 2 elements, not 1", path="result", expected=wanted, actual=came, where=content),
        Finding(message="result[0].type is 'text'", path="result[0].type", expected="image", actual="text", where=kind),
        Finding(message="the whole result differs", path="result", expected=wanted, actual=came, whole=True),
    )
    assert findings(outcome(findings=found), Style()) == [
        " --> a.yml:7:5",
        " 7 |     content:",
        "   |     ^^^^^^^^ result has 2 elements, not 1",
        " 8 |     - type: image",
        "   |             ^^^^^ result[0].type is 'text'",
        "  - expected  + actual",
        "   [",
        "     {",
        '  -    "type": "image"',
        '  +    "type": "text"',
        "  +  },",
        "  +  {",
        '  +    "type": "text"',
        "     }",
        "   ]",
    ]


def test_values_that_neither_the_message_nor_a_difference_has_stand_below():
    where = Location("a.yml", 7, 5, "    text: long", (11, 15))
    finding = Finding(message="text goes on", expected="long", actual="longer", where=where, hint="cut it")
    assert findings(outcome(findings=(finding, finding)), Style())[2:] == [
        "   |           ^^^^ text goes on",
        '   |   expected  "long"',
        '   |   actual    "longer"',
        "   |           ^^^^ text goes on",
        '   |   expected  "long"',
        '   |   actual    "longer"',
        "  hint: cut it",
    ]


def test_warnings_and_what_has_no_place_stand_by_themselves():
    where = Location("a.yml", 7, 1, "text")
    found = (Finding(message="odd", where=where, warning=True), Finding(message="late"))
    assert findings(outcome(findings=found), Style()) == [
        "late", "warning: odd", " --> a.yml:7:1", " 7 | text", "   | ^",
    ]  # fmt: skip


def test_of_an_error_of_the_server_the_line_that_tells_the_cause_comes_first():
    said = ("loader:1210", "  throw err;", "  ^", "Error: Cannot find module 'x'", *(f"  at {n}" for n in range(30)))
    lines = stderr(outcome(stderr=said, cause="server"), Style())
    assert lines[0] == "cause     Error: Cannot find module 'x'"
    assert "  | Error: Cannot find module 'x'" in lines


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


def test_the_cause_is_never_cut_in_the_middle():
    long = f"Error: Cannot find module '/{'a' * 30}/{'b' * 30}' from '/{'c' * 30}'"
    lines = stderr(outcome(cause="server", stderr=("x", long, "y", "z")), Style(width=60))
    told = lines[: lines.index("stderr    (4 lines)")]
    assert told == [
        "cause     Error: Cannot find module",
        f"          '/{'a' * 30}/{'b' * 30}'",
        f"          from '/{'c' * 30}'",
    ]


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (("(stdout) usage: x FILE",), ["stdout    (1 line)", "  | usage: x FILE"]),
        (("(stdout) x", "oh"), ["output    (2 lines)", "  | (stdout) x", "  | oh"]),
        (("oh",), ["stderr    (1 line)", "  | oh"]),
    ],
)
def test_it_is_said_where_lines_were_written_to(lines, shown):
    assert stderr(outcome(cause="server", stderr=lines), Style()) == shown
