"""What a test expects of a reply, and what is said when it is not so."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.suites.language.expectations import Observed, error_of, plain, read_expect
from mcp_conductor.suites.language.variables import Variables

OLD = next(dialect for dialect in DIALECTS.values() if dialect.handshake)
MODERN = next(dialect for dialect in DIALECTS.values() if not dialect.handshake)
RESULT = {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "Hello"}], "isError": False}}
FAILURE = {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "lost"}], "isError": True}}
TWO_TEXTS = {
    "id": 2,
    "result": {"content": [{"type": "text", "text": each} for each in ("lost", "and gone")], "isError": True},
}
ERROR = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "no such tool"}}


def expect(text):
    document = parse(text, "a.test.mcp.yml")
    return read_expect(Field(document, (), document.data), None)


def told(text, reply, *, verbatim=False, **observed):
    seen = Observed(OLD, reply=reply, **observed)
    return [each.message for each in expect(text).findings(seen, Variables(), verbatim=verbatim)]


@pytest.mark.parametrize(
    ("text", "reply", "messages"),
    [
        ("ok: true", RESULT, []),
        ("ok: true", FAILURE, ["the tool answered with an error: lost"]),
        ("ok: true", ERROR, ["the server answered with an error (code -32602): no such tool"]),
        ("ok: true", {"jsonrpc": "2.0", "id": 2, "result": {"isError": "true"}}, ["the result is an error: isError is a string, neither true nor false"]),
        ("ok: true", {"jsonrpc": "2.0", "id": 2, "result": {"isError": 1}}, ["the result is an error: isError is a number, neither true nor false"]),
        ("ok: false", RESULT, ["the request succeeded with a result, but an error is expected"]),
        ("ok: false", FAILURE, []),
        ("ok: true", {"jsonrpc": "2.0", "id": 2}, ["the result is an error: the reply has neither a result nor an error"]),
        ("error: no such tool", ERROR, []),
        ("error: lost", FAILURE, []),
        ("error: found", FAILURE, ["result.content[0].text is 'lost', not 'found'"]),
        ("error: found", TWO_TEXTS, ["result.content[*].text is 'lost\\nand gone', not 'found'"]),
        ("error: match:contains:tools", ERROR, ["error.message does not contain 'tools'"]),
        ("error: {code: -32601, message: no such tool}", ERROR, ["error.code is -32602, not -32601"]),
        ("result: {content: match:arrayLength:1, isError: true}", RESULT, ["result.isError is false, not true"]),
        ("result: []", RESULT, ["result is an object, not an array"]),
        ("result: {}", ERROR, ["the server answered with an error (code -32602): no such tool"]),
        ("response: {result: {match:partial: {isError: false}}}", RESULT, []),
        ("response: match:type:array", RESULT, ["the reply is an object, not an array"]),
        ("response: {jsonrpc: '2.0', id: '2', error: match:any}", ERROR, ["id is the number 2, not the string '2'"]),
        ("asserts: ['result.isError == true', 'result.content count == 2']", RESULT,
         ["result.isError is false, not true", "result.content has 1 element, not 2"]),
        ("asserts: ['duration < 1ms']", RESULT, ["duration is 250 ms, not less than 1 ms"]),
        ("performance: {maxResponseTime: 200ms}", RESULT, ["the reply took 250 ms, more than 200 ms"]),
        ("performance: {minResponseTime: 1s}", RESULT, ["the reply took 250 ms, less than 1000 ms"]),
        ("ok: true", None, ["there is no reply to check"]),
        ("no_response_within: 1s", RESULT, ["a reply came, but none was expected within 1 s"]),
    ],
)  # fmt: skip
def test_each_expectation_says_what_is_the_case(text, reply, messages):
    assert told(text, reply, seconds=0.25) == messages


LOST = "the tool answered with an error: lost"


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("result: {content: [{type: text, text: found}], structuredContent: {total: 7}, isError: false}", [LOST]),
        ("result: {content: [{type: text, text: 'match:contains:found'}]}", [LOST]),
        ("result: {match:partial: {structuredContent: {total: 7}}}", [LOST]),
        ("response: {jsonrpc: '2.0', id: 1, result: {content: []}}", [LOST, "id is 2, not 1"]),
        ("{ok: true, result: {content: []}}", [LOST]),
        ("asserts: [result.structuredContent.total == 7, result.content count == 2]", [LOST]),
        ("asserts: [result.isError == false]", [LOST]),
        ("asserts: [result.isError not exists]", [LOST]),
        ("{ok: true, asserts: [session.serverInfo.name == 'shop']}",
         [LOST, "session.serverInfo.name is missing: session has no 'serverInfo'; it has no members at all"]),
        # An error is what was expected, but another one.
        ("result: {content: match:arrayLength:2, isError: true}", ["result.content has 1 element, not 2"]),
        ("result: {content: match:arrayLength:2, isError: match:type:boolean}", ["result.content has 1 element, not 2"]),
        ("asserts: [result.isError == true, result.content count == 2]", ["result.content has 1 element, not 2"]),
        ("{ok: false, result: {match:partial: {content: match:arrayLength:2}}}", ["result.content has 1 element, not 2"]),
        ("response: {jsonrpc: '2.0', id: 1, result: {content: match:any, isError: true}}", ["id is 2, not 1"]),
    ],
)  # fmt: skip
def test_an_error_instead_of_success_is_told_once_and_first(text, messages):
    assert [each for each in told(text, FAILURE, verbatim=True) if "unexpected" not in each][
        : len(messages)
    ] == messages


def test_an_error_of_the_server_is_told_in_the_same_way():
    message = "the server answered with an error (code -32602): no such tool"
    assert told("response: {result: {content: []}}", ERROR) == [message]
    assert told("asserts: [result.content count == 1]", ERROR) == [message]
    assert told("asserts: [error.code == -32601]", ERROR) == ["error.code is -32602, not -32601"]


@pytest.mark.parametrize("text", ["error: {code: -32602}", "error: {code: match:any, message: match:contains:lost}"])
def test_an_error_of_a_tool_where_one_of_the_protocol_is_expected_is_told_with_its_text(text):
    (finding,) = expect(text).findings(Observed(OLD, reply=FAILURE), Variables(), verbatim=True)
    assert finding.message == "the tool answered with an error result (isError), not with a JSON-RPC error: lost"
    assert (finding.path, finding.actual) == ("result.content[0].text", "lost")


def test_a_success_instead_of_an_error_is_marked():
    for text in ("ok: false", "error: lost", "error: {code: 7}"):
        (finding,) = expect(text).findings(Observed(OLD, reply=RESULT), Variables(), verbatim=True)
        assert finding.path == "result"


def test_several_differences_are_followed_by_the_whole():
    messages = told("result: {content: [], isError: true}", RESULT)
    assert messages[-1] == "the whole result differs"
    assert len(messages) == 3


def test_lines_that_are_no_messages_are_failures_unless_they_are_allowed():
    assert told("ok: true", RESULT, stray=["hi"]) == ["the server printed a line that is not a message: 'hi'"]
    assert told("{ok: true, stdout: any}", RESULT, stray=["hi"]) == []


@pytest.mark.parametrize(
    ("text", "checks"),
    [("{}", False), ("stdout: any", False), ("ok: true", True), ("snapshot", True), ("stderr: toBeEmpty", True)],
)
def test_an_expectation_checks_something_or_not(text, checks):
    assert expect(text).checks_something is checks


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (RESULT, None),
        (ERROR, ERROR["error"]),
        ({"error": "odd"}, {"message": '"odd"'}),
        (FAILURE, {"message": "lost", "isError": True}),
        ({"result": {"isError": True, "content": "odd"}}, {"message": "", "isError": True}),
        (
            {"result": {"isError": "true"}},
            {"message": "isError is a string, neither true nor false", "isError": "true"},
        ),
        ({"result": []}, None),
    ],
)
def test_what_went_wrong_is_found_wherever_a_reply_says_so(reply, problem):
    assert error_of(reply) == problem


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        ({"result": {"a": 1}}, {"result": {"a": 1}}),
        ({"result": {"a": 1, "ttlMs": 5}}, {"result": {"a": 1, "ttlMs": 5}}),
        ({"match:partial": {"result": {"match:partial": {"resultType": "x"}}}}, {"result": {"a": 1, "resultType": "complete"}}),
        ({"id": 2, "result": {"match:partial": {"resultType": "x"}}}, {"id": 2, "result": {"a": 1, "resultType": "complete"}}),
    ],
)  # fmt: skip
def test_what_the_modern_era_adds_to_results_is_looked_at_only_if_the_test_mentions_it(wanted, kept):
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "s"}}
    result = {"a": 1, "resultType": "complete", "ttlMs": 5, "cacheScope": "public", "_meta": meta}
    assert plain({"jsonrpc": "2.0", "id": 2, "result": result}, MODERN, wanted, verbatim=False) == kept


@pytest.mark.parametrize(
    "text",
    [
        "ok: maybe",
        "asserts: result.a == 1",
        "performance: {max: 1}",
        "exitCode: zero",
        "snapshots",
        "shutdown: {in: 2s}",
    ],
)
def test_an_expectation_that_cannot_be_is_refused(text):
    with pytest.raises(UsageError):
        expect(text)
