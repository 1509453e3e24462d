"""`conductor show`: what was said in a recording, as lines or as a page."""

import os

from mcp_conductor.cli.commands.show.lines import ShownLines, told, wanted_frames
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.sessions import known_session
from mcp_conductor.cli.output.terminal import ReaderGone, Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.errors import UsageError
from mcp_conductor.files.reading import no_collecting
from mcp_conductor.recording.format import Entry
from mcp_conductor.recording.reader import Recording, read_recording
from mcp_conductor.recording.selection import Wanted, select


def run(given: Given, terminal: Terminal) -> int:
    """Run `conductor show`: the exit code."""
    if "--errors" in given and given.one("--errors") is None:
        terminal.say("note: --errors without text or json is an older name of --failed")
        given = given.with_values({**given.values, "--failed": []})
    if len(given.words) != 1:
        raise UsageError(f"conductor show takes one recording, not {len(given.words)}", hint="conductor show FILE")
    wanted, file = wanted_frames(given), given.words[0]
    if "--output" in given:
        given.refuse(("--json", "--follow"), "is for lines, and --output writes a page")
    if "--follow" in given:
        from mcp_conductor.cli.commands.show.follow import follow
        from mcp_conductor.cli.process.interruptible import run_interruptibly

        return run_interruptibly(follow(given, wanted, terminal))
    with no_collecting():
        recording = read_recording(os.path.join(terminal.directory, file), shown=file)
    if recording.warning is not None:
        terminal.say(f"warning: {recording.warning}")
    known_session(recording, wanted.session)
    return _show(recording, wanted, given, terminal)


def _show(recording: Recording, wanted: Wanted, given: Given, terminal: Terminal) -> int:
    known = recording.sessions()
    sessions = known if wanted.session is None else [wanted.session]
    shown = select(recording.entries, wanted)
    left_out = told(given, len(shown), sum(entry.session in sessions for entry in recording.entries))
    if "--output" in given:
        _write_page(recording, sessions, shown, left_out, given, terminal)
    else:
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
    recording: Recording,
    sessions: list[int],
    shown: list[Entry],
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
