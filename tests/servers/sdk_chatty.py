"""A server on the official Python SDK that talks with its client: questions, log messages, progress, updates, links."""

import asyncio
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    EmbeddedResource,
    PromptReference,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

server = MCPServer(
    "chatty", log_level="CRITICAL", instructions=f"Talk with {sys.argv[1] if len(sys.argv) > 1 else 'me'}."
)


class Person(BaseModel):
    name: str


@server.tool()
async def ask(ctx: Context, question: str) -> str:
    """Ask the user."""
    answer = await ctx.elicit(question, Person)
    return f"{answer.action}: {answer.data.name if answer.action == 'accept' else ''}"


@server.tool()
async def sample(ctx: Context, text: str) -> str:
    """Ask the model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    answer = await ctx.session.create_message([message], max_tokens=7, related_request_id=ctx.request_id)
    return f"{answer.model}: {answer.content.text}"


@server.tool()
async def roots(ctx: Context) -> str:
    """List the roots."""
    return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)


@server.tool()
async def report(ctx: Context, steps: int) -> str:
    """Report progress, and log a message for each step."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        await ctx.log("info" if step % 2 else "error", f"step {step + 1}", logger_name="chatty")
    return "done"


@server.tool()
async def touch(ctx: Context, uri: str) -> str:
    """Say that a resource has changed."""
    await ctx.notify_resource_updated(uri)
    return "touched"


@server.tool()
def link() -> list[ResourceLink | EmbeddedResource]:
    """Name resources: one in the list, one of a template, one that is nowhere else."""
    links = [
        ResourceLink(type="resource_link", name=uri, uri=uri) for uri in ("chat://a", "chat://item/7", "chat://x/y")
    ]
    held = TextResourceContents(uri="chat://a", text="held", mimeType="text/plain")
    return [*links, EmbeddedResource(type="resource", resource=held)]


@server.tool()
async def wait(seconds: float) -> str:
    """Take a while."""
    await asyncio.sleep(seconds)
    return "waited"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("on purpose")


@server.tool()
def big(size: int) -> str:
    """A long text."""
    return "x" * size


@server.resource("chat://a")
def first() -> str:
    return "the first"


@server.resource("chat://item/{number}")
def item(number: str) -> str:
    return f"item {number}"


@server.prompt()
def greet(name: str) -> str:
    """Greet."""
    return f"Say hello to {name}"


@server.completion()
async def complete(ref, argument, context):
    from mcp_types import Completion

    kind = "prompt" if isinstance(ref, PromptReference) else "resource"
    return Completion(values=[f"{argument.value}-{kind}-{n}" for n in range(3)])


if __name__ == "__main__":
    server.run("stdio")
