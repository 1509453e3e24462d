"""One start of the client: it meets the scripted server, and what it does is recorded, for so long and no longer.

The client runs in a session of its own, and everything in it is ended afterwards. What it may start elsewhere are our
relays, which end with their sockets.
"""

import asyncio
import os
import secrets
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import field

from mcp_conductor.checks.harness import fake_browser, relay
from mcp_conductor.checks.harness.client_record import ClientRecord, Outcome
from mcp_conductor.checks.harness.fake_browser import page_in
from mcp_conductor.checks.harness.run_state import RunState
from mcp_conductor.checks.harness.scenario import Scenario
from mcp_conductor.checks.harness.stdio_server import RelayHost
from mcp_conductor.errors import ConductorError
from mcp_conductor.files.writing import write_file
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.protocol.server_spec import StdioSpec
from mcp_conductor.text.visible import cut
from mcp_conductor.transport.stdio import StdioTransport, open_stdio
from mcp_conductor.values import dataclass

PLACEHOLDERS = ("{server}", "{url}", "{config}")
QUIET_SECONDS = 5.0  # a client that says nothing for so long, and is not asked anything, has nothing more to say
_IDLE_SECONDS = 0.5  # after so long without a word, a client waits more than it works
_ANSWER_SECONDS = 4.0  # how long a client may take to answer us; less than the quiet after which it is ended
_LAST_WORDS_SECONDS = 1.0  # for what the client wrote before it ended to arrive
_MOST_LINES = 200  # of the client's output that are kept


@dataclass(frozen=True, slots=True)
class Command:
    """The command line of a client, with places where the server is to stand."""

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None

    @property
    def has_place(self) -> bool:
        return any(place in word for word in self.words for place in PLACEHOLDERS)

    def filled(self, server: list[str], url: str, config: str) -> tuple[str, ...]:
        """The command with the server in it: as words of their own, or quoted within a word for a shell."""
        found: list[str] = []
        for word in self.words:
            if word == "{server}":
                found += server
            else:
                filled = word.replace("{server}", shlex.join(server)).replace("{url}", url)
                found.append(filled.replace("{config}", config))
        return tuple(found)


class _ClientOutput:
    """Who hears what the client prints."""

    busy = False

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._record = state.record

    def heard(self, message: Message, answers: Id | None = None, exchange: int | None = None) -> None:  # noqa: ARG002
        _keep(self._record.out, message.text)
        self._look(message.text)

    def on_stderr(self, line: str) -> None:
        _keep(self._record.err, line)
        self._look(line)

    def _look(self, line: str) -> None:
        """Do what a person would do: open the page that the client shows."""
        page = page_in(line, self._record.origin)
        if page is not None and not self._state.over:
            self._state.begin(_visit(page))

    def begin_exchange(self) -> int:
        return 0

    def trace(self, text: str, exchange: int | None = None) -> None: ...

    def note(self, text: str) -> None: ...

    def hide(self, secrets: Iterable[str]) -> None: ...

    def redact(self, text: str) -> str:
        return text

    def failed(self, request_id: Id, error: ConductorError) -> None: ...

    def ended(self, how: str) -> None: ...

    def gone(self, why: str) -> None: ...


async def _visit(page: str) -> None:
    with suppress(OSError, ValueError):
        await asyncio.to_thread(fake_browser.visit, page)


def _keep(lines: list[str], line: str) -> None:
    lines.append(cut(line, 2000))
    if len(lines) > _MOST_LINES:
        del lines[: _MOST_LINES // 2]


async def run_client(
    scenario: Scenario,
    version: str | None,
    command: Command,
    directory: str,
    timeout: float,
    plain: ClientRecord | None = None,
    on_idle: Callable[[], None] = lambda: None,
) -> ClientRecord:
    """Start the client once, in SCENARIO and VERSION; files for it go into DIRECTORY. Raises if it cannot start.

    ON_IDLE is told once that the client has begun to wait, if it ever does.
    """
    record = ClientRecord(
        scenario.name,
        needs=scenario.needs,
        takes_time=scenario.seconds is not None,
        plain=plain,
        patience=min(_ANSWER_SECONDS, timeout / 5),
    )
    state = RunState(record, scenario.script(record, version))
    async with _relays(state) as relays, _http(state) as url:
        server = [sys.executable, relay.__file__, str(relays.port), relays.token]
        config = os.path.join(directory, f"{scenario.name}-{secrets.token_hex(4)}.json")
        _write(config, server)
        words = {
            "CONDUCTOR_SERVER_COMMAND": shlex.join(server),
            "CONDUCTOR_URL": url,
            "CONDUCTOR_CONFIG": config,
            "CONDUCTOR_SCENARIO": scenario.name,
            "BROWSER": shlex.join([sys.executable, fake_browser.__file__, "%s"]),
            "COLUMNS": str(fake_browser.COLUMNS),
        }
        spec = StdioSpec(command=command.filled(server, url, config), env={**command.env, **words}, cwd=command.cwd)
        began = asyncio.get_running_loop().time()
        async with open_stdio(spec, _ClientOutput(state)) as client:
            # Who is slow with the polite server is given as much time to end.
            usual = plain.seconds if plain is not None and plain.exit_code is not None else 0.0
            quiet = min(timeout, scenario.seconds or max(QUIET_SECONDS, usual))
            record.outcome = await _watch(client, state, timeout, quiet, on_idle)
            record.exit_code = client.exit_code
            record.ended_at = asyncio.get_running_loop().time()
            record.seconds = record.ended_at - began
            if record.exit_code is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_WORDS_SECONDS):
                        await relays.host.all_ended.wait()
            # A server that goes away lets most clients end by themselves.
            await state.stop()
            relays.host.close()
    return record


async def _watch(
    client: StdioTransport, state: RunState, limit: float, quiet: float, on_idle: Callable[[], None]
) -> Outcome:
    """Wait until the client ends, or has nothing more to say, or takes too long."""
    loop = asyncio.get_running_loop()
    told = False
    deadline = loop.time() + limit
    leaving = asyncio.ensure_future(client.hang_up(limit))
    flooding = asyncio.ensure_future(state.enough.wait())
    try:
        while not leaving.done() and not flooding.done() and loop.time() < deadline:
            idle = loop.time() - state.stirred if state.stirred else 0.0
            if idle >= quiet:
                return "quiet"
            if idle >= _IDLE_SECONDS and not told:
                told = True
                on_idle()
            most = min(deadline - loop.time(), (quiet if told else min(quiet, _IDLE_SECONDS)) - idle)
            await asyncio.wait([leaving, flooding], timeout=most, return_when=asyncio.FIRST_COMPLETED)
        return "flooded" if flooding.done() else "ended" if client.exit_code is not None else "late"
    finally:
        leaving.cancel()
        flooding.cancel()
        await asyncio.gather(leaving, flooding, return_exceptions=True)


def _write(config: str, server: list[str]) -> None:
    entry = {"command": server[0], "args": server[1:]}
    write_file(config, compact({"mcpServers": {"conductor": entry}}))


@dataclass(slots=True)
class _Relays:
    host: RelayHost
    port: int
    token: str


@asynccontextmanager
async def _relays(state: RunState) -> AsyncIterator[_Relays]:
    token = secrets.token_hex(16)
    host = RelayHost(state, token)
    listener = await asyncio.start_server(host.serve, "127.0.0.1", 0)
    try:
        yield _Relays(host, listener.sockets[0].getsockname()[1], token)
    finally:
        listener.close()
        host.close()


@asynccontextmanager
async def _http(state: RunState) -> AsyncIterator[str]:
    from mcp_conductor.checks.harness.http_server import WebHost

    host = WebHost(state)
    async with host.listening() as url:
        yield url
