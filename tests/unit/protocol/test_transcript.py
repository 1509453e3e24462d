"""A transcript keeps everything, tells who answered whom, and lets no secret out."""

import gc

from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.text.redaction import REDACTED, Redactor

REQUEST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
RESULT = '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'


def spoken(*lines: tuple[str, str]) -> Transcript:
    transcript = Transcript()
    for at, (source, text) in enumerate(lines):
        transcript.add(float(at), source, text)
    return transcript


def test_everything_is_kept_in_order_and_shown_to_the_listener():
    heard = []
    transcript = Transcript(listener=heard.append)
    transcript.add(0.0, "client", REQUEST)
    transcript.add(1.0, "note", "odd")
    assert transcript.frames == heard == [Frame(0.0, "client", REQUEST), Frame(1.0, "note", "odd")]


def test_over_its_budget_the_oldest_frames_are_forgotten_but_the_listener_hears_all():
    heard = []
    transcript = Transcript(listener=heard.append, budgets=Budgets(transcript_bytes=3000))
    for number in range(20):
        transcript.add(0.0, "note", str(number))
    kept = transcript.notes()
    assert 1 < len(kept) < 20
    assert kept == [str(number) for number in range(20)][-len(kept) :]
    assert sum(frame.size for frame in transcript.frames) <= 3000
    assert len(heard) == 20
    assert transcript.forgotten.frames == {"note": 20 - len(kept)}


def test_stderr_has_a_budget_of_its_own_and_costs_the_conversation_nothing():
    transcript = Transcript(budgets=Budgets(stderr_bytes=3000))
    transcript.add(0.0, "client", REQUEST)
    for number in range(1000):
        transcript.add(1.0, "stderr", f"line {number}")
    transcript.add(2.0, "server", RESULT)
    assert [frame.text for frame in transcript.frames if frame.source != "stderr"] == [REQUEST, RESULT]
    assert transcript.stderr_tail()[-1] == "line 999"
    assert sum(frame.size for frame in transcript.frames if frame.source == "stderr") <= 3000
    assert "stderr lines" in str(transcript.forgotten)
    assert "Budgets(stderr_bytes=…) keeps more" in str(transcript.forgotten)


def test_the_numbers_of_frames_stay_as_they_are_when_older_ones_are_forgotten():
    transcript = Transcript(budgets=Budgets(transcript_bytes=3000))
    for number in range(20):
        transcript.add(0.0, "note", str(number))
    mark = transcript.mark
    transcript.add(0.0, "note", "new")
    assert [frame.text for frame in transcript.since(mark)] == ["new"]
    assert [frame.text for frame in transcript.since(mark - 2)] == ["18", "19", "new"]
    assert transcript.since(0) == transcript.frames


def test_a_frame_larger_than_the_budget_is_kept_until_the_next_one_comes():
    transcript = Transcript(budgets=Budgets(transcript_bytes=1000))
    transcript.add(0.0, "server", "x" * 5000)
    assert len(transcript.frames) == 1
    transcript.add(0.0, "server", "y")
    assert [frame.text for frame in transcript.frames] == ["y"]


def test_a_frame_larger_than_the_budget_is_not_kept_where_the_newest_is_not_wanted():
    transcript = Transcript(budgets=Budgets(transcript_bytes=1000), keeps_newest=False)
    transcript.add(0.0, "server", "x" * 2000)
    transcript.add(1.0, "client", "y" * 20)
    transcript.add(2.0, "server", "z" * 2000)
    assert (transcript.frames, transcript.size, transcript.mark) == ([], 0, 3)
    assert transcript.forgotten.frames == {"server": 2, "client": 1}


def test_a_conversation_within_its_budgets_forgets_nothing_and_says_nothing():
    assert str(spoken(("client", REQUEST), ("stderr", "x")).forgotten) == ""


def test_messages_and_notes_are_views_of_one_side():
    transcript = spoken(("client", REQUEST), ("stderr", "starting"), ("server", RESULT), ("note", "odd"))
    assert [message.text for message in transcript.messages("client")] == [REQUEST]
    assert [message.text for message in transcript.messages("server")] == [RESULT]
    assert transcript.notes() == ["odd"]


def test_the_tail_of_stderr_is_its_last_lines_that_say_something():
    transcript = spoken(*(("stderr", f"line {number}") for number in range(220)), ("stderr", "  "), ("note", "x"))
    assert transcript.stderr_tail() == tuple(f"line {number}" for number in range(20, 220))


def test_the_tail_of_stderr_begins_with_the_process_that_is_the_server_now():
    transcript = Transcript()
    transcript.add(1.0, "stderr", "no key")
    transcript.begin_process()
    assert transcript.stderr_tail() == ()
    transcript.add(2.0, "stderr", "still no key")
    assert transcript.stderr_tail() == ("still no key",)


def test_a_long_line_of_stderr_is_cut_after_its_secrets_are_blotted_out():
    transcript = Transcript(["secret-value"])
    transcript.add(0.0, "stderr", "x" * 395 + "secret-value" + "y" * 1000)
    assert transcript.stderr_tail() == ("x" * 395 + REDACTED[:5],)


def test_a_secret_that_is_broken_over_lines_of_stderr_is_in_no_tail():
    transcript = Transcript(["hunter22-hunter33-hunter44"])
    for line in ("hunter22-h", "  | unter33-h", "  | unter44", "ready"):
        transcript.add(0.0, "stderr", line)
        transcript.add(0.0, "server", RESULT)
    assert transcript.stderr_tail() == (REDACTED, "ready")


def test_exchanges_come_in_the_order_in_which_they_ended_and_unanswered_ones_last():
    transcript = spoken(
        ("client", '{"jsonrpc":"2.0","id":1,"method":"a"}'),
        ("client", '{"jsonrpc":"2.0","id":2,"method":"b"}'),
        ("client", '{"jsonrpc":"2.0","id":3,"method":"c"}'),
        ("server", '{"jsonrpc":"2.0","id":3,"method":"ping"}'),
        ("client", '{"jsonrpc":"2.0","id":3,"result":{}}'),
        ("server", '{"jsonrpc":"2.0","id":3,"result":{}}'),
        ("server", '{"jsonrpc":"2.0","id":1,"result":{}}'),
        ("note", "the end"),
    )
    exchanges = transcript.exchanges()
    assert [exchange.request.method for exchange in exchanges] == ["c", "a", "b"]
    assert [exchange.seconds for exchange in exchanges] == [3.0, 6.0, 6.0]
    assert exchanges[2].reply is None


def test_an_empty_transcript_has_no_exchanges():
    assert Transcript().exchanges() == []


def test_secrets_are_blotted_out_also_those_that_become_known_later():
    transcript = Transcript(["hunter22"])
    transcript.hide(["swordfish"])
    assert transcript.redact("hunter22 swordfish") == f"{REDACTED} {REDACTED}"


def test_conversations_can_share_what_they_must_not_show():
    redactor = Redactor()
    Transcript(redactor=redactor).hide(["hunter22"])
    assert Transcript(redactor=redactor).redact("hunter22") == REDACTED


def test_the_garbage_collector_does_not_look_at_what_is_remembered():
    transcript = Transcript.of([Frame(0.5, "server", '{"jsonrpc":"2.0"}'), Frame(1.5, "stderr", "a line")])
    gc.collect()
    assert [gc.is_tracked(kept) for kept in transcript._frames.values()] == [False, False]
