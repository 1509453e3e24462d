"""An agent: the tools of three servers, a loop, and functions that answer what the servers ask.

The model is a script, so that this runs without a key. A real one takes its place: `complete` gets the messages and the
tools in the form of its vendor, and returns what the model said.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, Literal, Protocol

from mcp_conductor import Bridge, ElicitationRequest, Refused, SamplingRequest

Json = dict[str, Any]
Vendor = Literal["openai", "anthropic"]
EXAMPLES = Path(__file__).parents[1]
CONDUCTOR = [sys.executable, "-m", "mcp_conductor", "serve"]
SERVERS: dict[str, list[str]] = {
    "books": [sys.executable, str(EXAMPLES / "bookshelf.py")],
    "demo": [*CONDUCTOR, str(EXAMPLES / "servers" / "demo.json")],
    "asking": [*CONDUCTOR, str(EXAMPLES / "servers" / "conformance.yaml"), "--transport", "stdio"],
}
MOST_TURNS = 10


class Model(Protocol):
    """What the loop needs of a language model."""

    async def complete(self, messages: list[Json], tools: list[Json]) -> Json:
        """The next message of the model, in the form of its vendor."""
        ...


async def run(bridge: Bridge, model: Model, vendor: Vendor, task: str) -> str:
    """Let MODEL work on TASK with all tools of BRIDGE; what it says at the end."""
    tools = await bridge.tools_for(vendor)
    messages: list[Json] = [{"role": "user", "content": task}]
    for _ in range(MOST_TURNS):
        said = await model.complete(messages, tools)
        messages.append(said)
        calls = tool_calls(said, vendor)
        if not calls:
            return last_text(said, vendor)
        results = await asyncio.gather(*(bridge.dispatch(call) for call in calls))
        # OpenAI takes each result as a message, Anthropic all of them in one message of the user.
        messages += results if vendor == "openai" else [{"role": "user", "content": list(results)}]
    return "the model did not come to an end"


def tool_calls(said: Json, vendor: Vendor) -> list[Json]:
    if vendor == "openai":
        calls: list[Json] = said.get("tool_calls") or []
        return calls
    return [block for block in said["content"] if block["type"] == "tool_use"]


def last_text(said: Json, vendor: Vendor) -> str:
    return str(said["content"] if vendor == "openai" else said["content"][-1]["text"])


# What the servers ask.


async def sample(request: SamplingRequest) -> str:
    """A server wants a text of the model: here, it gets its own question back."""
    return f"you asked: {request.messages[-1].text}"


def fill_in(request: ElicitationRequest) -> Json:
    """A server wants something of the user."""
    if "password" in request.message.lower():
        raise Refused("no passwords")
    return dict.fromkeys(request.schema.get("properties", {}), "ada")


# The script in place of a model.


class ScriptedModel:
    """Calls these tools, one after the other, and then tells the results."""

    def __init__(self, vendor: Vendor, calls: list[tuple[str, Json]]) -> None:
        self._vendor = vendor
        self._calls = list(enumerate(calls))

    async def complete(self, messages: list[Json], tools: list[Json]) -> Json:
        offered = {tool["function"]["name"] if self._vendor == "openai" else tool["name"] for tool in tools}
        if not self._calls:
            return self._say(f"{len(offered)} tools; {self._last(messages)}")
        number, (name, arguments) = self._calls.pop(0)
        assert name in offered, f"{name} is not among {sorted(offered)}"
        return self._call(f"call_{number}", name, arguments)

    def _call(self, identity: str, name: str, arguments: Json) -> Json:
        if self._vendor == "openai":
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"id": identity, "type": "function", "function": function}
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        call = {"type": "tool_use", "id": identity, "name": name, "input": arguments}
        return {"role": "assistant", "content": [call]}

    def _say(self, text: str) -> Json:
        content = text if self._vendor == "openai" else [{"type": "text", "text": text}]
        return {"role": "assistant", "content": content}

    def _last(self, messages: list[Json]) -> str:
        """What the last tool answered."""
        content = messages[-1]["content"]
        return str(content if self._vendor == "openai" else content[0]["content"][0]["text"])


SCRIPT: list[tuple[str, Json]] = [
    ("books__find_books", {"text": "darkness"}),
    ("asking__test_elicitation", {"message": "Who are you?"}),
    ("demo__add", {"a": "two", "b": 40}),
    ("asking__test_sampling", {"prompt": "What is 2 + 40?"}),
]


async def main() -> None:
    async with Bridge(SERVERS, sampling=sample, elicitation=fill_in) as bridge:
        for vendor in VENDORS:
            print(f"{vendor}: {await run(bridge, ScriptedModel(vendor, SCRIPT), vendor, 'Find a book')}")


VENDORS: tuple[Vendor, ...] = ("openai", "anthropic")

if __name__ == "__main__":
    asyncio.run(main())
