"""`conductor proxy`: stand between a real client and a real server, and let things go wrong on purpose."""

import os
from time import monotonic
from typing import TYPE_CHECKING

from mcp_conductor.cli.commands.record.run import pass_on
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.shared import load_named_plugins
from mcp_conductor.cli.output.terminal import Terminal, print_to_stderr

if TYPE_CHECKING:
    from mcp_conductor.protocol.server_spec import ServerSpec
    from mcp_conductor.proxy.spoiling import Spoiling


def run(given: Given, terminal: Terminal) -> int:
    """Run `conductor proxy`: the exit code."""
    load_named_plugins(given, terminal)
    return pass_on(
        given,
        terminal,
        program="conductor proxy",
        file=given.one("--record"),
        faults=(lambda spec: _spoiling(spec, given, terminal)) if "--faults" in given else None,
    )


def _spoiling(spec: "ServerSpec", given: Given, terminal: Terminal) -> "Spoiling":
    """The faults that are wanted before the server of SPEC."""
    from mcp_conductor.cli.output.terminal import NotedVariables
    from mcp_conductor.proxy.fault_file import load
    from mcp_conductor.proxy.spoiling import Spoiling
    from mcp_conductor.server.faults import Faults

    shown = given.need("--faults")
    path = os.path.join(terminal.directory, os.path.expanduser(shown))
    file = load(path, shown, NotedVariables(terminal), http=spec.as_process() is None)
    print_to_stderr()  # stdout is for messages, also while the plugins of a file work
    for warning in file.warnings:
        terminal.say_warning(warning)
    began = monotonic()

    def tell(text: str) -> None:
        if "--quiet" not in given:
            terminal.say_if_there_is_room(f"at {monotonic() - began:.3f} s: {text}")

    return Spoiling(Faults(file.faults, file.seed, terminal.say), tell)
