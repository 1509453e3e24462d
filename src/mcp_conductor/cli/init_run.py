"""The settings and a first suite, written as `conductor init` was asked to."""

import os

from mcp_conductor.cli.discover_run import case_count, remarks
from mcp_conductor.cli.flag_values import time
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.live import telling
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.errors import ConductorError
from mcp_conductor.files.settings import Surroundings, from_settings
from mcp_conductor.files.settings_file import SETTINGS
from mcp_conductor.files.writing import write_file
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import render
from mcp_conductor.protocol.server_spec import ServerSpec, from_words
from mcp_conductor.suites.authoring.discover import Wishes, discover
from mcp_conductor.suites.authoring.project import Guess, Project, without_secrets
from mcp_conductor.suites.authoring.suite_text import suite_text, template
from mcp_conductor.suites.running.job import DEFAULT_SECONDS

_STARTUP_MILLISECONDS = 10_000  # `npx` and `uv run` may have to install something
_PLACEHOLDER = {"command": "python3", "args": ["server.py"]}


async def write_project(given: Given, terminal: Terminal, suite_file: str) -> int:
    """Find the server, ask it what it offers, and write the settings and SUITE_FILE: the exit code."""
    wishes = Wishes(timeout=time(given, "--timeout") or DEFAULT_SECONDS, redactor=terminal.redactor)
    project = Project(terminal.directory, terminal.environ)
    guess = _named_server(given) if given.words else project.server()
    suite, count = await _suite(guess, wishes, terminal)
    shared, secrets = without_secrets((guess or Guess(dict(_PLACEHOLDER), "")).entry)
    _write(SETTINGS, render(_settings(project.name, shared), indent=2) + "\n", terminal)
    _write(suite_file, suite, terminal)
    terminal.show(f"wrote {SETTINGS}: {_entry_text(shared, guess)}\n")
    terminal.show(f"wrote {suite_file}: {count}\n")
    if secrets:
        terminal.show(f"values were not copied: set {', '.join(secrets)} in the environment\n")
    steps = "conductor test" if guess is not None else f"put the server's command into {SETTINGS}, then: conductor test"
    terminal.show(f"next: {steps}\n")
    return 0


def _named_server(given: Given) -> Guess:
    spec = from_words(given.words)
    if (process := spec.as_process()) is not None:
        program, *args = process.command
        return Guess({"command": program, **({"args": args} if args else {})}, "")
    return Guess({"url": spec.label}, "")


async def _suite(guess: Guess | None, wishes: Wishes, terminal: Terminal) -> tuple[str, str]:
    """The text of the suite, and what it has."""
    if guess is None:
        terminal.say("no server was found in this directory\n  hint: conductor init -- COMMAND …")
        return template(), "a template"
    try:
        spec = _spec(guess, terminal)
        async with telling(terminal) as tell:
            found = await discover(spec, wishes, tell)
    except ConductorError as error:
        terminal.say("the server could not be asked what it offers; the suite is a template")
        terminal.say_error(error)
        return template(), "a template"
    for line in remarks(found):
        terminal.say(line)
    return suite_text(found), case_count(found)


def _spec(guess: Guess, terminal: Terminal) -> ServerSpec:
    """The server as `conductor test` will find it by the settings that are to be written."""
    around = Surroundings(
        file=guess.source or SETTINGS,
        directory=terminal.directory,
        invocation=terminal.directory,
        environ=terminal.environ,
        exists=os.path.exists,
    )
    return from_settings(_settings("", guess.entry), around)


def _settings(name: str, entry: Json) -> Json:
    startup = {"startupTimeout": _STARTUP_MILLISECONDS} if "command" in entry else {}
    return {**({"name": name} if name else {}), **entry, **startup}


def _entry_text(entry: Json, guess: Guess | None) -> str:
    words = [entry.get("command") or entry.get("url"), *entry.get("args", [])]
    source = "a placeholder" if guess is None else f"found in {guess.source}" if guess.source else ""
    return " ".join(map(str, words)) + (f" ({source})" if source else "")


def _write(file: str, text: str, terminal: Terminal) -> None:
    write_file(os.path.join(terminal.directory, file), text, shown=file)
