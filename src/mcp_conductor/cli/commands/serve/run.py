"""`conductor serve` and `server-composable`: a server from a file."""

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from mcp_conductor.cli.commands.serve.flags import EXAMPLES, FLAGS
from mcp_conductor.cli.flags import Given, check_flags, parse
from mcp_conductor.cli.flags.help import help_page
from mcp_conductor.cli.flags.shared import exit_codes, load_named_plugins, named_file, transport_of
from mcp_conductor.cli.flags.values import number
from mcp_conductor.cli.output.terminal import Terminal, hold_standard_streams, print_to_stderr
from mcp_conductor.cli.process.program import output_form, run_program, version_line
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import render
from mcp_conductor.text.redaction import secrets_by_name

if TYPE_CHECKING:
    from asyncio import Event
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractContextManager
    from socket import socket

    from mcp_conductor.server.config import ServerConfig
    from mcp_conductor.server.presets import Preset
    from mcp_conductor.server.server import Server

    Host = Callable[[Event], Coroutine[Any, Any, int]]  # serves until the event is set: the exit code

_INSTEAD = ("--validate", "--list-presets", "--print-schema")  # of serving
_LONGEST_SIGNATURE = 34


def main(argv: list[str], terminal: Terminal, *, program: str) -> int:
    """Run PROGRAM: the exit code."""
    return run_program(lambda: _main(argv, terminal, program), argv, terminal, program)


def _main(argv: list[str], terminal: Terminal, program: str) -> int:
    terminal.answers_as_json = False  # where it serves on stdio, stdout is for messages, also of a wrong command line
    given = parse(argv, FLAGS, server_words=False)
    output_form(given, terminal)
    terminal.answers_as_json &= any(flag in given for flag in _INSTEAD) or given.one("--transport") not in (
        None,
        "stdio",
    )
    if "--help" in given:
        terminal.show_help(_help(given, program))
    elif "--version" in given:
        terminal.show(version_line(program))
    else:
        check_flags(given, FLAGS)
        load_named_plugins(given, terminal)
        return _run(given, terminal, program)
    return 0


def _run(given: Given, terminal: Terminal, program: str) -> int:
    if "--list-presets" in given:
        _show_presets(terminal)
    elif "--print-schema" in given:
        from mcp_conductor.server.config_schema import config_schema

        terminal.write_result(render(config_schema(), indent=2) + "\n")
    else:
        config = _config(given, terminal, program)
        if "--validate" in given:
            for each in config.warnings:
                terminal.say_warning(each)
            terminal.answer(_summary(config), _summary_as_json(config))
        else:
            from mcp_conductor.cli.process.interruptible import run_interruptibly

            if "--watch" in given:
                from mcp_conductor.cli.commands.serve.watch import refuse_stdio

                refuse_stdio(config)
            hold_standard_streams()
            print_to_stderr()
            return run_interruptibly(_serve(config, given, terminal, lambda: _again(given, terminal, program)))
    return 0


def _help(given: Given, program: str) -> str:
    usage = (
        f"usage: {program} FILE [FLAGS]\n\n"
        "Serve MCP as a JSON or YAML file describes it: presets, definitions written out, faults on purpose.\n"
    )
    examples = {command.replace("conductor serve", program): what for command, what in EXAMPLES.items()}
    return help_page(usage, FLAGS, examples, exit_codes(program), given=given, program=program)


def _config(given: Given, terminal: Terminal, program: str) -> "ServerConfig":
    from mcp_conductor.server.config_file import load
    from mcp_conductor.server.transport_file import Overrides

    path = _path(given, terminal, program)
    over = Overrides(
        transport=transport_of(given),
        host=given.one("--host"),
        port=number(given, "--port", 0, 65535),
        allowed_hosts=tuple(given.all("--allow-host")),
    )
    from mcp_conductor.cli.output.terminal import NotedVariables

    terminal.learn(secrets_by_name(terminal.environ))
    return load(path, environ=NotedVariables(terminal), json=_is_json(path, given, terminal), over=over)


def _is_json(path: str, given: Given, terminal: Terminal) -> bool | None:
    """Whether the file is to be read as JSON, or as YAML; None where its name says so."""
    form = given.one("--input-format")
    if form is not None and "--yaml" in given:
        raise UsageError("--input-format cannot be combined with --yaml")
    if form is not None or "--yaml" in given:
        if "--json" in given and "--yaml" in given and "--validate" not in given:
            raise UsageError("--json cannot be combined with --yaml", hint="--input-format names one of them")
        return form == "json"
    if "--json" not in given:
        return None
    if "--validate" not in given:
        return True
    name = path.lower()
    if name.endswith((".yaml", ".yml")):
        terminal.say(f"note: --json prints JSON; --input-format json reads {path} as JSON")
    return None if name.endswith((".json", ".jsonc", ".yaml", ".yml")) else True


def _path(given: Given, terminal: Terminal, program: str) -> str:
    file = named_file(given, "config", f"{program} FILE")
    return file if os.path.isabs(file) else os.path.relpath(os.path.join(terminal.directory, file))


def _again(given: Given, terminal: Terminal, program: str) -> "ServerConfig":
    """The file as it is now, with plugins as they are now."""
    load_named_plugins(given, terminal)
    return _config(given, terminal, program)


async def _serve(config: "ServerConfig", given: Given, terminal: Terminal, again: "Callable[[], ServerConfig]") -> int:
    from mcp_conductor.cli.process.interruptible import serve_until_cancelled
    from mcp_conductor.server.server import Server

    terminal.answers_as_json = "--json" in given and config.transport.type != "stdio"
    server = Server(config, terminal.say)
    with _observed(server, given, terminal):
        if "--watch" not in given:
            return await _with_report(server, serve_until_cancelled(_host(server, terminal)), terminal)
        from mcp_conductor.cli.commands.serve.watch import serve_and_watch

        def serve(now: "ServerConfig", listener: "socket", stop: "Event") -> "Coroutine[Any, Any, int]":
            one = server if now is config else Server(now, terminal.say)
            one.observe_exchange = server.observe_exchange
            return _with_report(one, _host(one, terminal, listener)(stop), terminal)

        file = _path(given, terminal, "")
        return await serve_until_cancelled(lambda stop: serve_and_watch(config, again, serve, file, terminal, stop))


async def _with_report(server: "Server", work: "Coroutine[Any, Any, int]", terminal: Terminal) -> int:
    """The exit code of WORK; then it is told what became of the faults of SERVER."""
    report = server.fault_report
    try:
        return await work
    except UsageError:  # nothing was served, so there is nothing to tell of faults
        report = list
        raise
    finally:
        for line in report():
            terminal.say(line)


def _observed(server: "Server", given: Given, terminal: Terminal) -> "AbstractContextManager[object]":
    """Show and record what crosses the wire, if that is wanted."""
    if "--verbose" not in given and "--record" not in given:
        return nullcontext()
    from mcp_conductor.cli.output.server_display import observing

    return observing(server, given, terminal, str(server.config.info["name"]))


def _host(server: "Server", terminal: Terminal, listener: "socket | None" = None) -> "Host":
    config = server.config
    if config.transport.type == "stdio":
        from mcp_conductor.server.stdio_host import serve_stdio

        return lambda stop: serve_stdio(server, stop, terminal.say)
    from mcp_conductor.server.http.serving import serve_http

    def started(url: str) -> None:
        terminal.announce(f"Composable server listening at {url}", url)
        _warn(config, terminal)

    return lambda stop: serve_http(server, config.transport, stop, started, listener=listener)


def _warn(config: "ServerConfig", terminal: Terminal) -> None:
    """Say what other machines can see."""
    from mcp_conductor.server.http.admission import is_loopback

    shown = [each.name for each in config.tools if each.shows_environment]
    shown += [each.uri for each in config.resources if each.shows_environment]
    if shown and not is_loopback(config.transport.host):
        whom = f"warning: other machines can reach {config.transport.host}"
        terminal.say(f"{whom}, where {', '.join(shown)} shows the environment variables of this program")
        terminal.say("  hint: leave that out, or listen on 127.0.0.1")


def _summary(config: "ServerConfig") -> str:
    counts = {
        "tool": len(config.tools),
        "resource": len(config.resources),
        "resource template": len(config.templates),
        "prompt": len(config.prompts),
        "fault": len(config.faults),
    }
    parts = [f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items() if count]
    return f"{config.info['name']}: {', '.join(parts) or 'nothing at all'}, on {config.transport.type}\n"


def _summary_as_json(config: "ServerConfig") -> Json:
    from mcp_conductor.report.error_text import error_members

    return {
        "serverInfo": config.info,
        "transport": config.transport.type,
        "tools": [each.name for each in config.tools],
        "resources": [each.uri for each in config.resources],
        "resourceTemplates": [each.listed["uriTemplate"] for each in config.templates],
        "prompts": [each.name for each in config.prompts],
        "faults": len(config.faults),
        "warnings": [error_members(each) for each in config.warnings],
    }


def _show_presets(terminal: Terminal) -> None:
    from mcp_conductor.server.presets import MEMBERS, PRESETS

    presets = [preset for _, preset in PRESETS.items()]
    lines = []
    for member, kind in MEMBERS.items():
        lines.append(f"{member}:")
        for preset in presets:
            if preset.kind == kind:
                shown = f"  {preset.name}{_signature(preset)}"
                if len(shown) >= _LONGEST_SIGNATURE:
                    lines.append(shown)
                    shown = ""
                lines.append(f"{shown:<{_LONGEST_SIGNATURE}}{preset.doc}")
        lines.append("")
    terminal.answer("\n".join(lines), [_preset_json(preset) for preset in presets])


def _signature(preset: "Preset") -> str:
    params = preset.params.values()
    shown = [each.name if each.default in (None, each.empty) else f"{each.name}={each.default}" for each in params]
    return f"({', '.join(shown)})" if shown else ""


def _preset_json(preset: "Preset") -> dict[str, Any]:
    params = {
        name: {"required": True} if each.default is each.empty else {"default": each.default}
        for name, each in preset.params.items()
    }
    return {"name": preset.name, "kind": preset.kind, "params": params, "description": preset.doc}
