"""The settings, a first suite and a CI file, written as `conductor init` was asked to."""

import os
import re
from collections.abc import Mapping
from shlex import quote

from mcp_conductor.cli.commands.discover.suite_output import case_count, remarks
from mcp_conductor.cli.commands.init.flags import CI, SUITE
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.values import time
from mcp_conductor.cli.output.live import telling
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.interruptible import run_interruptibly
from mcp_conductor.errors import ConductorError, UsageError
from mcp_conductor.files.settings import TABLES, Surroundings, from_settings
from mcp_conductor.files.settings_file import SETTINGS
from mcp_conductor.files.source import load
from mcp_conductor.files.writing import write_file
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import render
from mcp_conductor.protocol.server_spec import ServerSpec, from_words
from mcp_conductor.suites.authoring.ci_files import CI_FILES, CiJob
from mcp_conductor.suites.authoring.discover import Wishes, discover
from mcp_conductor.suites.authoring.listed_servers import Found
from mcp_conductor.suites.authoring.project import Project
from mcp_conductor.suites.authoring.shared_entry import references, secrets_in, without_secrets
from mcp_conductor.suites.authoring.suite_text import suite_text, template
from mcp_conductor.suites.running.job import DEFAULT_SECONDS
from mcp_conductor.text.visible import one_line

_STARTUP_MILLISECONDS = 10_000  # `npx` and `uv run` may have to install something
_MOST_PLACES = 5
_TEMPLATE = "a template"
_PLACEHOLDER = {"command": "python3", "args": ["server.py"]}


def run(given: Given, terminal: Terminal) -> int:
    """Run `conductor init`: the exit code."""
    if given.words and "--server" in given:
        raise UsageError("--server and a command exclude each other", hint="--server names a server that is found")
    service = given.one("--ci")
    if "--list" in given:
        return _list_servers(terminal)
    files = _files(given, service, terminal)
    return run_interruptibly(_write_project(given, terminal, files))


def _files(given: Given, service: str | None, terminal: Terminal) -> dict[str, str]:
    """What is to be written, by what it is: what is not there. To settings that are there, a CI file may be added."""

    def is_there(file: str) -> bool:
        return os.path.lexists(os.path.join(terminal.directory, file))

    ci = {} if service is None else {service: CI[service]}
    for file in filter(is_there, ci.values()):
        raise UsageError(f"{file} exists already", hint="move it away, or add to it by hand")
    if is_there(SETTINGS):
        if given.words or "--server" in given:
            raise UsageError(f"{SETTINGS} exists already", hint="move it away, or put the server into it by hand")
        if ci:
            return ci
    ours = {name: file for name, file in {"settings": SETTINGS, "suite": SUITE}.items() if not is_there(file)}
    if not ours:
        hint = f"move it away, or write another suite: conductor discover -o {os.path.dirname(SUITE)}/NAME.test.mcp.yml"
        raise UsageError(f"{SUITE} exists already", hint=hint)
    return {**ours, **ci}


def _list_servers(terminal: Terminal) -> int:
    """Show what is found: the exit code."""
    project = Project(terminal.directory, terminal.environ)
    chosen = project.chosen()
    _tell_found(project, chosen, terminal)
    if chosen is not None:
        terminal.show(f"conductor init takes {one_line(chosen.name)}\n")
    if terminal.answers_as_json:
        servers = [_found_members(found) for found in project.servers]
        terminal.answer("", {"servers": servers, "chosen": None if chosen is None else chosen.name})
    return 0


def _found_members(found: Found) -> Json:
    """A server that was found, as --json shows it."""
    problem = {"problem": found.problem, "remedy": found.remedy} if found.problem else {}
    members = {"name": found.name, "command": _command_line(found.entry), "source": found.source}
    return {**members, "ofProject": found.of_project, **problem}


async def _write_project(given: Given, terminal: Terminal, files: Mapping[str, str]) -> int:
    """Find the server, ask it what it offers, and write FILES, which are called by what is in them: the exit code."""
    if not files.keys() & {"settings", "suite"}:
        _write_ci(_entry_of_settings(terminal), files, terminal)
        terminal.answer("", {"written": [*files.values()]})
        return 0
    project = Project(terminal.directory, terminal.environ)
    chosen = _chosen(given, project, terminal, known="settings" not in files)
    shared, secrets = without_secrets(chosen.entry if chosen is not None else dict(_PLACEHOLDER))
    # The server is asked before anything is written: it may take long, and be interrupted.
    suite = await _suite(chosen, given, terminal) if "suite" in files else None
    if "settings" in files:
        _write(SETTINGS, render(_settings(project.name, shared), indent=2) + "\n", terminal)
        terminal.show(f"wrote {SETTINGS}: {_command_line(shared)}{'' if chosen is not None else ' (a placeholder)'}\n")
    if suite is not None:
        _write(files["suite"], suite[0], terminal)
        terminal.show(f"wrote {files['suite']}: {suite[1]}\n")
    _write_ci(shared, files, terminal)
    if secrets and "settings" in files:
        terminal.show(f"values were not copied: set {', '.join(secrets)} in the environment\n")
    following = _next_step(chosen, shared, terminal, asked=suite is None or suite[1] != _TEMPLATE)
    unset = list(secrets) if "settings" in files else []
    members: Json = {"server": _command_line(shared), "written": [*files.values()], "variables": unset}
    terminal.answer(f"next: {following}\n", {**members, "next": following})
    return 0


def _chosen(given: Given, project: Project, terminal: Terminal, *, known: bool) -> Found | None:
    """The server: KNOWN by the settings, or named, or one that is found, which is told."""
    if known:
        return Found("", _entry_of_settings(terminal), "")
    if given.words:
        return _named_server(given)
    chosen = project.chosen(given.one("--server"))
    if chosen is None and project.below:
        raise UsageError(_where_below(project), hint=_hint_below(project))
    _tell_found(project, chosen, terminal)
    return chosen


def _next_step(chosen: Found | None, shared: Json, terminal: Terminal, *, asked: bool) -> str:
    missing = [name for name in references(shared) if name not in terminal.environ]
    if chosen is None:
        first = f"put the server's command into {SETTINGS}"
    elif chosen.problem:
        first = chosen.remedy
    elif missing:
        first = f"set {', '.join(missing)} in the environment"
    elif not asked:
        first = f"make the server start; its command is in {SETTINGS}"
    else:
        return "conductor test"
    return f"{first}, then: conductor test"


def _tell_found(project: Project, chosen: Found | None, terminal: Terminal) -> None:
    """Show what was found, and where; it may have secrets, which are not shown."""
    for found in project.servers:
        terminal.learn(secrets_in(found.entry))
    for problem in project.listing.problems:
        terminal.say(f"warning: {problem}")
    if project.below:
        terminal.say(f"{_where_below(project)}\n  hint: {_hint_below(project)}")
    elif not project.servers:
        terminal.say("no server was found in this directory\n  hint: conductor init -- COMMAND …")
    if not project.servers:
        return
    terminal.show("found:\n")
    names = max(len(one_line(found.name)) for found in project.servers)
    for found in project.servers:
        why = f"{found.problem}: {found.remedy}" if found.problem else ""
        if not found.of_project and found is not chosen:
            why = "in your own settings, so not started"
        end = f" ({why})" if why else ""
        terminal.show(f"  {one_line(found.name):<{names}}  {_command_line(found.entry)}, in {found.source}{end}\n")
    if chosen is None and not project.below:
        terminal.say("none of them is chosen\n  hint: conductor init --server NAME, or conductor init -- COMMAND …")


def _where_below(project: Project) -> str:
    places = [one_line(place) for place in project.below]
    more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
    return f"no server was found in this directory, but below it: {', '.join(places[:_MOST_PLACES])}{more}"


def _hint_below(project: Project) -> str:
    return f"cd {quote(one_line(project.below[0]))} && conductor init; or here: conductor init -- COMMAND …"


def _named_server(given: Given) -> Found:
    spec = from_words(given.words)
    if (process := spec.as_process()) is not None:
        program, *args = process.command
        return Found("", {"command": program, **({"args": args} if args else {})}, "")
    return Found("", {"url": spec.label}, "")


async def _suite(chosen: Found | None, given: Given, terminal: Terminal) -> tuple[str, str]:
    """The text of the suite, and what it has."""
    if chosen is None or chosen.problem:
        return template(), _TEMPLATE
    terminal.learn(secrets_in(chosen.entry))
    timeout = time(given, "--timeout")
    wishes = Wishes(timeout=timeout or DEFAULT_SECONDS, redactor=terminal.redactor)
    try:
        spec = _spec(chosen, timeout, terminal)
        async with telling(terminal) as tell:
            found = await discover(spec, wishes, tell)
    except ConductorError as error:
        terminal.say("the server could not be asked what it offers; the suite is a template")
        terminal.say_error(error)
        return template(), _TEMPLATE
    for line in remarks(found):
        terminal.say(line)
    return suite_text(found), case_count(found)


def _spec(chosen: Found, timeout: float | None, terminal: Terminal) -> ServerSpec:
    """The server as `conductor test` will find it by the settings; its start takes no longer than TIMEOUT."""
    around = Surroundings(
        file=chosen.source or SETTINGS,
        directory=terminal.directory,
        invocation=terminal.directory,
        environ=terminal.environ,
        exists=os.path.exists,
    )
    entry = _settings("", chosen.entry)
    if timeout is not None and "command" in entry:
        entry["startupTimeout"] = int(timeout * 1000)
    return from_settings(entry, around)


def _settings(name: str, entry: Json) -> Json:
    settings = {**({"name": name} if name else {}), **entry}
    if "command" in entry:
        settings.setdefault("startupTimeout", _STARTUP_MILLISECONDS)
    return settings


def _command_line(entry: Json) -> str:
    args = entry.get("args")
    words = map(str, [entry.get("command") or entry.get("url"), *(args if isinstance(args, list) else [])])
    return one_line(" ".join(quote(word) if re.search(r"\s", word) else word for word in words))


def _entry_of_settings(terminal: Terminal) -> Json:
    """The server of the settings that are there."""
    path = os.path.join(terminal.directory, SETTINGS)
    data = load(path, SETTINGS).data if os.path.isfile(path) else {}
    entries = [data[key] for key in TABLES if isinstance(data, dict) and isinstance(data.get(key), dict)]
    entry = next(iter(entries[0].values()), {}) if entries else data
    return entry if isinstance(entry, dict) else {}


def _write_ci(entry: Json, files: Mapping[str, str], terminal: Terminal) -> None:
    """Write the CI file, if one is wanted, for the server of ENTRY."""
    for service in CI_FILES.keys() & files.keys():
        job = CiJob(
            entry=entry,
            requirement=_requirement(terminal),
            variables=tuple(references(entry)),
            has=lambda file: os.path.isfile(os.path.join(terminal.directory, file)),
        )
        _write(files[service], CI_FILES[service](job), terminal)
        terminal.show(f"wrote {files[service]}: the tests and a check of the specification\n")


def _requirement(terminal: Terminal) -> str:
    """What pip installs us by elsewhere: our name, or the repository that we were installed from."""
    from importlib.metadata import PackageNotFoundError, distribution
    from json import loads

    try:
        origin = loads(distribution("mcp-conductor").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        origin = {}
    if (version := origin.get("vcs_info")) is not None:
        return f"mcp-conductor @ {version['vcs']}+{origin['url']}@{version['commit_id']}"
    if origin:
        terminal.say("the CI file installs mcp-conductor by its name; here it was installed from a file or directory")
        terminal.say("  hint: until that name is published, put the address of a repository or a wheel there")
    return "mcp-conductor"


def _write(file: str, text: str, terminal: Terminal) -> None:
    path = os.path.join(terminal.directory, file)
    if os.path.lexists(path):  # since we looked the first time
        raise UsageError(f"{file} exists already", hint="move it away")
    write_file(path, text, shown=file)
