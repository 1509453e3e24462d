import pytest
from tests.unit.server.harness import ERAS, HANDSHAKE, MODERN, Conversation, made, text_of

from mcp_conductor.protocol.http_headers import annotations_of

TRIGGERS = {
    "trigger_header_mismatch": ("Returns -32020 HeaderMismatch (HTTP 400)", -32020),
    "trigger_missing_capability": ("Returns -32021 MissingRequiredClientCapability (HTTP 400)", -32021),
    "trigger_unsupported_version": ("Returns -32022 UnsupportedProtocolVersion (HTTP 400)", -32022),
    "trigger_method_not_found": ("Returns -32601 MethodNotFound (HTTP 404)", -32601),
    "trigger_invalid_params": ("Returns a generic -32602 Invalid params (not an unknown tool)", -32602),
}


async def test_get_weather_wants_its_city_in_a_header():
    talk = Conversation("get_weather", version=MODERN)
    listed = await talk.listed()
    assert listed["inputSchema"]["properties"] == {
        "city": {"type": "string", "description": "City name", "x-mcp-header": "City"}
    }
    assert annotations_of(listed["inputSchema"]) == {("city",): "City"}
    assert text_of(await talk.call("get_weather", {"city": "Rome"})) == "Weather in Rome: sunny, 24°C"


async def test_invalid_header_tool_is_listed_with_an_annotation_that_is_not_allowed():
    talk = Conversation("invalid_header_tool", version=MODERN)
    listed = await talk.listed()
    assert listed["inputSchema"]["properties"]["value"]["x-mcp-header"] == "Bad Header"
    assert annotations_of(listed["inputSchema"]) is None
    assert text_of(await talk.call("invalid_header_tool", {"value": "x"})) == "should have been excluded"


@pytest.mark.parametrize("name", TRIGGERS)
async def test_a_trigger_does_nothing_unless_it_is_on(name):
    talk = Conversation(name, version=MODERN)
    assert (await talk.listed())["description"] == TRIGGERS[name][0]
    assert text_of(await talk.call(name)) == f"({name}) injector disabled — no error returned"


@pytest.mark.parametrize("version", ERAS)
@pytest.mark.parametrize("name", TRIGGERS)
async def test_a_trigger_refuses_where_the_config_injects_errors(name, version):
    talk = Conversation(name, version=version, inject_spec_errors=True)
    assert (await talk.error("tools/call", {"name": name}))["code"] == TRIGGERS[name][1]


@pytest.mark.parametrize("name", TRIGGERS)
async def test_a_trigger_can_be_switched_for_itself(name):
    on, off = Conversation(*made(name, enabled=True)), Conversation(*made(name, enabled=False), inject_spec_errors=True)
    assert (await on.error("tools/call", {"name": name}))["code"] == TRIGGERS[name][1]
    assert "disabled" in text_of(await off.call(name))


async def test_the_errors_carry_the_data_that_the_specification_wants():
    talk = Conversation(*TRIGGERS, version=MODERN, versions=(HANDSHAKE, MODERN), inject_spec_errors=True)
    errors = {name: await talk.error("tools/call", {"name": name}) for name in TRIGGERS}
    assert errors["trigger_missing_capability"]["data"] == {"requiredCapabilities": {"sampling": {}}}
    assert errors["trigger_unsupported_version"]["data"] == {"supported": [HANDSHAKE, MODERN], "requested": MODERN}
    assert errors["trigger_invalid_params"]["message"] == "Invalid params: 'code' must be a positive integer"
