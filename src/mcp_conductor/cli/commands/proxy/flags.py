"""`conductor proxy`: stand between a real client and a real server, and let things go wrong on purpose."""

import os
from time import monotonic
from typing import TYPE_CHECKING

from mcp_conductor.cli.commands.command import Command
from mcp_conductor.cli.commands.record.passing import (
    APPEND,
    EXIT_CODES,
    FLAGS as PASSING_FLAGS,
    RECORDING,
    REDACTION,
    parse_words,
    pass_on,
)
from mcp_conductor.cli.flags import Flag, Given, Groups
from mcp_conductor.cli.flags.plugins import PLUGIN_FLAG, load_named_plugins
from mcp_conductor.cli.output.terminal import Terminal, print_to_stderr
from mcp_conductor.cli.process.exit_codes import OK

if TYPE_CHECKING:
    from mcp_conductor.protocol.server_spec import ServerSpec
    from mcp_conductor.proxy.spoiling import Spoiling

FLAGS: Groups = {
    "Faults": (
        Flag(
            "--faults",
            "what goes wrong: a JSON or YAML file with `faults`, as for conductor serve",
            "FILE",
            common=True,
        ),
        Flag("--quiet", "say on stderr only how often each fault has struck, at the end", short="-q"),
        PLUGIN_FLAG,
    ),
    "Recording": (Flag("--record", RECORDING, "FILE", short="-o", common=True), APPEND, *REDACTION),
    **PASSING_FLAGS,
}
_USAGE = """\
usage: conductor proxy --faults FILE [FLAGS] -- COMMAND [ARGS …]
       conductor proxy --faults FILE [FLAGS] URL
       conductor proxy --faults FILE --config FILE --server NAME

Stand between a client and a server, and let things go wrong: replies that are late, wrong, twice or never there, a
server that dies, HTTP statuses, streams that break off. What no fault is for passes byte for byte.

It takes the place of the server's command, or of its URL, as conductor record does. Without --faults, all passes.
"""
EXAMPLES = {
    "conductor proxy --faults faults.yaml -- python server.py": "in place of python server.py",
    "mcp-cli -- conductor proxy --faults faults.yaml python server.py --method tools/list": "with mcp-cli as client",
    "conductor proxy --faults faults.yaml --record said.jsonl -- python server.py": "and keep what was really said",
    "conductor proxy --faults faults.yaml --port 8080 https://example.com/mcp": "at http://127.0.0.1:8080/mcp",
}
_FAULT_CODES = "A fault that ends the process (crash) gives its own exit code.\n"
COMMAND = Command("conductor proxy", FLAGS, _USAGE, EXAMPLES, EXIT_CODES + _FAULT_CODES)


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor proxy`: the exit code."""
    if (given := COMMAND.read(argv, terminal, parse_words)) is None:
        return OK
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
    from mcp_conductor.cli.output.noted_variables import NotedVariables
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
