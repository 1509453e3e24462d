"""A line on stdin that is too long, or never ends: refused, passed over in little memory, and nothing else is lost."""

import json
import re
import sys
from pathlib import Path

import pytest
from tests.conftest import BOOKSHELF
from tests.e2e.server.wire import INITIALIZED, SERVE, Pipe, config, echo, initialize, modern, ping, result

LIMIT = 64 << 20
REFUSED = {"code": -32600, "message": "the message is longer than 64 MiB"}
WARNING = "warning: a line of the client is longer than 64 MiB, and is not read"


def recorded(tmp_path: Path) -> str:
    opened = {"protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    said = (
        ("client", initialize("2025-03-26")),
        ("server", {"jsonrpc": "2.0", "id": 0, "result": opened}),
        ("client", INITIALIZED),
    )
    lines = [{"recording": 1}, *({"at": 1, "source": source, "text": json.dumps(each)} for source, each in said)]
    file = tmp_path / "said.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


def served(tmp_path: Path) -> str:
    file = tmp_path / "server.json"
    file.write_text(json.dumps(config()))
    return str(file)


def bridged(tmp_path: Path) -> str:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"books": {"command": BOOKSHELF[0], "args": list(BOOKSHELF[1:])}}}))
    return str(file)


FILES = {"serve": served, "replay": recorded, "bridge": bridged}


@pytest.fixture
def host(tmp_path, environment):
    started: list[Pipe] = []

    def start(command: str) -> Pipe:
        words = [*SERVE[:-1], command, FILES[command](tmp_path)]
        started.append(Pipe(words, tmp_path, env=environment))
        return started[-1]

    yield start
    for each in started:
        each.dispose()


def memory(server: Pipe) -> int:
    """The most memory that it has had, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{server.process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) << 10


def write_x(server: Pipe, size: int) -> None:
    piece = b"x" * (1 << 20)
    for _ in range(size >> 20):
        server.write(piece)
    server.write(piece[: size % len(piece)])


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of another process is read from /proc")
@pytest.mark.parametrize("command", FILES)
def test_line_without_an_end_takes_bounded_memory(host, command):
    server = host(command)
    server.open("2025-03-26")
    write_x(server, LIMIT + 1)
    assert server.hear() == {"jsonrpc": "2.0", "id": None, "error": REFUSED}  # before its end
    write_x(server, 3 * LIMIT)
    server.write(b"\n")
    assert server.ask(ping())["result"] == {}
    assert memory(server) < 180_000_000
    write_x(server, LIMIT + 1)
    server.write(b"\n")
    assert server.hear()["error"] == REFUSED
    assert server.ask(ping("again"))["id"] == "again"
    server.close()
    assert server.wait() == 0
    assert server.errors().count(WARNING) == 1


def test_line_of_just_the_limit_is_read(host):
    server = host("serve")
    server.open()
    padded = {**ping(1), "params": {"_meta": {"padding": ""}}}
    padded["params"]["_meta"]["padding"] = "x" * (LIMIT - len(json.dumps(padded)))
    assert server.ask(padded) == result(1, {})
    assert server.ask(ping())["result"] == {}


def test_end_of_stdin_within_a_line_that_was_refused(host):
    server = host("serve")
    write_x(server, LIMIT + 1)
    server.close()
    assert server.hear()["error"] == REFUSED
    assert server.line() == b""
    assert server.wait() == 0


def test_reply_has_no_id_where_the_revision_wants_none(host):
    server = host("serve")
    server.open("2025-11-25")
    write_x(server, LIMIT + 1)
    assert server.hear() == {"jsonrpc": "2.0", "error": REFUSED}
    server.write(b"\n")
    assert "result" in server.ask(modern(echo(2)))
