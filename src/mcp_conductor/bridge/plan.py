"""How a bridge serves its clients: which servers it has, what they are called, and how long it waits for them."""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Literal

from mcp_conductor.bridge.backoff import Backoff
from mcp_conductor.bridge.names import SEPARATOR, ToolFilter, prefixes
from mcp_conductor.bridge.uris import Uris
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol.budgets import DEFAULT, Budgets
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.recording.writer import RecordingWriter

Sessions = Literal["perClient", "shared"]
START_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeOptions:
    """What the user may choose; times in seconds."""

    separator: str = SEPARATOR
    sessions: Sessions = "perClient"
    wait: bool = False  # serve only once all servers are up
    start_timeout: float = START_SECONDS  # for servers to start, before clients are served without the rest
    timeout: float = 600.0  # for each request; the client has its own deadline
    patience: float = 10.0  # how long a request waits for a server that is not up
    budgets: Budgets = DEFAULT


class Plan:
    """What all clients of a bridge share."""

    def __init__(
        self,
        specs: Mapping[str, ServerSpec | ConductorError],
        options: BridgeOptions,
        *,
        filters: Mapping[str, ToolFilter] | None = None,
        backoff: Backoff | None = None,
        one_client: bool,  # there is one client only, whichever of its requests comes
        complain: Callable[[str], None],
        report: Callable[[str, str, ConductorError | None], None],  # what has become of a server
        recording: "RecordingWriter | None" = None,  # of what is said to the servers
    ) -> None:
        self.specs = specs
        self.options = options
        self.filters = filters or {}
        self.backoff = backoff or Backoff()
        self.one_client = one_client
        self.complain = complain
        self.report = report
        self.recording = recording
        self.prefixes = prefixes(specs, options.separator)
        self.uris = Uris(self.prefixes)
        self._warned: set[str] = set()  # servers whose filters were looked at

    def warn_of_filters(self, server: str, tools: Collection[str]) -> None:
        """Say once what of the filter of SERVER is about none of its TOOLS: a denied tool may be shown for it."""
        if server not in self._warned and server in self.filters:
            self._warned.add(server)
            for unused in self.filters[server].unused(tools):
                self.complain(f"{server}: tools: {unused} fits no tool of this server")
