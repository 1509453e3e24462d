"""Which servers a project has, judged by its directory: what settings of other programs list, what its manifests
start, and files that look like one.

Nothing is run and nothing is asked for here.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.files.reading import open_file
from mcp_conductor.files.source import load
from mcp_conductor.protocol import Json
from mcp_conductor.suites.authoring.listed_servers import Found, Listing, listed_servers

_PYTHON_FILES = ("server.py", "main.py", "app.py", "src/server.py", "src/main.py")
_NODE_FILES = ("server.js", "server.mjs", "index.js", "index.mjs", "build/index.js", "dist/index.js", "src/index.js")
_LOOKS_LIKE_A_SERVER = re.compile(r"\bmcp\b|fastmcp|modelcontextprotocol|tools/list", re.IGNORECASE)
_LARGEST = 1_000_000  # characters of a file that are looked at
_WORKSPACES = ("", "packages", "apps", "servers", "services", "libs")  # where a repository has its projects
_MOST_DIRECTORIES = 100  # of each of them


class Project:
    """A directory, and the environment that its programs are found by."""

    def __init__(self, directory: str, environ: Mapping[str, str]) -> None:
        self.directory = directory
        self.environ = environ

    @property
    def name(self) -> str:
        return os.path.basename(os.path.abspath(self.directory)) or "server"

    @cached_property
    def listing(self) -> Listing:
        """What settings of other programs list."""
        return listed_servers(self.directory, self.environ)

    @cached_property
    def servers(self) -> list[Found]:
        """The servers that are found, each once, the best guess first; those of the user's settings are the last."""
        return _each_once(self._all)

    @cached_property
    def _all(self) -> list[Found]:
        listed = self.listing.servers
        own = [found for found in listed if found.of_project and self._is_own(found)]
        looks = (self._node_package, self._python_project, self._python_file, self._node_file)
        made = [found for look in looks for found in look()]
        used = [found for found in listed if found.of_project and found not in own]
        return [*own, *made, *used, *(found for found in listed if not found.of_project)]

    def chosen(self, name: str | None = None) -> Found | None:
        """The server called NAME; without a name, one that is the project's own, or the only one that it uses.

        Its own may not be installed yet; it is chosen where there is no other.
        """
        if name is not None:
            return self._called(name)
        project = [found for found in self.servers if found.of_project]
        used = [found for found in project if found in self.listing.servers and not self._is_own(found)]
        own = [found for found in project if found not in used]
        ready = [found for found in own if not found.problem]
        return ready[0] if ready else used[0] if len(used) == 1 else own[0] if own and not used else None

    @cached_property
    def below(self) -> list[str]:
        """The directories of a repository with several projects that have a server, if there is none here."""
        if any(found.of_project for found in self.servers):
            return []
        places = [os.path.join(place, each) for place in _WORKSPACES for each in self._directories(place)]
        return [place for place in places if Project(self._path(place), self.environ).declares_a_server()]

    def declares_a_server(self) -> bool:
        """Whether a manifest here starts a server."""
        return any(True for look in (self._node_package, self._python_project) for _ in look())

    def _directories(self, place: str) -> list[str]:
        try:
            with os.scandir(self._path(place)) as found:
                names = [each.name for each in found if not each.name.startswith(".") and each.is_dir()]
        except OSError:
            return []
        return sorted(name for name in names if name != "node_modules")[:_MOST_DIRECTORIES]

    def _called(self, name: str) -> Found:
        for found in self._all:
            if found.name == name:
                return found
        names = list(dict.fromkeys(found.name for found in self._all))
        near = nearest(name, names)
        hint = f"did you mean {near!r}?" if near else f"found: {', '.join(names) or 'no server at all'}"
        raise UsageError(f"no server {name!r} was found", hint=hint)

    def _is_own(self, found: Found) -> bool:
        """Whether it starts a file that is here."""
        args = found.entry.get("args")
        words = [found.entry.get("command"), *(args if isinstance(args, list) else [])]
        return any(isinstance(word, str) and not os.path.isabs(word) and self._has(word) for word in words)

    # Manifests.

    def _node_package(self) -> Iterator[Found]:
        package = self._data("package.json")
        if not _LOOKS_LIKE_A_SERVER.search(str(package)):
            return
        name, programs, scripts = str(package.get("name") or self.name), package.get("bin"), package.get("scripts")
        files = programs if isinstance(programs, dict) else {name: programs or package.get("main")}
        there = {each: file for each, file in files.items() if isinstance(file, str) and self._has(file)}
        for each, file in there.items():
            yield Found(each, _command("node", os.path.normpath(file)), "package.json")
        if isinstance(scripts, dict) and "start" in scripts:
            yield Found("start", _command("npm", "run", "--silent", "start"), "package.json")

    def _python_project(self) -> Iterator[Found]:
        import tomllib

        with suppress(OSError, ValueError), open_file(self._path("pyproject.toml")) as file:
            manifest = tomllib.load(file)
            parts = [_part(manifest, "project"), _part(manifest, "tool", "poetry")]
            scripts = {name: None for part in parts for name in _part(part, "scripts")}
            if _LOOKS_LIKE_A_SERVER.search(str(parts)):
                # Those that are called a server come first.
                for name in sorted(scripts, key=lambda script: not re.search("mcp|server", script)):
                    yield self._python_script(name)

    def _python_script(self, name: str) -> Found:
        local = os.path.join(".venv", "bin", name)
        if self._has(local):
            return Found(name, _command(local), "pyproject.toml")
        if self._has("uv.lock"):
            return Found(name, _command("uv", "run", "--quiet", name), "pyproject.toml")
        if self._has("poetry.lock"):
            return Found(name, _command("poetry", "run", name), "pyproject.toml")
        problem = "" if self._is_program(name) else "it is not installed"
        return Found(name, _command(name), "pyproject.toml", problem=problem, remedy="pip install -e .")

    # Files.

    def _python_file(self) -> Iterator[Found]:
        return self._file(_PYTHON_FILES, lambda file: (*self._python(), file))

    def _node_file(self) -> Iterator[Found]:
        return self._file(_NODE_FILES, lambda file: ("node", file))

    def _file(self, files: tuple[str, ...], words: Callable[[str], tuple[str, ...]]) -> Iterator[Found]:
        for file in files:
            if _LOOKS_LIKE_A_SERVER.search(self._text(file)):
                yield Found(os.path.splitext(os.path.basename(file))[0], _command(*words(file)), file)

    def _python(self) -> tuple[str, ...]:
        local = os.path.join(".venv", "bin", "python")
        if self._has(local):
            return (local,)
        if self._has("uv.lock"):
            return ("uv", "run", "--quiet", "python")
        return ("python" if self._is_program("python") else "python3",)

    # What is there.

    def _path(self, file: str) -> str:
        return os.path.join(self.directory, file)

    def _has(self, file: str) -> bool:
        return os.path.isfile(self._path(file))

    def _is_program(self, name: str) -> bool:
        return shutil.which(name, path=self.environ.get("PATH")) is not None

    def _text(self, file: str) -> str:
        try:
            with open_file(self._path(file)) as opened:
                return opened.read(_LARGEST).decode(errors="replace")
        except OSError:
            return ""

    def _data(self, file: str) -> Json:
        """The object in a JSON file; a file that is broken or missing counts as empty."""
        if not self._has(file):
            return {}
        with suppress(UsageError):
            found: Any = load(self._path(file)).data
            return found if isinstance(found, dict) else {}
        return {}


def _each_once(servers: list[Found]) -> list[Found]:
    """SERVERS without those that are known already.

    Several programs have the same server in their settings, which also starts the file that looks like one. In one
    file, two servers are two, even if they differ in their environment alone.
    """
    sources: dict[str, str] = {}
    return [found for found in servers if sources.setdefault(_what_runs(found), found.source) == found.source]


def _what_runs(found: Found) -> str:
    return f"{found.entry.get('command')} {found.entry.get('args')} {found.entry.get('url')}"


def _part(data: Any, *keys: str) -> Json:
    """The object below KEYS; an empty one, if there is none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _command(program: str, *args: str) -> Json:
    return {"command": program, **({"args": list(args)} if args else {})}
