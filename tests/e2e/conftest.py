"""What every end-to-end test can use besides: HTTP servers written in a few lines, and a user who consents."""

import asyncio
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tests.conftest import MCP_CLI
from tests.e2e.authorizing import browse
from tests.servers.http_raw import HttpServer


@pytest.fixture
def in_background(
    environment: dict[str, str], tmp_path: Path, survivors: Callable[[], list[str]]
) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Start programs in the directory of the test; at its end nothing of them is left."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(words: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=tmp_path, env=environment, **options,
        )  # fmt: skip
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=10)
    assert survivors() == []


@pytest.fixture
def http() -> Iterator[Callable[..., HttpServer]]:
    """Start an HTTP server with these manners; an error inside it fails the test."""
    servers: list[HttpServer] = []

    def start(manners=None, **options) -> HttpServer:
        servers.append(HttpServer(manners or {}, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def consenting(environment, tmp_path):
    """Run mcp-cli with --oauth, and consent in the browser as soon as it shows where."""

    def run(*words):
        limit = () if "--timeout" in words else ("--timeout", "20s")
        process = subprocess.Popen(
            [*MCP_CLI, *words, "--oauth", *limit],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment,
            text=True,
        )
        shown = []
        try:
            for line in process.stderr:
                shown.append(line)
                if found := re.search(r"http://127\.0\.0\.\d:\d+/authorize\S+", line):
                    redirect = asyncio.run(browse(found[0]))
                    with urlopen(redirect, timeout=5) as page:
                        assert page.status == 200
                    break
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
        return process.returncode, out, "".join(shown) + err

    return run
