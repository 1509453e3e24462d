"""The streams of a relay, as frames."""

import pytest

from mcp_conductor.proxy import recorder as module
from mcp_conductor.proxy.recorder import StreamRecorder
from mcp_conductor.recording.reader import read_recording
from mcp_conductor.recording.writer import open_recording
from mcp_conductor.text.redaction import Redactor


@pytest.fixture
def recorded(tmp_path):
    """What is recorded of these pieces of a stream."""

    def recorded(source, *pieces):
        writer = open_recording(str(tmp_path / "r.jsonl"), Redactor())
        stream = StreamRecorder(writer, source)
        for at, piece in enumerate(pieces):
            stream.take(float(at), piece)
        stream.end()
        writer.close()
        return [entry.frame for entry in read_recording(str(tmp_path / "r.jsonl")).entries]

    return recorded


def test_a_line_is_a_frame_with_the_time_at_which_it_was_whole(recorded):
    frames = recorded("server", b"a", b"b\nc\r\n", b"", b"\xff\n\n  \n", b"rest")
    assert [(frame.at, frame.text) for frame in frames[:3]] == [(1.0, "ab"), (1.0, "c"), (3.0, "\udcff")]
    assert [frame.text for frame in frames[3:]] == ["rest"]
    assert {frame.source for frame in frames} == {"server"}


def test_an_empty_line_is_no_message(recorded):
    assert recorded("client", b"\n \n\r\n") == []
    assert [frame.text for frame in recorded("stderr", b" \nx\n")] == [" ", "x"]


def test_a_line_without_end_is_recorded_in_parts(recorded, monkeypatch):
    monkeypatch.setattr(module, "_LONGEST_LINE", 10)
    frames = recorded("server", b"x" * 11, b"y\nz\n")
    assert [(frame.source, frame.text[:16]) for frame in frames] == [
        ("server", "x" * 11),
        ("note", "the last line of"),
        ("server", "y"),
        ("server", "z"),
    ]


def test_a_secret_in_one_of_many_lines_that_came_together_is_not_recorded(tmp_path):
    writer = open_recording(str(tmp_path / "r.jsonl"), Redactor(["open sesame"]))
    StreamRecorder(writer, "client").take(0.5, b"one\ntwo open sesame\nthree\n")
    StreamRecorder(writer, "server").take(1.5, b"four\nfive\n")
    frames = [entry.frame for entry in read_recording(str(tmp_path / "r.jsonl")).entries]
    assert [frame.text for frame in frames] == ["one", "two [redacted]", "three", "four", "five"]
    assert [frame.at for frame in frames] == [0.5, 0.5, 0.5, 1.5, 1.5]
