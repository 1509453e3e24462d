"""`scripts/test golden --update` writes what mcp-cli says now into the cases; read the diff before you believe it."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the expected files of the golden cases")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    # Where the whole of tests/ is run, pytest reads this file too late to know the option.
    return bool(request.config.getoption("--update", default=False))
