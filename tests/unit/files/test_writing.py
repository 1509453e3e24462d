"""Files that are written whole or not at all."""

import os
import resource
import stat
import threading
from contextlib import contextmanager

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files import writing
from mcp_conductor.files.writing import write_file


def mode(file):
    return stat.S_IMODE(file.stat().st_mode)


@contextmanager
def full_disk(bytes_left):
    """No file of this process can grow beyond BYTES_LEFT: Python ignores SIGXFSZ, and the write fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_is_written_with_the_directories_that_it_needs(tmp_path):
    write_file(str(tmp_path / "a" / "b" / "file"), "größer")
    assert (tmp_path / "a" / "b" / "file").read_bytes() == "größer".encode()
    assert os.listdir(tmp_path / "a" / "b") == ["file"]


def test_a_file_that_cannot_be_written_is_as_it_was_and_nothing_is_left_beside_it(tmp_path):
    (tmp_path / "file").write_text("old")
    with full_disk(1000), pytest.raises(UsageError) as caught:
        write_file(str(tmp_path / "file"), "x" * 100_000, shown="the report")
    assert caught.value.message == "cannot write the report: File too large"
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_new_file_has_the_mode_that_the_umask_allows_and_an_old_one_keeps_its_own(tmp_path):
    umask = os.umask(0o027)
    try:
        write_file(str(tmp_path / "new"), "x")
        (tmp_path / "old").touch(0o600)
        write_file(str(tmp_path / "old"), "x")
    finally:
        os.umask(umask)
    assert (mode(tmp_path / "new"), mode(tmp_path / "old")) == (0o640, 0o600)


def test_what_is_secret_can_be_read_by_its_owner_only(tmp_path):
    (tmp_path / "old").touch(0o644)
    for name in ("new", "old"):
        write_file(str(tmp_path / name), "x", secret=True)
        assert mode(tmp_path / name) == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_a_link_and_what_it_leads_to_is_written(tmp_path, exists):
    (tmp_path / "there").mkdir()
    if exists:
        (tmp_path / "there" / "file").write_text("old")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to(os.path.join("there", "file"))
    write_file(str(tmp_path / "first"), "new")
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert (tmp_path / "there" / "file").read_text() == "new"


def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UsageError):
        write_file(str(tmp_path / "a"), "x")


def test_a_pipe_gets_the_text_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    heard = []
    reader = threading.Thread(target=lambda: heard.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    write_file(str(tmp_path / "pipe"), "x" * 200_000)
    reader.join(5)
    assert heard == ["x" * 200_000]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_pipe_that_nothing_reads_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_READER_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError) as caught:
        write_file(str(tmp_path / "pipe"), "x")
    assert caught.value.message == f"cannot write {tmp_path / 'pipe'}: it is a pipe that no process reads"


@pytest.mark.parametrize("name", ["/dev/null", "/dev/full", "link"])
def test_a_device_is_never_replaced(tmp_path, name):
    (tmp_path / "link").symlink_to("/dev/full")
    path = os.path.join(tmp_path, name)
    before = os.stat(path)
    if name == "/dev/null":
        write_file(path, "x")
    else:
        with pytest.raises(UsageError) as caught:
            write_file(path, "x")
        assert caught.value.message == f"cannot write {path}: No space left on device"
    assert os.stat(path).st_rdev == before.st_rdev
    assert not os.path.islink(path) or os.readlink(path) == "/dev/full"


def test_an_open_descriptor_is_written_to_although_it_is_a_file(tmp_path):
    with open(tmp_path / "out", "wb") as out:
        inode = os.fstat(out.fileno()).st_ino
        write_file(f"/dev/fd/{out.fileno()}", "new")
    assert ((tmp_path / "out").read_text(), (tmp_path / "out").stat().st_ino) == ("new", inode)


def test_a_directory_of_that_name_is_an_error_and_stays(tmp_path):
    (tmp_path / "file").mkdir()
    with pytest.raises(UsageError) as caught:
        write_file(str(tmp_path / "file"), "x")
    assert caught.value.message == f"cannot write {tmp_path / 'file'}: Is a directory"
    assert os.listdir(tmp_path) == ["file"]


def test_half_a_character_is_written_as_json_writes_it(tmp_path):
    write_file(str(tmp_path / "file"), '"\ud83d"')
    assert (tmp_path / "file").read_text() == '"\\ud83d"'
