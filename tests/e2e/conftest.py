"""What every end-to-end test can use besides: HTTP servers written in a few lines."""

from collections.abc import Callable, Iterator

import pytest
from tests.servers.http_raw import HttpServer


@pytest.fixture
def http() -> Iterator[Callable[..., HttpServer]]:
    """Start an HTTP server with these manners; whatever goes wrong inside it fails the test."""
    servers: list[HttpServer] = []

    def start(manners=None, **options) -> HttpServer:
        servers.append(HttpServer(manners or {}, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
