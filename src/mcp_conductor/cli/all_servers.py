"""`mcp-cli --config FILE --server all`: one list of what all servers of a settings file have."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_conductor.bridge import Backoff, Bridge
from mcp_conductor.cli import methods
from mcp_conductor.cli.budget_flags import budgets_of
from mcp_conductor.cli.exit_codes import OK, PROGRAMS
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.interruptible import run_interruptibly
from mcp_conductor.cli.plan import run_time
from mcp_conductor.cli.target import load_plugins
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.client.targets import specs_of_file
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.message import render
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.protocol.views import Listed

ALL = "all"
_LISTS: dict[str, Callable[[Bridge], Awaitable[Any]]] = {
    "tools/list": Bridge.list_tools,
    "resources/list": Bridge.list_resources,
    "resources/templates/list": Bridge.list_resource_templates,
    "prompts/list": Bridge.list_prompts,
}


def means_all(given: Given) -> bool:
    """Whether all servers are meant, and not one server with the name `all`."""
    file = given.one("--config")
    return given.one("--server") == ALL and file is not None and ALL not in specs_of_file(os.path.expanduser(file))


def list_all(given: Given, terminal: Terminal) -> int:
    """Print the list; servers that cannot be reached are named on stderr: the exit code."""
    method = given.one("--method") or ""
    if method not in _LISTS:
        raise UsageError(f"--server all takes a list method, not {method!r}", hint=f"one of {', '.join(_LISTS)}")
    methods.check(method, given)
    load_plugins(given, terminal)
    file, budgets = os.path.expanduser(given.need("--config")), budgets_of(given)
    return run_interruptibly(_list(file, method, run_time(given), budgets, terminal))


async def _list(file: str, method: str, seconds: float, budgets: Budgets, terminal: Terminal) -> int:
    once = Backoff(attempts=1)
    bridge = Bridge(file, timeout=seconds, connect_timeout=seconds, backoff=once, budgets=budgets)
    terminal.learn(bridge.secrets())
    async with bridge:
        items = [_with_server_name(item) for item in await _LISTS[method](bridge)]
        failed = {name: health.last_error for name, health in bridge.health().items() if health.last_error is not None}
    terminal.write_result_as_it_is(render({LIST_MEMBERS[method]: items}, 2) + "\n")
    for name, error in failed.items():
        terminal.say(f"error: {name}: {error.message}" + (f"\n  hint: {error.hint}" if error.hint else ""))
    return PROGRAMS["mcp-cli"].server if failed else OK


def _with_server_name(item: Listed) -> Any:
    """ITEM as its server lists it, with the server's name before its own."""
    return {**item.raw, "name": f"{item.server}/{item.name}"} if isinstance(item.raw, dict) else item.raw
