"""`conductor check --client CMD`: does this client keep the specification?"""

import os
import shlex

from mcp_conductor.checks.clients.run import check_client
from mcp_conductor.checks.clients.stage import Command
from mcp_conductor.checks.run import Verdicts
from mcp_conductor.cli.check import Checking
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.dialect import DIALECTS, HANDSHAKE, MODERN

_NOT_FOR_CLIENTS = (
    "--config", "--server", "--transport", "--header", "--token", "--cacert", "--insecure", "--call-tools", "--trigger",
)  # fmt: skip
_WANTED = "auto"  # the revision that the client wants


class CheckingClient(Checking):
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
        for flag in _NOT_FOR_CLIENTS:
            if flag in given:
                raise UsageError(f"{flag} says something about a server, but a client is to be checked")
        text = given.need("--client")
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"--client cannot be taken apart into words: {str(error).lower()}") from error
        if not words:
            raise UsageError("--client needs a command")
        directory = os.path.join(self._terminal.directory, given.one("--cwd") or "")
        self._command = Command(tuple(words), dict(given.pairs("--env")), directory)
        return text

    async def _versions(self) -> list[str]:
        if self._protocol == "all":
            return list(DIALECTS)
        newest = {"handshake": HANDSHAKE[-1], "modern": MODERN[-1]}
        return [newest.get(self._protocol, self._protocol)]

    async def _check(self, version: str) -> Verdicts:
        return await check_client(self._command, None if version == _WANTED else version, self._options)
