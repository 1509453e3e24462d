"""A directory of recordings."""

import os

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.server_spec import StdioSpec
from mcp_conductor.recording.folder import RecordingFolder
from mcp_conductor.text.redaction import Redactor

SPEC = StdioSpec(command=("node", "s.js"))


def test_names_can_be_guessed_and_a_second_of_the_same_name_is_numbered(tmp_path):
    folder = RecordingFolder(str(tmp_path / "r"), Redactor(), shown="r", complain=print)
    folder.make()
    for name in (
        "files",
        "sub/files",
        "files",
        "files-2",
        "files [http, 2025-11-25]",
        "../../etc/passwd",
        "é" * 500,
        "…",
    ):
        folder.begin(name, SPEC).close()
    long = "é" * 60
    assert set(os.listdir(tmp_path / "r")) == {
        "files.jsonl",
        "sub-files.jsonl",
        "files-2.jsonl",
        "files-2-2.jsonl",
        "files-http-2025-11-25.jsonl",
        "etc-passwd.jsonl",
        f"{long}.jsonl",
        "recording.jsonl",
    }
    folder.make()
    folder.begin("files", SPEC).close()
    assert len(os.listdir(tmp_path / "r")) == 8


def test_a_file_that_cannot_be_written_is_told_and_the_run_goes_on(tmp_path):
    told = []
    folder = RecordingFolder(str(tmp_path), Redactor(), shown="r", complain=told.append)
    (tmp_path / "files.jsonl").mkdir()
    assert folder.begin("files", SPEC) is None
    assert told == ["cannot write r/files.jsonl: Is a directory"]


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "r").write_text("")
    with pytest.raises(UsageError) as caught:
        RecordingFolder(str(tmp_path / "r" / "s"), Redactor(), shown="r/s", complain=print).make()
    assert caught.value.message == "cannot make the directory r/s: Not a directory"
