"""What a recorded client said, and what came of each request."""

from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.dialogue import Dialogue, shown_request


def dialogue(*said):
    """The dialogue of SAID: ("client", message) or ("server", message), a second each."""
    texts = [(source, raw if isinstance(raw, str) else compact({"jsonrpc": "2.0", **raw})) for source, raw in said]
    return Dialogue.of(Frame(float(at), source, text) for at, (source, text) in enumerate(texts))


def request(identity, method="tools/call", **params):
    return "client", {"id": identity, "method": method, "params": params}


def result(identity, **value):
    return "server", {"id": identity, "result": value}


def note(method, **params):
    return "server", {"method": method, "params": params}


def test_replies_belong_to_requests_by_id_and_ids_of_two_types_are_two_ids():
    found = dialogue(request(1), request("1"), result("1", a=1), result(1, b=2), result(1, c=3))
    assert [each.reply.result for each in found.asked] == [{"b": 2}, {"a": 1}]
    assert [each.seconds for each in found.asked] == [3.0, 1.0]
    assert [moment.kind for moment in found.moments] == ["request", "request", "reply", "reply"]


def test_what_names_no_request_belongs_to_the_only_one_that_is_open():
    question = ("server", {"id": 9, "method": "roots/list"})
    answer = ("client", {"id": 9, "result": {"roots": []}})
    found = dialogue(
        note("notifications/message", n=0),
        request(1), note("notifications/message", n=1), question, answer, result(1),
        note("notifications/message", n=2),
    )  # fmt: skip
    (asked,) = found.asked
    assert [each.params for each in asked.notices] == [{"n": 1}]
    assert [(each.message.method, each.answer.result) for each in asked.questions] == [("roots/list", {"roots": []})]
    assert len(found.notices) == 3
    assert asked.alone


def test_of_two_open_requests_only_progress_is_known_to_belong_to_one():
    found = dialogue(
        request(1, _meta={"progressToken": "a"}), request(2, _meta={"progressToken": 7}),
        note("notifications/message"), note("notifications/progress", progressToken=7, progress=1), result(1), result(2),
        request(3), result(3),
    )  # fmt: skip
    assert [each.alone for each in found.asked] == [False, False, True]
    assert [len(each.progress) for each in found.asked] == [0, 1, 0]
    assert not any(each.notices for each in found.asked)


def test_a_request_that_is_never_answered_does_not_stand_beside_all_others():
    found = dialogue(request(1, "subscriptions/listen"), request(2), note("notifications/message"), result(2))
    assert [each.alone for each in found.asked] == [True, True]
    assert len(found.asked[1].notices) == 1
    assert not found.asked[0].awaited


def test_notifications_beside_a_request_that_was_given_up_belong_to_none():
    """A client that no longer waits does not stop the server, which goes on to log."""
    question = ("server", {"id": 9, "method": "roots/list"})
    found = dialogue(request(1), request(2), note("notifications/message"), question, result(2))
    assert [each.notices for each in found.asked] == [[], []]
    assert [len(each.questions) for each in found.asked] == [0, 1]
    assert not found.asked[1].alone


def test_a_cancelled_request_is_open_until_then():
    cancel = ("client", {"method": "notifications/cancelled", "params": {"requestId": 1}})
    log = [note("notifications/message", n=number) for number in range(3)]
    found = dialogue(request(1), log[0], cancel, log[1], result(1), request(2), log[2], result(2), request(3))
    assert [[each.params["n"] for each in asked.notices] for asked in found.asked] == [[0], [2], []]


def test_the_reply_to_a_cancelled_request_is_not_awaited():
    cancel = ("client", {"method": "notifications/cancelled", "params": {"requestId": 1}})
    found = dialogue(request(1), cancel, result(1))
    assert found.asked[0].cancelled
    assert not found.asked[0].awaited


def test_what_is_no_message_of_the_client_is_counted():
    assert dialogue(("client", "nonsense"), ("client", "[]"), ("server", "nonsense")).unusable == 1


def test_a_request_is_called_by_what_it_is_about():
    assert shown_request("tools/call", {"name": "add"}) == "tools/call add"
    assert shown_request("resources/read", {"uri": "a://b"}) == "resources/read a://b"
    assert shown_request("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}}) == (
        'completion/complete {"name":"p"}'
    )
    assert shown_request("ping", {}) == "ping"
