"""The session in which a server is explored: how it is opened, and how it ends.

It may be the very first one, which asks for the revision: on stdio every session is a process, so where all that was
said in it is what is said first anyway, no other one is started.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from mcp_conductor.checks.engine.evidence import Trail
from mcp_conductor.checks.engine.timing import eventually
from mcp_conductor.client.connect import connect
from mcp_conductor.client.negotiation import PROBE_SECONDS
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ProtocolError
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.dialect import TASKS_EXTENSION
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.transport import meanwhile
from mcp_conductor.transport.stdio import StdioTransport

END_SECONDS = 2.0  # for the last words of a server
SPREAD = "its messages are written over several lines each"
_LOOK_SECONDS = 0.1
_MOST_FRAMES = 1000  # in which such a message is looked for
_MOST_CHARACTERS = 100_000


@asynccontextmanager
async def connect_to_explore(
    spec: ServerSpec, protocol: str, transcript: Transcript, timeout: float
) -> AsyncIterator[Session]:
    """A session with a client that can do everything."""
    opening = connect(
        spec,
        protocol=protocol,
        transcript=transcript,
        needs_version=False,
        # A process must start before it can answer, and initialize right behind the first question would spoil it.
        probe_seconds=timeout if spec.started_by_us else PROBE_SECONDS,
        answers=Answers(roots=[], sampling="auto", elicitation="auto"),
        timeout=timeout,
        extensions={TASKS_EXTENSION: {}},
    )
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(None) as limit, meanwhile(_expire_if_spread(limit, transcript)):
                session = await stack.enter_async_context(opening)
        except TimeoutError:
            if not limit.expired():
                raise
            raise ProtocolError(SPREAD) from None
        yield session


async def _expire_if_spread(limit: asyncio.Timeout, transcript: Transcript) -> None:
    """Make LIMIT expire once the answer to the opening is there, but spread over lines, so that it is not heard."""
    while spread_message(transcript) is None:
        if transcript.mark > _MOST_FRAMES:  # more of them are not looked at
            return
        await asyncio.sleep(_LOOK_SECONDS)  # a transcript has no event
    limit.reschedule(asyncio.get_running_loop().time())


def spread_message(transcript: Transcript) -> str | None:
    """A message that a server has written over several lines, so that no client hears it."""
    lines = [each for each in transcript.since(0)[:_MOST_FRAMES] if each.source == "server"]
    for place, frame in enumerate(lines):
        if frame.text.lstrip()[:1] == "{" and frame.message is not None and frame.message.raw is None:
            text = "\n".join(each.text for each in lines[place:])[:_MOST_CHARACTERS]
            with suppress(ValueError, RecursionError):
                raw, end = json.JSONDecoder().raw_decode(text.lstrip())
                return text.lstrip()[:end] if "jsonrpc" in raw else None
    return None


def may_be_explored(session: Session, spec: ServerSpec) -> bool:
    """Whether SESSION, which asked for the revision, is as if that had been known: one question was enough."""
    asked = len(list(session.transcript.messages("client")))
    return spec.started_by_us and not session.dialect.handshake and asked == 1


def start_seconds(session: Session) -> float:
    """How long the server took until its first answers, also where it was started before the session."""
    head_start = session.transport.head_start if isinstance(session.transport, StdioTransport) else 0.0
    return head_start + session.transcript.last_at


async def end_server(session: Session) -> None:
    """Close the stdin of a server, and hear what it says then."""
    if isinstance(session.transport, StdioTransport) and await session.transport.hang_up(END_SECONDS):
        await eventually(lambda: session.ended, END_SECONDS, Trail())
