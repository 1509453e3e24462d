"""A client sees the same with a bridge as without: operations of the official SDK's client, by chance, compared."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.conftest import SERVERS
from tests.e2e.library.same_operations import Operator
from tests.e2e.library.ten_servers import ten_servers

MORTAL = str(Path(__file__).parent / "mortal.py")
CHATTY = {"command": sys.executable, "args": [str(SERVERS / "sdk_chatty.py")]}
ERAS = ("legacy", "2026-07-28")
LIMIT = 60.0
pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


def direct():
    from mcp import StdioServerParameters

    return StdioServerParameters(command=CHATTY["command"], args=CHATTY["args"])


@asynccontextmanager
async def bridge(directory, environment, servers, *flags):
    """The URL of a bridge with SERVERS."""
    file = directory / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    words = [
        sys.executable,
        "-m",
        "mcp_conductor",
        "bridge",
        str(file),
        "--transport",
        "streamable-http",
        "--port",
        "0",
    ]
    program = await asyncio.create_subprocess_exec(*words, *flags, stderr=subprocess.PIPE, env=environment)
    try:
        async with asyncio.timeout(LIMIT):
            while not (line := (await program.stderr.readline()).decode()).startswith("Bridge listening at "):
                assert line
        reading = asyncio.create_task(program.stderr.read())
        yield line.split()[-1]
    finally:
        program.terminate()
        await asyncio.wait_for(program.wait(), LIMIT)
        assert "Traceback" not in (await reading).decode()


async def compare(url, seeds, count):
    """Compare what clients of both eras see, all at once, one of each for each seed."""
    cases = [(era, seed) for era in ERAS for seed in seeds]
    behind = await asyncio.gather(
        *(Operator(era, f"operator {seed}", "s__").run(url, seed, count) for era, seed in cases)
    )
    for (era, seed), seen in zip(cases, behind, strict=True):
        without = await Operator(era, f"operator {seed}").run(direct(), seed, count)
        assert [each[0] for each in seen.outcomes] == [each[0] for each in without.outcomes]
        for here, there in zip(seen.outcomes, without.outcomes, strict=True):
            assert here == there, f"{era}, seed {seed}"


async def test_a_client_sees_the_same_with_a_bridge_as_without(tmp_path, environment, survivors):
    servers = {"s": CHATTY, "m": {"command": sys.executable, "args": [MORTAL, str(tmp_path / "m.log")]}}
    async with bridge(tmp_path, environment, servers) as url:
        await compare(url, seeds=[1], count=5)
    assert survivors() == []


@pytest.mark.slow
async def test_three_clients_of_each_era_see_the_same_with_ten_other_servers(tmp_path, environment, survivors, mark):
    from tests.conftest import MARK

    with ten_servers(tmp_path, {MARK: mark}) as peers:
        others = {peer.name: peer.config for peer in peers}
        async with bridge(tmp_path, environment, {"s": CHATTY, **others, "again": CHATTY}) as url:
            await compare(url, seeds=[int(os.environ.get("SEED", "1")) + n for n in range(3)], count=100)
    assert survivors() == []
