"""What every test can use: real servers written in a few lines, and mcp-cli as a real process."""

import os
import signal
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests import prefork

ROOT = Path(__file__).parent.parent
SERVERS = ROOT / "tests" / "servers"
BOOKSHELF = (sys.executable, str(ROOT / "examples" / "bookshelf.py"))
MARK = "CONDUCTOR_TEST_MARK"
MCP_CLI = (sys.executable, "-c", "import sys; from mcp_conductor.cli import mcp_cli; sys.exit(mcp_cli())")


# Under nohup, or in the background of a script, signals are ignored, and every program that a test starts would inherit it.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


@dataclass(frozen=True)
class Run:
    """What became of one run of a program."""

    code: int
    out: str
    err: str
    seconds: float


@pytest.fixture
def mark() -> str:
    """A word in the environment of every process that this test starts, directly or not."""
    return uuid.uuid4().hex


@pytest.fixture
def survivors(mark: str) -> Callable[[], list[str]]:
    """The processes of this test that are still alive, also with other parents."""

    def look() -> list[str]:
        found, wanted = [], f"{MARK}={mark}".encode()
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                try:
                    with open(f"/proc/{name}/environ", "rb") as environ:  # not of what has ended
                        if wanted not in environ.read():
                            continue
                    found.append(
                        Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    )
                except OSError:
                    continue
        return found

    return look


@pytest.fixture
def environment(mark: str) -> dict[str, str]:
    # A program that writes compiled files next to what it imports would write into the directories of tests.
    return {**os.environ, MARK: mark, "PYTHONPATH": str(SERVERS), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def cli(
    tmp_path: Path, environment: dict[str, str], survivors: Callable[[], list[str]]
) -> Iterator[Callable[..., Run]]:
    """Run mcp-cli as a process of its own, and make sure that it leaves none behind."""

    def run(*words: str, stdin: str = "", limit: float = 30, **extra: str) -> Run:
        began = time.perf_counter()
        done = prefork.run(
            [*MCP_CLI, *words],
            input=stdin.encode(),
            capture_output=True,
            timeout=limit,
            cwd=tmp_path,
            env={**environment, **extra},
            check=False,
        )
        result = Run(done.returncode, done.stdout.decode(), done.stderr.decode(), time.perf_counter() - began)
        assert "Traceback" not in result.err or "stderr:" in result.err, result.err
        assert survivors() == [], "processes were left behind"
        return result

    yield run
    assert survivors() == []


@pytest.fixture
def serve(tmp_path: Path) -> Callable[[str], tuple[str, ...]]:
    """A real server from a few lines of Python; `from raw import *` (tests/servers/raw.py) is already there."""

    def write(code: str, name: str = "server.py") -> tuple[str, ...]:
        file = tmp_path / name
        file.write_text("from raw import *\n" + textwrap.dedent(code))
        return (sys.executable, str(file))

    return write
