"""What server/discover is answered with, types of results, and names of extensions (2026-07-28)."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.capabilities import capability_flaws
from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import list_of_texts
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.protocol.meta_keys import PREFIXED_KEY
from mcp_conductor.report.model import Finding

# server/discover.


@judged("versioning-discover-shape")
def discover_is_answered_in_full(record: Record) -> Iterator[Finding]:
    """Look at the result of server/discover: supportedVersions and capabilities in their types."""
    for _, result in record.some_results("server/discover"):
        for path, problem in _discover_flaws(result):
            yield fault(problem, result, path=path)


def _discover_flaws(result: Json) -> Iterator[tuple[str, str]]:
    if list_of_texts(result.get("supportedVersions")) is None:
        yield "supportedVersions", "supportedVersions is not an array of strings"
    yield from capability_flaws(result)


# Types of results, and extensions.


@judged("versioning-resulttype-present")
def results_have_a_type(record: Record) -> Iterator[Finding]:
    """Look at every result: resultType is there, and is a string."""
    for exchange, result in record.some_results():
        if not isinstance(result.get("resultType"), str):
            yield fault(f"the result of {exchange.request.method} has no resultType", result)


@judged("versioning-extension-ids-server", needs="extensions")
def extensions_have_prefixed_names(record: Record) -> Iterator[Finding]:
    """Look at the extensions that the server declares: each has a name with a prefix, and an object."""
    extensions = record.capabilities["extensions"]
    for name, settings in (extensions if isinstance(extensions, dict) else {}).items():
        if not PREFIXED_KEY.fullmatch(name):
            yield fault(f"{name!r} is not the name of an extension", extensions, path="capabilities.extensions")
        elif not isinstance(settings, dict):
            yield fault(f"the extension {name} is {kind_of(settings)}, not an object", extensions)
