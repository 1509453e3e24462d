"""What initialize is answered with."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.capabilities import capability_flaws
from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.report.model import Finding

_IMPLEMENTATION: dict[str, type] = {"title": str, "description": str, "websiteUrl": str, "icons": list}


@judged("lifecycle-initialize-result-server")
def initialize_is_answered_in_full(record: Record) -> Iterator[Finding]:
    """Look at the result of initialize: protocolVersion, capabilities, and serverInfo with name and version."""
    for _, result in record.results("initialize"):
        for path, problem in _opening_flaws(result):
            yield fault(problem, result, path=path)


def _opening_flaws(result: Json) -> Iterator[tuple[str, str]]:
    if not isinstance(result.get("protocolVersion"), str):
        yield "protocolVersion", "protocolVersion is missing"
    yield from capability_flaws(result)
    info = result.get("serverInfo")
    if not isinstance(info, dict):
        yield "serverInfo", "serverInfo is not an object"
        return
    for member in ("name", "version"):
        if not isinstance(info.get(member), str):
            yield f"serverInfo.{member}", f"serverInfo has no {member}"


@judged("lifecycle-instructions-string")
def instructions_are_text(record: Record) -> Iterator[Finding]:
    """Look at instructions in the result of initialize, if there are any: they are a string."""
    if "instructions" not in record.opened:
        raise NotSeen("the server has no instructions")
    if not isinstance(record.opened["instructions"], str):
        yield fault(f"instructions is {kind_of(record.opened['instructions'])}, not a string", record.opened)


@judged("lifecycle-implementation-optional")
def the_server_describes_itself_in_the_right_types(record: Record) -> Iterator[Finding]:
    """Look at title, description, websiteUrl and icons of the server, where they are there: they have their types."""
    info = record.server
    if not any(member in info for member in _IMPLEMENTATION):
        raise NotSeen("the server says no more about itself than it must")
    for member, kind in _IMPLEMENTATION.items():
        if member in info and not isinstance(info[member], kind):
            yield fault(f"{member} is {kind_of(info[member])}", info, path=f"serverInfo.{member}")
