"""What every end-to-end test can use besides: HTTP servers written in a few lines, and a user who consents."""

import asyncio
import re
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest
from tests.conftest import MCP_CLI
from tests.e2e.authorizing import browse_far
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


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A self-signed certificate for 127.0.0.1, with its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    words = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    try:
        done = subprocess.run(
            ["openssl", "req", "-x509", *words, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
            capture_output=True,
            timeout=60,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("a certificate needs the command openssl")
    if done.returncode:
        pytest.skip(f"openssl could not make a certificate: {done.stderr.decode(errors='replace')[-200:]}")
    both = folder / "both.pem"
    both.write_text(cert.read_text() + key.read_text())
    return str(both)


@pytest.fixture
def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


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
                if found := re.search(r"http://127\.0\.0\.\d:\d+/(?:\w+/)?authorize\?\S+", line):
                    callback = parse_qs(urlsplit(found[0]).query)["redirect_uri"][0]
                    redirect = asyncio.run(browse_far(found[0], callback))
                    with urlopen(redirect, timeout=5) as page:
                        assert page.status == 200
                    break
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
        return process.returncode, out, "".join(shown) + err

    return run
