"""`mcp-cli --config FILE --server all`: what all servers of a settings file have, and what any of them is asked.

Tools, prompts and resources are shown as `server__name`. A tool or a prompt can be named so, or as `server/name`; then
the call is one to that server, as with `--server NAME`.
"""

import asyncio
from typing import Any

from mcp_conductor.bridge.names import SEPARATOR, prefixes
from mcp_conductor.cli.commands.mcp_cli.flags import FLAGS
from mcp_conductor.cli.commands.mcp_cli.plan import CallPlan, common_plan
from mcp_conductor.cli.flags import Given, check_flags
from mcp_conductor.cli.flags.target import COMMAND_FLAGS, URL_FLAGS, load_plugins, named_server, servers_of_file
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK, PROGRAMS, code_of_error
from mcp_conductor.errors import ConductorError, TimeLimitReached, UsageError
from mcp_conductor.protocol.message import render
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.protocol.server_spec import ServerSpec

ALL = "all"
_LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
_NAMED = {"tools/call": "--tool-name", "prompts/get": "--prompt-name"}
_OF_ONE_SERVER = {
    "--record": "a recording is one conversation: --server NAME",
    "--transport": "each server of the file says how it is reached",
    "--follow": "--server NAME follows one of them",
    "--events": "--server NAME shows the events of one of them",
    "--dry-run": "--server NAME shows what one of them would be sent",
    "--cursor": "a cursor belongs to one server: --server NAME",
}
_CODES = PROGRAMS["mcp-cli"]


def means_all(given: Given, terminal: Terminal) -> bool:
    """Whether all servers are meant, and not one server with the name `all`."""
    return given.one("--server") == ALL and not given.words and ALL not in servers_of_file(given, terminal)


def for_one_server(given: Given, terminal: Terminal) -> Given | None:
    """The same for the one server that the tool or the prompt names; None where a list of all is wanted."""
    method = given.one("--method") or ""
    flag = _NAMED.get(method)
    if flag is None or flag not in given:
        if flag is None and method not in _LISTS:
            what = repr(method) if method else "a script or a raw message"
            hint = f"one of {', '.join((*_LISTS, *_NAMED))}; --server NAME takes all"
            raise UsageError(f"--server all takes methods that list or name something, not {what}", hint=hint)
        return None
    server, name = _parts(given.need(flag), flag, given, terminal)
    return given.with_values({**given.values, "--server": [server], flag: [name]})


def _parts(name: str, flag: str, given: Given, terminal: Terminal) -> tuple[str, str]:
    """The server that NAME begins with, and the rest."""
    servers = servers_of_file(given, terminal)
    known = prefixes(servers).items()
    begins = [(begin, server) for server, prefix in known for begin in (f"{server}/", f"{prefix}/", prefix + SEPARATOR)]
    for begin, server in sorted(begins, reverse=True):  # the longer of two that begin alike comes first
        if name.startswith(begin) and name != begin:
            return server, name[len(begin) :]
    hint = f"SERVER/NAME or SERVER{SEPARATOR}NAME; the servers are {', '.join(servers)}"
    raise UsageError(f"{flag} {name!r} names no server of {given.one('--config') or 'the settings file'}", hint=hint)


def list_all(given: Given, terminal: Terminal) -> int:
    """Print what all servers have; those that cannot be asked are named on stderr: the exit code."""
    for flag, hint in _OF_ONE_SERVER.items():
        given.refuse([flag], "has no meaning for --server all", hint=hint)
    check_flags(given, FLAGS)
    load_plugins(given, terminal)
    found = servers_of_file(given, terminal)
    prefixes(found)  # refuses names that clash, before anything is started
    _refuse_flags_for_none(given, [spec for spec in found.values() if not isinstance(spec, ConductorError)])
    plans = {name: _plan_for(name, spec, given, terminal) for name, spec in found.items()}
    from mcp_conductor.cli.process.interruptible import run_interruptibly

    return run_interruptibly(_list(plans, terminal))


def _refuse_flags_for_none(given: Given, specs: list[ServerSpec]) -> None:
    """Refuse flags for servers of a kind that the file does not have."""
    file = given.one("--config") or "the settings file"
    for flags, has, what in (
        (URL_FLAGS, any(spec.as_http() for spec in specs), "a server at a URL"),
        (COMMAND_FLAGS, any(spec.as_process() for spec in specs), "a server that is started"),
    ):
        if not has:
            given.refuse(flags, f"is for {what}; {file} has none")


def _plan_for(
    name: str, spec: ServerSpec | ConductorError, given: Given, terminal: Terminal
) -> CallPlan | ConductorError:
    """What is to be done with one server; flags for servers of another kind are not for it."""
    if isinstance(spec, ConductorError):
        return spec
    others = (*(URL_FLAGS if spec.as_http() is None else ()), *(COMMAND_FLAGS if spec.as_process() is None else ()))
    own = given.with_values({flag: values for flag, values in given.values.items() if flag not in others})
    return common_plan(own, terminal, named_server(own, terminal, name))


async def _list(plans: dict[str, CallPlan | ConductorError], terminal: Terminal) -> int:
    answers = await asyncio.gather(*(_ask(name, plan, terminal) for name, plan in plans.items()))
    method = next(plan.method for plan in plans.values() if isinstance(plan, CallPlan)) or ""
    member = LIST_MEMBERS[method]
    shown = prefixes(plans)
    items = [
        _with_server_name(shown[name], item)
        for name, answer in zip(plans, answers, strict=True)
        if isinstance(answer, dict) and isinstance(answer.get(member), list)
        for item in answer[member]
    ]
    terminal.write_result(render({member: items}, 2) + "\n")
    codes = set()
    for name, error in zip(plans, answers, strict=True):
        if isinstance(error, ConductorError):
            codes.add(code_of_error(error, _CODES))
            error.message = f"{name}: {error.message}"
            error.context = {**error.context, "server": name}
            terminal.say_error(error)
    return OK if not codes else codes.pop() if len(codes) == 1 else _CODES.server


async def _ask(name: str, plan: CallPlan | ConductorError, terminal: Terminal) -> Any:
    """The result of one server, or why there is none."""
    if isinstance(plan, ConductorError):
        return plan
    from mcp_conductor.cli.commands.mcp_cli.call_run import CallRun
    from mcp_conductor.cli.output.display import Display

    display = Display(plan.given, plan.spec.budgets, terminal, label=name)
    run = CallRun(plan, terminal, display)
    try:
        async with asyncio.timeout(plan.timeout):
            return await run.result()
    except TimeoutError:
        late = TimeLimitReached(f"no result within {plan.timeout:g} s", hint="--timeout TIME allows more")
        late.stderr = display.transcript.stderr_tail()
        return late
    except ConductorError as error:
        return error
    finally:
        display.close()


def _with_server_name(prefix: str, item: Any) -> Any:
    """ITEM as its server lists it, with the server's name before its own."""
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return item
    return {**item, "name": f"{prefix}{SEPARATOR}{item['name']}"}
