"""How a conversation is opened: what is sent after what, without a server and without a clock."""

import pytest

from mcp_conductor.client.negotiation import (
    DISCOVER,
    INITIALIZE,
    PROBE_SECONDS,
    Answered,
    Ask,
    Fail,
    Late,
    Negotiation,
    Refused,
    Settle,
    Wait,
    died_of_discover,
    may_be_older_transport,
)
from mcp_conductor.errors import HttpStatusError, MethodError, ProtocolError, RequestTimeout, TransportError
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    HANDSHAKE,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    MODERN,
    NEWEST_HANDSHAKE,
    NEWEST_MODERN,
    UNSUPPORTED_VERSION,
)
from mcp_conductor.protocol.message import build

WHO = {"capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
GREETING = ("notifications/initialized",)


def result(method, members):
    return Answered(method, build({"jsonrpc": "2.0", "id": 1, "result": members}))


def error(method, code, **data):
    return Answered(method, build({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no", "data": data}}))


def welcome(version=NEWEST_HANDSHAKE.version, **members):
    return result(INITIALIZE, {"protocolVersion": version, **WHO, **members})


def discovered(*versions):
    return result(DISCOVER, {"supportedVersions": list(versions), "capabilities": {}})


def status(method, code):
    return Refused(method, HttpStatusError(method, code, [], ""))


def last_action(choice, *events, **options):
    """What is to be done after EVENTS, none of which may come when all is over."""
    negotiation = Negotiation(choice, **options)
    action = negotiation.begin()
    for event in events:
        assert isinstance(action, (Ask, Wait)), action
        action = negotiation.after(event)
    return action


def asks(method, dialect, **members):
    return Ask(method=method, dialect=dialect, **members)


@pytest.mark.parametrize(
    ("choice", "first"),
    [
        ("handshake", asks(INITIALIZE, NEWEST_HANDSHAKE)),
        ("auto", asks(DISCOVER, NEWEST_MODERN, patience=PROBE_SECONDS)),
        ("modern", asks(DISCOVER, NEWEST_MODERN)),
        *((version, asks(INITIALIZE, DIALECTS[version])) for version in HANDSHAKE),
        *((version, asks(DISCOVER, DIALECTS[version])) for version in MODERN),
    ],
)
def test_each_choice_has_its_first_message(choice, first):
    assert Negotiation(choice).begin() == first


@pytest.mark.parametrize("offered", HANDSHAKE)
def test_the_handshake_takes_each_version_that_we_know(offered):
    settled = last_action("handshake", welcome(offered))
    assert (settled.dialect, settled.notifications, settled.notes) == (DIALECTS[offered], GREETING, ())


@pytest.mark.parametrize("version", ["2020-01-01", None, 7])
def test_the_handshake_refuses_each_version_that_we_do_not_know(version):
    failed = last_action("handshake", welcome(version))
    assert isinstance(failed, Fail)
    assert "which this client does not speak" in failed.error.message


def test_a_pinned_version_is_taken_alone():
    older, newer = HANDSHAKE[0], HANDSHAKE[-1]
    assert last_action(older, welcome(older)).dialect is DIALECTS[older]
    assert "instead of" in last_action(older, welcome(newer)).error.message


def test_a_server_that_names_no_version_is_taken_for_what_was_offered_where_that_will_do():
    settled = last_action("handshake", welcome(None), needs_version=False)
    assert settled.dialect is NEWEST_HANDSHAKE
    assert settled.notes == (f"initialize: protocolVersion is null; {NEWEST_HANDSHAKE.version} is used",)


def test_a_lenient_opening_takes_any_version_and_says_initialized_twice():
    settled = last_action("handshake", welcome("1.0"), lenient=True)
    assert (settled.dialect, settled.notifications) == (NEWEST_HANDSHAKE, (*GREETING, "initialized"))
    assert settled.pause > 0


def test_what_the_result_of_initialize_lacks_is_noted():
    settled = last_action("handshake", welcome(serverInfo="me"))
    assert settled.notes == ("initialize: the result has no object 'serverInfo'",)


@pytest.mark.parametrize("code", [METHOD_NOT_FOUND, UNSUPPORTED_VERSION])
def test_a_server_that_refuses_initialize_as_modern_ones_do_is_asked_in_the_modern_way(code):
    assert last_action("handshake", error(INITIALIZE, code)) == asks(DISCOVER, NEWEST_MODERN)
    settled = last_action("handshake", error(INITIALIZE, code), discovered(NEWEST_MODERN.version))
    assert (settled.dialect, settled.notifications) == (NEWEST_MODERN, ())


def test_a_server_that_knows_neither_opening_has_failed_by_its_answer_to_initialize():
    failed = last_action("handshake", error(INITIALIZE, METHOD_NOT_FOUND), error(DISCOVER, METHOD_NOT_FOUND))
    assert isinstance(failed.error, MethodError)
    assert failed.error.method == INITIALIZE


def test_a_version_that_is_refused_by_a_list_is_offered_again_once():
    refusal = error(INITIALIZE, INVALID_PARAMS, supported=[HANDSHAKE[0]])
    again = last_action("handshake", refusal)
    assert (again.method, again.dialect) == (INITIALIZE, DIALECTS[HANDSHAKE[0]])
    assert len(again.notes) == 1
    assert isinstance(last_action("handshake", refusal, refusal), Fail)


def test_a_refused_handshake_is_the_error_of_the_server():
    failed = last_action("handshake", error(INITIALIZE, -32000))
    assert (failed.error.method, failed.error.code) == (INITIALIZE, -32000)


def test_modern_fails_with_a_hint_where_the_server_does_not_know_it():
    failed = last_action("modern", error(DISCOVER, METHOD_NOT_FOUND))
    assert NEWEST_MODERN.version in failed.error.hint


def test_modern_fails_where_the_server_lists_no_revision_of_ours():
    failed = last_action("modern", discovered("2999-01-01"))
    assert isinstance(failed.error, ProtocolError)
    assert "does not list" in failed.error.message


def test_a_modern_server_that_refuses_a_version_that_it_lists_is_asked_once_more():
    refusal = error(DISCOVER, UNSUPPORTED_VERSION, supported=[NEWEST_MODERN.version])
    assert last_action("modern", refusal) == asks(DISCOVER, NEWEST_MODERN)
    assert isinstance(last_action("modern", refusal, refusal), Fail)


def test_auto_takes_the_modern_era_where_it_can():
    assert last_action("auto", discovered(NEWEST_MODERN.version)).dialect is NEWEST_MODERN


@pytest.mark.parametrize(
    "answer", [error(DISCOVER, METHOD_NOT_FOUND), error(DISCOVER, -1), discovered("2999-01-01"), status(DISCOVER, 400)]
)
def test_auto_takes_any_other_answer_for_the_handshake_era(answer):
    assert last_action("auto", answer) == asks(INITIALIZE, NEWEST_HANDSHAKE)
    assert last_action("auto", answer, welcome()).dialect is NEWEST_HANDSHAKE


def test_auto_sends_initialize_too_where_no_answer_comes_soon_and_takes_the_first():
    assert last_action("auto", Late()) == asks(INITIALIZE, NEWEST_HANDSHAKE)
    assert last_action("auto", Late(), welcome()).dialect is NEWEST_HANDSHAKE
    assert last_action("auto", Late(), discovered(NEWEST_MODERN.version)).dialect is NEWEST_MODERN


def test_auto_waits_for_initialize_where_server_discover_is_refused_late():
    assert isinstance(last_action("auto", Late(), error(DISCOVER, METHOD_NOT_FOUND)), Wait)
    assert last_action("auto", Late(), error(DISCOVER, METHOD_NOT_FOUND), welcome()).dialect is NEWEST_HANDSHAKE


def test_auto_waits_for_a_slow_modern_server_that_refuses_initialize():
    refusal = error(INITIALIZE, UNSUPPORTED_VERSION)
    assert isinstance(last_action("auto", Late(), refusal), Wait)
    assert last_action("auto", Late(), refusal, discovered(NEWEST_MODERN.version)).dialect is NEWEST_MODERN
    assert last_action("auto", Late(), refusal, error(DISCOVER, -1)).error.method == INITIALIZE


def test_auto_asks_a_server_for_the_revision_that_it_lists_before_a_handshake_counts():
    refusal = error(DISCOVER, UNSUPPORTED_VERSION, supported=[NEWEST_MODERN.version])
    assert last_action("auto", refusal) == asks(DISCOVER, NEWEST_MODERN)
    assert isinstance(last_action("auto", Late(), refusal, welcome()), Wait)
    assert last_action("auto", Late(), refusal, welcome(), discovered(NEWEST_MODERN.version)).dialect is NEWEST_MODERN
    assert last_action("auto", Late(), refusal, welcome(), error(DISCOVER, -1)).dialect is NEWEST_HANDSHAKE


def test_auto_reports_a_server_of_a_later_era():
    failed = last_action("auto", error(DISCOVER, UNSUPPORTED_VERSION, supported=["2999-01-01"]))
    assert "none of our modern revisions" in failed.error.message


def test_auto_takes_a_modern_server_that_wants_more_of_us():
    assert last_action("auto", error(DISCOVER, MISSING_CLIENT_CAPABILITY)) == Settle(dialect=NEWEST_MODERN, opened={})


@pytest.mark.parametrize("choice", ["handshake", "modern"])
def test_a_mere_status_ends_an_opening_that_has_no_other_way(choice):
    method = INITIALIZE if choice == "handshake" else DISCOVER
    refusal = status(method, 404)
    assert last_action(choice, refusal) == Fail(refusal.error)


def test_an_answer_that_is_no_object_cannot_be_used():
    failed = last_action("handshake", result(INITIALIZE, []))
    assert "cannot be used: its result is not an object" in failed.error.message


def test_some_statuses_are_those_of_an_older_transport():
    told = {code: may_be_older_transport(HttpStatusError("POST", code, [], "")) for code in (400, 401, 404, 405, 500)}
    assert told == {400: True, 401: False, 404: True, 405: True, 500: False}


def test_a_server_that_died_is_started_again_where_it_may_have_died_of_the_question():
    silent = TransportError("late")
    silent.__cause__ = RequestTimeout("server/discover", 1.0)
    assert died_of_discover("auto", TransportError("gone"))
    assert not died_of_discover("auto", silent)
    assert not died_of_discover("handshake", TransportError("gone"))
