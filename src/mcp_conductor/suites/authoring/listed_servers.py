"""The servers that settings of other programs list: of Claude, Cursor, VS Code, and each that reads an mcp.json.

Files in the project's directory are the project's; those in the home directory are the user's, and what they list has
nothing to do with the project until the user says so.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from mcp_conductor.errors import UsageError
from mcp_conductor.files.settings import TABLES
from mcp_conductor.files.source import load
from mcp_conductor.protocol import Json
from mcp_conductor.values import dataclass

_OF_PROJECT = (
    "mcp.json",
    ".mcp.json",  # Claude Code
    ".mcp/",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    "claude_desktop_config.json",
)
_OF_USER = (".mcp.json", ".mcp/", ".claude.json", ".cursor/mcp.json")
# Below the directory where programs keep the settings of a user, which is not the same on every system.
_OF_PROGRAMS = ("Claude/claude_desktop_config.json", "Code/User/mcp.json", "Code/User/settings.json")
_MOST_FILES = 20  # of a directory
_KEYS = ("type", "command", "args", "env", "cwd", "url", "headers")
# What an editor fills in: the directory of the project, where we are, and what it asks its user.
_FOLDER = re.compile(r"\$\{workspaceFolder\}/?")
_INPUT = re.compile(r"\$\{input:([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Found:
    """A server that a project may have."""

    name: str
    entry: Json  # as it stands in a settings file
    source: str  # the file that says so
    of_project: bool = True  # otherwise, a file of the user says so
    problem: str = ""  # why it cannot be started
    remedy: str = ""  # the command that changes it


@dataclass(frozen=True, slots=True)
class Listing:
    """The settings files that were read: what they list, and which of them could not be read."""

    servers: tuple[Found, ...]
    problems: tuple[str, ...]


def listed_servers(directory: str, environ: Mapping[str, str]) -> Listing:
    """What the settings files of the project in DIRECTORY and those of the user list, in this order."""
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    servers: list[Found] = []
    problems: list[str] = []
    is_home = bool(home) and os.path.realpath(directory) == os.path.realpath(home)
    files = [] if is_home else [(file, True) for file in _files(directory, _OF_PROJECT)]
    files += [(file, False) for file in _files_of_user(home, environ)]
    for file, of_project in files:
        shown = os.path.relpath(file, directory) if of_project else _from_home(file, home)
        try:
            data = load(file, shown).data
        except UsageError as error:
            place = f" (line {error.where.line}, column {error.where.column})" if error.where is not None else ""
            problems.append(error.message + place)
        else:
            for name, entry in _entries(data, directory):
                wrong = _mistake(entry)
                if wrong:
                    problems.append(f"{shown}: server {name!r}: {wrong}")
                else:
                    servers.append(Found(name, _as_ours(entry), shown, of_project))
    return Listing(tuple(servers), tuple(problems))


def _files(directory: str, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        path = os.path.join(directory, name)
        if name.endswith("/"):
            with suppress(OSError):  # it is not there, or not for us
                inside = [each for each in sorted(os.listdir(path)) if each.endswith(".json")]
                yield from (os.path.join(path, each) for each in inside[:_MOST_FILES])
        elif os.path.isfile(path):
            yield path


def _files_of_user(home: str, environ: Mapping[str, str]) -> Iterator[str]:
    if not home:
        return
    yield from _files(home, _OF_USER)
    places = (
        environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"),
        os.path.join(home, "Library", "Application Support"),  # macOS
        environ.get("APPDATA"),  # Windows
    )
    for place in filter(None, places):
        yield from _files(place, _OF_PROGRAMS)


def _from_home(file: str, home: str) -> str:
    return os.path.join("~", os.path.relpath(file, home)) if file.startswith(home + os.sep) else file


def _entries(data: Any, directory: str) -> Iterator[tuple[str, Json]]:
    """The servers in a settings file, by their names."""
    for table in _tables(data, directory):
        for name, entry in table.items():
            if isinstance(entry, dict) and ("command" in entry) != ("url" in entry):
                yield str(name), {key: entry[key] for key in _KEYS if key in entry}


def _tables(data: Any, directory: str) -> Iterator[Json]:
    """The tables of servers: those of this project in ~/.claude.json, at the top, under `mcp` (settings of VS Code)."""
    if not isinstance(data, dict):
        return
    projects = data.get("projects")
    mine = projects.get(os.path.abspath(directory)) if isinstance(projects, dict) else None
    for part in (mine, data, data.get("mcp")):
        if isinstance(part, dict):
            yield from (part[key] for key in TABLES if isinstance(part.get(key), dict))


def _mistake(entry: Json) -> str:
    """What is wrong with the form of ENTRY; an entry that is as it should be has texts only, and no deeper parts."""
    for key, value in entry.items():
        if key == "args":
            if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
                return "args must be an array of strings"
        elif key in ("env", "headers"):
            if not isinstance(value, dict) or not all(isinstance(each, (str, int)) for each in value.values()):
                return f"{key} must be an object with strings"
        elif not isinstance(value, str):
            return f"{key} must be a string"
    return ""


def _as_ours(entry: Json) -> Json:
    """ENTRY without what only an editor can fill in."""
    ours: Json = {}
    for key, value in entry.items():
        if isinstance(value, dict):
            ours[key] = {name: _filled(each) for name, each in value.items()}
        else:
            ours[key] = [_filled(word) for word in value] if isinstance(value, list) else _filled(value)
    return ours


def _filled(value: Any) -> Any:
    if not isinstance(value, str) or "${" not in value:
        return value
    text = _FOLDER.sub("", value) or "."
    return _INPUT.sub(lambda found: f"${{{_variable(found[1])}}}", text)


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()
