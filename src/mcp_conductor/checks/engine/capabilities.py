"""Capabilities of a server: what is wrong with their form, and what is served without them."""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.openings import LISTS
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.report.model import Finding

if TYPE_CHECKING:
    from mcp_conductor.checks.engine.probe import Probe

_FLAGS = {"tools": ("listChanged",), "resources": ("listChanged", "subscribe"), "prompts": ("listChanged",)}
_OBJECTS = ("experimental", "logging", "completions", "prompts", "resources", "tools", "tasks", "extensions")

# The requirements of each feature that tell of a list which is served undeclared, or declared and not served.
DECLARED = ("tools-capability-declared", "resources-capability-declared", "prompts-capability-declared")


def capability_flaws(result: Json) -> Iterator[tuple[str, str]]:
    """What is wrong with the capabilities of a server, with its path."""
    capabilities = result.get("capabilities")
    if not isinstance(capabilities, dict):
        yield "capabilities", "capabilities is not an object"
        return
    for name in _OBJECTS:
        declared = capabilities.get(name, {})
        if not isinstance(declared, dict):
            yield f"capabilities.{name}", f"the capability {name} is {kind_of(declared)}, not an object"
            continue
        for flag in _FLAGS.get(name, ()):
            if not isinstance(declared.get(flag, False), bool):
                yield f"capabilities.{name}.{flag}", f"{name}.{flag} is {kind_of(declared[flag])}, not a boolean"


async def served_undeclared(probe: "Probe") -> AsyncIterator[Finding]:
    """Features that are there although they are not declared; an empty list is none."""
    undeclared = [name for name in LISTS if not probe.declares(name)]
    if not undeclared:
        raise NotSeen("the server declares tools, resources and prompts")
    for name in undeclared:
        result = await probe.served(LISTS[name])
        if result is not None and result.get(name):
            yield fault(f"{LISTS[name]} is served, but {name} is not declared", result)
