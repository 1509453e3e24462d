"""A server as its file describes it, and as a program may describe it: what it has, and how clients reach it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.server.definitions import Prompt, Resource, Template, Tool
from mcp_conductor.server.faults import Fault
from mcp_conductor.values import dataclass

TRANSPORTS = ("stdio", "streamable-http", "sse")
TransportType = Literal["stdio", "streamable-http", "sse"]
DEFAULT_HOST = "127.0.0.1"
ANY_PORT = 0  # that is free

POLL_INTERVAL_MS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportConfig:
    """How clients reach the server."""

    type: TransportType
    host: str = DEFAULT_HOST
    port: int = ANY_PORT
    path: str = "/mcp"
    json: bool = False  # answer with JSON where that is possible, not with event streams
    stateless: bool = False  # no sessions in the handshake era
    resumable: bool = True
    retry: int | None = None  # milliseconds after which a client should resume a closed stream
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    token: str | None = None  # the bearer token that clients over HTTP must send


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """A server, as its file describes it."""

    info: Json
    transport: TransportConfig
    instructions: str | None = None
    tools: tuple[Tool, ...] = ()
    resources: tuple[Resource, ...] = ()
    templates: tuple[Template, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    listed_twice: frozenset[str] = frozenset()  # names of tools
    gates: Mapping[str, frozenset[str]] = field(default_factory=dict)  # tools: extensions, of which a client needs one
    logging: bool = False
    list_changed: frozenset[str] = frozenset()
    subscriptions: bool = False
    completions: bool = False  # declared although no definition has any so far
    tasks: frozenset[str] | None = None  # which of list and cancel the tasks of 2025-11-25 have; None: no tasks
    tasks_extension: bool = False
    poll_interval: int = POLL_INTERVAL_MS
    state_per_session: bool = False  # whether changes are seen only in the session that made them
    page_sizes: Mapping[str, int] = field(default_factory=dict)
    versions: tuple[str, ...] = tuple(DIALECTS)
    inject_spec_errors: bool = False
    faults: tuple[Fault, ...] = ()
    seed: int = 0
    warnings: tuple[UsageError, ...] = ()  # what can be served, but not to all clients
