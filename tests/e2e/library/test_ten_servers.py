"""Ten real servers behind one bridge: listed in one call, killed in turn while sixteen callers work."""

import pytest
from tests.conftest import MARK
from tests.e2e.library.ten_servers import ten_servers
from tests.e2e.library.under_fire import under_fire

from mcp_conductor import Bridge

pytestmark = pytest.mark.peers


@pytest.fixture
def peers(tmp_path, mark, survivors):
    pytest.importorskip("fastmcp")
    with ten_servers(tmp_path, {MARK: mark}) as found:
        if len(found) < 10:
            pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
        yield found
    assert survivors() == []


async def test_the_tools_of_ten_servers_are_listed_in_one_call(peers):
    async with Bridge({peer.name: peer.config for peer in peers}, connect_timeout=60) as bridge:
        tools = {tool.full_name for tool in await bridge.list_tools()}
        assert {f"{peer.name}/{peer.tool}" for peer in peers} <= tools
        for peer in peers:
            told = await bridge.call_tool(f"{peer.name}/{peer.tool}", peer.arguments(5))
            assert peer.right(told, 5), (peer.name, told.raw)


# One on each transport; and all ten, which takes as long as a hundred other tests.
@pytest.mark.parametrize(
    "names", [("files", "web", "old"), pytest.param((), marks=pytest.mark.slow)], ids=["three", "ten"]
)
async def test_each_is_killed_while_sixteen_callers_work(peers, names):
    chosen = [peer for peer in peers if not names or peer.name in names]
    outcome = await under_fire(chosen, rounds=1, seed=7)
    assert outcome.wrong == []
    assert outcome.kills == {peer.name: 1 for peer in chosen}
    assert set(outcome.right) == {peer.name for peer in chosen}
