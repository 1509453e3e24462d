"""A client on the official Python SDK that uses a server as a person would, so that there is something to record.

usage: client.py everything|filesystem|memory COMMAND [ARGS …]

    python client.py memory conductor record -o memory.jsonl -- npx @modelcontextprotocol/server-memory
    conductor discover --from memory.jsonl -o memory.test.mcp.yml
"""

import asyncio
import os
import sys
from typing import Any

import mcp_types as types
from mcp import Client, StdioServerParameters

ADA = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
CHARLES = {"name": "Charles", "entityType": "person", "observations": ["builds engines"]}
KNOWS = {"from": "Ada", "to": "Charles", "relationType": "knows"}
TALKS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "everything": [
        ("echo", {"message": "hello"}),
        ("get-sum", {"a": 2, "b": 3}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-annotated-message", {"messageType": "success"}),
        ("trigger-long-running-operation", {"duration": 0.2, "steps": 2}),
        ("trigger-sampling-request", {"prompt": "What is six by seven?", "maxTokens": 10}),
        ("trigger-elicitation-request", {}),
        ("get-roots-list", {}),
    ],
    "filesystem": [
        ("list_directory", {"path": "."}),
        ("read_text_file", {"path": "hello.txt"}),
        ("read_text_file", {"path": "hello.txt", "head": 1}),
        ("search_files", {"path": ".", "pattern": "*.txt"}),
        ("read_text_file", {"path": "none.txt"}),
    ],
    "memory": [
        ("create_entities", {"entities": [ADA, CHARLES]}),
        ("create_relations", {"relations": [KNOWS]}),
        ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["likes numbers"]}]}),
        ("search_nodes", {"query": "numbers"}),
        ("open_nodes", {"names": ["Ada", "Charles"]}),
        ("delete_entities", {"entityNames": ["Ada", "Charles"]}),
    ],
}


async def sample(_context: object, _params: object) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text="forty-two")
    return types.CreateMessageResult(role="assistant", model="a person", content=content)


async def elicit(_context: object, _params: object) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def roots(_context: object) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///shelf", "name": "shelf"}]})


async def talk(name: str, command: str, *arguments: str) -> None:
    server = StdioServerParameters(command=command, args=list(arguments), env=dict(os.environ))
    answers: dict[str, Any] = {}
    if name == "everything":
        answers = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}
    async with Client(server, mode="legacy", **answers) as client:
        await client.list_tools()
        for tool, given in TALKS[name]:
            await client.call_tool(tool, given)
        if name == "everything":
            await client.get_prompt("args-prompt", {"city": "Ulm"})
            listed = await client.list_resources()
            await client.read_resource(str(listed.resources[0].uri))


asyncio.run(talk(*sys.argv[1:]))
