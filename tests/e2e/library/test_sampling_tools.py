"""connect(sampling_tools=True): a server may give tools to the model that answers it."""

import json
from importlib.util import find_spec

import pytest

from mcp_conductor import MethodError, connect

if find_spec("mcp") is None:
    pytest.skip("mcp is not installed", allow_module_level=True)

pytestmark = pytest.mark.peers


@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
@pytest.mark.parametrize("takes", [False, True])
async def test_a_server_of_the_sdk_gives_tools_to_a_model_only_where_the_client_takes_them(takes):
    import mcp.types
    from mcp.server.mcpserver import Context, MCPServer

    server = MCPServer("asking")

    @server.tool()
    async def ask(context: Context) -> str:
        tool = mcp.types.Tool(name="look", input_schema={"type": "object"})
        message = mcp.types.SamplingMessage(role="user", content=mcp.types.TextContent(type="text", text="2 + 2?"))
        answer = await context.session.create_message(
            [message], max_tokens=9, tools=[tool], tool_choice=mcp.types.ToolChoice(mode="required")
        )
        return json.dumps(answer.model_dump(by_alias=True, mode="json", exclude_none=True))

    seen = []

    def sample(request):
        seen.append(([tool["name"] for tool in request.tools], request.tool_choice))
        use = {"type": "tool_use", "id": "1", "name": "look", "input": {}}
        return {"model": "m", "role": "assistant", "content": [use], "stopReason": "toolUse"}

    async with connect(server, sampling=sample, sampling_tools=takes) as session:
        if not takes:
            with pytest.raises(MethodError, match="sampling tools"):
                await session.call_tool("ask")
            assert seen == []
            return
        result = await session.call_tool("ask")
        assert seen == [(["look"], "required")]
        assert json.loads(result.text)["stopReason"] == "toolUse"
