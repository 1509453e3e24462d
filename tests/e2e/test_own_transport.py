"""A transport is one module: here is one that is not ours, JSON lines over a Unix socket, and all programs take it."""

import json
import socketserver
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from tests.servers.plain import Plain

from mcp_conductor.checks.requirements import requirements

# The whole of it: the spec, what opens it, and the scheme of the URLs that name such servers.
LINES_OVER_A_UNIX_SOCKET = """
import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp_conductor.errors import TransportError
from mcp_conductor.protocol.message import decode
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.transport import opens


@dataclass(frozen=True, slots=True, kw_only=True)
class UnixSpec(ServerSpec):
    path: str

    kind = "unix"

    @property
    def label(self):
        return f"unix://{self.path}"

    def secrets(self):
        return [word for word in self.path.split("/") if word.startswith("secret-")]


@opens("unix", unix=lambda url: UnixSpec(path=url.removeprefix("unix://")))
@asynccontextmanager
async def open_unix(spec, listener, authorize=None):
    try:
        reader, writer = await asyncio.open_unix_connection(spec.path)
    except OSError as error:
        raise TransportError(f"cannot connect to {spec.label}: {error.strerror}") from error
    transport = Unix(writer)
    reading = asyncio.create_task(read(reader, listener, spec.budgets))
    try:
        yield transport
    finally:
        reading.cancel()
        writer.close()


async def read(reader, listener, budgets):
    async for line in reader:
        listener.heard(decode(line.strip(), budgets))
    listener.gone("the server closed the socket")


class Unix:
    cancels_by_closing = False

    def __init__(self, writer):
        self.writer = writer

    def speak(self, dialect):
        pass

    def send(self, message):
        self.writer.write(message.text.encode() + b"\\n")

    def abandon(self, request_id):
        pass

    def unsent(self):
        return 0
"""

SUITE = """
description: over a socket
tests:
  - it: has one tool
    request: {method: tools/list}
    expect: {result: {"match:partial": {tools: [{name: look}]}}}
  - it: does not know another method
    request: {method: tools/burn}
    expect: {error: {code: -32601}}
"""


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        server = Plain()
        server.write = self.wfile.write
        for line in self.rfile:
            server.hear(line)


class Listening(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that goes away while it is answered is nothing wrong."""


@pytest.fixture
def url():
    with tempfile.TemporaryDirectory() as folder:  # short: the name of a socket has at most 107 bytes
        path = str(Path(folder) / "secret-server")
        with Listening(path, Connection) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            yield f"unix://{path}"
            server.shutdown()
            thread.join()


@pytest.fixture
def run(tmp_path, environment):
    """Run a program in which the transport is registered."""
    (tmp_path / "own.py").write_text(LINES_OVER_A_UNIX_SOCKET)

    def start(program, *words):
        code = f"import sys, own; from mcp_conductor.cli import {program}; sys.exit({program}())"
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(tmp_path)},
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return start


def test_mcp_cli_takes_a_url_of_the_transport_and_hides_its_secrets(run, url):
    code, out, err = run("mcp_cli", url, "--method", "tools/list", "--verbose")
    assert (code, json.loads(out)["tools"][0]["name"]) == (0, "look"), err
    code, _, err = run("mcp_cli", url + "-gone", "--method", "tools/list")
    assert code != 0
    assert "cannot connect to unix://" in err
    assert "secret-server" not in err


def test_flags_of_other_transports_are_refused(run, url):
    for flags, told in (
        (["--cwd", "/"], "--cwd has no meaning for a server that is reached by unix"),
        (["--token", "x"], "--token has no meaning for a server that is reached by unix"),
        (["--transport", "http"], "--transport http does not fit unix://"),
    ):
        code, _, err = run("mcp_cli", *flags, url, "--method", "ping")
        assert code != 0
        assert told in err


def test_a_suite_runs_over_it_from_a_settings_file(run, url, tmp_path):
    settings = {"mcpServers": {"socket": {"url": url}}}
    (tmp_path / "conductor.config.json").write_text(json.dumps(settings))
    (tmp_path / "socket.test.yaml").write_text(SUITE)
    code, out, err = run("conductor", "test", "socket.test.yaml")
    assert code == 0, out + err
    assert "2 passed" in out


def test_a_check_runs_over_it_and_asks_nothing_of_other_transports(run, url, tmp_path):
    words = ("--protocol", "2025-11-25", "--report", "json:report.json")
    code, out, err = run("conductor", "check", url, *words)
    assert code == 0, out + err
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["summary"]["failed"], report["summary"]["errored"]) == (0, 0), report
    assert report["summary"]["passed"] > 40
    judged = {outcome["id"] for outcome in report["outcomes"]}
    assert {name for name in judged if "any" not in requirements()[name].transports} == set()
