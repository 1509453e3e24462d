"""What was said is shown whole as far as it can be read, with marks below what is wrong in a reply."""

from mcp_conductor.report.formats.diagnostic import Style
from mcp_conductor.report.formats.messages import messages
from mcp_conductor.report.model import Finding, Outcome


def outcome(**more) -> Outcome:
    return Outcome(id="a::b", title="b", group="a", status="failed", **more)


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
    assert [line[:18].rstrip() for line in messages(said, Style())] == [
        "request",
        "server request",
        "our response",
        "notification",
        "our notification",
        "response",
        "invalid",
        "",
    ]


def test_a_long_message_is_folded_to_the_width_and_whole_if_all_is_wanted():
    text = f'{{"jsonrpc":"2.0","id":1,"result":{{"text":"{"x" * 500}","last":true}}}}'
    lines = messages(outcome(wire=(f"<-- {text}",)), Style(width=80))
    assert all(len(line) <= 78 for line in lines)
    assert len(lines) == 3
    assert lines[-1].endswith('"last": true}}') or lines[-1].endswith('"last":true}}')
    assert messages(outcome(wire=(f"<-- {text}",)), Style(whole=True)) == [f"response  {text}"]


def test_a_long_line_that_is_not_json_is_broken_between_words_and_cut_in_the_middle():
    lines = messages(outcome(wire=(f"<-- {'word ' * 1000}end",)), Style(width=80))
    shown = " ".join(line[10:] for line in lines)
    assert all(len(line) <= 78 for line in lines)
    assert " … 2,955 more characters (-vv) … " in shown
    assert shown.endswith("word end")
    assert not any(line.endswith("wor") for line in lines)


def test_of_many_messages_the_first_and_the_last_are_shown():
    said = outcome(wire=tuple(f'<-- {{"jsonrpc":"2.0","method":"n{number}"}}' for number in range(30)))
    lines = messages(said, Style())
    assert len(lines) == 11
    assert "n4" in lines[4]
    assert lines[5] == "… 20 more messages (-vv)"
    assert "n25" in lines[6]
    assert len(messages(said, Style(whole=True))) == 30


def marked(text, *paths, width=200):
    found = tuple(Finding(message="wrong", path=path) for path in paths)
    lines = messages(outcome(wire=(f"<-- {text}",), findings=found), Style(width=width))
    said, below = lines[0], [line for line in lines[1:] if set(line) <= {" ", "^"}]
    return [said[index] for line in below for index, character in enumerate(line) if character == "^"]


REPLY = '{"jsonrpc":"2.0","id":1,"result":{"a.b":7,"content":[{"text":"x"},{"text":"yz"}]}}'


def test_the_value_at_the_path_of_a_finding_is_marked():
    assert "".join(marked(REPLY, "result.content[1].text")) == '"yz"'
    assert "".join(marked(REPLY, 'result["a.b"]', "result.content[0]")) == '7{"text":"x"}'


def test_of_what_is_not_there_the_place_where_it_should_be_is_marked():
    assert "".join(marked(REPLY, "result.content[7].text")) == '[{"text":"x"},{"text":"yz"}]'
    assert marked(REPLY, "error.code") == []
    assert marked("no JSON at all", "result.content") == []
    assert marked(REPLY, "result.content[*].text") != REPLY


def test_a_long_message_is_shown_around_what_is_wrong():
    text = f'{{"jsonrpc":"2.0","id":1,"result":{{"a":"{"x" * 9000}","b":5,"c":"{"y" * 9000}"}}}}'
    found = (Finding(message="wrong", path="result.b"),)
    lines = messages(outcome(wire=(f"<-- {text}",), findings=found), Style(width=100))
    assert lines == [
        'response  {"jsonrpc": "2.0", "id": 1, "result": {',
        '            "a": "xxxxxxxxxxxxxxxxxx"… 8982 more,',
        '            "b": 5,',
        "                 ^",
        '            "c": "yyyyyyyyyyyyyyyyyy"… 8982 more}}',
    ]
    mark = next(index for index, line in enumerate(lines) if set(line) == {" ", "^"})
    assert lines[mark - 1][lines[mark].index("^")] == "5"


def test_marks_stand_below_characters_that_take_two_columns():
    wire = ('<-- {"id":1,"result":{"漢字":"😀e\u0301x","b":2}}',)
    findings = (Finding(message="wrong", path="result.漢字"), Finding(message="wrong", path="result.b"))
    line, below = messages(outcome(wire=wire, findings=findings), Style())
    assert line == 'response  {"id":1,"result":{"漢字":"😀e\u0301x","b":2}}'
    assert below == " " * 10 + " " * 25 + "^^^^^^" + "     " + "^"


def test_a_message_of_wide_characters_is_wrapped_by_columns():
    text = f'{{"id":1,"result":"{"漢" * 30}"}}'
    found = (Finding(message="wrong", path="result"),)
    lines = messages(outcome(wire=(f"<-- {text}",), findings=found), Style(width=60))
    assert sum(line.count("漢") for line in lines) == 30
    assert max(len(line) + line.count("漢") for line in lines) <= 58
