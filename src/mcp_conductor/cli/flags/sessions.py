"""--session: which conversation of a recording is meant, where it has several."""

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.values import number
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.recording.reader import Recording, meant_session

_MOST_NAMED = 20  # sessions in a message


def known_session(recording: Recording, wanted: int | None) -> int | None:
    """Return WANTED, the number of a conversation, if there is such a one."""
    known = recording.sessions()
    if wanted is not None and wanted not in known:
        raise UsageError(f"the recording has no session {wanted}", hint=f"it has: {', '.join(map(str, known))}")
    return wanted


def chosen_session(recording: Recording, given: Given, terminal: Terminal, *, does: str, done: str) -> int | None:
    """The number of the conversation; several at once would be taken for one that contradicts itself.

    DOES and DONE are words for what the program does with it: judges, judged.
    """
    known, wanted = recording.sessions(), known_session(recording, number(given, "--session", 1))
    if len(known) < 2:
        return None
    if wanted is None:
        wanted = meant_session(recording)
        terminal.say(
            f"note: the recording has {len(known)} sessions; session {wanted} is {done}\n"
            f"  hint: --session N {does} another of {', '.join(map(str, known[:_MOST_NAMED]))}"
            + (" …" if len(known) > _MOST_NAMED else "")
        )
    return wanted
