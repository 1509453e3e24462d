"""Where the suite of `conductor discover` goes, and what is said about it."""

import os
import socket
from collections.abc import Iterator

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.files.writing import write_file
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.suites import SUFFIXES
from mcp_conductor.suites.authoring.case_drafts import NOT_CALLED
from mcp_conductor.suites.authoring.command_values import command_values
from mcp_conductor.suites.authoring.discover import Discovery
from mcp_conductor.suites.authoring.personal import Personal


def write_found(found: Discovery, text: str, output: str | None, terminal: Terminal) -> None:
    """Write TEXT, the suite for what was FOUND, and say what a person should know."""
    if output is None and not terminal.answers_as_json:
        terminal.write_result(text)
    elif output is not None:
        write_file(os.path.join(terminal.directory, output), text, shown=output)
        terminal.say(f"wrote {output}: {case_count(found)}")
        if not output.endswith(SUFFIXES):
            terminal.say(f"  hint: `conductor test` finds files called NAME{SUFFIXES[0]} by itself")
    for line in remarks(found):
        terminal.say(line)
    if terminal.answers_as_json:
        terminal.answer("", {**({"suite": text} if output is None else {"file": output}), **suite_members(found)})


def suite_members(found: Discovery) -> Json:
    """What a suite has, and what it lacks, as --json shows it."""
    return {
        "tests": len(found.written),
        "skipped": [{"what": draft.what, "why": draft.skip} for draft in found.skipped],
        "leftOut": [{"what": draft.what, "why": draft.gap} for draft in found.left_out],
    }


def output_file(given: Given, terminal: Terminal) -> str | None:
    """The file to write, which must not exist; this is checked before a server is started."""
    file = given.one("--output")
    if file is None or "--force" in given:
        return file
    if os.path.lexists(os.path.join(terminal.directory, file)):
        raise UsageError(f"{file} exists already", hint="--force overwrites it")
    return file


def personal_values(terminal: Terminal, spec: ServerSpec | None = None) -> Personal:
    """What others do not have: this environment, the directories and names of this machine."""
    process = None if spec is None else spec.as_process()
    named = command_values(process.command, process.cwd or terminal.directory).directories if process else ()
    places = (process and process.cwd, terminal.directory, terminal.environ.get("HOME"), *named)
    given = dict(process.env) if process else {}
    host = socket.gethostname().partition(".")[0]
    return Personal({**terminal.environ, **given}, paths=[each for each in places if each], host=host)


def case_count(found: Discovery) -> str:
    """How many tests a suite has, and how many of them are to be skipped."""
    cases, skipped = len(found.written), len(found.skipped)
    return f"{cases} test{'' if cases == 1 else 's'}" + (f", {skipped} of them to be skipped" if skipped else "")


def remarks(found: Discovery) -> Iterator[str]:
    """What the writer of a suite should know about it."""
    names = [str(draft.tool["name"]) for draft in found.skipped if draft.skip == NOT_CALLED and draft.tool is not None]
    if names:
        yield f"not called, because they are not marked read-only: {', '.join(names)}"
        yield "  hint: conductor discover --include-writes calls them, too"
    for draft in found.skipped:
        if draft.skip != NOT_CALLED:
            yield f"skipped: {draft.what}: {draft.skip}"
    for case in found.written:
        if case.remark:
            yield f"{case.draft.what}: {case.remark}"
    for draft in found.left_out:
        yield f"left out: {draft.what}: {draft.gap}"
