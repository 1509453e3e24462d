"""Servers described in a settings file: `conductor.config.json` (flat), or a table `mcpServers` or `servers` as Claude
Desktop, Cursor and VS Code write.

Every mistake is an error that names the file, the server and the field. Reading is pure: the environment and the file
system come in as values (`Surroundings`).
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import islice
from os.path import isabs, join, normpath
from types import NoneType
from typing import Any, NoReturn

from mcp_conductor.bounded.regex import compile_regex
from mcp_conductor.errors import ConfigError, Location, nearest
from mcp_conductor.files.mistakes import MOST, Mistakes
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import PROTOCOL_CHOICES
from mcp_conductor.protocol.duration import seconds
from mcp_conductor.protocol.environment_variables import filled
from mcp_conductor.protocol.message import compact, kind_of
from mcp_conductor.protocol.server_spec import (
    MAX_NAME_LENGTH,
    TRANSPORTS,
    HttpSpec,
    ServerSpec,
    StdioSpec,
    at_url,
    is_added_url,
    is_sse,
    url_problem,
)
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

# Other clients' words for Streamable HTTP.
_TRANSPORT_OF_TYPE = {
    "stdio": "stdio",
    "sse": "sse",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
}
_OF_STDIO = {
    "command": "the program to start; `url` is the other way",
    "args": "its arguments",
    "env": "environment variables, added to those of ours",
    "cwd": "where it is started; default: the directory of the file",
    "readyPattern": "a regular expression: nothing is sent before a line of its stderr matches",
    "startupTimeout": "how long its first answer may take; default 5s in a file of one server",
}
_OF_HTTP = {
    "url": "the address of a server that runs already",
    "headers": "HTTP headers that are sent with each request",
}
# What a server has in a settings file, and what the manual says of it.
KEYS = {
    "name": "what the server is called; in a table of servers, its key is its name",
    "type": "stdio, http or sse, where command or url do not say it",
    "protocolVersion": "handshake, auto, modern, or a revision",
    **_OF_STDIO,
    **_OF_HTTP,
}
_STDIO_KEYS, _HTTP_KEYS = tuple(_OF_STDIO), tuple(_OF_HTTP)
TABLES = ("mcpServers", "servers")  # under which a file with several servers has them
_FLAT_STARTUP_TIMEOUT = 5.0
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MAX_LIST_LENGTH = 500  # characters of the names that a message lists
_MOST_KEYS = 1000  # of a server, among which a misspelled one is looked for

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a settings file is read against; values, so that reading stays pure."""

    file: str
    directory: str  # of the file
    invocation: str  # where the program was started
    environ: Mapping[str, str]
    exists: Callable[[str], bool]
    locate: Callable[[Path], Location | None] = lambda _: None
    lenient: bool = False  # as mcp-aegis reads it: other keys mean nothing, and `cwd` is seen from where we are


def from_settings(settings: Any, around: Surroundings, server: str | None = None) -> ServerSpec:
    """The server called SERVER in a settings file; a file with one server needs no name."""
    if not isinstance(settings, dict):
        raise ConfigError(f"{around.file}: must be an object, not {kind_of(settings)}", where=around.locate(()))
    table = _table(settings)
    if table is None:
        name = settings.get("name", "")
        entry = _Entry(settings, (), around, name if isinstance(name, str) else "")
        if not isinstance(name, str):
            entry.note(("name",), f"must be a string, not {kind_of(name)}")
        return entry.flat(server)
    entries = settings[table]
    if not isinstance(entries, dict) or not entries:
        raise ConfigError(
            f"{around.file}: {table!r} must be an object with at least one server", where=around.locate((table,))
        )
    if server is None and len(entries) > 1:
        raise ConfigError(
            f"{around.file} has {len(entries)} servers", hint=f"choose one with --server: {_list(entries)}"
        )
    name = server if server is not None else next(iter(entries))
    if name not in entries:
        near = nearest(name, list(entries))
        hint = f"did you mean {_quoted(near)}?" if near else f"it has: {_list(entries)}"
        raise ConfigError(f"{around.file} has no server {_quoted(name)}", hint=hint)
    return _Entry(entries[name], (table, name), around, name).spec()


def entry_spec(entry: Any, around: Surroundings, name: str = "") -> ServerSpec:
    """The server that one entry describes, wherever it comes from."""
    return _Entry(entry, (), around, name).spec()


def every_server(settings: Any, around: Surroundings) -> dict[str, "ServerSpec | ConfigError"]:
    """All servers of a settings file by their names, without those that are disabled.

    One that is described wrongly is its mistake.
    """
    table = _table(settings)
    if table is None or not isinstance(settings[table], dict) or not settings[table]:
        spec = from_settings(settings, around)
        return {spec.name or "server": spec}
    enabled = [name for name, entry in settings[table].items() if not _is_disabled(entry)]
    if not enabled:
        raise ConfigError(f"{around.file}: all servers are disabled", where=around.locate((table,)))
    found: dict[str, ServerSpec | ConfigError] = {}
    for name in enabled:
        try:
            found[name] = from_settings(settings, around, name)
        except ConfigError as error:
            found[name] = error
    return found


def _is_disabled(entry: Any) -> bool:
    """Whether the user has switched a server off, as several hosts let them in their files."""
    return isinstance(entry, dict) and entry.get("disabled") is True


def _table(settings: Any) -> str | None:
    if not isinstance(settings, dict):
        return None
    return next((key for key in TABLES if key in settings), None)


def _spelled(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _quoted(name: Any) -> str:
    return repr(cut(name, MAX_NAME_LENGTH) if isinstance(name, str) else name)


def _list(names: Collection[Any]) -> str:
    """NAMES as they are shown: a file may have any number, of any length."""
    listed: list[str] = []
    length = 0
    for name in map(_quoted, names):
        length += len(name) + 2
        if listed and length > _MAX_LIST_LENGTH:
            return f"{', '.join(listed)} and {len(names) - len(listed)} more"
        listed.append(name)
    return ", ".join(listed)


class _Entry:
    """One server of a settings file, while it is being read."""

    def __init__(self, entry: Any, path: Path, around: Surroundings, name: str) -> None:
        self.path = path
        self.around = around
        self.name = name
        self.mistakes = Mistakes()
        if not isinstance(entry, dict):
            self.refuse((), f"must be an object, not {kind_of(entry)}")
        self.entry: Json = filled(entry, around.environ, self.note)

    def refuse(self, at: Path, problem: str, hint: str | None = None) -> NoReturn:
        """Refuse the value at AT, which cannot be used."""
        raise self.mistake(at, f"{_spelled(at)} {problem}" if at else problem, hint)

    def note(self, at: Path, problem: str, hint: str | None = None) -> None:
        """Note a mistake in the value at AT; the rest is still read."""
        if self.mistakes.enough:
            self.mistakes.leave_out(1)
        else:
            self.mistakes.add(self.mistake(at, f"{_spelled(at)} {problem}" if at else problem, hint))

    def mistake(self, at: Path, problem: str, hint: str | None = None) -> ConfigError:
        """A mistake of the whole server, best seen at AT."""
        who = f"server {cut(self.name, MAX_NAME_LENGTH)!r}: " if self.name else ""
        where = self.around.locate(self.path + at)
        return ConfigError(f"{self.around.file}: {who}{problem}", hint=hint, where=where)

    def flat(self, server: str | None) -> ServerSpec:
        """A whole file that describes one server: our own format, so every key must be known."""
        if server is not None and server != self.name:
            raise ConfigError(
                f"{self.around.file} has no server {_quoted(server)}",
                hint=f"it describes one server, {_quoted(self.name)}",
            )
        # The variables of tests do not concern a server, and x-… means nothing to us.
        known = {*KEYS, "vars", "plugins", *(self.entry if self.around.lenient else ())}
        unknown = [key for key in self.entry if key not in known and not key.startswith("x-")]
        for key in unknown[:MOST]:
            near = nearest(key, (*KEYS, *TABLES))
            hint = f"did you mean {near!r}?" if near else f"known: {_list(tuple(KEYS))}"
            mistake = self.mistake((key,), f"unknown key {key!r}", hint)
            mistake.where = mistake.where and mistake.where.of_key(key)
            self.mistakes.add(mistake)
        self.mistakes.leave_out(len(unknown[MOST:]))
        return self.spec().starting_within(_FLAT_STARTUP_TIMEOUT)

    def spec(self) -> ServerSpec:
        has_command, has_url = "command" in self.entry, "url" in self.entry
        if has_command and has_url:
            hint = "a server is started by its command or reached at its url: keep one"
            raise self.mistake(("url",), "has both 'command' and 'url'", hint)
        if not has_command and not has_url:
            self.mistakes.tell()  # a key that is not known may be one of these
            looked_at = islice(self.entry, _MOST_KEYS)
            near = next((key for key in looked_at if nearest(key, ("command", "url")) is not None), None)
            hint = f"is {near!r} a misspelled key?" if near else "give it one of them"
            mistake = self.mistake((near,) if near else (), "has neither 'command' nor 'url'", hint)
            if near and mistake.where:
                mistake.where = mistake.where.of_key(near)
            raise mistake
        spec = self.stdio() if has_command else self.elsewhere() or self.http()
        self.mistakes.tell()
        return spec

    def stdio(self) -> StdioSpec:
        self.refuse_keys(_HTTP_KEYS, "command")
        if self.transport() not in (None, "stdio"):
            self.note(("type",), f"{self.entry['type']!r} needs a url, not a command")
        pattern = self.text("readyPattern")
        if pattern is not None:
            self.check_pattern(pattern)
        cwd = self.directory()
        command = self.text("command")
        if command:
            self.check_command(command, cwd)
        elif command is not None or self.entry["command"] is None:
            self.note(("command",), "must not be empty")
        words = (command or "", *(self.word(index, word) for index, word in enumerate(self.list("args"))))
        return StdioSpec(
            name=self.name,
            command=tuple(self.resolve_path(word, cwd, program=index == 0) for index, word in enumerate(words)),
            env=self.texts("env"),
            cwd=cwd,
            ready_pattern=pattern,
            startup_timeout=self.time("startupTimeout"),
            protocol=self.protocol(),
        )

    def elsewhere(self) -> ServerSpec | None:
        """The server, if its URL is one of a transport that was added to ours."""
        if not isinstance(self.entry["url"], str) or not is_added_url(self.entry["url"]):
            return None
        self.refuse_keys((*_STDIO_KEYS[1:], *_HTTP_KEYS[1:], "type"), "url")
        spec = at_url(self.text("url") or "")
        return spec and replace(spec, name=self.name, protocol=self.protocol())

    def http(self) -> HttpSpec:
        self.refuse_keys(_STDIO_KEYS[1:], "url")
        transport = self.transport()
        if transport == "stdio":
            self.note(("type",), "'stdio' needs a command, not a url")
        url = self.text("url") or ""
        if isinstance(self.entry["url"], (str, NoneType)) and (problem := url_problem(url)):
            self.note(("url",), f"is {url!r}, which is not the URL of a server: {problem}")
        return HttpSpec(
            name=self.name,
            url=url,
            headers=self.texts("headers"),
            sse=is_sse(url, transport),
            fall_back=transport is None,
            protocol=self.protocol(),
        )

    def transport(self) -> str | None:
        if "type" not in self.entry:
            return None
        known = self.entry["type"]
        if not isinstance(known, str) or known not in _TRANSPORT_OF_TYPE:
            self.note(("type",), f"must be one of {_list(TRANSPORTS)}, not {known!r}")
            return None
        return _TRANSPORT_OF_TYPE[known]

    def protocol(self) -> str | None:
        version = self.text("protocolVersion")
        if version is not None and version not in PROTOCOL_CHOICES:
            self.note(("protocolVersion",), f"must be one of {', '.join(PROTOCOL_CHOICES)}, not {version!r}")
        return version

    def refuse_keys(self, keys: tuple[str, ...], other: str) -> None:
        for key in keys:
            if key in self.entry:
                self.note((key,), f"{key!r} has no meaning together with {other!r}")

    def check_command(self, command: str, cwd: str) -> None:
        """Refuse a whole command line as a command, unless a file has that name."""
        program, *arguments = command.split() or [command]

        def is_there(path: str) -> bool:
            return any(self.around.exists(join(each, path)) for each in (cwd, self.around.invocation))

        if not arguments or is_there(command) or ("/" in program and not is_there(program)):
            return
        args = [*arguments, *(each for each in self.list("args") if isinstance(each, str))]
        hint = f"put {' '.join(arguments)} in args: {compact({'command': program, 'args': args})}"
        self.note(("command",), f"is {command!r}, which is more than the name of a program", hint)

    def check_pattern(self, pattern: str) -> None:
        try:
            compile_regex(pattern)
        except re.error as error:
            self.note(("readyPattern",), f"is not a regular expression: {error}")

    def directory(self) -> str:
        """Where the server runs: its `cwd`, also looked for where we are, or else the file's directory."""
        cwd = self.text("cwd")
        if self.around.lenient:
            return normpath(join(self.around.invocation, cwd or ""))
        if cwd is None:
            return self.around.directory
        from_file = normpath(join(self.around.directory, cwd))
        here = normpath(join(self.around.invocation, cwd))
        return here if not self.around.exists(from_file) and self.around.exists(here) else from_file

    def resolve_path(self, word: str, cwd: str, *, program: bool) -> str:
        """WORD, or its full path if it is a relative path that exists only below the directory we were started in."""
        looks_like_path = "/" in word or (not program and "." in word.strip("."))
        if not looks_like_path or isabs(word) or word.startswith("-") or _SCHEME.match(word):
            return word
        here = normpath(join(self.around.invocation, word))
        return here if not self.around.exists(join(cwd, word)) and self.around.exists(here) else word

    def word(self, index: int, word: Any) -> str:
        if not isinstance(word, str):
            self.note(("args", index), f"must be a string, not {kind_of(word)}")
            return ""
        return word

    def text(self, key: str) -> str | None:
        value = self.entry.get(key)
        if value is not None and not isinstance(value, str):
            self.note((key,), f"must be a string, not {kind_of(value)}")
            return None
        return value

    def list(self, key: str) -> list[Any]:
        value = self.entry.get(key, [])
        if not isinstance(value, list):
            self.note((key,), f"must be an array, not {kind_of(value)}")
            return []
        return value

    def texts(self, key: str) -> dict[str, str]:
        value = self.entry.get(key, {})
        if not isinstance(value, dict):
            self.note((key,), f"must be an object, not {kind_of(value)}")
            return {}
        return {name: self.plain(member, (key, name)) for name, member in value.items()}

    def plain(self, value: Any, at: Path) -> str:
        """A text, or an integer, as in `PORT: 3000`; any other number would not keep its spelling."""
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            self.note(at, f"must be a string, not {kind_of(value)}")
            return ""
        return value

    def time(self, key: str) -> float | None:
        value = self.entry.get(key)
        if value is None:
            return None
        found = seconds(value)
        if not found:
            self.note((key,), f"must be a time such as 5000, 500ms or 5s, not {value!r}")
        return found or None
