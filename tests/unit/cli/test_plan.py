"""A command line is understood completely, or refused, before anything is started."""

import io

import pytest

from mcp_conductor.cli.commands.mcp_cli.flags import FLAGS
from mcp_conductor.cli.commands.mcp_cli.plan import CallPlan, json_of, plan, root
from mcp_conductor.cli.flags import parse
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.message import render

R4 = DIALECTS["2025-11-25"]
TEMPLATE = '{"model":"m","role":"assistant","content":{"type":"text","text":"4"}}'


def planned(*words: str, stdin: bytes = b"", directory: str = "/nowhere") -> CallPlan:
    return plan(parse(["node", *words], FLAGS), Terminal(None, None, io.BytesIO(stdin), {}, directory))


def ping(*words: str) -> CallPlan:
    return planned("--method", "ping", *words)


def call(*words: str, **more) -> CallPlan:
    return planned("--method", "tools/call", "--tool-name", "t", *words, **more)


def refusal(*words: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        planned(*words)
    return caught.value


def test_a_method_alone_is_a_plan_with_defaults():
    made = ping()
    assert (made.method, made.params, made.meta, made.arguments, made.raw) == ("ping", None, {}, {}, None)
    assert (made.follow, made.timeout, made.request_timeout) == (False, 30.0, None)
    assert (made.poll_interval, made.task_ttl) == (None, None)
    assert made.answers.capabilities(R4) == {}
    assert made.spec.command == ("node",)


def test_following_needs_no_method():
    made = planned("--follow")
    assert (made.method, made.follow) == (None, True)


def test_without_anything_to_do_it_is_told_what_could_be_done():
    assert "tools/list" in refusal().hint


@pytest.mark.parametrize("words", [("--follow",), ("--raw", "{}")])
def test_flags_of_a_method_are_refused_where_no_method_is_called(words):
    assert refusal(*words, "--tool-name", "t").message.startswith("--tool-name has no meaning")


def test_a_method_and_a_raw_message_exclude_each_other():
    assert refusal("--method", "ping", "--raw", "{}").message == "--method and --raw exclude each other"


@pytest.mark.parametrize(
    ("flag", "field"),
    [("--timeout", "timeout"), ("--request-timeout", "request_timeout")],
)
@pytest.mark.parametrize(("written", "seconds"), [("5000", 5.0), ("500ms", 0.5), ("2s", 2.0), ("1m", 60.0)])
def test_times_are_milliseconds_or_have_a_unit(flag, field, written, seconds):
    assert getattr(ping(flag, written), field) == seconds


@pytest.mark.parametrize("flag", ["--timeout", "--request-timeout"])
@pytest.mark.parametrize("written", ["soon", "0", "-1", "1x", "inf"])
def test_what_is_no_time_is_refused(flag, written):
    message = refusal("--method", "ping", flag, written).message
    assert message.startswith(flag)
    assert repr(written) in message


@pytest.mark.parametrize("flag", ["--timeout", "--request-timeout"])
def test_an_empty_time_is_refused(flag):
    refusal("--method", "ping", flag, "")


def test_times_of_a_task_are_understood():
    made = call("--run-as-task", "--poll", "--poll-interval", "2000", "--task-ttl", "1m")
    assert (made.poll_interval, made.task_ttl) == (2.0, 60.0)


def test_metadata_is_json_where_it_parses_and_text_where_it_does_not():
    pairs = {"a": "1", "b": "x", "c": "", "d": '{"e":[1.10]}', "f": "NaN", "g": "true", "h": "a=b", "i": "[" * 100_000}
    made = ping(*(word for key, value in pairs.items() for word in ("--metadata", f"{key}={value}")))
    assert render(made.meta["d"]) == '{"e":[1.10]}'
    assert {key: value for key, value in made.meta.items() if key != "d"} == {
        "a": 1,
        "b": "x",
        "c": "",
        "f": "NaN",
        "g": True,
        "h": "a=b",
        "i": "[" * 100_000,
    }


def test_metadata_of_a_tool_wins_over_metadata_of_the_request():
    made = call("--tool-metadata", "a=2", "--metadata", "a=1", "--metadata", "b=3")
    assert made.meta == {"a": 2, "b": 3}


def test_a_progress_token_is_text_and_wins_over_metadata():
    assert ping("--metadata", "progressToken=1", "--progress-token", "5").meta == {"progressToken": "5"}


@pytest.mark.parametrize("flag", ["--metadata", "--tool-metadata"])
def test_metadata_without_a_key_is_refused(flag):
    assert refusal("--method", "tools/call", "--tool-name", "t", flag, "oops").message.startswith(
        f"{flag} takes KEY=VALUE"
    )


def test_arguments_are_taken_from_json_from_a_file_or_from_stdin(tmp_path):
    (tmp_path / "args.json").write_text('{"a": 1}')
    assert call("--tool-args-json", '{"a": 1}').arguments == {"a": 1}
    assert call("--tool-args-json", "@args.json", directory=str(tmp_path)).arguments == {"a": 1}
    assert call("--tool-args-json", "-", stdin=b'{"a": 1}\n').arguments == {"a": 1}


@pytest.mark.parametrize("text", ["[]", "5", "null", "oops", "{", "", "NaN", "-", "@missing.json", "@", "[" * 100_000])
def test_arguments_that_are_no_json_object_are_refused(text):
    with pytest.raises(UsageError) as caught:
        call("--tool-args-json", text)
    assert caught.value.message.startswith("--tool-args-json")


def test_arguments_given_as_text_keep_their_order_until_the_schema_is_known():
    assert call("--tool-arg", "a=1", "--tool-arg=b=x=y", "--tool-arg", "a=").typed_arguments == [
        ("a", "1"),
        ("b", "x=y"),
        ("a", ""),
    ]


@pytest.mark.parametrize("text", ["a", "=1", ""])
def test_an_argument_without_a_key_or_a_value_is_refused(text):
    with pytest.raises(UsageError) as caught:
        call("--tool-arg", text)
    assert caught.value.message.startswith("--tool-arg takes KEY=VALUE")


def test_a_raw_message_is_sent_as_it_is_on_one_line(tmp_path):
    (tmp_path / "message.json").write_bytes(b'{"a":\r\n "\xff"}\n')
    assert planned("--raw", '{"id":1.10, oops\n}\n').raw == '{"id":1.10, oops }'
    assert planned("--raw", "@message.json", directory=str(tmp_path)).raw == '{"a":   "\udcff"}'
    assert planned("--raw", "-", stdin=b"{}\n").raw == "{}"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("file:///home/user/project", {"uri": "file:///home/user/project"}),
        ("file:///home/user/project=My Project", {"uri": "file:///home/user/project", "name": "My Project"}),
        ("http://localhost:8080/path", {"uri": "http://localhost:8080/path"}),
        ("http://localhost:8080/path=Web", {"uri": "http://localhost:8080/path", "name": "Web"}),
        ("file:///with space/a", {"uri": "file:///with space/a"}),
        ("file:///with space/a=b c", {"uri": "file:///with space/a", "name": "b c"}),
        ("file:///a=b=c", {"uri": "file:///a", "name": "b=c"}),
        ("x=y://a", {"uri": "x=y://a"}),
        ("file:///a=", {"uri": "file:///a", "name": ""}),
    ],
)
def test_a_root_is_a_uri_or_a_uri_and_a_name_after_the_first_equals_sign(spec, expected):
    assert root(spec) == expected


@pytest.mark.parametrize("spec", ["", "/home/user", "project=Name", "://x", "file:/x"])
def test_a_root_without_a_scheme_is_refused(spec):
    with pytest.raises(UsageError):
        root(spec)


def test_roots_are_offered_only_when_given():
    made = ping("--roots", "file:///a=A", "--roots", "file:///b")
    assert made.answers.to("roots/list", {}, R4).result == {
        "roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]
    }
    assert ping().answers.roots is None


@pytest.mark.parametrize(
    ("text", "model"),
    [("auto", "stub-model"), ('"auto"', "stub-model"), (TEMPLATE, "m"), (f" [{TEMPLATE}]", "m")],
)
def test_sampling_is_answered_automatically_or_by_a_template(text, model):
    answers = ping("--handle-sampling", text).answers
    assert answers.to("sampling/createMessage", {}, R4).result["model"] == model


def test_sampling_can_be_rejected():
    answers = ping("--handle-sampling", "reject").answers
    assert answers.to("sampling/createMessage", {}, R4).error["code"] == -1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cancel",
        "5",
        "null",
        "hello",
        "{bad",
        '{"model":"m"}',
        "{}",
        '["hello"]',
        "[",
        '{"model":"m","role":"user"}',
    ],
)
def test_a_sampling_answer_that_is_none_is_refused(text):
    refusal("--method", "ping", "--handle-sampling", text)


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("reject", [{"action": "decline"}] * 2),
        ("decline", [{"action": "decline"}] * 2),
        ("cancel", [{"action": "cancel"}] * 2),
        ("auto", [{"action": "accept", "content": {}}] * 2),
        ('{"a":1}', [{"action": "accept", "content": {"a": 1}}] * 2),
        ('[{"a":1},"cancel"]', [{"action": "accept", "content": {"a": 1}}, {"action": "cancel"}]),
    ],
)
def test_elicitation_is_answered_as_declared(text, results):
    answers = ping("--handle-elicitation", text).answers
    assert [answers.to("elicitation/create", {}, R4).result for _ in range(2)] == results


@pytest.mark.parametrize("text", ["", "accept", "5", "null", "{bad", "[5]", "[[]]", '"hello"', "[" * 100_000])
def test_an_elicitation_answer_that_is_none_is_refused(text):
    refusal("--method", "ping", "--handle-elicitation", text)


def test_a_flag_that_is_not_json_is_named():
    with pytest.raises(UsageError) as caught:
        json_of("--flag", "{bad")
    assert caught.value.message.startswith("--flag is not JSON: ")


def test_every_flag_of_the_program_has_its_own_name_and_a_help_text():
    flags = [flag for group in FLAGS.values() for flag in group]
    names = [name for flag in flags for name in (flag.name, flag.short) if name]
    assert len(names) == len(set(names))
    assert all(flag.help for flag in flags)
