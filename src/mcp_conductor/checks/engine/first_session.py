"""The session in which a server is explored, and how it is opened; it may be the very first, which asks for a revision.

On stdio every session is a process. So where all that was said to find out the revision is what is said first anyway,
that process is explored.
"""

from contextlib import AbstractAsyncContextManager

from mcp_conductor.client.connect import connect
from mcp_conductor.client.negotiation import PROBE_SECONDS
from mcp_conductor.client.session import Session
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.dialect import TASKS_EXTENSION
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Transcript


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
