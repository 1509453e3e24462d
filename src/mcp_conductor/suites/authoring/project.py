"""Which server a project has, judged by its directory: what other programs' settings say, what its manifest
starts, or a file that looks like one.

Nothing is run and nothing is asked for here; a guess is the entry of a settings file, and where it comes from.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from mcp_conductor.errors import UsageError
from mcp_conductor.files.reading import open_file
from mcp_conductor.files.settings import TABLES
from mcp_conductor.files.source import load
from mcp_conductor.protocol import Json
from mcp_conductor.values import dataclass

_SETTINGS = ("mcp.json", ".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", "claude_desktop_config.json")
_KEYS = ("type", "command", "args", "env", "cwd", "url", "headers")
_PYTHON_FILES = ("server.py", "main.py", "app.py", "src/server.py", "src/main.py")
_NODE_FILES = ("server.js", "server.mjs", "index.js", "index.mjs", "build/index.js", "dist/index.js", "src/index.js")
_LOOKS_LIKE_A_SERVER = re.compile(r"\bmcp\b|fastmcp|modelcontextprotocol|tools/list", re.IGNORECASE)
_LARGEST = 1_000_000  # characters of a file that are looked at
_REFERENCE = re.compile(r"\$\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Guess:
    """A server that a project probably has."""

    entry: Json  # as it stands in a settings file
    source: str  # the file that says so


@dataclass(frozen=True, slots=True)
class Project:
    """A directory, and the environment that its programs are found by."""

    directory: str
    environ: Mapping[str, str]

    @property
    def name(self) -> str:
        return os.path.basename(os.path.abspath(self.directory)) or "server"

    def server(self) -> Guess | None:
        """The first good guess: servers of this project come before servers that it only uses."""
        return next(self._guesses(), None)

    def _guesses(self) -> Iterator[Guess]:
        listed = list(self._listed())
        yield from (guess for guess in listed if self._is_own(guess))
        for look in (self._node_package, self._python_project, self._python_file, self._node_file):
            found = look()
            if found is not None:
                yield found
        if len(listed) == 1:
            yield listed[0]

    # Settings of other programs.

    def _listed(self) -> Iterator[Guess]:
        for file in _SETTINGS:
            settings = self._data(file)
            table: Json = next((settings[key] for key in TABLES if isinstance(settings.get(key), dict)), {})
            for entry in table.values():
                if isinstance(entry, dict) and ("command" in entry) != ("url" in entry):
                    yield Guess({key: entry[key] for key in _KEYS if key in entry}, file)

    def _is_own(self, guess: Guess) -> bool:
        """Whether it starts a file that is here."""
        args = guess.entry.get("args")
        words = [guess.entry.get("command"), *(args if isinstance(args, list) else [])]
        return any(isinstance(word, str) and not os.path.isabs(word) and self._has(word) for word in words)

    # Manifests.

    def _node_package(self) -> Guess | None:
        package = self._data("package.json")
        if not _LOOKS_LIKE_A_SERVER.search(str(package)):
            return None
        programs = package.get("bin")
        files = [programs, *(programs.values() if isinstance(programs, dict) else ()), package.get("main")]
        for file in files:
            if isinstance(file, str) and self._has(file):
                return Guess(_command("node", os.path.normpath(file)), "package.json")
        scripts = package.get("scripts")
        if isinstance(scripts, dict) and "start" in scripts:
            return Guess(_command("npm", "run", "--silent", "start"), "package.json")
        return None

    def _python_project(self) -> Guess | None:
        import tomllib

        with suppress(OSError, ValueError), open_file(self._path("pyproject.toml")) as file:
            project = tomllib.load(file).get("project")
            scripts = project.get("scripts") if isinstance(project, dict) else None
            if isinstance(scripts, dict) and scripts and _LOOKS_LIKE_A_SERVER.search(str(project)):
                name = next((script for script in scripts if re.search("mcp|server", script)), next(iter(scripts)))
                return self._python_script(name)
        return None

    def _python_script(self, name: str) -> Guess | None:
        local = os.path.join(".venv", "bin", name)
        if self._has(local):
            return Guess(_command(local), "pyproject.toml")
        if self._has("uv.lock"):
            return Guess(_command("uv", "run", "--quiet", name), "pyproject.toml")
        return Guess(_command(name), "pyproject.toml") if self._is_program(name) else None

    # Files.

    def _python_file(self) -> Guess | None:
        return self._file(_PYTHON_FILES, lambda file: (*self._python(), file))

    def _node_file(self) -> Guess | None:
        return self._file(_NODE_FILES, lambda file: ("node", file))

    def _file(self, files: tuple[str, ...], words: Callable[[str], tuple[str, ...]]) -> Guess | None:
        for file in files:
            if _LOOKS_LIKE_A_SERVER.search(self._text(file)):
                return Guess(_command(*words(file)), file)
        return None

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


def _command(program: str, *args: str) -> Json:
    return {"command": program, **({"args": list(args)} if args else {})}


def without_secrets(entry: Json) -> tuple[Json, list[str]]:
    """ENTRY for a file that may be shared, and which variables must be set for it: no value of `env` or `headers`."""
    shared, needed = dict(entry), []
    for key in ("env", "headers"):
        values = entry.get(key)
        for name, value in values.items() if isinstance(values, dict) else ():
            if not _REFERENCE.search(str(value)):
                variable = re.sub(r"\W", "_", name) if key == "env" else re.sub(r"\W", "_", name).upper()
                shared[key] = {**shared[key], name: f"${{{variable}}}"}
                needed.append(variable)
    return shared, needed
