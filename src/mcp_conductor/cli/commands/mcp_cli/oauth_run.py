"""One run of `mcp-cli` with a method of OAuth: plain HTTP, no MCP server."""

from time import monotonic
from typing import Any

from mcp_conductor.cli.commands.mcp_cli import methods
from mcp_conductor.cli.commands.mcp_cli.oauth_methods import run_oauth
from mcp_conductor.cli.commands.mcp_cli.plan import run_time
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.budgets import budgets_of
from mcp_conductor.cli.output.display import Display
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK, PROGRAMS
from mcp_conductor.cli.process.interruptible import run_interruptibly
from mcp_conductor.cli.process.time_limit import TimeLimit
from mcp_conductor.errors import MethodError, TimeLimitReached, UsageError
from mcp_conductor.protocol.message import render
from mcp_conductor.transport.http_client import HttpClient
from mcp_conductor.transport.oauth_http import OAuthSteps

_CODES = PROGRAMS["mcp-cli"]


def run_oauth_step(given: Given, terminal: Terminal) -> int:
    """One step of OAuth, by plain HTTP: no MCP server is spoken to."""
    method = given.need("--method")
    methods.check(method, given)
    if given.words:
        raise UsageError(f"{method} takes no server but --server-url", hint=f"--server-url {given.words[0]}")

    display = Display(given, budgets_of(given), terminal)
    began = monotonic()

    def trace(text: str) -> None:
        display.transcript.add(monotonic() - began, "http", text)

    steps = OAuthSteps(trace, terminal.learn)

    async def talk() -> Any:
        http = HttpClient(cafile=given.one("--cacert"), verify="--insecure" not in given)
        try:
            async with TimeLimit(run_time(given), terminal):
                return await run_oauth(method, given, http, show=terminal.say, steps=steps)
        finally:
            await http.aclose()

    try:
        terminal.write_result(render(run_interruptibly(talk()), 2) + "\n")
    except MethodError as error:
        terminal.write_result(render({"error": error.error}, 2) + "\n")
        return _CODES.method
    except TimeoutError:
        waiting = f": {steps.waiting}" if steps.waiting else ""
        late = f"no result within {run_time(given):g} s{waiting}"
        terminal.say_error(TimeLimitReached(late, hint="--timeout TIME allows more"))
        return _CODES.timeout
    finally:
        display.close()
    return OK
