"""Replies find their requests by id, in any order; a reply without a request is reported as what it is."""

import tracemalloc

import pytest

from mcp_conductor.protocol.ledger import Ledger, Recent, progress_token
from mcp_conductor.protocol.message import Message, build, parse


def request(identity, token=None) -> Message:
    meta = {} if token is None else {"params": {"_meta": {"progressToken": token}}}
    return build({"jsonrpc": "2.0", "id": identity, "method": "tools/call", **meta})


def result(identity, value=None) -> Message:
    return build({"jsonrpc": "2.0", "id": identity, "result": value or {}})


def progress(token, amount=1) -> Message:
    params = {"progressToken": token, "progress": amount}
    return build({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def with_open(*requests: Message) -> Ledger:
    ledger = Ledger()
    for at, message in enumerate(requests):
        ledger.sent(message, float(at))
    return ledger


def test_replies_are_matched_by_id_when_they_come_in_another_order():
    first, second, third = request(1), request(2), request(3)
    ledger = with_open(first, second, third)
    ended = [ledger.heard(result(identity), 10.0) for identity in (3, 1, 2)]
    assert [exchange.request for exchange in ended] == [third, first, second]
    assert [exchange.seconds for exchange in ended] == [8.0, 10.0, 9.0]
    assert ledger.open_requests() == []


def test_an_error_is_a_reply():
    error = build({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}})
    assert with_open(request(1)).heard(error, 1.0).reply is error


@pytest.mark.parametrize(
    ("sent", "heard", "fits"),
    [
        (1, "1", True),
        (1, "1.0", True),
        (1, "1.00", True),
        (1, '"1"', False),
        (1, "true", False),
        (1, "null", False),
        (1, "1.5", False),
        ("1", '"1"', True),
        ("1", "1", False),
        (0, "false", False),
        (0, "-0.0", True),
        ("", '""', True),
        (2**60 + 1, str(2**60 + 1), True),
        (2**60 + 1, str(2**60), False),
    ],
)
def test_only_the_same_id_fits(sent, heard, fits):
    reply = parse(f'{{"jsonrpc":"2.0","id":{heard},"result":{{}}}}')
    assert (with_open(request(sent)).heard(reply, 1.0) is not None) is fits


def test_a_broken_answer_that_still_shows_its_id_ends_the_request():
    reply = parse('{"jsonrpc":"2.0","id":1,"result":oops')
    assert with_open(request(1)).heard(reply, 1.0).reply is reply


def test_a_request_of_the_server_with_the_same_id_is_not_our_answer():
    ledger = with_open(request(1))
    assert ledger.heard(build({"jsonrpc": "2.0", "id": 1, "method": "ping"}), 1.0) is None
    assert len(ledger.open_requests()) == 1


def test_a_broken_request_of_the_server_is_not_our_answer_either():
    assert with_open(request(1)).heard(parse('{"jsonrpc":"2.0","id":1,"method":5}'), 1.0) is None


@pytest.mark.parametrize("text", ["[]", '[{"jsonrpc":"2.0","id":1,"result":{}}]', "oops", "5", '{"jsonrpc":"2.0"}'])
def test_what_has_no_id_ends_no_request(text):
    ledger = with_open(request(1))
    assert ledger.heard(parse(text), 1.0) is None
    assert len(ledger.open_requests()) == 1


def test_a_notification_is_never_open():
    assert with_open(build({"jsonrpc": "2.0", "method": "x"})).open_requests() == []


def test_a_second_answer_is_called_so():
    ledger = with_open(request(1))
    assert ledger.heard(result(1), 1.0) is not None
    assert ledger.heard(result(1), 2.0) is None
    assert ledger.stray(result(1)) == "a second answer to the request with id 1"


def test_a_conversation_without_end_is_not_remembered_without_end(monkeypatch):
    monkeypatch.setattr(Recent, "MOST", 100)
    ledger = Ledger()

    def exchanges(first, count):
        for identity in range(first, first + count):
            ledger.sent(request(identity), 0.0)
            ledger.heard(result(identity), 0.0)

    exchanges(0, 1000)
    tracemalloc.start()
    exchanges(1000, 3000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 50_000  # all of the ids would be three times as much
    assert ledger.stray(result(3999)) == "a second answer to the request with id 3999"


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (result(7), "an answer with id 7, which no request has"),
        (result("1"), 'an answer with id "1", which no request has'),
        (build({"jsonrpc": "2.0", "error": {"code": 1, "message": ""}}), "an answer without an id"),
        (parse('{"jsonrpc":"2.0","id":1.50,"result":{}}'), "an answer with id 1.50, which no request has"),
    ],
)
def test_an_answer_to_nothing_is_called_so(reply, complaint):
    ledger = with_open(request(1))
    assert ledger.heard(reply, 1.0) is None
    assert ledger.stray(reply) == complaint


def test_a_late_answer_to_a_request_that_was_given_up_is_nothing_odd():
    ledger = with_open(request(1))
    lost = ledger.lost(1, 5.0)
    assert (lost.reply, lost.seconds) == (None, 5.0)
    assert ledger.heard(result(1), 6.0) is None
    assert ledger.stray(result(1)) is None


def test_a_request_is_lost_only_while_it_is_open():
    ledger = with_open(request(1))
    assert ledger.lost(2, 1.0) is None
    ledger.heard(result(1), 1.0)
    assert ledger.lost(1, 2.0) is None


def test_an_id_may_be_used_again_once_it_is_answered():
    ledger = with_open(request(1))
    ledger.heard(result(1), 1.0)
    ledger.sent(request(1), 2.0)
    assert ledger.heard(result(1), 3.5).seconds == 1.5


def test_progress_is_kept_with_the_request_that_asked_for_it():
    ledger = with_open(request(1, token="a"), request(2, token=2), request(3))
    notices = [progress("a", 1), progress(2, 1), progress("a", 2), progress("unknown")]
    assert [ledger.heard(notice, 1.0) for notice in notices] == [None] * 4
    assert ledger.heard(result(2), 2.0).notices == (notices[1],)
    assert ledger.heard(result(1), 2.0).notices == (notices[0], notices[2])
    assert ledger.heard(result(3), 2.0).notices == ()


def test_progress_of_a_lost_request_is_kept_and_then_ended():
    ledger = with_open(request(1, token="a"))
    ledger.heard(progress("a"), 1.0)
    assert len(ledger.lost(1, 2.0).notices) == 1
    assert ledger.request_of(progress("a")) is None


@pytest.mark.parametrize(
    ("token", "told", "fits"),
    [
        ("a", "a", True),
        (1, 1, True),
        (1, "1", False),
        ("1", 1, False),
        ("a", None, False),
        ("a", ["a"], False),
        ("a", {}, False),
        pytest.param(1, True, False),
    ],
)
def test_progress_belongs_to_the_request_with_the_same_token(token, told, fits):
    asked = request(9, token)
    ledger = with_open(asked)
    notice = progress(told)
    assert ledger.request_of(notice) is (asked if fits else None)
    ledger.heard(notice, 1.0)
    assert ledger.heard(result(9), 1.0).notices == ((notice,) if fits else ())


def test_a_token_used_twice_belongs_to_the_newest_request_that_has_it():
    older, newer = request(1, "a"), request(2, "a")
    ledger = with_open(older, newer)
    ledger.heard(result(1), 1.0)
    assert ledger.request_of(progress("a")) is newer


@pytest.mark.parametrize(
    ("raw", "token"),
    [
        ({"params": {"_meta": {"progressToken": "a"}}}, "a"),
        ({"params": {"_meta": {"progressToken": 0}}}, 0),
        ({"params": {"_meta": {"progressToken": 1.5}}}, None),
        ({"params": {"_meta": {"progressToken": None}}}, None),
        ({"params": {"_meta": {}}}, None),
        ({"params": {"_meta": None}}, None),
        ({"params": []}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_the_progress_token_is_found_wherever_a_request_may_have_one(raw, token):
    assert progress_token(raw) == token
