"""What differs between a recording and what came now."""

import pytest

from mcp_conductor.errors import TransportError, UsageError
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.dialogue import Dialogue
from mcp_conductor.suites.verifying.alignment import Alignment
from mcp_conductor.suites.verifying.besides import Ending
from mcp_conductor.suites.verifying.playing import Played
from mcp_conductor.suites.verifying.verification import Verification, read_ignored


def frames(*said):
    return [Frame(float(at), source, compact({"jsonrpc": "2.0", **raw})) for at, (source, raw) in enumerate(said)]


def call(identity, **params):
    return "client", {"id": identity, "method": "tools/call", "params": params}


def result(identity, **value):
    return "server", {"id": identity, "result": value}


def note(method, **params):
    return "server", {"method": method, "params": params}


def verified(was, came, *ignored, lost=None, over_http=False, keeps_all=True):
    recorded = Dialogue.of(frames(*was))
    played = Played(ids={asked.number: asked.request.id for asked in recorded.asked}, frames=frames(*came), lost=lost)
    return list(
        Verification(
            recorded,
            Ending.of(frames(*was)),
            played,
            alignment=Alignment(began=None, now=0.0),
            ignored=read_ignored(ignored),
            group="f",
            over_http=over_http,
            keeps_all=keeps_all,
        ).outcomes()
    )


def messages(*args, **options):
    return [finding.message for outcome in verified(*args, **options) for finding in outcome.findings]


@pytest.mark.parametrize(
    ("was", "came", "found"),
    [
        ({"nextCursor": "Zm9vMQ"}, {"nextCursor": "YmFyMg"}, []),
        ({"nextCursor": "2"}, {"nextCursor": "3"}, []),
        ({"nextCursor": "2"}, {}, ["result.nextCursor is missing"]),
        ({}, {"nextCursor": "2"}, ["result.nextCursor is new"]),
        ({"nextCursor": "2"}, {"nextCursor": 2}, ["result.nextCursor is the number 2, not the string '2'"]),
    ],
)
def test_the_cursor_of_a_list_may_be_any_text_but_must_be_there(was, came, found):
    asked = ("client", {"id": 1, "method": "tools/list"})
    assert messages([asked, result(1, **was)], [asked, result(1, **came)]) == found


def test_a_cursor_that_is_not_of_a_list_is_compared():
    assert messages([call(1), result(1, nextCursor="a")], [call(1), result(1, nextCursor="b")]) != []


def test_each_request_has_an_outcome_and_each_difference_is_a_finding():
    one, two = verified(
        [call(1, name="a"), result(1, x=1), call(2, name="b"), result(2, x=1, y=2)],
        [call(1, name="a"), result(1, x=1), call(2, name="b"), result(2, x=2, z=3)],
    )
    assert (one.title, one.status, one.findings) == ("1 tools/call a", "passed", ())
    assert (two.id, two.status) == ("f::2 tools/call b", "failed")
    assert {each.message for each in two.findings} == {
        "result.x is 2, not 1", "result.y is missing", "result.z is new",
    }  # fmt: skip


def test_a_result_that_became_an_error_is_a_difference():
    found = messages([call(1), result(1)], [call(1), ("server", {"id": 1, "error": {"code": 1, "message": "m"}})])
    assert found == ["error is new", "result is missing"] or set(found) == {"error is new", "result is missing"}


def test_what_is_ignored_may_differ():
    was, came = [call(1), result(1, x=1, y=1)], [call(1), result(1, x=2, y=1)]
    assert messages(was, came) == ["result.x is 2, not 1"]
    assert messages(was, came, "result.x") == []


def test_the_version_of_a_server_is_not_compared():
    was = [call(1), result(1, serverInfo={"name": "n", "version": "1"}, _meta={"a/serverInfo": {"version": "1"}})]
    came = [call(1), result(1, serverInfo={"name": "n", "version": "2"}, _meta={"a/serverInfo": {"version": "2"}})]
    assert messages(was, came) == []


def test_a_notification_may_come_at_another_time_but_must_come():
    log = note("notifications/message", data="x")
    was = [call(1), log, result(1), call(2), result(2)]
    assert messages(was, [call(1), result(1), call(2), log, result(2)]) == []
    assert messages(was, [call(1), result(1), call(2), result(2)]) == ["notifications/message did not come"]
    assert messages(was, [call(1), result(1), call(2), result(2)], "notifications") == []
    assert messages(was, [call(1), log, result(1), call(2), note("notifications/y"), result(2)]) == [
        "notifications/y came, which is not in the recording"
    ]


def test_progress_may_be_more_or_less_but_not_nothing():
    def said(count):
        progress = [note("notifications/progress", progressToken=1, progress=each) for each in range(count)]
        return [call(1, _meta={"progressToken": 1}), *progress, result(1)]

    assert messages(said(3), said(1)) == []
    assert messages(said(3), said(0)) == ["no progress came; the recording has 3 of it"]
    assert messages(said(0), said(3)) == []


def test_a_request_without_a_use_for_its_answer_is_skipped():
    cancel = ("client", {"method": "notifications/cancelled", "params": {"requestId": 1}})
    assert [each.status for each in verified([call(1), cancel, result(1), call(2)], [call(1), call(2)])] == [
        "skipped"
    ] * 2


def test_what_comes_after_the_end_of_a_server_is_not_run():
    was = [call(1), result(1), call(2), result(2)]
    recorded = Dialogue.of(frames(*was))
    error = TransportError("the server exited with code 1")
    played = Played(ids={1: 1}, frames=frames(call(1)), lost=error, problems={1: error})
    found = list(
        Verification(
            recorded, Ending.of(()), played, alignment=Alignment(began=None, now=0), ignored=(), group="f"
        ).outcomes()
    )
    assert [(each.status, each.cause) for each in found] == [("errored", "server"), ("not-run", None)]


@pytest.mark.parametrize("path", ["a[", "a | count", "a | json | b"])
def test_a_path_that_names_no_part_of_an_answer_is_refused(path):
    with pytest.raises(UsageError):
        read_ignored([path])


def test_over_http_a_change_that_is_told_before_the_stream_is_open_may_be_lost():
    was = [call(1), note("notifications/tools/list_changed"), note("notifications/message", level="info"), result(1)]
    came = [call(1), result(1)]
    assert messages(was, came) == [
        "notifications/tools/list_changed did not come",
        "notifications/message did not come",
    ]
    assert messages(was, came, over_http=True) == ["notifications/message did not come"]


def test_what_was_said_is_kept_where_something_differs_or_all_is_wanted():
    was = [call(1), result(1, text="a"), call(2), result(2, text="b")]
    came = [call(1), result(1, text="a"), call(2), result(2, text="c")]
    assert [len(each.frames) for each in verified(was, came)] == [2, 2]
    assert [len(each.frames) for each in verified(was, came, keeps_all=False)] == [0, 2]
    assert [len(each.wire) for each in verified(was, came, keeps_all=False)] == [0, 2]
