"""Which server `conductor check` means, and in which revisions."""

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.target import target
from mcp_conductor.cli.flags.values import choice
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.protocol.dialect import PROTOCOL_CHOICES
from mcp_conductor.protocol.server_spec import ServerSpec


def asked_revision(given: Given) -> str:
    """What --protocol asks for."""
    return choice(given, "--protocol", ("all", *PROTOCOL_CHOICES)) or "auto"


def checked_server(given: Given, terminal: Terminal) -> ServerSpec:
    """The server that is to be checked; its revision is said apart from it."""
    without = {name: values for name, values in given.values.items() if name != "--protocol"}
    return target(given.with_values(without), terminal, program="conductor check")
