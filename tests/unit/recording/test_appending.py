"""Conversations that are added to a recording."""

import os

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.appending import append_recording
from mcp_conductor.recording.format import Entry
from mcp_conductor.recording.reader import read_recording
from mcp_conductor.text.redaction import Redactor

HEADER = '{"recording":1,"began":"2020-01-01T00:00:00.000Z","server":{"name":"first"}}\n'


@pytest.fixture
def file(tmp_path):
    return tmp_path / "r.jsonl"


def append(file, **options):
    return append_recording(str(file), Redactor(), shown="r.jsonl", server={"name": "s"}, **options)


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("", 1),
        ('{"at":1,"source":"note","text":"a"}\n', 2),
        ('{"at":1,"source":"note","session":3,"text":"a"}\n{"at":1,"source":"note","session":2,"text":"a"}\n', 4),
        ('{"text":"a", "session" : 5, "source":"note", "at":1}\n', 6),
        ('{"at":1,"source":"note","text":"{\\"session\\":77}"}\n', 2),
    ],
)
def test_numbers_go_on_behind_those_that_are_taken(file, line, number):
    file.write_text(HEADER + line)
    writer = append(file)
    writer.add("client", "hello")
    writer.close()
    recording = read_recording(str(file))
    assert [entry.frame.text for entry in recording.entries][-2:] == [f"session {number} begins", "hello"]
    assert {entry.session for entry in recording.entries[-2:]} == {number}
    assert recording.server(number) == {"name": "s" if number > 1 else "first"}
    assert recording.entries[-1].frame.at > 100_000_000
    assert os.stat(file).st_mode & 0o777 == 0o600


def test_several_writers_share_a_file_that_is_new(file):
    first, second = append(file), append(file)
    first.add("client", "a")
    second.add("client", "b")
    first.add("server", "c")
    for each in (first, second):
        each.close()
    recording = read_recording(str(file))
    assert recording.header is not None
    texts = [(entry.session, entry.frame.text) for entry in recording.entries if entry.frame.source != "note"]
    assert texts == [(1, "a"), (2, "b"), (1, "c")]


def test_a_writer_of_many_conversations_shares_the_file_with_nobody(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    file.write_text(HEADER + '{"at":1,"source":"note","text":"a"}\n')
    told = []
    writer = append(file, alone=True)
    other = append(file, complain=told.append)
    numbers = [writer.next_session(), writer.next_session()]
    writer.write_all([Entry(Frame(0.0, "client", f"of {number}"), number) for number in numbers])
    other.add("client", "elsewhere")
    for each in (writer, other):
        each.close()
    assert told == [f"another program is writing r.jsonl: this recording is r-{os.getpid()}.jsonl"]
    texts = [(entry.session, entry.frame.text) for entry in read_recording(str(file)).entries]
    assert texts[1:] == [(2, "session 2 begins"), (2, "of 1"), (3, "of 2")]
    assert len(read_recording(str(file.with_name(f"r-{os.getpid()}.jsonl"))).entries) == 1


def test_what_cannot_be_added_to_is_told(file):
    for name, message in ((file.parent, "cannot write r.jsonl: Is a directory"), ("/dev/null", "it is not a file")):
        with pytest.raises(UsageError) as caught:
            append(name)
        assert message in caught.value.message
