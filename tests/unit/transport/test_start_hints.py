"""A program that cannot be started: what to do depends on whether there is such a file, and which."""

import errno

import pytest

from mcp_conductor.transport.start_hints import start_hint

MISSING, DENIED, FORMAT = (
    FileNotFoundError(errno.ENOENT, ""),
    PermissionError(errno.EACCES, ""),
    OSError(errno.ENOEXEC, ""),
)


@pytest.mark.parametrize(
    ("program", "error", "hint"),
    [
        ("nowhere", MISSING, "is it installed, and on PATH?"),
        ("./nowhere.py", MISSING, "is it installed, and on PATH?"),
        ("nowhere", DENIED, None),
        ("server.py", MISSING, "it is a file: python server.py"),
        ("./server.py", DENIED, "it is a file: python ./server.py"),
        ("dist/index.js", FORMAT, "it is a file: node dist/index.js"),
        ("server", MISSING, "it is a file: ./server"),
        ("./server", MISSING, "is the program of its first line installed (#!)?"),
        ("./server", DENIED, "chmod +x ./server"),
        ("./server", FORMAT, "it has no first line that says what runs it (#!)"),
    ],
)
def test_what_to_do(tmp_path, program, error, hint):
    (tmp_path / "dist").mkdir()
    for name in ("server.py", "server", "dist/index.js"):
        (tmp_path / name).touch()
    assert start_hint(program, str(tmp_path), error) == hint
