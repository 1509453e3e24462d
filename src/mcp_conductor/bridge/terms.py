"""What the parts of a bridge tell each other, and what it tells those who watch it."""

from collections.abc import Callable
from dataclasses import field
from typing import Literal

from mcp_conductor.bridge.backoff import Backoff
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.views import Prompt, Resource, ResourceTemplate, Tool
from mcp_conductor.values import dataclass

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


@dataclass(slots=True)
class Catalogue:
    """What a server has, as it was listed last."""

    tools: list[Tool] = field(default_factory=list)
    resources: list[Resource] = field(default_factory=list)
    templates: list[ResourceTemplate] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How the servers of a bridge are treated; times in seconds."""

    timeout: float
    connect_timeout: float
    health_interval: float
    health_timeout: float
    backoff: Backoff
    random: Callable[[], float]
    answers: Callable[[], Answers]
    tell: Callable[[BridgeEvent], None]
    budgets: Budgets
