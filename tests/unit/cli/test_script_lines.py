"""Lines of a script: what they ask for, and what is said of those that cannot be understood."""

import pytest

from mcp_conductor.cli.commands.mcp_cli.script_lines import id_of, read_line, read_script
from mcp_conductor.errors import UsageError
from mcp_conductor.suites.language.variables import Variables


def line(text, known=(), background=("research", 7)):
    return read_line(text, 3, "stdin", known, background)


def test_a_line_calls_a_method():
    read = line('{"id": "a", "method": "tools/call", "params": {"name": "x"}, "timeout": "2s", "background": true}')
    assert (read.id, read.method, read.timeout, read.background) == ("a", "tools/call", 2.0, True)
    assert read.params.filled(Variables()) == {"name": "x"}


def test_a_line_without_an_id_is_called_by_its_number():
    assert line('{"method": "ping"}').id == 3


def test_what_was_captured_is_filled_in_with_its_type():
    read = line('{"method": "a/b", "params": {"n": "{{ n }}", "text": "is {{ n }}"}}', {"n"})
    assert read.params.filled(Variables(values={"n": 7})) == {"n": 7, "text": "is 7"}


@pytest.mark.parametrize(
    "awaited", ['"update"', '"notifications/made/up"', '{"event": "log"}', '{"id": 7}', '{"id": "{{ env.ID }}"}']
)
def test_a_line_waits_for_a_kind_a_method_or_members(awaited):
    assert line(f'{{"await": {awaited}}}').method is None


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("nonsense", "stdin: line 3 is not JSON: expecting value at character 1", None),
        ("[1]", "stdin line 3 must be an object, not an array", 'a line has "method" or "await"'),
        ("{}", "stdin line 3 asks for nothing", 'a line has "method" or "await"'),
        ('{"method": "ping", "timout": 1}', "stdin: timout is not a known key", "did you mean 'timeout'?"),
        ('{"method": "ping", "await": "log"}', "stdin: await is not a known key", None),
        ('{"await": "log", "background": true}', "stdin: background is not a known key", None),
        ('{"method": 1}', "stdin: method must be a string, not a number", None),
        ('{"method": ""}', "stdin: method must be the name of a method, not an empty string", None),
        ('{"method": "ping", "id": {}}', "stdin: id must be a string or a number, not an object", None),
        ('{"method": "ping", "params": []}', "stdin: params must be an object, not an array", None),
        ('{"method": "ping", "timeout": 0}', "stdin: timeout must be a time above 0", None),
        ('{"method": "oauth/token"}', "stdin: method cannot be oauth/token, which asks an authorization server", None),
        ('{"await": "udpate"}', "stdin: await names no event: 'udpate'", "did you mean 'update'?"),
        (
            '{"await": 1}',
            "stdin: await must be an event, a method or an object with members of an event, not a number",
            None,
        ),
        (
            '{"await": {}}',
            "stdin: await must be an event, a method or an object with members of an event, not an empty object",
            None,
        ),
        (
            '{"await": {"id": "reserch"}}',
            "stdin: await.id must be that of an earlier line in the background, not 'reserch'",
            "did you mean 'research'?",
        ),
        ('{"await": {"id": 8}}', "stdin: await.id must be that of an earlier line in the background, not 8", None),
        ('{"await": {"id": []}}', "stdin: await.id must be that of an earlier line in the background, not []", None),
        (
            '{"method": "ping", "params": {"a": "{{ tsak }}"}}',
            "stdin: params.a has the placeholder {{ tsak }}, which uses the unknown name 'tsak'",
            "did you mean 'task'?",
        ),
        ('{"method": "ping", "capture": {"x": "a..b"}}', None, None),
    ],
)
def test_a_line_that_cannot_be_understood_is_refused_at_its_place(text, message, hint):
    with pytest.raises(UsageError) as refused:
        line(text, {"task"})
    assert message is None or refused.value.message == message
    assert hint is None or refused.value.hint == hint
    assert refused.value.where.line == 3


@pytest.mark.parametrize(
    ("text", "name"), [('{"id": "a", "x": 1}', "a"), ('{"id": []}', 4), ("nonsense", 4), ("[]", 4), ('{"id": true}', 4)]
)
def test_the_answer_to_a_bad_line_has_its_id_if_it_has_one(text, name):
    assert id_of(text, 4) == name


def test_all_mistakes_of_a_file_are_told_and_empty_lines_are_none(tmp_path):
    file = tmp_path / "script.jsonl"
    file.write_text('{"method": "ping"}\n\n{"method": "ping", "capture": {"a": "result"}}\r\n{"methd": 1}\nx\n')
    with pytest.raises(UsageError) as refused:
        read_script(str(file), "script.jsonl")
    assert [each.where.line for each in (refused.value, *refused.value.more)] == [4, 5]


def test_a_name_that_an_earlier_line_captures_is_known_in_a_file(tmp_path):
    file = tmp_path / "script.jsonl"
    first, second = '{"method": "a", "capture": {"x": "result"}}', '{"method": "b", "params": {"x": "{{ x }}"}}'
    file.write_text(f"{first}\n{second}\n")
    assert len(read_script(str(file), "s")) == 2
    file.write_text(f"{second}\n{first}\n")
    with pytest.raises(UsageError):
        read_script(str(file), "s")


def test_a_file_waits_only_for_answers_of_earlier_lines_in_the_background(tmp_path):
    file = tmp_path / "script.jsonl"
    begin, wait = '{"id": "a", "method": "b", "background": true}', '{"await": {"id": "a"}}'
    file.write_text(f"{begin}\n{wait}\n")
    assert len(read_script(str(file), "s")) == 2
    for text in (f"{wait}\n{begin}\n", f"{begin.replace('true', 'false')}\n{wait}\n"):
        file.write_text(text)
        with pytest.raises(UsageError, match="earlier line in the background"):
            read_script(str(file), "s")
