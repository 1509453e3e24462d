"""What proves a finding: its request and its reply, found among all that was said."""

import json

import pytest

from mcp_conductor.checks.engine.evidence import excerpted, http_request, http_response, proven
from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.engine.http_probe import HttpResponse

ASKED = '--> {"jsonrpc":"2.0","id":1,"method":"tools/list"}'
NOTED = '<-- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}'
ANSWERED = '<-- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":5}]}}'
PINGED = '--> {"jsonrpc":"2.0","id":2,"method":"ping"}'
PONGED = '<-- {"jsonrpc":"2.0","id":2,"result":{}}'
LINES = [ASKED, NOTED, ANSWERED, PINGED, PONGED]
RESULT = {"tools": [{"name": 5}]}


def test_a_result_is_proven_by_its_request_and_its_reply():
    (finding,), wire = excerpted([fault("wrong", RESULT)], LINES, alone=True)
    assert wire == [ASKED, ANSWERED]
    assert finding.said == (0, 2)


def test_a_part_of_a_result_is_proven_by_the_whole():
    _, wire = excerpted([fault("wrong", {"name": 5}, path="tools[0]")], LINES, alone=False)
    assert wire == [ASKED, ANSWERED]


def test_each_finding_has_its_own_proof():
    (one, other), wire = excerpted([fault("wrong", RESULT), fault("odd", {"level": "info"})], LINES, alone=False)
    assert wire == [ASKED, ANSWERED, ASKED, NOTED]
    assert (one.said, other.said) == ((0, 2), (2, 4))


def test_what_was_not_answered_is_proven_by_what_was_asked():
    _, wire = excerpted([fault("silent", {"jsonrpc": "2.0", "id": 2, "method": "ping"})], LINES[:4], alone=True)
    assert wire == [PINGED]


def test_what_was_not_answered_is_not_mistaken_for_what_was_asked_next():
    later = '--> {"jsonrpc":"2.0","id":3,"method":"ping"}'
    _, wire = excerpted([fault("silent", {"jsonrpc": "2.0", "id": 2, "method": "ping"})], [PINGED, later], alone=True)
    assert wire == [PINGED]


def test_without_a_better_proof_it_is_the_last_that_was_said():
    _, wire = excerpted([fault("gone")], LINES, alone=True)
    assert wire == [PINGED, PONGED]


def test_the_answer_to_another_request_is_no_proof_of_a_silence():
    lines = ['--> {"jsonrpc":"2.0","id":9,"method":"ping"}', '<-- {"jsonrpc":"2.0","id":3,"result":{}}']
    _, wire = excerpted([fault("no answer")], lines, alone=True)
    assert wire == lines[:1]


def test_that_we_wait_no_longer_is_no_proof_of_anything():
    gave_up = '--> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}'
    _, wire = excerpted([fault("silent")], [*LINES[:4], gave_up], alone=True)
    assert wire == [PINGED]


def test_a_judge_that_names_no_message_has_no_proof_among_those_of_others():
    (finding,), wire = excerpted([fault("missing")], LINES, alone=False)
    assert (wire, finding.said) == ([], None)


def test_the_answer_of_a_client_is_proven_by_the_question_and_not_by_what_comes_next():
    question = '<-- {"jsonrpc":"2.0","id":"q","method":"roots/list"}'
    answer = '--> {"jsonrpc":"2.0","id":"q","result":{"roots":[{}]}}'
    lines = [ASKED, question, answer, ANSWERED]
    _, wire = excerpted([fault("no uri", json.loads(answer[4:]))], lines, alone=False, nearest=True)
    assert wire == [question, answer]


def test_the_answer_of_a_client_with_another_id_is_proven_by_the_last_question():
    question = '<-- {"jsonrpc":"2.0","id":7,"method":"ping"}'
    answer = '--> {"jsonrpc":"2.0","id":"7","result":{}}'
    lines = [ASKED, question, answer, ANSWERED]
    _, wire = excerpted([fault("wrong id", json.loads(answer[4:]))], lines, alone=False, nearest=True)
    assert wire == [question, answer]


def test_a_request_is_proven_by_itself_and_its_own_answer():
    _, wire = excerpted([fault("odd", json.loads(ASKED[4:]))], LINES, alone=False, nearest=True)
    assert wire == [ASKED, ANSWERED]


CANCELLED = '--> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'


def test_the_answer_to_a_cancelled_request_is_proven_with_the_cancellation():
    _, wire = excerpted([fault("answered", json.loads(ANSWERED[4:]))], [ASKED, CANCELLED, ANSWERED, PINGED], alone=True)
    assert wire == [ASKED, CANCELLED, ANSWERED]


def test_progress_on_a_cancelled_request_is_proven_with_the_request_and_the_cancellation():
    asked = '--> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}'
    report = '<-- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}'
    _, wire = excerpted([fault("goes on", json.loads(report[4:]))], [asked, CANCELLED, PINGED, report], alone=True)
    assert wire == [asked, CANCELLED, report]


def test_silence_after_a_cancellation_is_proven_with_the_cancellation():
    _, wire = excerpted([fault("silent")], [ASKED, CANCELLED, PINGED], alone=True)
    assert wire == [ASKED, CANCELLED, PINGED]


def test_what_the_server_says_unasked_is_proven_with_the_request_that_was_open():
    question = '<-- {"jsonrpc":"2.0","id":"q","method":"roots/list"}'
    _, wire = excerpted(
        [fault("odd", json.loads(question[4:]))], [*LINES, ASKED[:-1] + ',"a":1}', question], alone=True
    )
    assert wire == [ASKED[:-1] + ',"a":1}', question]
    _, wire = excerpted([fault("odd", json.loads(question[4:]))], [*LINES, question], alone=True)
    assert wire == [question]


def test_progress_after_the_answer_is_proven_with_the_request_and_the_answer():
    asked = '--> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}'
    report = '<-- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}'
    _, wire = excerpted([fault("late", json.loads(report[4:]))], [asked, ANSWERED, PINGED, PONGED, report], alone=False)
    assert wire == [asked, ANSWERED, report]


def test_an_answer_to_what_could_not_be_read_is_not_taken_for_one_to_the_request_whose_id_it_has():
    wrong = '<-- {"jsonrpc":"2.0","id":1,"result":{}}'
    _, wire = excerpted([fault("odd", json.loads(wrong[4:]))], [*LINES, BROKEN, wrong], alone=True)
    assert wire == [BROKEN, wrong]


def test_an_answer_to_a_message_without_a_method_is_proven_by_that_message():
    lines = ['--> {"jsonrpc":"2.0","id":"x"}', '<-- {"jsonrpc":"2.0","id":"x","error":{"code":1}}']
    _, wire = excerpted([fault("wrong code", json.loads(lines[1][4:]))], [*lines, PINGED, PONGED], alone=True)
    assert wire == lines


def test_a_message_on_several_lines_is_proven_by_these():
    lines = ['<-- {"jsonrpc":"2.0",', '<-- "id":1,"result":{}}']
    _, wire = excerpted([fault("lines", '{"jsonrpc":"2.0",\n"id":1,"result":{}}')], [ASKED, *lines, NOTED], alone=False)
    assert wire == lines


BROKEN = '--> {"jsonrpc": "2.0", "id": 1, "method":'


def test_an_error_without_an_id_is_proven_by_what_could_not_be_read_and_not_by_a_request_that_has_its_answer():
    refused = '<-- {"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"?"}}'
    _, wire = excerpted([fault("odd", json.loads(refused[4:]))], [BROKEN, PINGED, refused, PONGED], alone=True)
    assert wire == [BROKEN, refused]


def test_an_answer_with_an_id_of_no_request_is_proven_by_what_had_no_answer():
    wrong = '<-- {"jsonrpc":"2.0","id":"1","result":{}}'
    _, wire = excerpted([fault("odd", json.loads(wrong[4:]))], [ASKED, wrong, PINGED, PONGED], alone=True)
    assert wire == [ASKED, wrong]


def test_answers_in_an_array_are_proven_by_the_requests_of_all():
    both = '<-- [{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]'
    _, wire = excerpted([fault("a batch", json.loads(both[4:]))], [ASKED, NOTED, PINGED, both], alone=False)
    assert wire == [ASKED, PINGED, both]


def test_what_was_compared_is_shown_with_both_requests():
    later = ['--> {"jsonrpc":"2.0","id":3,"method":"tools/list"}', '<-- {"jsonrpc":"2.0","id":3,"result":{"tools":[]}}']
    (finding,), wire = excerpted([fault("changes", {"tools": []}, beside=[RESULT])], [*LINES, *later], alone=True)
    assert wire == [ASKED, ANSWERED, *later]
    assert finding.said == (0, 4)


@pytest.mark.parametrize("alone", [True, False])
def test_two_answers_that_are_alike_are_both_shown(alone):
    pong = json.loads(PONGED[4:])
    _, wire = excerpted([fault("twice", pong, beside=[pong])], [*LINES, PONGED], alone=alone)
    assert wire == [PINGED, PONGED, PONGED]


def test_of_two_answers_that_are_alike_the_one_to_the_request_that_is_named_is_shown():
    """Each is the first of its session, so that they have the same id."""
    first, second = (f'--> {{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"n":{n}}}}}' for n in (1, 2))
    pong = '<-- {"jsonrpc":"2.0","id":1,"result":{}}'
    finding = fault("wrong", json.loads(pong[4:]), beside=[json.loads(first[4:])])
    _, wire = excerpted([finding], [first, pong, second, pong], alone=True)
    assert wire == [first, pong]


def test_a_member_that_is_no_object_is_proven_by_the_message_that_has_it():
    _, wire = excerpted([fault("no text", 5, path="tools[0].name", beside=[{"name": 5}])], LINES, alone=False)
    assert wire == [ASKED, ANSWERED]


def test_a_line_of_stderr_is_shown_after_the_request_that_it_answers():
    answer = '{"jsonrpc":"2.0","id":2,"result":{}}'
    asked = json.loads(PINGED[4:])
    (finding,), wire = excerpted([fault("on stderr", answer, beside=[asked])], LINES[:4], alone=False)
    assert (wire, finding.said) == ([PINGED, "<-- " + answer], (0, 2))


def test_a_finding_without_a_message_is_proven_by_the_method_that_it_names():
    _, wire = excerpted([fault("tools/list has no header", {"a": "b"})], LINES, alone=False, nearest=True)
    assert wire == [ASKED, ANSWERED]


def test_what_a_program_printed_is_not_shown_as_a_message():
    _, wire = excerpted([fault("gave up", "error: no")], LINES, alone=False, nearest=True)
    assert wire == [PINGED, PONGED]


def test_a_text_that_is_no_message_is_its_own_proof():
    _, wire = excerpted([fault("noise", "hello")], [ASKED, "<-- hello", ANSWERED], alone=False)
    assert wire == ["<-- hello"]


def test_in_the_whole_of_what_was_said_a_finding_has_its_place():
    (finding,) = proven([fault("wrong", RESULT)], LINES)
    assert finding.said == (0, 3)


def test_http_is_told_in_one_line():
    assert http_request("POST", "http://127.0.0.1:1/mcp", [("Origin", "http://a.example")], b"{}") == (
        "POST http://127.0.0.1:1/mcp (Origin: http://a.example) {}"
    )
    assert http_response(401, {"www-authenticate": "Bearer", "date": "today"}, "no") == (
        "HTTP 401 (www-authenticate: Bearer) no"
    )


POSTED = '--> POST http://127.0.0.1:1/mcp (Accept: application/json) {"jsonrpc":"2.0","id":"a","method":"ping"}'
REFUSED = '<-- HTTP 200 (content-type: application/json) {"jsonrpc":"2.0","id":null,"error":{"code":-32700}}'
AGAIN = '--> POST http://127.0.0.1:1/mcp (Accept: application/json) {"jsonrpc":"2.0","id":"b","method":"ping"}'
SERVED = '<-- HTTP 200 (content-type: application/json) {"jsonrpc":"2.0","id":"b","result":{}}'
POSTS = [POSTED, REFUSED, AGAIN, SERVED]


def test_a_message_in_the_body_of_a_response_is_proven_by_that_response_and_its_request():
    _, wire = excerpted([fault("odd", {"jsonrpc": "2.0", "id": None, "error": {"code": -32700}})], POSTS, alone=True)
    assert wire == [POSTED, REFUSED]


def test_a_response_of_http_is_proven_by_itself_and_its_request():
    seen = HttpResponse(200, {"content-type": "application/json"}, REFUSED.partition(") ")[2])
    _, wire = excerpted([fault("odd", seen.shown())], POSTS, alone=True)
    assert wire == [POSTED, REFUSED]


def test_the_words_of_a_value_are_found_again_where_they_are_written_as_escapes():
    escaped = '<-- {"jsonrpc":"2.0","id":1,"result":{"t\\u006fols":[{"n\\u0061me":5}]}}'
    _, wire = excerpted([fault("wrong", RESULT)], [ASKED, escaped], alone=False)
    assert wire == [ASKED, escaped]


def test_the_first_message_with_a_value_is_its_proof_whatever_stands_around_it():
    value = {"text": 'Say "hi" to C:\\temp, é', "type": "text"}
    lines = [f'<-- {{"jsonrpc":"2.0","id":{number},"result":{{"content":[{json.dumps(value)}]}}}}' for number in (7, 8)]
    (finding,), wire = excerpted([fault("wrong", value)], [ANSWERED, *lines], alone=False)
    assert wire == lines[:1]
    assert finding.said == (0, 1)
