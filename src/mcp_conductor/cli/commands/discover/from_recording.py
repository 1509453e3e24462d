"""`conductor discover --from FILE`: a suite from a recording, without a server."""

import os
import time

from mcp_conductor.cli.commands.discover.suite_output import output_file, personal_values, write_found
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.sessions import chosen_session
from mcp_conductor.cli.flags.target import TARGET_FLAGS
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.recording.dialogue import Dialogue
from mcp_conductor.recording.reader import began, read_recording
from mcp_conductor.suites.authoring.from_recording import suite_of
from mcp_conductor.suites.authoring.suite_text import suite_text

_HEAD = "# Written by `conductor discover --from`: what a client and a server said. Make it your own.\n"
_MOST_NAMED = 5  # requests that are left out, in a message
_NOT_HERE = (*(flag.name for flag in TARGET_FLAGS), "--record-expectations", "--include-writes", "--arg", "--timeout")


def write_recorded_suite(given: Given, terminal: Terminal) -> int:
    """Write the suite for a recording: the exit code."""
    file, output = given.need("--from"), output_file(given, terminal)
    if given.words:
        raise UsageError(f"both a recording and a server ({given.words[0]!r}) are given")
    given.refuse(_NOT_HERE, "has no meaning with --from: no server is asked")
    recording = read_recording(os.path.join(terminal.directory, file), shown=file)
    if recording.warning is not None:
        terminal.say(f"warning: {recording.warning}")
    session = chosen_session(recording, given, terminal, does="takes", done="taken")
    suite = suite_of(
        Dialogue.of(recording.transcript(session).frames),
        began=began(recording) or time.time(),
        personal=personal_values(terminal),
    )
    if not suite.found.written:
        left_out = [f"{draft.what}: {draft.gap}" for draft in suite.found.left_out]
        why = "; ".join(left_out[:_MOST_NAMED]) + (" …" if len(left_out) > _MOST_NAMED else "")
        raise UsageError(f"{file} has no request that a test could send", hint=f"left out: {why}" if why else None)
    text = suite_text(suite.found, protocol=suite.protocol, client=suite.client, head=_HEAD)
    write_found(suite.found, text, output, terminal)
    for name in suite.variables:
        terminal.say(f"set {name} in the environment: it stands for a secret that was left out of the recording")
    return 0
