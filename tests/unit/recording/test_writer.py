"""Recordings, written while a conversation goes on."""

import json
import os
import re
import stat

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.recording.reader import read_recording, recording_of
from mcp_conductor.recording.writer import open_recording, recording_lines, save_recording
from mcp_conductor.text.redaction import REDACTED, Redactor


def lines_in(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_line_is_in_the_file_as_soon_as_it_is_known(tmp_path):
    file = tmp_path / "r.jsonl"
    writer = open_recording(str(file), Redactor(), transport="stdio", server={"command": ["node", "s.js"]})
    (header,) = lines_in(file)
    assert re.fullmatch(r"mcp-conductor [\d.]+", header.pop("tool"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", header.pop("began"))
    assert header == {"recording": 1, "transport": "stdio", "server": {"command": ["node", "s.js"]}}
    writer.add("client", "{}")
    assert lines_in(file)[1]["text"] == "{}"
    writer.close()
    writer.add("client", "too late")
    assert len(lines_in(file)) == 2


def test_two_writers_of_one_file_do_not_write_into_each_other(tmp_path):
    """A client may start its server twice: the second one is recorded in a file of its own, which is said."""
    file, said = tmp_path / "r.jsonl", []
    first = open_recording(str(file), Redactor())
    first.add("client", "1")
    second = open_recording(str(file), Redactor(), shown="r.jsonl", complain=said.append)
    second.add("client", "2")
    first.add("client", "3")
    other = tmp_path / f"r-{os.getpid()}.jsonl"
    assert [each.get("text") for each in lines_in(file)] == [None, "1", "3"]
    assert [each.get("text") for each in lines_in(other)] == [None, "2"]
    assert stat.S_IMODE(other.stat().st_mode) == 0o600
    assert said == [f"another program is writing r.jsonl: this recording is {other.name}"]
    first.close()
    open_recording(str(file), Redactor()).close()
    assert len(lines_in(file)) == 1


def test_a_recording_is_for_its_owner_alone_also_where_the_file_was_there(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text("earlier\n" * 100)
    file.chmod(0o644)
    open_recording(str(file), Redactor()).close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(lines_in(file)) == 1


def test_no_secret_is_written_neither_in_the_header_nor_broken_over_lines_of_stderr(tmp_path):
    file = tmp_path / "r.jsonl"
    secret = "hunter22-hunter33-hunter44"
    writer = open_recording(str(file), Redactor([secret]), server={"command": ["x", f"--key={secret}"]})
    for line in ("hunter22-h", "  | unter33-h", "  | unter44", "ready"):
        writer.add("stderr", line)
        writer.add("server", "{}")
    writer.add("server", json.dumps({"key": secret}))
    header, *frames = lines_in(file)
    assert header["server"] == {"command": ["x", f"--key={REDACTED}"]}
    shown = [frame["text"] for frame in frames if frame["source"] == "stderr"]
    assert shown == [REDACTED, REDACTED, REDACTED, "ready"]
    assert secret not in file.read_text()
    writer.close()


def test_each_conversation_has_a_number_and_the_time_of_the_file(tmp_path):
    file = tmp_path / "r.jsonl"
    writer = open_recording(str(file), Redactor())
    first, second = writer.session(), writer.session({"url": "http://127.0.0.1/"})
    first.take(Frame(0.0, "client", "a"))
    second.take(Frame(0.0, "client", "b"))
    first.take(Frame(100.0, "server", "c"))
    writer.close()
    recording = read_recording(str(file))
    assert [(entry.session, entry.frame.source, entry.frame.text) for entry in recording.entries] == [
        (1, "client", "a"),
        (2, "note", "session 2 begins"),
        (2, "client", "b"),
        (1, "server", "c"),
    ]
    assert recording.server(2) == {"url": "http://127.0.0.1/"}
    at = [entry.frame.at for entry in recording.entries]
    assert 0 <= at[0] <= at[1] == at[2] < 50  # a note of ours does not go before what it tells of
    assert at[3] == pytest.approx(at[0] + 100)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is always full")
def test_a_full_disk_is_told_once_and_harms_nothing():
    told = []
    writer = open_recording("/dev/full", Redactor(), complain=told.append)
    writer.add("client", "{}")
    writer.close()
    assert told == ["the recording ends here: No space left on device"]


def test_a_place_that_cannot_be_written_is_told_by_its_name(tmp_path):
    with pytest.raises(UsageError) as caught:
        open_recording(str(tmp_path / "nowhere" / "r.jsonl"), Redactor(), shown="nowhere/r.jsonl")
    assert caught.value.message == "cannot write nowhere/r.jsonl: No such file or directory"


def test_a_conversation_that_is_over_can_be_saved_without_its_secrets(tmp_path):
    transcript = Transcript(["secret-value", 'with "quotes"'])
    transcript.add(0.0, "stderr", "line\r\nsecret-value\n")
    transcript.add(0.0, "server", r'{"a":"with \"quotes\""}')
    lines = list(recording_lines(transcript))
    assert len(lines) == 3
    assert not any("\n" in line or "secret-value" in line or "quotes" in line for line in lines)
    save_recording(transcript, str(tmp_path / "r.jsonl"))
    assert read_recording(str(tmp_path / "r.jsonl")).entries == recording_of(lines).entries
    assert stat.S_IMODE((tmp_path / "r.jsonl").stat().st_mode) == 0o600
