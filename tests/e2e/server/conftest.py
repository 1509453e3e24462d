"""Servers for the tests on the wire: started from a config in a file, and gone when the test is."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.server.http_wire import Web
from tests.e2e.server.wire import SERVE, Pipe, Program, config


@pytest.fixture
def stdio(tmp_path: Path) -> Iterator[Callable[..., Pipe]]:
    """Start a server on stdio; members of its config stand in place of the usual ones."""
    yield from _starting(Pipe, tmp_path, "stdio")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Callable[..., Web]]:
    """Start a server on HTTP, on a port that is free."""
    yield from _starting(Web, tmp_path, {"type": "streamable-http", "port": 0})


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A server on HTTP for all tests of a module that neither change nor end it."""
    starting = _starting(Web, tmp_path_factory.mktemp("shared"), {"type": "streamable-http", "port": 0})
    yield next(starting)(transport={"type": "streamable-http", "port": 0, "retry": 250})
    next(starting, None)


def _starting(kind: type[Program], directory: Path, usual: Any) -> Iterator[Callable[..., Any]]:
    started: list[Program] = []

    def start(transport: Any = usual, options: Any = None, **members: Any) -> Program:
        file = directory / f"server-{len(started)}.json"
        file.write_text(json.dumps(config(transport, **members)))
        started.append(kind([*SERVE, str(file)], directory, **(options or {})))
        return started[-1]

    yield start
    for program in started:
        program.dispose()
