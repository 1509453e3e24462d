"""`conductor record`: stand between a real client and a real server, and keep what they say."""

import os
import time
from typing import TYPE_CHECKING

from mcp_conductor.cli.flags import Flag, Given, Groups, help_page, parse
from mcp_conductor.cli.secret_flags import read_secrets
from mcp_conductor.cli.target import TARGET_FLAGS, target
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.text.redaction import secrets_by_name

if TYPE_CHECKING:
    from mcp_conductor.protocol.server_spec import ServerSpec, StdioSpec
    from mcp_conductor.recording.writer import RecordingWriter

_NOT_HERE = ("--protocol", "--plugin")  # what is spoken is what the client speaks
FLAGS: Groups = {
    "Recording": (
        Flag("--output", "the file to write; {pid} and {time} in it become those of this run", "FILE", short="-o"),
    ),
    "Server": tuple(flag for flag in TARGET_FLAGS if flag.name not in _NOT_HERE),
    "Running": (Flag("--help", "show this text", short="-h"),),
}
_USAGE = """\
usage: conductor record -o FILE [FLAGS] -- COMMAND [ARGS …]
       conductor record -o FILE --config FILE --server NAME

Stand between a client and a server, and write what they say to a file. Put it in the place of the server's command: the
client starts it as a server, and it starts the server. Every byte passes in both directions, as do signals, the end of
stdin and how the server ends.
"""
EXAMPLES = {
    "conductor record -o said.jsonl -- python server.py": "in place of python server.py",
    "mcp-cli -- conductor record -o said.jsonl python server.py --method tools/list": "with mcp-cli as the client",
    "conductor record -o said.jsonl --config mcp.json --server books": "a server of a settings file",
}
_EXIT_CODES = """\
Exit codes: as the server ends, by a signal too; 2 could not run, 3 the server could not be started.
"""


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor record`: the exit code."""
    given = parse(argv, FLAGS, program="conductor record")
    if "--help" in given:
        terminal.show(help_page(_USAGE, FLAGS, EXAMPLES, _EXIT_CODES))
        return 0
    given = read_secrets(given, terminal)
    spec = target(given, terminal, program="conductor record")
    terminal.learn(secrets_by_name(terminal.environ))
    if (process := spec.as_process()) is not None:
        return _record_process(process, given, terminal)
    raise UsageError(f"{spec.kind} cannot be recorded here")


def open_output(given: Given, terminal: Terminal, spec: "ServerSpec") -> "RecordingWriter":
    """Begin the recording that is wanted."""
    from mcp_conductor.recording.format import server_of
    from mcp_conductor.recording.writer import open_recording

    file = given.one("--output")
    if file is None:
        raise UsageError("no file is given for the recording", hint="-o FILE")
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = file.replace("{pid}", str(os.getpid())).replace("{time}", stamp)
    return open_recording(
        os.path.join(terminal.directory, os.path.expanduser(name)),
        terminal.redactor,
        shown=name,
        transport=spec.kind,
        server=server_of(spec),
        complain=lambda text: terminal.say(f"warning: {text}"),
    )


def _record_process(spec: "StdioSpec", given: Given, terminal: Terminal) -> int:
    from mcp_conductor.cli.serve import hold_standard_streams
    from mcp_conductor.cli.signals import end_by, on_signals
    from mcp_conductor.proxy.stdio_relay import relay, start

    hold_standard_streams()
    writer = open_output(given, terminal, spec)
    early: list[int] = []
    on_signals(lambda number, _: early.append(number))
    server = start(spec, terminal.environ)
    on_signals(lambda number, _: server.send_signal(number))
    for number in early:
        server.send_signal(number)
    code = relay(server, writer)
    writer.close()
    if code < 0:
        end_by(-code)
    return code
