"""Files of mcp-aegis, which has a smaller language than ours: what they say is taken as mcp-aegis takes it."""

import pytest

from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.server_spec import StdioSpec
from mcp_conductor.suites.language.expectations import Observed
from mcp_conductor.suites.language.suite import load_suite
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.running.job import Job, RunOptions, patience

REQUEST = 'request: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: x, arguments: {text: %s}}}'


def loaded(tmp_path, text):
    (tmp_path / "a.test.mcp.yml").write_text(text)
    return load_suite(str(tmp_path / "a.test.mcp.yml"), Variables(), shown="a.test.mcp.yml", lenient=True)


@pytest.mark.parametrize("text", ["invalid json {{{", "{{ name }}", "{{ env.HOME }}", "\\{{", "{{"])
def test_braces_are_text(tmp_path, text):
    request = REQUEST % f"'{text}'"
    expect = f"expect: {{response: {{a: '{text}', b: 'match:contains:{text}'}}}}"
    suite = loaded(tmp_path, f"description: d\nvars: {{name: Ada}}\ntests:\n- {{it: '{text}', {request}, {expect}}}")
    (case,) = suite.cases
    (action,) = case.step.actions
    (expected,) = case.step.expects
    assert case.title == text
    assert action.sent(Variables()).params["arguments"] == {"text": text}
    assert expected.response.make(Variables()).check({"a": text, "b": f"<{text}>"}) == []


OLD = next(dialect for dialect in DIALECTS.values() if dialect.handshake)
REPLY = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "read", "n": 1}], "none": None}}


def judged(tmp_path, expect, **observed):
    """What is said of REPLY: messages of failures, and of warnings."""
    test = f"- it: x\n  {REQUEST % 'a'}\n  expect: {expect}\n"
    suite = loaded(tmp_path, f"description: d\ntests:\n{test}")
    (expected,) = suite.cases[0].step.expects
    found = expected.findings(Observed(OLD, reply=REPLY, **observed), Variables(), verbatim=True)
    return [[each.message for each in found if each.warning is warning] for warning in (False, True)]


RESPONSE = '{response: {jsonrpc: "2.0", id: 1, result: %s}}'
NOT_TAKEN = "mcp-aegis does not take this for what is expected"


@pytest.mark.parametrize(
    ("result", "failures", "warnings"),
    [
        ("{tools: match:arrayLength:1, none: null}", [], []),
        ("{tools: match:arrayLength:2, none: null}", ["result.tools has 1 element, not 2"], []),
        # Other members next to these keys are not looked at.
        ("{match:extractField: tools.0.name, value: read, tools: [1]}", [], ["result.tools[0] is an object, not the number 1"]),
        ("{match:extractField: tools.0.name, value: write}", ["result.tools.0.name is 'read', not 'write'"], []),
        # In JavaScript a null is an object.
        ("{tools: match:exists, none: match:type:object}", [], ["result.none is null, not an object"]),
        # Matchers that mcp-aegis does not have.
        ("{tools: match:any, none: null}", [NOT_TAKEN], []),
    ],
)  # fmt: skip
def test_mcp_aegis_decides_and_what_we_alone_find_is_a_warning(tmp_path, result, failures, warnings):
    assert judged(tmp_path, RESPONSE % result) == [failures, warnings]


def test_a_bad_pattern_fails_its_test_and_not_the_file(tmp_path):
    failures, warnings = judged(tmp_path, RESPONSE % "{tools: 'match:dateAge:10x', none: 'match:between:9:1'}")
    assert [message.partition(" ")[0] for message in failures] == [
        "tests[0].expect.response.result.tools",
        "tests[0].expect.response.result.none",
    ]
    assert warnings == []


def test_a_bad_pattern_that_mcp_aegis_passes_is_a_warning(tmp_path):
    failures, (warning,) = judged(tmp_path, RESPONSE % "{tools: 'match:not:icontains:x', none: null}")
    assert failures == []
    assert "asks for the unknown matcher 'icontains'" in warning


@pytest.mark.parametrize(
    ("expect", "observed", "passes"),
    [
        ("{stderr: toBeEmpty}", {"stderr": [""]}, True),
        ("{stderr: toBeEmpty}", {"stderr": ["a"]}, False),
        ("{stderr: 'match:contains:b'}", {"stderr": ["a", "b"]}, True),
        ("{stderr: 'match:regex:('}", {"stderr": ["("]}, False),
        ("{stderr: a}", {"stderr": ["a", ""]}, True),
        ("{performance: {maxResponseTime: 1s}}", {"seconds": 2.0}, False),
        ("{performance: {minResponseTime: 1s}}", {"seconds": 0.5}, False),
        ("{performance: {minResponseTime: 1s, maxResponseTime: 2s}}", {"seconds": 0.5}, True),
        ("{response: null}", {}, True),
        ("{stderr: toBeEmpty, response: {result: 5}}", {}, False),
    ],
)  # fmt: skip
def test_stderr_and_time_are_judged_too(tmp_path, expect, observed, passes):
    failures, _ = judged(tmp_path, expect, **observed)
    assert (not failures) is passes


def test_lines_on_stdout_that_are_no_messages_fail_a_test_that_waits_for_its_reply(tmp_path):
    failures, warnings = judged(tmp_path, RESPONSE % "match:type:object", stray=["one", "two"], stray_amid=["one"])
    assert failures == ["the server printed a line that is not a message: 'one'"]
    assert warnings == ["the server printed a line that is not a message: 'two'"]


def test_a_test_that_says_more_than_mcp_aegis_knows_is_ours(tmp_path):
    failures, warnings = judged(tmp_path, '{ok: false, response: {"match:partial": {id: 1}}}')
    assert (failures, warnings) == (["the request succeeded with a result, but an error is expected"], [])


@pytest.mark.parametrize(
    "request_", ['{"jsonrpc":"2.0","method":"x"}', '{"jsonrpc":"2.0","id":null,"method":"x"}', '{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}']
)  # fmt: skip
def test_a_request_is_sent_exactly_as_it_stands(tmp_path, request_):
    suite = loaded(tmp_path, f"description: d\ntests:\n- {{it: x, request: {request_}, expect: {{stderr: toBeEmpty}}}}")
    (action,) = suite.cases[0].step.actions
    assert action.sent(Variables()).text == request_


@pytest.mark.parametrize(
    ("startup", "options", "seconds"),
    [
        (None, {"lenient": True}, 10.0),
        (30.0, {"lenient": True}, 30.0),
        (30.0, {"lenient": True, "timeout": 2.0}, 2.0),
        (30.0, {}, 10.0),
    ],
)
def test_a_reply_may_take_as_long_as_the_start_of_the_server(tmp_path, startup, options, seconds):
    suite = loaded(tmp_path, "description: d\ntests: []\n")
    job = Job(suite=suite, cases=(), spec=StdioSpec(command=("x",), startup_timeout=startup))
    assert patience(job, RunOptions(**options)) == seconds
