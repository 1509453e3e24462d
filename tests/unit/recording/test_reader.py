"""Recordings, read back."""

import json

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.message import decode
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.recording.reader import meant_session, read_recording, recording_of
from mcp_conductor.recording.writer import recording_lines

REQUEST = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
RESULT = '{"jsonrpc":"2.0","id":1,"result":{}}'
NOTE = '{"at":1,"source":"note","text":"x"}'


def test_a_recording_can_be_read_back():
    said = [("client", REQUEST), ("server", RESULT), ("stderr", "é \x1b \u2028"), ("note", 'a "quoted" note')]
    transcript = Transcript()
    for number, each in enumerate(said):
        transcript.add(number, *each)
    transcript.add(4.1234567, "server", "not \x00 JSON")
    again = recording_of(recording_lines(transcript)).transcript()
    assert [frame[1:] for frame in again.frames] == [frame[1:] for frame in transcript.frames]
    assert [frame.message for frame in again.frames] == [frame.message for frame in transcript.frames]
    assert again.frames[-1].at == 4.123457
    assert len(again.exchanges()) == 1


def test_broken_utf8_survives_a_recording():
    message = decode(b'{"jsonrpc":"2.0","id":1,"result":"\xff\xfe"}')
    transcript = Transcript()
    transcript.add(0.0, "server", message.text)
    lines = [line.encode() for line in recording_lines(transcript)]
    assert recording_of(lines).entries[0].frame.text == message.text


@pytest.mark.parametrize("odd", ["d800", "DC00", "dc7f", "dD00", "dfff"])
def test_half_a_character_that_stands_for_no_byte_is_read_as_its_escape(odd):
    frame = f'{{"at":1,"source":"client","text":"é \\u{odd} \\udcff","server":{{"name":"\\u{odd}"}}}}'
    recording = recording_of([f'{{"recording":1,"tool":"\\u{odd}"}}', frame])
    (entry,), escape = recording.entries, f"\\u{odd.lower()}"
    assert (entry.frame.text, entry.server) == (f"é {escape} \udcff", {"name": escape})
    assert recording.header.tool == escape
    assert entry.frame.message.text == entry.frame.text


def test_a_character_that_is_written_as_two_escapes_is_one():
    line = '{"at":1,"source":"note","text":"\\ud83d\\ude00 \\\\ud800"}'
    assert recording_of([line]).entries[0].frame.text == "\U0001f600 \\ud800"


def test_a_file_without_a_header_is_its_frames_alone():
    recording = recording_of([NOTE])
    assert (recording.header, len(recording.entries), recording.warning) == (None, 1, None)


def test_blank_lines_of_a_recording_mean_nothing():
    assert recording_of(["", " \n", NOTE + "\n"]).transcript().notes() == ["x"]


def test_a_header_alone_is_a_recording_of_nothing():
    recording = recording_of(['{"recording":1}\n'])
    assert (recording.entries, recording.sessions()) == ((), [])


@pytest.mark.parametrize("form", [str.encode, str], ids=["bytes", "text"])
def test_every_cut_of_the_last_line_leaves_it_out_and_says_so(form):
    last = '{"at":2,"source":"server","text":"é \\ud800"}'
    for end in range(1, len(last)):
        recording = recording_of([form('{"recording":1}\n'), form(NOTE + "\n"), form(last[:end])])
        assert [entry.frame.text for entry in recording.entries] == ["x"]
        assert recording.warning is not None
    whole = recording_of([form('{"recording":1}\n'), form(NOTE + "\n"), form(last)])
    assert (len(whole.entries), whole.warning) == (2, None)


@pytest.mark.parametrize("form", [str, str.encode])
def test_a_byte_order_mark_and_other_ends_of_lines_are_of_no_account(form):
    written = '{"recording":1}\n{"at":1.5,"source":"client","text":"a"}\n'
    (entry,) = recording_of(map(form, written.splitlines(keepends=True))).entries
    marked = ("\ufeff" + written.replace("\n", "\r\n")).splitlines(keepends=True)
    assert recording_of(map(form, marked)).entries == (entry,)


def test_a_character_that_is_cut_in_the_middle_is_part_of_a_cut_line():
    recording = recording_of([NOTE.encode() + b"\n", '{"at":1,"source":"note","text":"é'.encode()[:-1]])
    assert (len(recording.entries), recording.warning is not None) == (1, True)


@pytest.mark.parametrize(
    "line",
    [
        "oops",
        "5",
        "null",
        "[]",
        '"text"',
        "{}",
        '{"recording":1}',
        '{"at":1,"source":"note"}',
        '{"at":1,"text":"x"}',
        '{"source":"note","text":"x"}',
        '{"at":"soon","source":"note","text":"x"}',
        '{"at":true,"source":"note","text":"x"}',
        '{"at":null,"source":"note","text":"x"}',
        '{"at":NaN,"source":"note","text":"x"}',
        '{"at":1,"source":"nobody","text":"x"}',
        '{"at":1,"source":[],"text":"x"}',
        '{"at":1,"source":"note","text":5}',
        "[" * 100_000,
        '{"at":' + "9" * 400 + ',"source":"note","text":"x"}',
    ],
    ids=lambda line: line[:40],
)
@pytest.mark.parametrize("end", ["", "\n"], ids=["last", "whole"])
def test_a_line_that_is_no_frame_is_refused_with_its_number(line, end):
    with pytest.raises(UsageError) as caught:
        recording_of([NOTE + "\n", line + end])
    assert caught.value.message.startswith("line 2 of the recording")
    assert len(caught.value.message) < 200


def test_conversations_are_told_apart_by_their_numbers():
    lines = [
        '{"recording":1,"server":{"name":"all"}}',
        '{"at":0,"source":"client","text":"a"}',
        '{"at":1,"source":"note","session":3,"text":"b","server":{"url":"http://x/"}}',
        '{"at":2,"source":"server","session":3,"exchange":9,"text":"c"}',
        '{"at":3,"source":"server","text":"d"}',
    ]
    recording = recording_of(lines)
    assert recording.sessions() == [1, 3]
    assert [frame.text for frame in recording.transcript(1).frames] == ["a", "d"]
    assert [frame.text for frame in recording.transcript(3).frames] == ["b", "c"]
    assert [frame.text for frame in recording.transcript().frames] == ["a", "b", "c", "d"]
    assert recording.entries[2].exchange == 9
    assert (recording.server(1), recording.server(3)) == ({"name": "all"}, {"url": "http://x/"})


def test_what_cannot_be_read_is_told_by_its_name(tmp_path):
    (tmp_path / "latin").write_bytes(b"\xe9\n")
    for name, words in (("missing", "cannot read it: no such"), ("latin", "it is not a recording: it is not UTF-8")):
        with pytest.raises(UsageError) as caught:
            read_recording(str(tmp_path / name), shown="it")
        assert caught.value.message.startswith(words)
    (tmp_path / "newer").write_text(json.dumps({"recording": 2}) + "\n")
    with pytest.raises(UsageError):
        read_recording(str(tmp_path / "newer"))


SAID = {
    "open": ("client", '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'),
    "opened": ("server", '{"jsonrpc":"2.0","id":0,"result":{}}'),
    "refused": ("server", '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}'),
    "ping": ("client", REQUEST),
    "ask": ("client", '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
    "result": ("server", RESULT),
    "error": ("server", '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'),
    "begun": ("client", '{"jsonrpc":"2.0","method":"notifications/initialized"}'),
}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("1 open, 1 refused, 2 open, 2 opened, 3 open, 3 opened", 2),
        ("1 open, 1 refused, 2 open, 3 open, 3 opened, 2 opened", 2),
        ("1 open, 1 refused, 2 open, 2 opened, 1 opened", 1),
        ("1 open, 1 refused, 2 open, 2 refused", 1),
        ("1 open, 1 opened, 1 begun, 2 open, 2 opened, 2 ask, 2 result", 2),
        ("1 open, 1 opened, 1 ping, 1 result, 2 ask, 3 ask, 3 result", 3),
        ("1 open, 1 opened, 2 open, 2 opened, 2 ask, 2 error", 2),
        ("1 ask, 1 error, 2 ask, 2 result", 2),
        ("1 open, 2 ask, 2 result, 1 opened, 1 ask, 1 result", 1),
        ("4 begun, 2 begun", 4),
    ],
)
def test_the_conversation_that_is_meant_is_the_first_in_which_something_was_done(said, meant):
    words = (each.split() for each in said.split(", "))
    entries = [
        {"at": 0, "session": int(session), "source": SAID[what][0], "text": SAID[what][1]} for session, what in words
    ]
    assert meant_session(recording_of(map(json.dumps, entries))) == meant
