"""Unit tests are of pure code: a process or a socket in one of them is a mistake."""

import socket
import subprocess

import pytest


@pytest.fixture(autouse=True)
def _no_processes_and_no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a unit test must not leave the process")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
