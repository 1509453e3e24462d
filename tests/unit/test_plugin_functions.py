"""Functions of plugins: those of a wrong shape are refused where they stand, those that fail are told with their line."""

import asyncio

import pytest

from mcp_conductor import plugins
from mcp_conductor.checks.engine.findings import FailedCheck
from mcp_conductor.checks.engine.plugin_check import _guarded_judge, _guarded_probe
from mcp_conductor.errors import CannotTellError, UsageError
from mcp_conductor.suites.matching.matchers import judging

WRONG = {
    "a matcher of nothing": ('@matcher("ours")\ndef f(): pass', "the matcher 'ours' cannot be called", "(actual, …)"),
    "an async matcher": (
        '@matcher("ours")\nasync def f(actual): pass',
        "the matcher 'ours' is an async function",
        "def",
    ),
    "a predicate of three": (
        '@predicate("ours")\ndef f(a, b, c): pass',
        "the predicate 'ours' cannot",
        "(value, text)",
    ),
    "a report of nothing": (
        '@reporter("ours", suffix=".x")\ndef f(): pass',
        "the report format 'ours' cannot be called: its function has the parameters ()",
        "(report)",
    ),
    "a step of one": ("@step\ndef ours(given): pass", "the step 'ours' cannot be called", "(given, script)"),
    "a fault of nothing": ("@fault\ndef ours(): pass", "the fault 'ours' cannot be called", "(spoiled, …)"),
    "a check of nothing": (
        '@check("ours", level="MUST", text="x")\ndef f(): yield ""',
        "the check 'ours' cannot be called",
        "(record)",
    ),
    "a probe without yield": (
        '@check("ours", level="MUST", text="x")\nasync def f(probe): pass',
        "the check 'ours' is not an async generator",
        "yield",
    ),
}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """What is loaded here is not there for other tests: it would be named in hints."""
    monkeypatch.setattr(plugins, "_files", {})


@pytest.mark.parametrize("name", WRONG)
def test_a_function_of_a_wrong_shape_is_refused_where_it_stands(tmp_path, name):
    code, message, hint = WRONG[name]
    (tmp_path / "ours.py").write_text(f"from mcp_conductor import *\n\n{code}\n")
    with pytest.raises(UsageError) as refused:
        plugins.load("./ours.py", str(tmp_path))
    assert refused.value.message.startswith(message)
    assert hint in str(refused.value.hint)
    assert str(refused.value.where) == "./ours.py:3:1"


def test_the_params_of_a_preset_are_its_own_affair():
    assert plugins.guarded(lambda low, high: low + high, "the preset 'ours'")(1, high=2) == 3


def raising(error):
    def judge(*_):
        raise error

    return judge


LINE = raising.__code__.co_firstlineno + 2


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (BaseException("odd"), "BaseException: odd"),
        (ValueError("two\nlines \x1b[31mred\x07"), r"ValueError: two lines red\x07"),
        (ValueError("x" * 10**6), f"ValueError: {'x' * 499}…"),
    ],
)
def test_whatever_a_function_raises_is_told_on_one_line_with_its_place(error, told):
    with pytest.raises(CannotTellError) as failed:
        judging(raising(error), "the matcher 'ours'")(1)
    assert failed.value.message == f"the matcher 'ours' raises {told} at {__file__}:{LINE}"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), UsageError("no")])
def test_what_ends_more_than_the_function_is_passed_on(error):
    with pytest.raises(type(error)) as raised:
        judging(raising(error), "the matcher 'ours'")(1)
    assert raised.value is error


def test_a_wrong_answer_is_told_with_the_place_of_the_function():
    with pytest.raises(CannotTellError) as failed:
        judging(lambda actual: 17, "the matcher 'ours'")(1)
    assert failed.value.message.startswith("the matcher 'ours' returns 17, but must return None, or a text")
    assert f" ({__file__}:" in failed.value.message


def test_what_a_matcher_says_is_not_endless():
    assert len(judging(lambda actual: "x" * 10**6, "the matcher 'ours'")(1) or "") == 10_000


def endless(_):
    while True:
        yield "no"


def returns_none(_):
    return None


def yields_a_number(_):
    yield 17


@pytest.mark.parametrize(
    ("judge", "told"),
    [
        (raising(SystemExit(3)), "the check 'ours' raises SystemExit: 3 at "),
        (endless, "the check 'ours' found 10000 things, and was stopped there"),
        (returns_none, "the check 'ours' returns NoneType, but must return findings"),
        (yields_a_number, "the check 'ours' returns 17, but must return a Finding or a text ("),
    ],
)
def test_a_judge_that_fails_is_an_error_of_the_check(judge, told):
    found = list(_guarded_judge(judge, "the check 'ours'")(None))
    assert isinstance(found[-1], FailedCheck)
    assert found[-1].message.startswith(told)


async def exits(_):
    raise SystemExit(3)
    yield


async def never_ends(_):
    while True:
        yield "no"


@pytest.mark.parametrize(
    ("probe", "told"), [(exits, "raises SystemExit: 3 at "), (never_ends, "found 10000 things, and was stopped there")]
)
def test_a_probe_that_fails_is_an_error_of_the_check(probe, told):
    async def look():
        return [each async for each in _guarded_probe(probe, "the check 'ours'")(None)]

    found = asyncio.run(look())
    assert isinstance(found[-1], FailedCheck)
    assert found[-1].message.startswith(f"the check 'ours' {told}")
