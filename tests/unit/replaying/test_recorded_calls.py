"""What a server said because of each thing that the client said."""

from tests.unit.replaying.conversations import answer, calls, note, question, request, result, told


def steps(call):
    """The steps of CALL in a few words."""
    return [f"{step.kind}{step.question or ''}" for step in call.steps]


def test_a_call_has_its_reply_by_id_and_its_progress_by_token():
    first, second = calls(
        request(1, _meta={"progressToken": "p"}), request("1"), result("1", b=2),
        note("notifications/progress", progressToken="p", progress=1), result(1, a=1),
        note("notifications/progress", progressToken="unknown", progress=2),
    )  # fmt: skip
    assert steps(first) == ["progress", "reply"]
    assert [step.pause for step in first.steps] == [3.0, 1.0]
    assert steps(second) == ["reply"]
    assert first.succeeded


def test_what_names_no_request_belongs_to_the_newest_that_is_open():
    first, second = calls(
        request(1), request(2), note("notifications/message", n=1), result(2), note("notifications/message", n=2), result(1)
    )  # fmt: skip
    assert steps(second) == ["say", "reply"]
    assert steps(first) == ["say", "reply"]


def test_what_comes_when_nothing_is_open_follows_what_the_client_said_last():
    first, initialized, last = calls(
        note("notifications/early"),
        request(1, "initialize"), result(1),
        told("notifications/initialized"), question(9), answer(9, roots=[]),
        request(2), result(2), note("notifications/resources/updated", uri="a://b"),
    )  # fmt: skip
    assert steps(first) == ["say", "reply"]
    assert steps(initialized) == ["ask1", "answered1"]
    assert not initialized.is_request
    assert steps(last) == ["reply", "say"]


def test_over_http_all_that_came_in_the_answer_to_a_request_belongs_to_it():
    first, second = calls(
        request(1, "tools/call", 1), request(2, "tools/call", 2), note("notifications/message", 1), result(1, 1), result(2, 2)
    )  # fmt: skip
    assert steps(first) == ["say", "reply"]
    assert steps(second) == ["reply"]


def test_over_http_an_error_without_an_id_answers_the_request_that_it_came_for():
    first, second = calls(
        request(1, "tools/call", 1), request(2, "tools/call", 2),
        ("server", {"error": {"code": -32600, "message": "no"}}, 1), result(2, 2),
    )  # fmt: skip
    assert steps(first) == steps(second) == ["reply"]
    assert first.replied
    assert not first.succeeded


def test_questions_are_awaited_where_the_client_had_answered_them():
    (call,) = calls(
        request(1), question(5), question(6, "sampling/createMessage"), note("notifications/message"), answer(6), answer(5),
        question(7), ("server", {"method": "notifications/cancelled", "params": {"requestId": 7}}), result(1),
    )  # fmt: skip
    assert steps(call) == ["ask1", "ask2", "say", "answered2", "answered1", "ask3", "withdraw3", "reply"]


def test_a_request_that_was_cancelled_is_held_and_what_has_no_answer_owns_nothing_that_follows():
    cancelled, unanswered, last = calls(
        request(1), told("notifications/cancelled", requestId=1),
        request(2), request(3), result(3), note("notifications/message"),
    )  # fmt: skip
    assert (steps(cancelled), cancelled.cancelled) == (["hold"], True)
    assert (steps(unanswered), unanswered.replied) == ([], False)
    assert steps(last) == ["reply", "say"]


def test_an_answer_that_came_after_its_cancellation_is_kept_behind_it():
    (call,) = calls(request(1), told("notifications/cancelled", requestId=1), result(1))
    assert steps(call) == ["hold", "reply"]


def listened(identity, method, **params):
    return note(method, **params, _meta={"io.modelcontextprotocol/subscriptionId": identity})


def test_what_a_subscription_tells_follows_its_cause_and_knows_its_subscription():
    listen, call = calls(
        request(1, "subscriptions/listen"), listened(1, "notifications/subscriptions/acknowledged"),
        request(2), result(2), listened(1, "notifications/resources/updated"), result(1),
    )  # fmt: skip
    assert steps(listen) == ["say"]
    assert listen.steps[0].listening is listen
    assert steps(call) == ["reply", "say", "end"]
    assert call.steps[1].listening is call.steps[2].listening is listen


def test_a_subscription_that_is_refused_has_a_reply():
    (listen,) = calls(
        request(1, "subscriptions/listen"), ("server", {"id": 1, "error": {"code": -32601, "message": "no"}})
    )
    assert steps(listen) == ["reply"]


def test_what_a_server_says_after_its_client_has_left_is_not_played_but_for_what_the_client_waited_for():
    first, second = calls(
        request(1), result(1), request(2), ("process", "the client closed stdin"),
        note("notifications/message"), question(5), result(2), note("notifications/message"), question(6),
    )  # fmt: skip
    assert steps(first) == ["reply"]
    assert steps(second) == ["say", "reply"]


def test_messages_of_a_batch_and_lines_that_are_none_are_read():
    batch = '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]'
    first, second = calls(("client", batch), ("server", "hello"), result(2), result(1), ("client", "{"))
    assert steps(first) == steps(second) == ["reply"]


def test_a_long_recording_takes_time_that_grows_with_its_length():
    many = [each for n in range(20_000) for each in (request(n, name="a", arguments={"n": n}), result(n))]
    many += [request(f"open{n}") for n in range(5_000)] + [note("notifications/message") for _ in range(20_000)]
    found = calls(*many)
    assert len(found) == 25_000
    assert len(found[19_999].steps) == 20_001
