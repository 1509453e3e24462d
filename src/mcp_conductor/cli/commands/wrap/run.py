"""`conductor wrap`: let a client record what it says to one of its servers."""

import os
import re
from typing import TYPE_CHECKING

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.errors import UsageError

if TYPE_CHECKING:
    from mcp_conductor.protocol import Json
    from mcp_conductor.proxy.wrapping import Change, ClientSettings


def run(given: Given, terminal: Terminal) -> int:
    """Run `conductor wrap`: the exit code."""
    from mcp_conductor.proxy.wrapping import BACKUP

    settings, shown, server = named(given, terminal, "wrap")
    change = settings.wrap(server, _output(given, terminal, server))
    text = f"{shown}: {server} is recorded already, to {change.recording}\n"
    if change.done:
        text = (
            f"{shown}: {server} is recorded now, to {change.recording}\n"
            f"  the file before is {shown}{BACKUP}; restart the client\n"
        )
    backup = {"backup": f"{shown}{BACKUP}"} if change.done else {}
    terminal.answer(text, {**change_members(shown, server, change), **backup})
    return OK


def change_members(file: str, server: str, change: "Change") -> "Json":
    """What was changed in the settings FILE of a client, as --json shows it."""
    return {"file": file, "server": server, "changed": change.done, "recording": change.recording}


def named(given: Given, terminal: Terminal, command: str) -> "tuple[ClientSettings, str, str]":
    """The settings that the words of the command line name, what to call them, and the server."""
    from mcp_conductor.proxy.wrapping import ClientSettings, settings_of

    words = [*given.words, *given.after]
    if not words or len(words) > 2:
        what = "no client is given" if not words else f"{len(words)} words are given, but a client and a server are two"
        raise UsageError(what, hint=f"conductor {command} CLIENT SERVER")
    home = terminal.environ.get("HOME") or terminal.environ.get("USERPROFILE") or ""
    path = settings_of(words[0], terminal.directory, home)
    inside = os.path.relpath(path, terminal.directory)
    shown = path if inside.startswith("..") else inside
    settings = ClientSettings(path, shown)
    return settings, shown, settings.name(words[1] if len(words) == 2 else None)


def _output(given: Given, terminal: Terminal, server: str) -> str:
    file = given.one("--output")
    if file is None:
        name = re.sub(r"[^\w.-]+", "-", server).strip("-.") or "server"
        file = os.path.join(os.path.expanduser("~/.conductor/recordings"), name + "-{time}-{pid}.jsonl")
    path = os.path.join(terminal.directory, os.path.expanduser(file))
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the directory of {file}: {error.strerror}") from error
    return path
