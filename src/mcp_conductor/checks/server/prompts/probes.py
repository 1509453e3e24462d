"""Prompts: the capability, arguments, and what is refused."""

from collections.abc import AsyncIterator

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.replies import completed, error_code
from mcp_conductor.checks.engine.shapes import (
    declared_faults,
    served_faults,
)
from mcp_conductor.protocol.dialect import INVALID_PARAMS
from mcp_conductor.report.model import Finding

NO_SUCH_PROMPT = "conductor_no_such_prompt"
MOST_PROMPTS = 5  # that are tried with wrong arguments


@probed("prompts-capability-declared")
async def prompts_are_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Call prompts/list: prompts come only if the capability is declared, and the method exists if it is."""
    async for finding in declared_faults(probe, "prompts/list", "prompts"):
        yield finding


@probed("prompts-list-served", needs="prompts")
async def the_list_is_served(probe: Probe) -> AsyncIterator[Finding]:
    """Call prompts/list: the reply is a result."""
    async for finding in served_faults(probe, "prompts/list"):
        yield finding


# Arguments.


def _with_arguments(probe: Probe, *, required: bool = False) -> list[tuple[str, list[str]]]:
    """Prompts that have arguments, or required ones, with the names of these."""
    found: list[tuple[str, list[str]]] = []
    for prompt in probe.found.prompts:
        listed = prompt.get("arguments")
        arguments = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        wanted = [each for each in arguments if not required or each.get("required") is True]
        names = [each["name"] for each in wanted if isinstance(each.get("name"), str)]
        if names and isinstance(prompt.get("name"), str):
            found.append((prompt["name"], names))
    if not found:
        raise NotSeen(f"no prompt has {'required ' if required else ''}arguments")
    return found[:MOST_PROMPTS]


@probed("prompts-arguments-applied", needs="prompts", follows="prompts-get-messages")
async def arguments_change_the_messages(probe: Probe) -> AsyncIterator[Finding]:
    """Get prompts twice, with different arguments: the messages differ too."""
    seen = False
    for name, arguments in _with_arguments(probe):
        replies = []
        for word in ("conductor-one", "conductor-two"):
            params = {"name": name, "arguments": dict.fromkeys(arguments, word)}
            replies.append(await probe.ask("prompts/get", params))
        first, second = (completed(reply) for reply in replies)
        if first is not None and second is not None:
            seen = True
            if first.get("messages") == second.get("messages"):
                told = f"prompt {name!r}: different arguments lead to the same messages"
                yield fault(told, replies[1].raw, beside=[replies[0].raw])
    if not seen:
        raise NotSeen("no prompt takes any text as its arguments")


@probed("prompts-unknown-name", needs="prompts")
async def unknown_prompts_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Get a prompt that does not exist: the error has the code -32602."""
    reply = await probe.ask("prompts/get", {"name": NO_SUCH_PROMPT})
    if error_code(reply) != INVALID_PARAMS:
        yield fault(f"an unknown prompt is not refused with {INVALID_PARAMS}", reply.raw)


@probed("prompts-missing-argument", needs="prompts")
async def missing_arguments_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Get a prompt without its required arguments: the error has the code -32602."""
    for name, _ in _with_arguments(probe, required=True):
        reply = await probe.ask("prompts/get", {"name": name, "arguments": {}})
        if error_code(reply) != INVALID_PARAMS:
            yield fault(
                f"prompt {name!r}: a request without its required arguments is not refused with {INVALID_PARAMS}",
                reply.raw,
            )


@probed("prompts-arguments-validated", needs="prompts")
async def arguments_must_be_texts(probe: Probe) -> AsyncIterator[Finding]:
    """Get a prompt with arguments that are not strings: the reply is an error."""
    for name, arguments in _with_arguments(probe):
        reply = await probe.ask("prompts/get", {"name": name, "arguments": dict.fromkeys(arguments, 42)})
        if reply.kind == "result":
            yield fault(
                f"prompt {name!r}: a number is accepted as an argument, but only strings are allowed", reply.raw
            )
