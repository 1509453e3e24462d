"""The sample configs as servers: real processes, each started once for all tests of a module that ask for it."""

import asyncio
import queue
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests import prefork

from mcp_conductor import HttpSpec, MethodError, StdioSpec, connect
from mcp_conductor.files.source import load
from mcp_conductor.protocol.dialect import DIALECTS, HANDSHAKE
from mcp_conductor.protocol.samples import filled_in

SAMPLES = Path(__file__).parent.parent.parent.parent / "examples" / "servers"
SERVE = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())", "serve")
PATIENCE = 20.0  # the longest time for which a test waits for anything
LISTENING = "Composable server listening at "
TRANSPORTS = ("stdio", "streamable-http", "sse")

FILES = tuple(sorted(file.name for file in SAMPLES.iterdir() if file.suffix in (".json", ".yaml")))
SOUND = tuple(name for name in FILES if not name.startswith("faults-"))
DATA = {name: load(str(SAMPLES / name)).data for name in FILES}

# Arguments that a tool does something with, where the least that its schema accepts would be refused.
_ARGUMENTS = {
    "add_tool": {"name": "extra", "description": "One more"},
    "remove_tool": {"name": "extra"},
    "add_resource": {"uri": "test://extra", "name": "extra"},
    "remove_resource": {"uri": "test://extra"},
    "add_prompt": {"name": "extra", "promptString": "One more"},
    "remove_prompt": {"name": "extra"},
    "update_resource": {"uri": "test://resource_1", "text": "new"},
    "send_progress": {"units": 2, "delayMs": 0},
    "collect_elicitation": {"message": "Who?", "schema": {"type": "object", "properties": {"who": {"type": "string"}}}},
    "json_schema_2020_12_tool": {"email": "ada@example.com"},
}


def arguments(tool, schema):
    """Arguments that TOOL accepts."""
    return _ARGUMENTS.get(tool) or filled_in(schema)


def eras(name):
    """The eras in which a sample can be spoken to."""
    spoken = tuple(DIALECTS) if DATA[name]["transport"].get("modern") else HANDSHAKE
    versions = DATA[name].get("protocolVersions", spoken)
    kinds = {DIALECTS[version].handshake for version in versions}
    return tuple(era for era, handshake in (("handshake", True), ("modern", False)) if handshake in kinds)


def ways(*names):
    """Each sample with each transport and era that go together: HTTP+SSE knows the handshake only."""
    return [
        pytest.param(name, transport, era, id=f"{name}-{transport}-{era}")
        for name in names or SOUND
        for transport in TRANSPORTS
        for era in eras(name)
        if transport != "sse" or era == "handshake"
    ]


def command(name, transport="stdio"):
    """The words that serve a sample; the file is left to itself where it names this transport."""
    own = DATA[name]["transport"]["type"] == transport
    port = () if transport == "stdio" else ("--port", "0")
    return (*SERVE, str(SAMPLES / name), *(() if own else ("--transport", transport)), *port)


class Servers:
    """Servers over HTTP that run until they are stopped."""

    def __init__(self):
        self._running = {}

    def url(self, name, transport):
        """Where a sample is served on TRANSPORT; it is started if it is not there yet."""
        if (name, transport) not in self._running:
            self._running[name, transport] = _Listening(command(name, transport))
        return self._running[name, transport].url

    def spec(self, name, transport):
        """The sample as `connect` wants it named."""
        if transport == "stdio":
            return StdioSpec(command=prefork.command(command(name)))
        return HttpSpec(url=self.url(name, transport), sse=transport == "sse", fall_back=False)

    def words(self, name, transport):
        """The sample as a command line names it, behind two dashes."""
        return prefork.command(command(name)) if transport == "stdio" else (self.url(name, transport),)

    def stop(self):
        for server in self._running.values():
            server.process.terminate()
        codes = {name: server.end() for name, server in self._running.items()}
        assert set(codes.values()) <= {0}, codes


class _Listening:
    """One process, and its stderr, which must be read for as long as it lives."""

    def __init__(self, words):
        self.process = prefork.start(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        lines = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._reader.start()
        line = lines.get(timeout=PATIENCE)
        if not line.startswith(LISTENING):
            self.process.kill()
            self.end()
            raise AssertionError(f"the server said {line!r}")
        self.url = line.removeprefix(LISTENING).strip()

    def _read(self, lines):
        for line in self.process.stderr:
            lines.put(line)
        lines.put("")

    def end(self):
        """The exit code; the process has been told to stop."""
        try:
            return self.process.wait(PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                self.process.kill()
            self._reader.join(PATIENCE)
            self.process.stderr.close()


# Conversations.


class Heard:
    """What a server said unasked, in the order in which it came."""

    def __init__(self):
        self.messages = []
        self._news = asyncio.Event()

    def __call__(self, incoming):
        self.messages.append(incoming.message)
        self._news.set()

    def params(self, method):
        return [message.params for message in self.messages if message.method == method]

    async def until(self, method, times=1):
        """Wait for messages of this METHOD: the params of all of them."""
        async with asyncio.timeout(PATIENCE):
            while len(self.params(method)) < times:
                self._news.clear()
                await self._news.wait()
        return self.params(method)


@asynccontextmanager
async def talking(spec, era="handshake", **options):
    """A conversation, and what the server says in it unasked."""
    heard = Heard()
    async with connect(spec, protocol=era, timeout=PATIENCE, on_incoming=heard, **options) as session:
        yield session, heard


async def call(session, tool, arguments=None, **params):
    return await session.request("tools/call", {"name": tool, "arguments": arguments or {}, **params})


async def refusal(session, method, params):
    """The code of the error that METHOD is answered with."""
    with pytest.raises(MethodError) as refused:
        await session.request(method, params)
    return refused.value.error["code"]


def text_of(result):
    return result["content"][0]["text"]
