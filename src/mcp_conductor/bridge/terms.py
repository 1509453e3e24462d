"""What the parts of a bridge tell each other, and what it tells those who watch it."""

import random as chance
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from mcp_conductor.bridge.backoff import Backoff
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.message import Message
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.client.auth import Auth
    from mcp_conductor.client.session import Session
    from mcp_conductor.recording.writer import RecordingWriter

State = Literal["up", "retrying", "down"]
EventKind = Literal[
    "connected", "lost", "down", "tools_changed", "resources_changed", "prompts_changed", "resource_updated"
]


@dataclass(frozen=True, slots=True)
class Health:
    """How a server of a bridge is: up, being tried again, or given up."""

    state: State
    failures: int = 0  # in a row
    last_error: ConductorError | None = None


@dataclass(frozen=True, slots=True)
class BridgeEvent:
    """Something that happened to a server of a bridge."""

    kind: EventKind
    server: str
    error: ConductorError | None = None
    uri: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How the servers of a bridge are treated; times in seconds."""

    timeout: float
    connect_timeout: float
    health_interval: float
    health_timeout: float
    backoff: Backoff
    answers: Callable[[], Answers]
    tell: Callable[[BridgeEvent], None]
    budgets: Budgets
    random: Callable[[], float] = chance.random
    protocol: str | None = None  # for servers whose settings name none
    client_info: Json | None = None  # who we say we are; None: ourselves
    auth: "Mapping[str, Auth] | None" = None  # by the names of servers
    validate: bool = False  # whether results of tools must fit their schemas, where a call does not say
    # What a server says besides answers: its notifications, and its requests, which are then not answered by ANSWERS.
    on_notification: Callable[[str, Message], None] | None = None
    on_request: "Callable[[str, Session, Message], None] | None" = None
    recording: "RecordingWriter | None" = None  # of what is said to the servers
