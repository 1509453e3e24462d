"""Which recorded call answers a request."""

from tests.unit.replaying.conversations import entries, pool, request, result

from mcp_conductor.protocol.message import parse
from mcp_conductor.replaying.matching import Conversation, Pool
from mcp_conductor.replaying.recorded_calls import calls_of_sessions


def given(conversation, method="tools/call", **params):
    """The result that a request gets; None if it is not there."""
    call = conversation.next(method, params)
    return None if call is None else parse(call.steps[-1].text).result


REPEATED = [
    request(1, name="a"),
    result(1, n=1),
    request(2, name="b"),
    result(2, n=2),
    request(3, name="a"),
    result(3, n=3),
]


def test_repeated_requests_are_answered_in_order_and_after_the_last_with_that_again():
    conversation = Conversation(pool(*REPEATED))
    assert [given(conversation, name="a") for _ in range(3)] == [{"n": 1}, {"n": 3}, {"n": 3}]
    assert given(conversation, name="b") == {"n": 2}
    assert given(conversation, name="c") is None


def test_each_conversation_begins_at_the_start():
    known = pool(*REPEATED)
    assert [given(Conversation(known), name="a") for _ in range(2)] == [{"n": 1}, {"n": 1}]


def test_a_request_with_a_secret_that_was_left_out_fits_any_but_the_same_one_goes_first():
    conversation = Conversation(
        pool(
            request(1, name="a", arguments={"key": "[redacted]", "n": 1}), result(1, secret=True),
            request(2, name="a", arguments={"key": "x", "n": 1}), result(2, secret=False),
        )
    )  # fmt: skip
    assert given(conversation, name="a", arguments={"key": "x", "n": 1}) == {"secret": False}
    assert given(conversation, name="a", arguments={"key": "y", "n": 1}) == {"secret": True}
    assert given(conversation, name="a", arguments={"key": "y", "n": 2}) is None


def test_eras_answers_and_secrets_are_counted():
    known = pool(
        request(1, "server/discover", _meta={"io.modelcontextprotocol/protocolVersion": "v"}),
        ("server", {"id": 1, "error": {"code": -32601, "message": "no"}}),
        request(2, "initialize"), result(2, text="[redacted]"), request(3),
    )  # fmt: skip
    assert (known.handshake, known.modern) == (True, False)
    assert (known.answers, known.redacted_answers) == (2, 1)


def test_an_opening_that_was_refused_is_not_played_where_another_was_accepted():
    refused = ("server", {"id": 1, "error": {"code": -32602, "message": "no"}})
    conversation = Conversation(pool(request(1, "initialize"), refused, request(2, "initialize"), result(2, n=2)))
    assert given(conversation, "initialize") == {"n": 2}
    assert Conversation(pool(request(1, "initialize"), refused)).next("initialize", {}) is not None


def test_what_a_conversation_broke_off_at_is_played_as_a_later_conversation_was_answered():
    broken_off, answered = entries(request(1, name="a")), entries(request(1, name="a"), result(1, n=1))
    later = [entry._replace(session=2) for entry in answered]
    conversation = Conversation(Pool(calls_of_sessions([*broken_off, *later])))
    assert given(conversation, name="a") == {"n": 1}


def test_a_request_that_stayed_without_an_answer_and_was_repeated_at_once_is_played_so():
    conversation = Conversation(pool(request(1, name="a"), request(2, name="a"), result(2, n=2)))
    assert [conversation.next("tools/call", {"name": "a"}).replied for _ in range(2)] == [False, True]
