"""A check of one client: a polite scenario to find out what it does, then all others, and what came of it."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mcp_conductor.checks import NotSeen
from mcp_conductor.checks.clients import PLAIN, SCENARIOS, WATCHED, Watched
from mcp_conductor.checks.clients.play import Play, meta_of
from mcp_conductor.checks.clients.stage import Command, play
from mcp_conductor.checks.judging import Options, Seen, Verdicts, asked_for, outcome_of
from mcp_conductor.checks.requirements import Requirement
from mcp_conductor.errors import ProtocolError, TransportError, UsageError
from mcp_conductor.protocol.dialect import META, NEWEST_HANDSHAKE
from mcp_conductor.report import Finding
from mcp_conductor.turns import Pace
from mcp_conductor.visible import cut

AT_ONCE = 3  # clients that run at the same time
_SECOND_CHANCES = 3
_EXPECTED = (
    "CMD names the server by {server}, {url} or {config}, or the client reads CONDUCTOR_SERVER_COMMAND, CONDUCTOR_URL "
    "or CONDUCTOR_CONFIG"
)


async def check_client(command: Command, version: str | None, options: Options) -> Verdicts:
    """Check the client that COMMAND starts, in VERSION or in the revision that it wants itself.

    Raises when it cannot be started, never connects, or does not speak VERSION.
    """
    try:
        directory = tempfile.mkdtemp(prefix="conductor-")
    except OSError as error:
        hint = "TMPDIR names another place for them"
        raise UsageError(f"cannot write temporary files: {error.strerror}", hint=hint) from error
    try:
        return await _Checking(command, version, options, directory).run()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def wanted(options: Options, version: str, transport: str) -> list[tuple[Requirement, Watched]]:
    """The requirements that are to be checked here, with how."""
    found = []
    for each in asked_for(options, "client"):
        # A client that speaks HTTP may fall back to HTTP+SSE, whatever it prefers.
        old = transport == "http" and each.transports == ("sse",)
        if (old or each.holds_for(version, transport)) and each.id in WATCHED:
            found.append((each, WATCHED.get(each.id)))
    return found


class _Checking:
    def __init__(self, command: Command, version: str | None, options: Options, directory: str) -> None:
        self._command = command
        self._version = version
        self._options = options
        self._directory = directory
        self._plays: dict[str, Play] = {}

    async def run(self) -> Verdicts:
        plain = await self._play(PLAIN, self._version, None)
        try:
            version = self._spoken(plain)
        except ProtocolError:
            # What cannot be read cannot be answered; but it can be judged.
            if not any(message.kind == "invalid" for message in plain.said):
                raise
            version = self._version or NEWEST_HANDSHAKE.version
            chosen = wanted(self._options, version, plain.line.transport)
        else:
            chosen = wanted(self._options, version, plain.line.transport)
            await self._play_all(version, plain.line.transport, chosen, plain)
        outcomes, pace = [], Pace()
        for requirement, each in chosen:
            outcomes.append(outcome_of(requirement, self._judged(each)))
            await pace.keep()
        return Verdicts(version, _introduction(plain), outcomes, transport=plain.line.transport)

    async def _play(self, name: str, version: str | None, plain: Play | None) -> Play:
        scenario = SCENARIOS.get(name)
        played = await play(scenario, version, self._command, self._directory, self._options.timeout, plain)
        played.others = self._plays
        self._plays[name] = played
        return played

    async def _play_all(
        self, version: str, transport: str, chosen: list[tuple[Requirement, Watched]], plain: Play
    ) -> None:
        names = {name for _, each in chosen for name in each.scenarios} - {PLAIN}
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(name: str) -> None:
            async with gate:
                await self._play(name, version, plain)

        fitting = [name for name in sorted(names) if SCENARIOS.get(name).fits(version, transport)]
        # Those that take longest first.
        fitting.sort(key=lambda name: -(SCENARIOS.get(name).seconds or 0))
        async with asyncio.TaskGroup() as group:
            for name in fitting:
                group.create_task(one(name))
        # Who hung may only have been slow, while others ran: it gets a second chance, alone.
        hung = [name for name in fitting if self._plays[name].exit_code is None and SCENARIOS.get(name).seconds is None]
        if plain.exit_code is not None:
            for name in hung[:_SECOND_CHANCES]:
                await self._play(name, version, plain)

    def _spoken(self, plain: Play) -> str:
        """The revision of the polite scenario."""
        if not plain.lines:
            raise _never_connected(self._command, plain)
        dialect = plain.line.dialect
        asked = plain.line.initialize.get("protocolVersion")
        if dialect is not None and (plain.line.went_on or asked == dialect.version):
            return dialect.version
        if dialect is not None and self._version is None:
            raise ProtocolError("the client went away as soon as it was connected", hint=_last_words(plain))
        spoken = self._version or "any revision that is known here"
        raise ProtocolError(f"the client does not speak {spoken}", hint=_last_words(plain))

    def _judged(self, each: Watched) -> Seen:
        """What is found in the scenarios of a requirement, or the reason why there was nothing to see."""
        names = each.scenarios or tuple(self._plays)
        plays = [self._plays[name] for name in names if name in self._plays]
        found: dict[str, Finding] = {}
        reasons: list[str] = []
        for record in plays:
            try:
                for finding in each.judge(record):
                    found.setdefault(finding.message, _placed(finding, record))
            except NotSeen as nothing:
                reasons.append(str(nothing))
        if not plays:
            reasons.append("its scenario is not for this transport and revision")
        return Seen(list(found.values()), reasons[0] if not found and len(reasons) >= max(1, len(plays)) else None)


def _placed(finding: Finding, record: Play) -> Finding:
    if record.name == PLAIN or finding.hint is not None:
        return finding
    return replace(finding, hint=f"in the scenario {record.name!r}")


def _never_connected(command: Command, plain: Play) -> TransportError | UsageError:
    """Why there is nothing to check: nobody told the client where the server is, or it did not get there."""
    how = "did not end in time" if plain.exit_code is None else f"ended with exit code {plain.exit_code}"
    message = f"the client never connected to the server; it {how}"
    if command.has_place:
        return TransportError(message, hint=_last_words(plain))
    return UsageError(message, hint=_EXPECTED)


def _last_words(plain: Play) -> str | None:
    words = next((line.strip() for line in reversed(plain.err + plain.out) if line.strip()), None)
    return None if words is None else f"its last words: {cut(words, 300)}"


def _introduction(plain: Play) -> dict[str, object]:
    """Who the client says it is."""
    named: Iterator[Any] = (meta_of(each).get(f"{META}clientInfo") for each in plain.requests())
    for found in (plain.line.initialize.get("clientInfo"), *named):
        if isinstance(found, dict):
            return found
    return {}


__all__ = ["AT_ONCE", "Command", "check_client", "wanted"]
