"""What a test keeps of a conversation has bounds, and the places of findings stay true."""

from types import SimpleNamespace
from typing import Any

from mcp_conductor.errors import TransportError
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.report.model import Finding, Outcome
from mcp_conductor.suites.running.conversation import Conversation
from mcp_conductor.suites.running.trace import Trace, abridged


def conversation(count: int, text: str = "x") -> Any:
    transcript = Transcript.of([Frame(float(number), "server", f"{text}{number}") for number in range(count)])
    made = Conversation.__new__(Conversation)
    made.session = SimpleNamespace(transcript=transcript, how_it_ended=None)
    made.untold = 0
    return made


def outcome(status: str = "failed", *findings: Finding, **members: Any) -> Outcome:
    return Outcome(id="a", title="a", group="a", status=status, findings=findings, **members)


WRONG = Finding(message="wrong", said=(2, 4))


def test_a_test_keeps_what_came_since_the_test_before_it():
    talk = conversation(6)
    trace = Trace("on")
    first = trace.traced(outcome("passed"), talk, 2)
    second = trace.traced(outcome("failed", WRONG), talk, None)
    assert [frame.text for frame in first.frames] == ["x0", "x1"]
    assert [frame.text for frame in second.frames] == ["x2", "x3", "x4", "x5"]
    assert second.findings[0].framed == (0, 2)


def test_of_tests_that_pass_nothing_is_kept_unless_that_is_asked_for():
    for when, kept in (("retain-on-failure", 0), ("on", 2)):
        assert len(Trace(when).traced(outcome("passed"), conversation(2), None).frames) == kept
    assert len(Trace("retain-on-failure").traced(outcome("passed", flaky=True), conversation(2), None).frames) == 2
    assert len(Trace("retain-on-failure").traced(outcome("warned", WRONG), conversation(4), None).frames) == 4


def test_off_keeps_nothing():
    assert Trace("off").traced(outcome("failed", WRONG), conversation(4), None).frames == ()


def test_the_middle_of_a_long_conversation_is_left_out_and_counted():
    frames = [Frame(float(number), "server", str(number)) for number in range(1000)]
    kept, gap = abridged(frames)
    assert (len(kept), gap) == (401, (200, 800))
    assert (kept[199].text, kept[200].source, kept[201].text) == ("199", "note", "800")
    assert kept[200].text == "600 frames are left out here"


def test_a_finding_points_to_the_same_frame_when_others_are_left_out():
    early, hidden, late = (Finding(message="m", said=(at, at + 1)) for at in (5, 500, 999))
    found = Trace("on").traced(outcome("failed", early, hidden, late), conversation(1000), None)
    assert [each.framed for each in found.findings] == [(5, 6), None, (400, 401)]
    assert found.frames[400].text == "x999"


def test_a_long_text_is_cut():
    (kept,), _ = abridged([Frame(0.0, "server", "x" * 1_000_000)])
    assert len(kept.text) == 200_000


def test_when_there_is_no_more_room_the_report_says_so():
    trace = Trace("on", most_bytes=1100)
    assert len(trace.traced(outcome("passed"), conversation(2), None).frames) == 2
    full = trace.traced(outcome("passed"), conversation(4), None)
    assert [(frame.source, frame.text) for frame in full.frames] == [
        ("note", "the report has no room for what was said in this test")
    ]
    trace.begin()
    assert len(trace.traced(outcome("passed"), conversation(4), None).frames) == 4


def test_where_the_transcript_has_forgotten_frames_no_place_is_claimed():
    talk = conversation(6)
    talk.session.transcript._forget(0)
    assert Trace("on").traced(outcome("failed", WRONG), talk, None).findings[0].framed is None


def test_how_a_server_ended_is_the_last_thing_that_happened():
    talk = conversation(2)
    talk.session.how_it_ended = "the server exited with code 7"
    found = Trace("on").traced(outcome("failed", Finding(message="m", said=(1, 2))), talk, None)
    assert [frame.text for frame in found.frames] == ["x0", "x1", "the server exited with code 7"]
    assert (found.frames[-1].source, found.findings[0].framed) == ("process", (1, 2))


def test_a_server_that_could_not_be_used_has_what_was_said_until_then():
    error = TransportError("the server exited")
    error.frames = (Frame(0.0, "client", "{}"), Frame(0.1, "process", "the server exited"))
    for when, kept in (("retain-on-failure", 2), ("off", 0)):
        assert len(Trace(when).unopened(outcome("errored", Finding(message="m")), error).frames) == kept
