"""The session in which a server is explored: how it is opened, and how it ends.

It may be the very first one, which asks for the revision: on stdio every session is a process, so where all that was
said in it is what is said first anyway, no other one is started.
"""

from contextlib import AbstractAsyncContextManager

from mcp_conductor.checks.engine.evidence import Trail
from mcp_conductor.checks.engine.timing import eventually
from mcp_conductor.client.connect import connect
from mcp_conductor.client.negotiation import PROBE_SECONDS
from mcp_conductor.client.session import Session
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.dialect import TASKS_EXTENSION
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.transport.stdio import StdioTransport

END_SECONDS = 2.0  # for the last words of a server


def connect_to_explore(
    spec: ServerSpec, protocol: str, transcript: Transcript, timeout: float
) -> AbstractAsyncContextManager[Session]:
    """A session with a client that can do everything."""
    return connect(
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
