"""Stand between a client and a server, and pass on what they say: `conductor record` and `conductor proxy`."""

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.secrets import read_secrets
from mcp_conductor.cli.flags.shared import OAUTH_FLAGS
from mcp_conductor.cli.flags.target import target
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.text.redaction import secrets_by_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_conductor.protocol.server_spec import ServerSpec, StdioSpec
    from mcp_conductor.proxy.spoiling import Spoiling
    from mcp_conductor.recording.writer import RecordingWriter
    from mcp_conductor.text.likely_secrets import Path

_FOR_URLS = ("--json", "--host", "--port", "--allow-host", *(flag.name for flag in OAUTH_FLAGS))


def run(given: Given, terminal: Terminal) -> int:
    """Run `conductor record`: the exit code."""
    file = given.one("--output")
    if file is None:
        raise UsageError("no file is given for the recording", hint="-o FILE")
    return pass_on(given, terminal, program="conductor record", file=file)


def pass_on(
    given: Given,
    terminal: Terminal,
    *,
    program: str,
    file: str | None,
    faults: "Callable[[ServerSpec], Spoiling] | None" = None,
) -> int:
    """Stand before the server that is given until it is over: the exit code. FILE is for the recording."""
    given = read_secrets(given, terminal)
    spec = target(given, terminal, program=program)
    terminal.learn(secrets_by_name(terminal.environ))
    if (process := spec.as_process()) is not None:
        given.refuse(_FOR_URLS, "is for a server at a URL, not for a command")
        begin = partial(_open, file, given, terminal, process)
        return _pass_to_process(process, terminal, begin, faults and faults(process))
    if (web := spec.as_http()) is None:
        raise UsageError(f"a server that is reached by {spec.kind} cannot be recorded here")
    from mcp_conductor.cli.commands.record.to_url import pass_to_url
    from mcp_conductor.cli.process.interruptible import run_interruptibly

    spoiling = faults and faults(web)
    title = "Recording" if program == "conductor record" else "Proxy"
    begin = partial(_open, file, given, terminal, web)  # it is begun when the address is free
    return run_interruptibly(pass_to_url(web, given, terminal, begin, spoiling, title=title))


def _open(file: str | None, given: Given, terminal: Terminal, spec: "ServerSpec") -> "RecordingWriter":
    """Begin the recording in FILE, or go on with it; without one, nothing is kept."""
    from mcp_conductor.recording.format import server_of
    from mcp_conductor.recording.writer import RecordingWriter, open_recording
    from mcp_conductor.text.likely_secrets import LikelySecrets

    if file is None:
        given.refuse(("--append", "--redact", "--keep"), "is about a recording, and no file is given for one")
        return RecordingWriter(None, terminal.redactor)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = file.replace("{pid}", str(os.getpid())).replace("{time}", stamp)
    path = os.path.join(terminal.directory, os.path.expanduser(name))
    options: dict[str, Any] = {
        "shown": name,
        "transport": spec.kind,
        "server": server_of(spec),
        "complain": lambda text: terminal.say_if_there_is_room(f"warning: {text}"),
        "likely": LikelySecrets(*(_paths(given, flag) for flag in ("--redact", "--keep"))),
    }
    if "--append" in given:
        from mcp_conductor.recording.appending import append_recording

        return append_recording(path, terminal.redactor, **options, alone=spec.as_process() is None)
    told = f"note: {name} is replaced; --append adds to it, and {{pid}} or {{time}} in its name gives each start a file"
    return open_recording(path, terminal.redactor, **options, replacing=lambda: terminal.say(told))


def _paths(given: Given, flag: str) -> "dict[str, Path]":
    """The paths that are given to FLAG, by their text."""
    if flag not in given:
        return {}
    from mcp_conductor.suites.matching.paths import Every, parse_path

    found: dict[str, Path] = {}
    for text in given.all(flag):
        try:
            path = parse_path(text)
        except ValueError as error:
            raise UsageError(f"{flag}: {error}") from error
        steps = [None if isinstance(step, Every) else step for step in path.parts[0].steps]
        if not steps or len(path.parts) > 1 or not all(isinstance(step, (str, int)) or step is None for step in steps):
            raise UsageError(f"{flag} {text}: only names, indexes and [*] can stand in this path")
        found[text] = tuple(step for step in steps if step is None or isinstance(step, (str, int)))
    return found


def _pass_to_process(
    spec: "StdioSpec", terminal: Terminal, begin: "Callable[[], RecordingWriter]", spoiling: "Spoiling | None"
) -> int:
    from mcp_conductor.cli.output.terminal import hold_standard_streams
    from mcp_conductor.cli.process.ending import end_by, on_signals
    from mcp_conductor.proxy.stdio_relay import end_rest, relay, start

    hold_standard_streams()
    writer = begin()
    early: list[int] = []
    on_signals(lambda number, _: early.append(number))
    server = start(spec, terminal.environ)
    signals: list[int] = []

    def send(number: int, _: object = None) -> None:
        signals.append(number)
        server.send_signal(number)

    on_signals(send)
    for number in early:
        send(number)
    if spoiling is None:
        code = relay(server, writer, is_interrupted=lambda: bool(signals))
    else:
        from mcp_conductor.proxy.faulty_stream import faulty_streams

        code = relay(server, writer, faulty_streams(spoiling), lambda: bool(signals))
        for line in spoiling.report():
            terminal.say_if_there_is_room(line)
    writer.close()
    if signals:
        end_rest(server.pid)
    if code < 0:
        end_by(-code)
    return code
