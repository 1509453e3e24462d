"""A recording, read while it is written."""

import json
import os

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.recording import tail
from mcp_conductor.recording.format import Entry, Header
from mcp_conductor.recording.tail import Began, RecordingTail


def frame(text, at=0.0):
    return json.dumps({"at": at, "source": "client", "text": text}) + "\n"


def header(began):
    return json.dumps({"recording": 1, "began": began}) + "\n"


def append(file, text):
    with file.open("ab") as out:
        out.write(text if isinstance(text, bytes) else text.encode())


def seen(following):
    """What is new: texts of frames, when recordings began, and whether one began again."""
    texts = {Entry: lambda each: each.frame.text, Header: lambda each: each.began, Began: lambda each: each.again}
    return [texts[type(each)](each) for each in following.read()]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "said.jsonl"


@pytest.fixture
def following(file):
    reader = RecordingTail(str(file), "said.jsonl")
    yield reader
    reader.close()


def test_what_is_there_comes_first_and_then_what_is_new(file, following):
    append(file, header("one") + frame("a"))
    assert seen(following) == [False, "one", "a"]
    assert seen(following) == []
    append(file, frame("b") + "\n" + frame("c"))
    assert seen(following) == ["b", "c"]


def test_a_file_that_is_not_there_is_waited_for(file, following):
    assert seen(following) == []
    assert not following.is_there
    append(file, "")
    assert seen(following) == []
    assert following.is_there
    append(file, frame("a"))
    assert seen(following) == [False, "a"]


def test_half_a_line_waits_for_its_rest_also_within_a_character(file, following, monkeypatch):
    monkeypatch.setattr(tail, "_CHUNK", 7)
    data = json.dumps({"at": 0, "source": "client", "text": "é" * 30}, ensure_ascii=False).encode() + b"\n"
    place = data.index("é".encode()) + 1
    append(file, frame("a").encode() + data[:place])
    assert seen(following) == [False, "a"]
    append(file, data[place:-1])
    assert seen(following) == []
    append(file, b"\n")
    assert seen(following) == ["é" * 30]


def test_a_file_that_was_cut_begins_again(file, following):
    append(file, header("one") + frame("a") + frame("b"))
    assert seen(following) == [False, "one", "a", "b"]
    file.write_text(header("two"))
    assert seen(following) == [True, "two"]


def test_a_file_that_was_cut_and_is_as_long_again_is_noticed(file, following):
    append(file, header("one") + frame("a"))
    seen(following)
    file.write_text(header("two") + frame("b") + frame("c") + frame("d"))
    assert seen(following) == [True, "two", "b", "c", "d"]


def test_of_a_file_that_was_replaced_the_rest_comes_first(file, following):
    append(file, header("one"))
    assert seen(following) == [False, "one"]
    append(file, frame("last"))
    file.rename(file.with_name("old"))
    assert seen(following) == ["last"]
    append(file.with_name("old"), frame("still"))
    assert seen(following) == ["still"]
    file.write_text(header("two") + frame("b"))
    assert seen(following) == [True, "two", "b"]


@pytest.mark.parametrize(
    "line", [b"nothing\n", b'{"at": 0, "source": "client", "text": "\xff"}\n', b'{"recording": 2}\n']
)
def test_what_is_no_recording_is_refused(file, following, line):
    append(file, line)
    with pytest.raises(UsageError):
        seen(following)


def test_a_line_without_end_is_refused(file, following, monkeypatch):
    monkeypatch.setattr(tail, "_LONGEST_LINE", 1000)
    append(file, "{" + " " * 2000)
    with pytest.raises(UsageError):
        seen(following)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_refused(file, following):
    os.mkfifo(file)
    with pytest.raises(UsageError):
        seen(following)
