"""`conductor check --client CMD`: does this client follow the specification?"""

import os
import shlex
from collections.abc import Callable

from mcp_conductor.checks.engine.run import Verdicts
from mcp_conductor.checks.harness.client_record import ClientRecord
from mcp_conductor.checks.harness.client_runs import RunProgress
from mcp_conductor.checks.harness.run import check_client
from mcp_conductor.checks.harness.run_client import Command
from mcp_conductor.checks.harness.scenario import ALL, EVERYWHERE, SCENARIOS, Scenario
from mcp_conductor.cli.commands.check.server_run import CheckRun
from mcp_conductor.cli.output.live import telling
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, HANDSHAKE, MODERN
from mcp_conductor.protocol.server_spec import StdioSpec

_NOT_FOR_CLIENTS = (
    "--config", "--server", "--transport", "--header", "--token", "--cacert", "--insecure", "--call-tools", "--trigger",
)  # fmt: skip
_WANTED = "auto"  # the revision that the client wants


class ClientCheckRun(CheckRun):
    """One command line of `conductor check --client`."""

    subject = "client"
    default_seconds = 20.0  # for each start of the client

    def _aim(self) -> str:
        given = self._given
        if given.words:
            raise UsageError(
                f"both a client and a server ({given.words[0]!r}) are given",
                hint="quote the client's command line: --client 'CMD {server}'",
            )
        given.refuse(_NOT_FOR_CLIENTS, "is for checks of servers, but --client checks a client")
        self._scenarios = tuple(SCENARIOS.get(name).name for name in given.all("--scenario"))
        text = given.need("--client")
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"--client cannot be split into words: {str(error).lower()}") from error
        if not words:
            raise UsageError("--client needs a command")
        directory = os.path.join(self._terminal.directory, given.one("--cwd") or "")
        self._command = Command(tuple(words), dict(given.pairs("--env")), directory)
        self._terminal.learn(StdioSpec(command=self._command.words, env=self._command.env).secrets())
        return text

    async def _versions(self) -> list[str]:
        if self._protocol == "all":
            return list(DIALECTS)
        newest = {"handshake": HANDSHAKE[-1], "modern": MODERN[-1]}
        return [newest.get(self._protocol, self._protocol)]

    async def _check(self, version: str) -> Verdicts:
        wanted = None if version == _WANTED else version
        verbose = "--verbose" in self._given or "--wire" in self._given
        async with telling(self._terminal) as tell:
            # On a terminal one line is drawn again and again, which other lines would break.
            progress = _Lines(self._terminal.say) if verbose else _Now(tell, wanted)
            return await check_client(self._command, wanted, self._options, self._scenarios, progress)


class _Now(RunProgress):
    """The scenario that runs now, for a person at a terminal."""

    def __init__(self, tell: Callable[[str], None], version: str | None) -> None:
        self._tell = tell
        self._version = version

    def started(self, names: list[str], done: int, total: int) -> None:
        where = f"{self._version}: " if self._version else ""
        self._tell(f"{where}scenario {done + 1} of {total}  {', '.join(names)}")


class _Lines(RunProgress):
    """A line for each scenario that has run."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def finished(self, record: ClientRecord) -> None:
        ends = {
            "ended": f"ended with exit code {record.exit_code}",
            "quiet": "sent nothing more, and was ended",
            "late": "was still busy at the time limit, and was ended",
            "flooded": "sent too much, and was ended",
        }
        self._say(f"scenario {record.name}: the client {ends[record.outcome]}, after {record.seconds:.1f} s")


def scenario_listing() -> str:
    """All scenarios: what happens in each, and where it is run."""
    lines = []
    for name, each in SCENARIOS.items():
        lines.append(f"{name:<22}{each.doc}")
        if where := _limits(each):
            lines.append(f"{'':<22}  {where}")
    return "\n".join(lines) + "\n"


def scenarios_as_json() -> list[Json]:
    """The same for programs."""
    return [
        {
            "name": name,
            "description": each.doc,
            "revisions": list(each.revisions),
            "transports": list(each.transports),
            "needs": each.needs,
        }
        for name, each in SCENARIOS.items()
    ]


def _limits(each: Scenario) -> str:
    """Where a scenario is run, if it is not run everywhere."""
    first, last = each.revisions[0], each.revisions[-1]
    told = [] if each.revisions == ALL else [first if first == last else f"{first} to {last}"]
    told += [] if each.transports == EVERYWHERE else [" and ".join(each.transports)]
    return ", ".join([*told, *([f"for clients that send {each.needs}"] if each.needs else [])])
