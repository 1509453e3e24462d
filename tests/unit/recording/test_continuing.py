"""A recording that goes on."""

import os

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.continuing import continue_recording
from mcp_conductor.recording.reader import read_recording
from mcp_conductor.text.redaction import Redactor

HEADER = '{"recording":1,"began":"2020-01-01T00:00:00.000Z"}\n'
FRAME = '{"at":1.5,"source":"note","session":3,"text":"a"}\n'


def continued(path, *secrets):
    """The recording at PATH after another conversation was added."""
    redactor = Redactor()
    redactor.learn(secrets)
    writer = continue_recording(str(path), read_recording(str(path)), redactor)
    writer.session({"name": "s"}).take(Frame(0.0, "client", "hello sesame-4711"))
    writer.close()
    return read_recording(str(path))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (HEADER + FRAME, ["a"]),
        (HEADER + FRAME.rstrip(), ["a"]),
        (HEADER + FRAME + FRAME[:20], ["a"]),
        (HEADER + FRAME + '{"at":1,"source":"note","text":"' + "x" * 200_000, ["a"]),
        (FRAME, ["a"]),
    ],
)
def test_what_is_added_follows_what_was_there_also_if_that_was_cut(tmp_path, text, kept):
    (tmp_path / "r.jsonl").write_text(text)
    recording = continued(tmp_path / "r.jsonl")
    assert [entry.frame.text for entry in recording.entries] == [*kept, "session 4 begins", "hello sesame-4711"]
    assert recording.warning is None
    assert recording.sessions() == [3, 4]
    assert recording.server(4) == {"name": "s"}


def test_times_count_from_the_beginning_and_only_the_owner_can_read_it(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text(HEADER + FRAME)
    file.chmod(0o644)
    recording = continued(file, "sesame-4711")
    assert recording.entries[-1].frame.at > 100_000_000
    assert recording.entries[-1].frame.text == "hello [redacted]"
    assert os.stat(file).st_mode & 0o777 == 0o600


def test_without_a_beginning_times_go_on_after_the_last(tmp_path):
    (tmp_path / "r.jsonl").write_text(FRAME)
    assert 1.5 <= continued(tmp_path / "r.jsonl").entries[-1].frame.at < 100


def test_a_file_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "r.jsonl").write_text(HEADER)
    recording = read_recording(str(tmp_path / "r.jsonl"))
    with pytest.raises(UsageError, match="cannot write it: "):
        continue_recording(str(tmp_path), recording, Redactor(), shown="it")


def test_two_programs_do_not_add_to_one_file(tmp_path):
    (tmp_path / "r.jsonl").write_text(HEADER)
    recording = read_recording(str(tmp_path / "r.jsonl"))
    first = continue_recording(str(tmp_path / "r.jsonl"), recording, Redactor())
    with pytest.raises(UsageError, match="another program adds to it"):
        continue_recording(str(tmp_path / "r.jsonl"), recording, Redactor())
    first.close()
    continue_recording(str(tmp_path / "r.jsonl"), recording, Redactor()).close()
