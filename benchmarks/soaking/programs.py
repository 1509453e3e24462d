"""The programs that are run on a server, each as a user would run it, and how each may end."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from signal import SIGHUP, SIGINT, SIGTERM

from benchmarks.soaking.watch import CONDUCTOR, HERE, MCP_CLI

SUITE = """\
description: "a soak"
tests:
  - it: "lists"
    request: {jsonrpc: "2.0", id: "1", method: "tools/list", params: {}}
    expect:
      response: {jsonrpc: "2.0", id: "1", result: {tools: "match:type:array"}}
"""
SUITE_FILE = "soak.test.mcp.yml"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "soak", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
CONVERSATION = "".join(
    json.dumps(message) + "\n"
    for message in (INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}, LIST)
).encode()
SERVED = json.dumps(
    {"serverInfo": {"name": "soak", "version": "1"}, "transport": {"type": "stdio"}, "tools": [{"preset": "echo"}]}
)

Words = tuple[str, ...]
Files = dict[str, str | bytes]


def staged(manner: str) -> Words:
    """The server that says how far it is."""
    return (sys.executable, str(HERE / "staged_server.py"), manner)


@dataclass(frozen=True)
class Program:
    """One of our programs: its command line for a server, and its exit codes when all is well and after a signal."""

    name: str
    words: Callable[[Words], Words]
    ordinary: set[int]
    files: Callable[[Words], Files] = field(default=lambda _: {})
    stdin: bytes | None = None
    after: dict[int, int] = field(
        default_factory=dict
    )  # exit codes after a signal, where they are not 128 + its number

    def codes_after(self, signals: tuple[int, ...], *, begun: bool) -> set[int]:
        """A request to stop that came before it had BEGUN to serve, or a second one, may be told as a signal."""
        told = {128 + number for number in signals} if len(signals) > 1 or not begun else set()
        return {self.after.get(number, 128 + number) for number in signals} | told


def _settings(server: Words) -> Files:
    command, *args = server
    one = {"command": command, "args": args}
    return {"servers.json": json.dumps({"mcpServers": {"first": one, "second": one}})}


MCP_CLI_LIST = Program("mcp-cli", lambda server: (*MCP_CLI, *server, "--method", "tools/list", "--timeout", "5s"), {0})
TEST = Program(
    "test",
    lambda server: (*CONDUCTOR, "test", SUITE_FILE, "--", *server),
    {0},
    lambda _: {SUITE_FILE: SUITE},
)
CHECK = Program("check", lambda server: (*CONDUCTOR, "check", "--only", "lifecycle", "--", *server), {0, 1})
DISCOVER = Program("discover", lambda server: (*CONDUCTOR, "discover", "--", *server), {0})
SERVE = Program(
    "serve",
    lambda _: (*CONDUCTOR, "serve", "served.json"),
    {0},
    lambda _: {"served.json": SERVED},
    CONVERSATION,
    {SIGINT: 0, SIGTERM: 0, SIGHUP: 0},
)
BRIDGE = Program(
    "bridge",
    lambda _: (*CONDUCTOR, "bridge", "servers.json"),
    {0},
    _settings,
    CONVERSATION,
    {SIGINT: 0, SIGTERM: 0, SIGHUP: 0},
)


def _client(server: Words) -> Words:
    """`check --client` starts a client: a stubborn one instead of a stubborn server, else mcp-cli."""
    words = (*MCP_CLI, "{server}", "--method", "tools/list", "--timeout", "5s")
    client = " ".join(staged("client") if "stubborn" in server else words)
    return (*CONDUCTOR, "check", "--only", "lifecycle", "--client", client)


CHECK_CLIENT = Program("check --client", _client, {0, 1, 2, 3})
PROGRAMS = (MCP_CLI_LIST, TEST, CHECK, CHECK_CLIENT, DISCOVER, SERVE, BRIDGE)
