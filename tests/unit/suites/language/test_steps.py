"""One step of a test file: what it sends, what it needs of others, and when it is done again."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.language.steps import Reading, Repetition, read_step
from mcp_conductor.suites.language.suite import CASE_KEYS


def step(text, known=None):
    document = parse(text, "a.test.mcp.yml")
    field, reading = Field(document, (), document.data), Reading(known)
    return read_step(field, reading.members(field, CASE_KEYS, {}), reading)


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("call: x", set()),
        ("call: {tool: x, args: {a: '{{ one }}', b: '{{ env.HOME }}'}}", {"one"}),
        ("{call: x, vars: {one: '{{ two }}'}, expect: {error: '{{ one }}'}}", {"two"}),
        ("{call: x, expect: {result: {a: ['{{ one.b }}']}, stderr: '{{ two }}'}}", {"one", "two"}),
        ("{call: x, client: {elicitation: [{reply: {a: '{{ one }}'}}]}}", {"one"}),
        ("parallel: [{call: '{{ one }}', expect: {asserts: ['result.a == {{ two }}']}}, {read: '{{ three }}'}]", {"one", "two", "three"}),
        ("{call: x, capture: {one: result.a}}", set()),
    ],
)  # fmt: skip
def test_a_step_needs_the_variables_that_are_not_its_own(text, needs):
    assert step(text).needs == needs


@pytest.mark.parametrize(
    ("text", "retry", "until"),
    [
        ("{call: x, retry: 2}", Repetition(2, None, 0.1), None),
        ("{call: x, retry: {interval: 1s}}", Repetition(3, None, 1.0), None),
        ("{call: x, until: 2s}", None, Repetition(None, 2.0, 0.1)),
        ("{call: x, until: {within: 500ms, interval: 10ms}}", None, Repetition(None, 0.5, 0.01)),
        ("{call: x, until: {}}", None, Repetition(None, 5.0, 0.1)),
    ],
)
def test_a_step_can_be_done_again(text, retry, until):
    assert (step(text).retry, step(text).until) == (retry, until)


@pytest.mark.parametrize(
    "text",
    [
        "{call: x, retry: 0}",
        "{call: x, retry: {times: 2, within: 3s}}",
        "{call: x, until: soon}",
        "{call: x, capture: {n: {json: a}}}",
        "{call: x, capture: {n: 'result['}}",
        "{call: x, capture: {env: result.a}}",
        "{call: x, vars: {1a: b}}",
        "{parallel: []}",
        "{parallel: [{call: x}], expect: {ok: true}}",
        "{parallel: [{call: x, list: tools}]}",
        "{call: x, cancel_after: -1}",
    ],
)
def test_a_step_that_cannot_be_is_refused_at_its_place(text):
    with pytest.raises(UsageError) as refused:
        step(text)
    assert refused.value.where is not None


def test_what_a_step_captures_is_known_to_those_after_it():
    reading = Reading({"one"})
    document = parse("{call: '{{ one }}', capture: {two: result.a}}", "a.test.mcp.yml")
    field = Field(document, (), document.data)
    read_step(field, field.members(), reading)
    assert reading.known == {"one", "two"}
    with pytest.raises(UsageError):
        step("call: '{{ two }}'", known={"one"})


TEXT = {"result": {"content": [{"text": "Order id=a17 (ID=B9), total 12.50"}], "json": '{"a": "x=1"}', "n": 5}}


@pytest.mark.parametrize(
    ("capture", "value"),
    [
        ("{from: 'result.content[0].text', regex: 'id=(\\w+)'}", "a17"),
        ("{from: 'result.content[0].text', regex: '/\\bid=(b\\d)/i'}", "B9"),
        ("{from: 'result.content[0].text', regex: '[\\d.]+$'}", "12.50"),
        ("{from: 'result.content[0].text', regex: 'no=(\\d+)|total (?<sum>[\\d.]+)'}", "12.50"),
        ("{from: 'result.content[0].text', regex: 'Order(?:| (x))'}", NOTHING),
        ("{from: 'result.content[0].text', regex: 'nowhere'}", NOTHING),
        ("{from: result.json, json: a, regex: 'x=(.)'}", "1"),
        ("{from: result.n, regex: '5'}", NOTHING),
        ("{from: result.missing, regex: '5'}", NOTHING),
    ],
)
def test_a_capture_by_regular_expression_takes_a_group_or_all_that_matches(capture, value):
    assert step(f"{{call: x, capture: {{word: {capture}}}}}").captures["word"].value(TEXT) == value


@pytest.mark.parametrize(
    ("capture", "place"), [("{from: a, regex: '('}", "1:37"), ("{from: a, regex: 5}", "1:37"), ("{regex: x}", "1:21")]
)
def test_a_capture_by_what_is_no_regular_expression_is_refused(capture, place):
    with pytest.raises(UsageError) as raised:
        step(f"{{call: x, capture: {{word: {capture}}}}}")
    assert str(raised.value.where) == f"a.test.mcp.yml:{place}"


SEVERAL = """
it: x
vars: {mine: "{{ outer }}"}
timeout: 3s
steps:
  - {call: "{{ mine }}", capture: {one: result.a}, timeout: 1s}
  - {call: "{{ one }}", expect: {error: "{{ two }}"}, capture: {three: result.b}}
"""


def test_a_test_of_several_steps_needs_what_none_of_them_gives_before():
    whole = step(SEVERAL)
    assert whole.needs == {"outer", "two"}
    assert list(whole.captures) == ["one", "three"]
    assert [each.timeout for each in whole.each] == [1.0, 3.0]


def test_variables_of_a_test_are_known_in_its_steps_and_nowhere_else():
    known = {"outer", "two"}
    step(SEVERAL, known)
    assert known == {"outer", "two", "one", "three"}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("steps: []", [1]),
        ("steps: {call: x}", [1]),
        ("steps: [{call: x}]\ncall: y\nexpect: {ok: true}\ncapture: {a: result}", [2, 3, 4]),
        ("steps:\n- {call: x, expect: {oki: true}}\n- {}\n- {call: '{{ none }}'}\n- steps: []", [2, 3, 4, 5]),
    ],
)
def test_what_is_wrong_with_steps_is_told_at_their_places(text, lines):
    with pytest.raises(UsageError) as raised:
        step(text, set())
    assert [each.where.line for each in (raised.value, *raised.value.more)] == lines


MANY = {"result": {"content": [{"text": "id=1"}, {"uri": "a"}, {"text": '{"n": 2}'}], "none": []}}


@pytest.mark.parametrize(
    ("capture", "value"),
    [
        ("'result.content[*].text'", ["id=1", '{"n": 2}']),
        ("'result.none[*].text'", []),
        ("'result.content[*].nope'", NOTHING),
        ("{from: 'result.content[*].text', regex: 'id=(.)'}", ["1"]),
        ("{from: 'result.content[*].text', json: n}", [2]),
        ("{from: 'result.content[*].uri', json: n}", NOTHING),
    ],
)
def test_a_capture_of_several_values_is_an_array_of_those_that_are_there(capture, value):
    assert step(f"{{call: x, capture: {{word: {capture}}}}}").captures["word"].value(MANY) == value
