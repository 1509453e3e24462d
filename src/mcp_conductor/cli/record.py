"""`conductor record`: stand between a real client and a real server, and keep what they say."""

import os
import time
from typing import TYPE_CHECKING

from mcp_conductor.cli.flags import Flag, Given, Groups, help_page, parse
from mcp_conductor.cli.oauth_flags import OAUTH_FLAGS, check_oauth_flags
from mcp_conductor.cli.secret_flags import read_secrets
from mcp_conductor.cli.target import TARGET_FLAGS, target
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.text.redaction import secrets_by_name

if TYPE_CHECKING:
    from mcp_conductor.protocol.server_spec import ServerSpec, StdioSpec
    from mcp_conductor.recording.writer import RecordingWriter

_FOR_URLS = ("--host", "--port", "--allow-host", *(flag.name for flag in OAUTH_FLAGS))
_NOT_HERE = ("--protocol", "--plugin")  # what is spoken is what the client speaks
FLAGS: Groups = {
    "Recording": (
        Flag("--output", "the file to write; {pid} and {time} in it become those of this run", "FILE", short="-o"),
    ),
    "Server": tuple(flag for flag in TARGET_FLAGS if flag.name not in _NOT_HERE),
    "Where clients reach the server at a URL": (
        Flag("--host", "the address to listen on; default 127.0.0.1", "HOST"),
        Flag("--port", "the port to listen on; without it, any that is free", "PORT"),
        Flag("--allow-host", "another name that it is reached by (repeatable)", "NAME", many=True),
    ),
    "OAuth, for the server at a URL": OAUTH_FLAGS,
    "Running": (Flag("--help", "show this text", short="-h"),),
}
_USAGE = """\
usage: conductor record -o FILE [FLAGS] -- COMMAND [ARGS …]
       conductor record -o FILE [FLAGS] URL
       conductor record -o FILE --config FILE --server NAME

Stand between a client and a server, and write what they say to a file.

Put it in the place of the server's command: the client starts it as a server, and it starts the server. Every byte
passes in both directions, as do signals, the end of stdin and how the server ends.

For a URL, it listens at an address of this machine, which it shows: give that to the client in place of the URL.
With --token or --oauth, it logs in by itself, and the client needs no token.
"""
EXAMPLES = {
    "conductor record -o said.jsonl -- python server.py": "in place of python server.py",
    "mcp-cli -- conductor record -o said.jsonl python server.py --method tools/list": "with mcp-cli as the client",
    "conductor record -o said.jsonl --port 8080 https://example.com/mcp": "at http://127.0.0.1:8080/mcp",
    "conductor record -o said.jsonl --config mcp.json --server books": "a server of a settings file",
}
_EXIT_CODES = """\
Exit codes: as the server ends, by a signal too; 2 could not run, 3 the server could not be started. For a URL: 0 when
it is ended by SIGINT, SIGTERM or SIGHUP.
"""


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor record`: the exit code."""
    given = _parse(argv)
    if "--help" in given:
        terminal.show(help_page(_USAGE, FLAGS, EXAMPLES, _EXIT_CODES))
        return 0
    given = read_secrets(given, terminal)
    spec = target(given, terminal, program="conductor record")
    terminal.learn(secrets_by_name(terminal.environ))
    if (process := spec.as_process()) is not None:
        for flag in _FOR_URLS:
            if flag in given:
                raise UsageError(f"{flag} is for a server at a URL, not for a command")
        return _record_process(process, given, terminal)
    check_oauth_flags(given)
    if (web := spec.as_http()) is None:
        raise UsageError(f"a server that is reached by {spec.kind} cannot be recorded here")
    from mcp_conductor.cli.interruptible import run_interruptibly
    from mcp_conductor.cli.record_url import record_url

    return run_interruptibly(record_url(web, given, terminal, lambda: open_output(given, terminal, web)))


def _parse(argv: list[str]) -> Given:
    """What is given. All that stands after the first -- is the command of the server, also words that begin with -."""
    if "--" not in argv:
        return parse(argv, FLAGS, program="conductor record")
    place = argv.index("--")
    given = parse(argv[:place], FLAGS, program="conductor record")
    return Given((*given.words, *argv[place + 1 :]), given.values, given.after, given.program)


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
