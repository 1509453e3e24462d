"""Proxies with faults, on pipes and at addresses."""

import pytest
from tests.e2e.proxy.web import Proxy
from tests.e2e.proxy.wire import Pair


@pytest.fixture
def pair(tmp_path, environment):
    """Start a proxy with faults, and a server behind it."""
    started = []

    def start(*faults, flags=(), **options):
        started.append(Pair(tmp_path, list(faults), *flags, env=environment, **options))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.fixture
def proxied(tmp_path):
    started = []

    def start(url, *faults, flags=()):
        started.append(Proxy(url, tmp_path, list(faults), *flags))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()
