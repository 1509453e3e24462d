"""What the tests of checks share: a check of any server, and what came of it."""

import pytest
from tests import prefork
from tests.conftest import SERVERS

from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.protocol.server_spec import StdioSpec


@pytest.fixture
def verdicts_of():
    """Check a server (a spec, or the command line of one) and return the outcomes by id."""

    async def run(server, version="2025-11-25", *, only=(), timeout=1.0, forked=True, **options):
        spec = (
            StdioSpec(
                command=prefork.command(server, "script") if forked else tuple(server), env={"PYTHONPATH": str(SERVERS)}
            )
            if isinstance(server, (tuple, list))
            else server
        )
        verdicts = await check(spec, version, Options(only=frozenset(only), timeout=timeout, **options))
        return {outcome.id: outcome for outcome in verdicts.outcomes}

    return run


@pytest.fixture
def failed():
    """The ids of the outcomes that are not as they should be: failed, or warned."""
    return lambda outcomes, *statuses: {
        name for name, each in outcomes.items() if each.status in (statuses or ("failed",))
    }
