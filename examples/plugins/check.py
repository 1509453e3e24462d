"""Checks of our own, with their requirements: a judge of what was said, and a probe that asks."""

from collections.abc import AsyncIterator, Iterator

from mcp_conductor import Finding, NotSeen, Probe, Record, check


@check(
    "acme-tool-title",
    level="SHOULD",
    text="Every tool of ours has a title, for people.",
    since="2025-06-18",
    group="acme",
    needs="tools",
    remedy="Add `title` to the tool.",
)
def tools_have_titles(record: Record) -> Iterator[Finding]:
    """Looks for the title of every tool in all answers to tools/list."""
    for path, tool in record.items("tools/list", "tools"):
        if "title" not in tool:
            yield Finding(message=f"the tool {tool['name']!r} has no title", path=path, actual=tool)


@check(
    "acme-version-tool",
    level="MUST",
    text="A server of ours has a tool that tells its version.",
    group="acme",
    needs="tools",
    remedy="Add a tool called `version` without arguments.",
)
async def tells_its_version(probe: Probe) -> AsyncIterator[str]:
    """Calls the tool `version`, and expects a text."""
    reply = await probe.ask("tools/call", {"name": "version", "arguments": {}})
    if reply.kind != "result" or reply.result.get("isError"):
        yield "tools/call of `version` is not answered with a result"
    elif not reply.result.get("content"):
        raise NotSeen("the tool `version` says nothing")
