"""`conductor show`: what was said in a recording, as lines or as a page. What draws it is imported when it is due."""

import os
from typing import TYPE_CHECKING

from mcp_conductor.cli.commands.command import Command
from mcp_conductor.cli.flags import ERROR_FORMS, ERRORS, HELP, Flag, Given, Groups
from mcp_conductor.cli.output.terminal import ReaderGone, Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.errors import UsageError

if TYPE_CHECKING:
    from mcp_conductor.recording.format import Entry
    from mcp_conductor.recording.reader import Recording
    from mcp_conductor.recording.selection import Wanted

FLAGS: Groups = {
    "Which frames": (
        Flag("--session", "only this one of several conversations", "N"),
        Flag(
            "--method",
            "only this method, such as 'tools/*', with all that belongs to it (repeatable)",
            "PATTERN",
            many=True,
        ),
        Flag("--name", "only what is about this tool, prompt or resource (repeatable)", "PATTERN", many=True),
        Flag("--failed", "only requests that failed or were never answered, and what is not a message"),
        Flag("--source", "only client, server, stderr, http, note or process (repeatable)", "SOURCE", many=True),
        Flag("--since", "only from this time on; a bare number is seconds since the recording began", "TIME"),
        Flag("--until", "only up to this time", "TIME"),
    ),
    "How": (
        Flag("--output", "write a page for a browser to this file; without it, lines go to stdout", "FILE", short="-o"),
        Flag("--follow", "show also what is written from now on, until Ctrl-C", short="-f"),
        Flag("--json", "write what is shown as a recording, to stdout"),
        Flag("--no-judge", "do not show on the page where the specification is broken"),
        ERRORS._replace(help="how errors are put on stderr: text (default) or json", metavar="", may=ERROR_FORMS),
        HELP,
    ),
}
_USAGE = """\
usage: conductor show RECORDING [FLAGS]

Show what was said in a recording, which --record writes: as lines, or as a page with requests and their answers, times,
and what breaks the specification.
"""
EXAMPLES = {
    "conductor show said.jsonl": "a line for each message",
    "conductor show said.jsonl --output said.html": "a page, in one file that needs no network",
    "conductor show said.jsonl --method 'tools/*' --failed": "calls of tools that failed",
    "conductor show said.jsonl --source stderr --since 1.5": "what the server wrote to stderr, later than that",
    "conductor show said.jsonl --follow": "also what is written from now on",
    "conductor show said.jsonl --session 2 --json": "one of several conversations, as a recording of its own",
}
_EXIT_CODES = """\
Exit codes: 0 shown, 2 the recording cannot be read, or the page cannot be written; 130 after Ctrl-C.
"""
COMMAND = Command("conductor show", FLAGS, _USAGE, EXAMPLES, _EXIT_CODES)


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor show`: the exit code."""
    if (given := COMMAND.read(argv, terminal)) is None:
        return OK
    if "--errors" in given and given.one("--errors") is None:
        terminal.say("note: --errors without text or json is an older name of --failed")
        given = given.with_values({**given.values, "--failed": []})
    if len(given.words) != 1:
        raise UsageError(f"conductor show takes one recording, not {len(given.words)}", hint="conductor show FILE")
    from mcp_conductor.cli.commands.show.filters import wanted_frames
    from mcp_conductor.files.reading import no_collecting
    from mcp_conductor.recording.reader import read_recording

    wanted, file = wanted_frames(given), given.words[0]
    for flag in ("--json", "--follow"):
        if flag in given and "--output" in given:
            raise UsageError(f"{flag} is for lines, and --output writes a page")
    if "--follow" in given:
        from mcp_conductor.cli.commands.show.follow import follow
        from mcp_conductor.cli.process.interruptible import run_interruptibly

        return run_interruptibly(follow(given, wanted, terminal))
    with no_collecting():
        recording = read_recording(os.path.join(terminal.directory, file), shown=file)
    if recording.warning is not None:
        terminal.say(f"warning: {recording.warning}")
    known = recording.sessions()
    if wanted.session is not None and wanted.session not in known:
        raise UsageError(f"the recording has no session {wanted.session}", hint=f"it has: {', '.join(map(str, known))}")
    return _show(recording, wanted, given, terminal)


def _show(recording: "Recording", wanted: "Wanted", given: Given, terminal: Terminal) -> int:
    from mcp_conductor.cli.commands.show.filters import told
    from mcp_conductor.recording.selection import select

    known = recording.sessions()
    sessions = known if wanted.session is None else [wanted.session]
    shown = select(recording.entries, wanted)
    left_out = told(given, len(shown), sum(entry.session in sessions for entry in recording.entries))
    if "--output" in given:
        _write_page(recording, sessions, shown, left_out, given, terminal)
    else:
        from mcp_conductor.cli.commands.show.lines import ShownLines

        shown_lines = ShownLines(terminal, as_json="--json" in given, several=len(known) > 1)
        try:
            shown_lines.begin(recording.header)
            for entry in shown:
                shown_lines.put(entry)
        except ReaderGone:  # `| head`
            return OK
    if left_out is not None:
        terminal.say(left_out)
    return OK


def _write_page(
    recording: "Recording",
    sessions: list[int],
    shown: list["Entry"],
    left_out: str | None,
    given: Given,
    terminal: Terminal,
) -> None:
    from mcp_conductor.cli.commands.show.page import recording_page, what_fits
    from mcp_conductor.files.writing import write_file

    file, output = given.words[0], given.need("--output")
    path = os.path.join(terminal.directory, output)
    if os.path.realpath(path) == os.path.realpath(os.path.join(terminal.directory, file)):
        raise UsageError("the page would overwrite the recording")
    fitting, rest = what_fits(shown)
    notes = [each for each in (left_out, rest) if each is not None]
    text = recording_page(recording, sessions, file, judged="--no-judge" not in given, shown=fitting, notes=notes)
    # As the recording is: for its owner alone, who may give it to others.
    write_file(path, text, shown=f"the page to {output}", secret=True)
    if rest is not None:
        terminal.say(f"warning: {rest}")
