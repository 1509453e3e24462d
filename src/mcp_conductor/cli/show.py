"""`conductor show`: what was said in a recording, as lines or as a page. What draws it is imported when it is due."""

import os

from mcp_conductor.cli.exit_codes import OK
from mcp_conductor.cli.flags import Flag, Groups, help_page, parse
from mcp_conductor.cli.terminal import ReaderGone, Terminal
from mcp_conductor.errors import UsageError

FLAGS: Groups = {
    "What is shown": (
        Flag("--output", "write a page for a browser to this file; without it, lines go to stdout", "FILE", short="-o"),
        Flag("--session", "only this one of several conversations", "N"),
        Flag("--no-judge", "do not show on the page where the server breaks the specification"),
        Flag("--help", "show this text", short="-h"),
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
    "conductor show said.jsonl --session 2": "one of several conversations",
}
_EXIT_CODES = """\
Exit codes: 0 shown, 2 the recording cannot be read, or the page cannot be written.
"""


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor show`: the exit code."""
    given = parse(argv, FLAGS, program="conductor show")
    if "--help" in given:
        terminal.show(help_page(_USAGE, FLAGS, EXAMPLES, _EXIT_CODES))
        return OK
    if len(given.words) != 1:
        raise UsageError(f"conductor show takes one recording, not {len(given.words)}", hint="conductor show FILE")
    from mcp_conductor.cli.flag_values import number
    from mcp_conductor.recording.reader import read_recording

    file, wanted, output = given.words[0], number(given, "--session", 1), given.one("--output")
    recording = read_recording(os.path.join(terminal.directory, file), shown=file)
    if recording.warning is not None:
        terminal.say(f"warning: {recording.warning}")
    known = recording.sessions()
    if wanted is not None and wanted not in known:
        raise UsageError(f"the recording has no session {wanted}", hint=f"it has: {', '.join(map(str, known))}")
    sessions = known if wanted is None else [wanted]
    if output is None:
        from mcp_conductor.cli.show_lines import lines

        try:
            for line in lines(recording, sessions):
                terminal.show(line)
        except ReaderGone:  # `| head`
            return OK
        return OK
    if os.path.realpath(os.path.join(terminal.directory, output)) == os.path.realpath(
        os.path.join(terminal.directory, file)
    ):
        raise UsageError("the page would overwrite the recording")
    from mcp_conductor.cli.show_page import recording_page
    from mcp_conductor.files.writing import write_file

    text = recording_page(recording, sessions, file, judged="--no-judge" not in given)
    write_file(os.path.join(terminal.directory, output), text, shown=f"the page to {output}")
    return OK
