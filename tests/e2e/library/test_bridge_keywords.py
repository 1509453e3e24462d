"""A Bridge takes what connect() takes for one server: auth, functions that answer, validate; and names as models say them."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.e2e.library.test_validated_results import SERVER

from mcp_conductor import (
    Bridge,
    ElicitationRequest,
    HttpStatusError,
    ProtocolError,
    SamplingRequest,
    StdioSpec,
    UsageError,
)

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.usefixtures("nothing_is_left")


@pytest.fixture
def guarded():
    """A server of FastMCP that takes one token, at a URL of this process."""
    if find_spec("fastmcp") is None:
        pytest.skip("fastmcp is not installed")
    import fastmcp
    from fastmcp.server.auth.providers.jwt import StaticTokenVerifier

    verifier = StaticTokenVerifier(tokens={"good-token": {"client_id": "me", "scopes": []}})
    server = fastmcp.FastMCP("guarded", auth=verifier)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    return server.http_app()


@pytest.mark.peers
async def test_each_server_has_a_way_of_its_own_to_prove_who_we_are(guarded, mortal):
    tokens = ["expired-token", "good-token"]
    async with Bridge({"web": guarded, "m": mortal()}, auth={"web": lambda: tokens.pop(0)}) as bridge:
        assert (await bridge.call_tool("web/add", {"a": 2, "b": 40})).text == "42"
        assert (await bridge.call_tool("m/pid")).text
    async with Bridge({"web": guarded}, auth={"web": "wrong-token"}) as bridge:
        error = bridge.health()["web"].last_error
        assert isinstance(error, HttpStatusError)
        assert "wrong-token" not in f"{error} {error.context}"


def test_a_name_in_auth_that_no_server_has_is_refused(mortal):
    with pytest.raises(UsageError) as raised:
        Bridge({"web": {"url": "http://127.0.0.1:1/mcp"}}, auth={"wev": "token"})
    assert raised.value.hint == "did you mean 'web'?"
    with pytest.raises(UsageError):
        Bridge({"m": mortal()}, auth={"m": "token"})  # it has no URL


async def test_results_must_fit_their_schemas_where_that_is_asked_for(serve, environment):
    server = StdioSpec(command=serve(SERVER), env=environment)
    async with Bridge({"s": server}, validate=True) as bridge:
        await bridge.call_tool("s/good")
        with pytest.raises(ProtocolError):
            await bridge.call_tool("s/bad")
        await bridge.call_tool("s/bad", validate=False)
    async with Bridge({"s": server}) as bridge:
        await bridge.call_tool("s/bad")
        with pytest.raises(ProtocolError):
            await bridge.call_tool("s/bad", validate=True)


async def test_functions_answer_the_servers_as_those_of_connect_do(environment):
    def sample(request: SamplingRequest) -> str:
        return f"at most {request.max_tokens}"

    async def fill_in(request: ElicitationRequest) -> dict[str, str]:
        return dict.fromkeys(request.schema["properties"], "ada@example.org")

    file = ROOT / "examples" / "servers" / "conformance.yaml"
    command = (sys.executable, "-m", "mcp_conductor", "serve", str(file), "--transport", "stdio")
    async with Bridge(
        {"c": StdioSpec(command=command, env=environment)}, sampling=sample, elicitation=fill_in
    ) as bridge:
        assert "at most 100" in (await bridge.call_tool("c/test_sampling", {"prompt": "x"})).text
        assert "ada@example.org" in (await bridge.call_tool("c/test_elicitation", {"message": "Who?"})).text


async def test_a_tool_can_be_called_by_every_name_that_models_are_given(mortal):
    async with Bridge({"one": mortal(), "my server": mortal()}) as bridge:
        pid = (await bridge.call_tool("one/pid")).text
        assert (await bridge.call_tool("one__pid")).text == pid
        assert "x" in (await bridge.get_prompt("one__ask", {"what": "x"})).messages[0].text
        changed = [tool["name"] for tool in await bridge.tools_for("anthropic") if tool["name"].startswith("my_server")]
        for name in changed:
            if name.startswith("my_server__pid"):
                assert (await bridge.call_tool(name)).text != pid


async def test_a_tool_that_is_named_without_its_server_is_refused_with_its_whole_name(mortal):
    async with Bridge({"one": mortal()}) as bridge:
        with pytest.raises(UsageError) as raised:
            await bridge.call_tool("pid")
    assert raised.value.hint == "did you mean 'one/pid'?"
