"""A server of a client's settings file with `conductor record` before it, and without it again.

Only JSON is changed, and only the entry of one server: its `command` and its `args`. What was there before is in the
entry itself, so that it can be taken out although other things have changed; a copy of the whole file is kept besides.
"""

import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.files.reading import read_bytes
from mcp_conductor.files.writing import write_bytes
from mcp_conductor.protocol import Json
from mcp_conductor.values import dataclass

BACKUP = ".before-wrap"  # what the name of the copy ends with
_TABLES = ("mcpServers", "servers")
_RECORD = ["-m", "mcp_conductor", "record", "-o"]
_OURS = re.compile(r"(?:.*[/\\])?(?:mcp-)?conductor(?:\.exe)?")
# Where programs keep their settings: in the directory of a project, or below that of a user.
_PROGRAMS = {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}.get(sys.platform, ".config")
CLIENTS: Mapping[str, tuple[str, ...]] = {
    "claude-code": (".mcp.json", "~/.claude.json"),
    "claude-desktop": (f"~/{_PROGRAMS}/Claude/claude_desktop_config.json",),
    "cursor": (".cursor/mcp.json", "~/.cursor/mcp.json"),
    "vscode": (".vscode/mcp.json", f"~/{_PROGRAMS}/Code/User/mcp.json"),
}


def settings_of(client: str, directory: str, home: str) -> str:
    """The settings file of CLIENT: one that we know, or the file itself."""
    path = os.path.join(directory, os.path.expanduser(client))
    if os.path.isfile(path) or client not in CLIENTS:
        if not os.path.isfile(path):
            near = nearest(client, tuple(CLIENTS))
            hint = f"did you mean {near!r}?" if near else f"a file, or one of {', '.join(CLIENTS)}"
            raise UsageError(f"there is no settings file {client}", hint=hint)
        return path
    for each in CLIENTS[client]:
        place = os.path.join(home, each[2:]) if each.startswith("~/") else os.path.join(directory, each)
        if os.path.isfile(place):
            return place
    raise UsageError(f"{client} has no settings file here", hint=f"looked for: {', '.join(CLIENTS[client])}")


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to an entry."""

    recording: str  # where it is recorded to
    done: bool  # otherwise, it was so already


class ClientSettings:
    """A settings file with `mcpServers` or `servers`."""

    def __init__(self, path: str, shown: str) -> None:
        self._path = path
        self._shown = shown
        try:
            self._before = read_bytes(path)
            self._data = json.loads(self._before)
        except OSError as error:
            raise UsageError(f"cannot read {shown}: {str(error.strerror).lower()}") from error
        except (ValueError, RecursionError) as error:
            hint = "a file with comments would lose them: put `conductor record -o FILE --` before the command by hand"
            raise UsageError(f"{shown} is not plain JSON: {error}", hint=hint) from error
        tables = [self._data.get(name) for name in _TABLES] if isinstance(self._data, dict) else []
        self._servers: Json = next((table for table in tables if isinstance(table, dict)), {})
        if not self._servers:
            raise UsageError(f"{shown} has no servers", hint="it must have mcpServers or servers")

    def name(self, given: str | None) -> str:
        """The server that is GIVEN, or the only one."""
        known = ", ".join(self._servers)
        if given is None:
            if len(self._servers) > 1:
                raise UsageError(f"{self._shown} has several servers; name one of them", hint=f"there are: {known}")
            return next(iter(self._servers))
        if given not in self._servers:
            near = nearest(given, tuple(self._servers))
            hint = f"did you mean {near!r}?" if near else f"there are: {known}"
            raise UsageError(f"{self._shown} has no server {given!r}", hint=hint)
        return given

    def wrap(self, name: str, recording: str) -> Change:
        """Put `record` before the server NAME."""
        entry = self._servers[name]
        command = entry.get("command") if isinstance(entry, dict) else None
        args = entry.get("args", []) if isinstance(entry, dict) else None
        if not isinstance(command, str) or not isinstance(args, list):
            hint = "for a url: conductor record URL -o FILE --port PORT, and http://127.0.0.1:PORT in the settings"
            raise UsageError(f"{self._shown}: {name} is not started by a command", hint=hint)
        if (known := recording_of(entry)) is not None:
            return Change(known, done=False)
        if _OURS.fullmatch(command) and args[:1] == ["record"]:
            return Change("the file that its command names", done=False)
        if not any(map(recording_of, self._servers.values())):
            write_bytes(self._path + BACKUP, self._before, shown=self._shown + BACKUP, secret=True)
        entry |= {"command": sys.executable, "args": [*_RECORD, recording, "--", command, *args]}
        self._write(self._text())
        return Change(recording, done=True)

    def unwrap(self, name: str) -> Change:
        """Take `record` away from the server NAME."""
        entry = self._servers[name]
        recording = recording_of(entry)
        if recording is None:
            return Change("", done=False)
        command, *args = entry["args"][len(_RECORD) + 2 :]
        entry["command"] = command
        entry["args"] = args
        if not any(map(recording_of, self._servers.values())) and (before := self._same_as_backup()) is not None:
            self._write(before)
            os.unlink(self._path + BACKUP)
        else:
            self._write(self._text())
        return Change(recording, done=True)

    def _same_as_backup(self) -> bytes | None:
        """What the file was before, if nothing else was changed."""
        with suppress(OSError, ValueError, RecursionError):
            before = read_bytes(self._path + BACKUP)
            return before if _without_empty(json.loads(before)) == _without_empty(self._data) else None
        return None

    def _text(self) -> bytes:
        """The file as it is now, with the indent that it had."""
        found = re.search(rb"^([ \t]+)\S", self._before, re.MULTILINE)
        indent = found[1].decode() if found else 2
        end = "\n" if self._before.endswith(b"\n") else ""
        return (json.dumps(self._data, indent=indent, ensure_ascii=False) + end).encode(errors="surrogatepass")

    def _write(self, data: bytes) -> None:
        write_bytes(self._path, data, shown=self._shown)


def recording_of(entry: object) -> str | None:
    """Where the server of ENTRY is recorded to, if `wrap` has put that there."""
    args = entry.get("args") if isinstance(entry, dict) else None
    if not isinstance(args, list) or args[: len(_RECORD)] != _RECORD or len(args) < len(_RECORD) + 3:
        return None
    return args[len(_RECORD)] if args[len(_RECORD) + 1] == "--" else None


def _without_empty(data: Json) -> Json:
    """DATA, in which no `args` say the same as empty ones."""
    tables = {name: data[name] for name in _TABLES if isinstance(data.get(name), dict)}
    plain = {
        name: {
            key: {member: value for member, value in entry.items() if (member, value) != ("args", [])}
            if isinstance(entry, dict)
            else entry
            for key, entry in table.items()
        }
        for name, table in tables.items()
    }
    return {**data, **plain}
