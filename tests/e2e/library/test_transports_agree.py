"""The same operation through stdio, Streamable HTTP and HTTP+SSE gives the same result, for every request."""

import asyncio
import random
import string

import pytest
from tests.conftest import MARK
from tests.e2e.library.ten_servers import DEMO, SERVE, Served

from mcp_conductor import Bridge, MethodError
from mcp_conductor.protocol.views import View

ROUNDS = 60
WAYS = ("stdio", "streamable-http", "sse")


@pytest.fixture
def three(environment, mark, survivors):
    """The composable server, behind each transport."""
    served = {kind: Served(kind, environment) for kind in WAYS[1:]}
    stdio = {"command": SERVE[0], "args": [*SERVE[1:], DEMO], "env": {MARK: mark}, "cwd": "."}
    yield {"stdio": stdio, **{kind: {"url": each.url} for kind, each in served.items()}}
    for each in served.values():
        each.stop()
    assert survivors() == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("protocol", ["2025-11-25", "2025-06-18", "2024-11-05"])
async def test_what_is_asked_is_answered_alike_over_every_transport(three, protocol, seed):
    dice = random.Random(f"{protocol} {seed}")
    servers = {name: {**config, "protocolVersion": protocol} for name, config in three.items()}
    async with Bridge(servers) as bridge:
        assert [health.state for health in bridge.health().values()] == ["up"] * 3
        useful = 0
        for _ in range(ROUNDS):
            method, params = operation(dice)
            first, *others = await asyncio.gather(*(outcome(bridge, way, method, params) for way in WAYS))
            assert others == [first, first], (method, params)
            useful += "code" not in first and "isError" not in first
        assert useful > ROUNDS / 4


async def test_the_lists_of_a_bridge_are_alike_over_every_transport(three):
    async with Bridge(three) as bridge:
        for listed in (
            await bridge.list_tools(),
            await bridge.list_resources(),
            await bridge.list_resource_templates(),
            await bridge.list_prompts(),
        ):
            assert listed
            first, *others = ([each.raw for each in listed if each.server == way] for way in WAYS)
            assert others == [first, first]


async def outcome(bridge, way, method, params):
    """The result or the error of one operation; what a server says of its own connection is left out."""
    try:
        match method:
            case "tools/call":
                result = await bridge.call_tool(f"{way}/{params['name']}", params["arguments"])
            case "resources/read":
                result = await bridge.read_resource(f"{way}/{params['uri']}")
            case "prompts/get":
                result = await bridge.get_prompt(f"{way}/{params['name']}", params["arguments"])
            case _:
                result = await bridge.request(way, method, params)
    except MethodError as error:
        return error.error
    return result.raw if isinstance(result, View) else result


def operation(dice):
    """Something to ask: mostly sensible, sometimes not."""
    return dice.choice(
        [
            ("tools/call", {"name": "echo", "arguments": {"message": text(dice)}}),
            ("tools/call", {"name": "echo", "arguments": value(dice, 0)}),
            ("tools/call", {"name": "add", "arguments": {"a": number(dice), "b": number(dice)}}),
            ("tools/call", {"name": text(dice), "arguments": {}}),
            (
                "resources/read",
                {"uri": dice.choice(["demo://resource/static/document/architecture.md", "file:///x", text(dice)])},
            ),
            ("resources/read", {"uri": f"user://{dice.randrange(100)}"}),
            ("prompts/get", {"name": "args_prompt", "arguments": {"city": text(dice), "state": text(dice)}}),
            ("prompts/get", {"name": dice.choice(["simple_prompt", "args_prompt", "none"]), "arguments": {}}),
            ("tools/list", {"cursor": text(dice)}),
            ("ping", {}),
            (text(dice) or "x", {}),
        ]
    )


def value(dice, depth):
    """An object with anything in it."""
    return {text(dice): anything(dice, depth) for _ in range(dice.randrange(4))}


def anything(dice, depth):
    kinds = [None, True, False, number(dice), text(dice)]
    if depth < 3:
        kinds += [value(dice, depth + 1), [anything(dice, depth + 1) for _ in range(dice.randrange(3))]]
    return dice.choice(kinds)


def number(dice):
    return dice.choice([0, -1, dice.randrange(10**6), dice.randrange(10**20), dice.random(), -1.5e300, 2**53])


def text(dice):
    letters = string.ascii_letters + string.digits + " \t\n\"\\/'{}é漢😀\u2028\x01"
    return "".join(dice.choice(letters) for _ in range(dice.randrange(20)))
