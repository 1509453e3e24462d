"""Each method needs its flags, takes some others, and builds its params from them."""

import pytest

from mcp_conductor.cli.commands.mcp_cli.methods import (
    LOG_LEVELS,
    METHODS,
    check,
    check_none,
    completion_ref,
    is_tool_error,
    listing,
)
from mcp_conductor.cli.flags import Given
from mcp_conductor.errors import UsageError


def given(**values: str | list[str]) -> Given:
    flags = {f"--{name.replace('_', '-')}": value for name, value in values.items()}
    return Given(values={name: value if isinstance(value, list) else [value] for name, value in flags.items()})


@pytest.mark.parametrize(
    ("method", "flags", "params"),
    [
        ("tools/list", given(), None),
        ("tools/list", given(cursor="c"), None),
        ("tools/call", given(tool_name="t"), {"name": "t"}),
        ("resources/list", given(), None),
        ("resources/read", given(uri="file:///a"), {"uri": "file:///a"}),
        ("resources/templates/list", given(), None),
        ("resources/subscribe", given(uri="u"), {"uri": "u"}),
        ("resources/unsubscribe", given(uri="u"), {"uri": "u"}),
        ("prompts/list", given(), None),
        ("prompts/get", given(prompt_name="p"), {"name": "p"}),
        (
            "prompts/get",
            given(prompt_name="p", prompt_arg=["a=1", "b=true", "c={}", "d=x=y"]),
            {"name": "p", "arguments": {"a": "1", "b": "true", "c": "{}", "d": "x=y"}},
        ),
        (
            "completion/complete",
            given(completion_ref="ref/prompt/p", argument_name="style", argument_value="bul"),
            {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "style", "value": "bul"}},
        ),
        (
            "completion/complete",
            given(completion_ref="ref/resource/file:///{x}", argument_name="x", argument_value=""),
            {"ref": {"type": "ref/resource", "uri": "file:///{x}"}, "argument": {"name": "x", "value": ""}},
        ),
        (
            "completion/complete",
            given(
                completion_ref="ref/prompt/p", argument_name="x", argument_value="", context_argument=["a=1", "b=x=y"]
            ),
            {
                "ref": {"type": "ref/prompt", "name": "p"},
                "argument": {"name": "x", "value": ""},
                "context": {"arguments": {"a": "1", "b": "x=y"}},
            },
        ),
        ("logging/setLevel", given(log_level="debug"), {"level": "debug"}),
        ("tasks/list", given(), None),
        ("tasks/get", given(task_id="t"), {"taskId": "t"}),
        ("tasks/result", given(task_id="t"), {"taskId": "t"}),
        ("tasks/cancel", given(task_id="t"), {"taskId": "t"}),
        ("ping", given(), None),
        ("server/info", given(), None),
        ("server/discover", given(), None),
        ("initialize", given(), None),
    ],
)
def test_params_are_built_from_the_flags(method, flags, params):
    assert check(method, flags).params(flags) == params


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("ref/resource/file:///a", {"type": "ref/resource", "uri": "file:///a"}),
        ("ref/prompt/summarize", {"type": "ref/prompt", "name": "summarize"}),
        ("ref/prompt/a/b", {"type": "ref/prompt", "name": "a/b"}),
        ("ref/prompt/ref/resource/x", {"type": "ref/prompt", "name": "ref/resource/x"}),
    ],
)
def test_a_completion_reference_is_a_prompt_or_a_resource(text, reference):
    assert completion_ref(text) == reference


@pytest.mark.parametrize(
    "text", ["", "prompt/x", "ref/tool/x", "ref/prompt", "ref/resource", "REF/PROMPT/x", " ref/prompt/x"]
)
def test_any_other_completion_reference_is_refused(text):
    with pytest.raises(UsageError) as caught:
        completion_ref(text)
    assert repr(text) in caught.value.message


def test_the_levels_are_those_of_the_specification():
    assert LOG_LEVELS == ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@pytest.mark.parametrize("level", ["trace", "warn", "INFO", ""])
def test_another_level_is_refused_with_the_known_ones(level):
    flags = given(log_level=level)
    with pytest.raises(UsageError) as caught:
        check("logging/setLevel", flags).params(flags)
    assert "emergency" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tool/list", "did you mean tools/list?"),
        ("resource/read", "did you mean resources/read?"),
        ("tools/cal", "did you mean tools/call?"),
        ("zzz", "--help lists the methods"),
        ("", "--help lists the methods"),
    ],
)
def test_an_unknown_method_is_refused_with_the_nearest_or_a_way_to_all(name, hint):
    with pytest.raises(UsageError) as caught:
        check(name, given())
    assert caught.value.message == f"unknown method {name!r}"
    assert hint in caught.value.hint
    assert "--raw" in caught.value.hint


@pytest.mark.parametrize(
    ("method", "flags", "missing"),
    [
        ("tools/call", given(), "--tool-name"),
        ("resources/read", given(), "--uri"),
        ("resources/subscribe", given(), "--uri"),
        ("prompts/get", given(prompt_arg="a=1"), "--prompt-name"),
        ("completion/complete", given(completion_ref="ref/prompt/p"), "--argument-name and --argument-value"),
        ("completion/complete", given(completion_ref="ref/prompt/p", argument_name="a"), "--argument-value"),
        ("logging/setLevel", given(), "--log-level"),
        ("tasks/get", given(), "--task-id"),
        ("tasks/cancel", given(), "--task-id"),
    ],
)
def test_a_method_names_every_flag_that_it_lacks(method, flags, missing):
    with pytest.raises(UsageError) as caught:
        check(method, flags)
    assert caught.value.message == f"{method} needs {missing}"


@pytest.mark.parametrize(
    ("method", "flags", "users"),
    [
        ("tools/list", given(tool_name="t"), "tools/call"),
        (
            "ping",
            given(uri="u"),
            "resources/read, resources/subscribe, resources/unsubscribe, skills/get, resources/directory/read",
        ),
        ("tools/call", given(tool_name="t", task_id="x"), "tasks/get, tasks/result, tasks/cancel"),
        ("resources/read", given(uri="u", tool_arg="a=1"), "tools/call"),
        ("prompts/list", given(poll=[]), "tools/call"),
    ],
)
def test_a_flag_that_means_nothing_to_the_method_is_refused_with_those_it_is_for(method, flags, users):
    with pytest.raises(UsageError) as caught:
        check(method, flags)
    assert caught.value.hint == f"it is for {users}"


@pytest.mark.parametrize(
    "flag", ["verbose", "follow", "metadata", "progress_token", "timeout", "record", "roots", "token"]
)
def test_flags_of_the_whole_run_fit_every_method(flag):
    assert check("ping", given(**{flag: "x"})) is METHODS["ping"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (given(tool_name="t", poll=[]), "--poll has no meaning without --run-as-task"),
        (given(tool_name="t", run_as_task=[], poll_interval="1s"), "--poll-interval has no meaning without --poll"),
        (given(tool_name="t", task_ttl="1s"), "--task-ttl has no meaning without --run-as-task"),
    ],
)
def test_a_flag_that_needs_another_is_refused_alone(flags, says):
    with pytest.raises(UsageError) as caught:
        check("tools/call", flags)
    assert caught.value.message == says


@pytest.mark.parametrize("flag", ["tool_name", "uri", "cursor", "poll", "log_level"])
def test_without_a_method_the_flags_of_methods_are_refused(flag):
    with pytest.raises(UsageError) as caught:
        check_none(given(**{flag: "x"}))
    assert caught.value.message.startswith(f"--{flag.replace('_', '-')} has no meaning")


def test_without_a_method_the_flags_of_the_whole_run_are_fine():
    check_none(given(timeout="1s", metadata="a=1", follow=[], raw="{}"))


def test_a_task_may_be_polled():
    assert check("tools/call", given(tool_name="t", run_as_task=[], poll=[], poll_interval="1s", task_ttl="1m"))


def test_every_method_is_listed_on_one_line():
    lines = listing().splitlines()
    assert [line.split()[0] for line in lines] == list(METHODS)


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ({"content": [], "isError": True}, True),
        ({"content": [], "isError": False}, False),
        ({"content": []}, False),
        ({"isError": "true"}, False),
        ({"isError": 1}, False),
        ([], False),
        (None, False),
    ],
)
def test_a_tool_error_is_one_that_says_so(result, failed):
    assert is_tool_error(result) is failed
