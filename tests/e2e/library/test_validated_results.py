"""validate=True: a result must be what the output schema of its tool says."""

import pytest

from mcp_conductor import ProtocolError, StdioSpec, connect

SERVER = """
    hello(tools={"listChanged": True})
    SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    TOOLS = [{"name": name, "inputSchema": {"type": "object"}, "outputSchema": SCHEMA} for name in ("good", "bad", "none", "failing")]
    TOOLS += [{"name": "plain", "inputSchema": {"type": "object"}}]
    RESULTS = {
        "good": {"structuredContent": {"n": 1}}, "bad": {"structuredContent": {"n": "x"}}, "none": {},
        "failing": {"isError": True}, "plain": {"structuredContent": {"n": "x"}},
    }
    serve({
        "tools/list": {"tools": TOOLS},
        "tools/call": lambda params: {"content": [], **RESULTS[params["name"]]},
    })
"""


@pytest.fixture
def server(serve, environment):
    return StdioSpec(command=serve(SERVER), env=environment)


async def test_a_result_that_does_not_fit_is_an_error_where_that_is_asked_for(server):
    async with connect(server, validate=True) as session:
        for name in ("good", "failing", "plain"):
            await session.call_tool(name)
        for name in ("bad", "none"):
            with pytest.raises(ProtocolError):
                await session.call_tool(name)
            await session.call_tool(name, validate=False)
        lists = [each for each in session.transcript.exchanges() if each.request.method == "tools/list"]
        assert len(lists) == 1


async def test_a_call_can_ask_for_it_alone(server):
    async with connect(server) as session:
        assert (await session.call_tool("bad")).structured == {"n": "x"}
        with pytest.raises(ProtocolError):
            await session.call_tool("bad", validate=True)
