"""A recording as a server in this process: what `connect()` is given to reach it."""

from collections.abc import Callable

from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.replaying.replay_server import ReplayServer
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.values import dataclass

IN_PROCESS = TransportConfig(type="stdio")  # one client for each server, and no address


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySpec(ServerSpec):
    """A recording that every connection begins at its start."""

    file: str  # as it was named
    make: Callable[[], ReplayServer]

    module = "mcp_conductor.replaying.in_process"
    kind = "replay"

    @property
    def label(self) -> str:
        return f"the recording {self.file}"
