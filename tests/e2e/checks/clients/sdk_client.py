"""The client of the official Python SDK: it lists what there is, calls what it finds, and ends.

usage: sdk_client.py MODE (URL | COMMAND …); MODE is what the SDK calls a mode: auto, legacy, or a revision
"""

import sys

import anyio
from mcp import Client, StdioServerParameters, types


async def sample(context, params):
    content = types.TextContent(type="text", text="Paris")
    return types.CreateMessageResult(role="assistant", content=content, model="m", stop_reason="endTurn")


async def elicit(context, params):
    if getattr(params, "mode", "form") == "url":
        return types.ElicitResult(action="decline")
    return types.ElicitResult(action="accept", content={"name": "Anna", "age": 30, "colour": "green"})


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///home", name="home")])


async def everything(list_them, member):
    found, page = [], await list_them()
    asked = set()
    while True:
        found += getattr(page, member)
        if page.next_cursor is None or page.next_cursor in asked:
            return found
        asked.add(page.next_cursor)
        page = await list_them(cursor=page.next_cursor)


def arguments(tool):
    properties = tool.input_schema.get("properties", {})
    return {name: each["default"] for name, each in properties.items() if isinstance(each, dict) and "default" in each}


async def main():
    mode, *words = sys.argv[1:]
    server = words[0] if words[0].startswith("http") else StdioServerParameters(command=words[0], args=words[1:])
    callbacks = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}
    async with Client(server, mode=mode, **callbacks) as client:
        for tool in await everything(client.list_tools, "tools"):
            if tool.execution and tool.execution.task_support == "required":
                continue
            result = await client.call_tool(tool.name, arguments(tool))
            print(*(getattr(item, "text", "") for item in result.content), flush=True)
        if client.server_capabilities.resources:
            for resource in await everything(client.list_resources, "resources"):
                await client.read_resource(str(resource.uri))
            await everything(client.list_resource_templates, "resource_templates")
        if client.server_capabilities.prompts:
            for prompt in await everything(client.list_prompts, "prompts"):
                await client.get_prompt(prompt.name, {each.name: "Anna" for each in prompt.arguments or []})


anyio.run(main)
