"""`conductor serve --watch`: the server is as its file is now."""

import json
import queue
import signal
import socket
import subprocess
import threading

import pytest
from tests import prefork
from tests.e2e.server.wire import SERVE, Program

from mcp_conductor import connect

LIMIT = 20.0
LISTENS = "Composable server listening at "


class Watched(Program):
    """A server that watches its file, and the lines that it says."""

    def __init__(self, directory, *flags):
        super().__init__([*SERVE, "server.json", "--watch", *flags], directory, stdin=subprocess.DEVNULL)
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in iter(self.process.stderr.readline, b""):
            self._lines.put(line.decode().rstrip("\n"))

    def until(self, beginning):
        """The lines up to one that begins so, which comes last."""
        said = []
        while not said or not said[-1].startswith(beginning):
            said.append(self._lines.get(timeout=LIMIT))
        return said

    def url(self):
        return self.until(LISTENS)[-1].removeprefix(LISTENS)

    def dispose(self):
        super().dispose()
        self._reader.join(LIMIT)


@pytest.fixture
def write(tmp_path):
    def write(*tools, **members):
        named = [{"preset": name} for name in tools]
        transport = {"type": "streamable-http", **members.pop("transport", {})}
        described = {"serverInfo": {"name": "s", "version": "1"}, "tools": named, "transport": transport, **members}
        (tmp_path / "server.json").write_text(json.dumps(described))

    return write


@pytest.fixture
def watched(tmp_path):
    started = []

    def start(*flags):
        started.append(Watched(tmp_path, *flags))
        return started[-1]

    yield start
    for each in started:
        each.dispose()


async def tools_at(url):
    async with connect(url) as session:
        return [tool.name for tool in await session.list_tools()]


async def test_a_change_is_served_at_the_same_address(write, watched):
    write("echo")
    server = watched()
    url = server.url()
    assert await tools_at(url) == ["echo"]
    write("echo", "add")
    assert server.until("server.json has changed")[-1] == "server.json has changed: it is served as it is now"
    assert server.url() == url
    assert await tools_at(url) == ["echo", "add"]
    assert server.signal(signal.SIGTERM) == 0


async def test_sessions_of_the_old_server_end_and_new_ones_begin(write, watched):
    write("echo")
    server = watched()
    url = server.url()
    async with connect(url) as session:
        write("add")
        server.until(LISTENS)
        assert [tool.name for tool in await session.list_tools()] == ["add"]
        statuses = [frame.text.partition("\n")[0] for frame in session.transcript.frames if frame.source == "http"]
        assert any("404" in line for line in statuses)  # the old session is over: this is a new one of our client


async def test_a_file_with_a_mistake_changes_nothing_and_is_told(write, watched, tmp_path):
    write("echo")
    server = watched()
    url = server.url()
    write("ecko")
    said = server.until("  the server goes on as it was")
    assert said[0].startswith("error: ")
    assert "ecko" in said[0]
    assert await tools_at(url) == ["echo"]
    write("add")
    server.until(LISTENS)
    assert await tools_at(url) == ["add"]


async def test_an_address_that_changes_is_listened_on_and_the_old_one_is_closed(write, watched):
    write("echo")
    server = watched()
    old = server.url()
    port = int(old.rpartition(":")[2].partition("/")[0])
    write("add", transport={"port": port, "path": "/other"})  # the port is not changed by that
    assert server.url() == old.removesuffix("/mcp") + "/other"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        write("add", transport={"port": taken.getsockname()[1]})
        assert "cannot listen" in server.until("  the server goes on as it was")[0]
        free = taken.getsockname()[1]
    write("echo", "add", transport={"port": free})
    assert server.url() == f"http://127.0.0.1:{free}/mcp"
    assert await tools_at(f"http://127.0.0.1:{free}/mcp") == ["echo", "add"]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), LIMIT)


PLUGIN = """
from mcp_conductor import preset


@preset("tool")
def mine():
    \"\"\"A tool of mine.\"\"\"
    return {{"name": "{name}", "inputSchema": {{"type": "object"}}, "run": lambda call: {{"content": []}}}}
"""


async def test_a_plugin_that_changes_is_loaded_again(write, watched, tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN.format(name="first"))
    write("mine")
    server = watched("--plugin", "mine.py")
    url = server.url()
    assert await tools_at(url) == ["first"]
    (tmp_path / "mine.py").write_text(PLUGIN.format(name="second"))
    server.until(LISTENS)
    assert await tools_at(url) == ["second"]


def test_faults_of_each_file_are_told_when_it_is_served_no_longer(write, watched):
    write("echo", faults=[{"fault": "delay", "params": {"time": "1ms"}}])
    server = watched()
    server.until(LISTENS)
    write("add")
    said = server.until(LISTENS)
    assert any("delay" in line for line in said)


def test_a_server_on_stdio_cannot_be_watched(write, tmp_path):
    write("echo", transport={"type": "stdio"})
    done = prefork.run(
        [*SERVE, "server.json", "--watch"], cwd=tmp_path, capture_output=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 2
    assert done.stderr.decode().startswith("error: --watch is for servers over HTTP\n  hint: ")
