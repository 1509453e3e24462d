"""How the server under test is started or reached, and what is reported of one that cannot be reached."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import islice
from typing import TYPE_CHECKING

from mcp_conductor.client.connect import connect
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol.answers import Incoming
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.suites.language.script import ScriptedAnswers
from mcp_conductor.suites.running.conversation import Conversation
from mcp_conductor.text.redaction import Redactor

if TYPE_CHECKING:
    from mcp_conductor.recording.writer import RecordingWriter

_MOST_PRINTED = 20  # lines on stdout that are not messages
_LONGEST_PRINTED = 400


@asynccontextmanager
async def converse(
    spec: ServerSpec,
    *,
    protocol: str | None,
    kinds: set[str],
    timeout: float,
    redactor: Redactor,
    lenient: bool = False,
    recording: "RecordingWriter | None" = None,
) -> AsyncIterator[Conversation]:
    """Start or reach a server, and open the conversation, which is written to RECORDING."""
    answers = ScriptedAnswers(kinds)
    conversations: list[Conversation] = []

    def hear(incoming: Incoming) -> None:
        for conversation in conversations:
            conversation.hear(incoming)

    listener = None if recording is None else recording.session().take
    transcript = Transcript(budgets=spec.budgets, redactor=redactor, listener=listener)
    connection = connect(
        spec,
        protocol=protocol,
        answers=answers,
        timeout=timeout,
        transcript=transcript,
        on_incoming=hear,
        lenient=lenient,
    )
    async with AsyncExitStack() as stack:
        if recording is not None:
            stack.callback(recording.close)
        try:
            session = await stack.enter_async_context(connection)
        except ConductorError as error:
            error.stderr = (*_printed_lines(transcript), *error.stderr)
            raise
        conversations.append(Conversation(session, answers))
        yield conversations[0]


def _printed_lines(transcript: Transcript) -> Iterator[str]:
    """What a server that did not open wrote to stdout besides messages: often its usage, or why it cannot start."""
    lines = (frame.text for frame in transcript.frames if frame.source == "server" and frame.text[:1] not in "{[")
    for line in islice(lines, _MOST_PRINTED):
        yield f"(stdout) {transcript.redact(line)[:_LONGEST_PRINTED]}"
