"""Servers that others wrote, started for a test on a port of their own."""

import os
import socket
import subprocess
from contextlib import contextmanager

from tests import prefork


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(words, ready, **environment):
    """A server of another project: started, waited for by what it says on stderr, and stopped."""
    process = prefork.start(words, stderr=subprocess.PIPE, env={**os.environ, **environment}, text=True)
    try:
        assert any(ready in line for line in process.stderr), f"{words[-2:]} did not start"
        yield
    finally:
        process.kill()
        process.communicate(timeout=10)
