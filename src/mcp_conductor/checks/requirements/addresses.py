"""Where a requirement stands in the official specification: the address of its page, or of a heading of it.

The heading of a requirement is the one below which it stands in each revision in which it holds. Pages were moved
between revisions, and some requirements follow from several sentences, from the schema or from another standard: these
have the nearest page, which is that of their group.
"""

from mcp_conductor.checks.requirements import Requirement
from mcp_conductor.protocol.dialect import DIALECTS

_SITE = "https://modelcontextprotocol.io"
_TASKS = f"{_SITE}/extensions/tasks/overview"  # an extension has no page in any revision
_TIMEOUTS = "basic/patterns/cancellation#timeouts"

_PAGES_OF_GROUPS = {
    "base": "basic",
    "errors": "basic#error-codes",
    "batching": "basic",
    "lifecycle": "basic/lifecycle",
    "versioning": "basic/versioning",
    "request-meta": "basic#meta",
    "stdio": "basic/transports#stdio",
    "sse": "basic/transports",
    "http": "basic/transports#streamable-http",
    "http-session": "basic/transports#session-management",
    "http-resume": "basic/transports#resumability-and-redelivery",
    "http-modern": "basic/transports/streamable-http",
    "x-mcp-header": "basic/transports/streamable-http#custom-headers-from-tool-parameters",
    "tools": "server/tools",
    "resources": "server/resources",
    "prompts": "server/prompts",
    "completion": "server/utilities/completion",
    "logging": "server/utilities/logging",
    "pagination": "server/utilities/pagination",
    "caching": "server/utilities/caching",
    "progress": "basic/utilities/progress",
    "cancellation": "basic/utilities/cancellation",
    "ping": "basic/utilities/ping",
    "roots": "client/roots",
    "sampling": "client/sampling",
    "elicitation": "client/elicitation",
    "mrtr": "basic/patterns/mrtr",
    "subscriptions": "basic/patterns/subscriptions",
    "tasks-core": "basic/utilities/tasks",
    "json-schema": "basic#json-schema-usage",
    "auth-server": "basic/authorization",
    "auth-client": "basic/authorization",
    "icons": "basic#icons",
    "deprecation": "deprecated",
}
# Sections of our catalogue that are headings of another name.
_HEADINGS = {
    "basic/index": "basic",
    "basic/index#_meta": "basic#meta",
    "basic/index#resulttype": "basic#result-responses",
}
_MOVED_IN_THE_FIRST = {"basic": "basic/messages"}
_MOVED_IN_THE_MODERN = {
    "basic/lifecycle": "basic/versioning",
    "basic/transports#stdio": "basic/transports/stdio",
    "basic/transports#streamable-http": "basic/transports/streamable-http",
    "basic/transports#backwards-compatibility": "basic/transports/streamable-http#backward-compatibility",
    "basic/utilities/cancellation": "basic/patterns/cancellation",
    "basic/utilities/progress": "basic/patterns/progress",
    "basic/utilities/ping": "changelog",
    "lifecycle-shutdown-stdio-client": "basic/transports/stdio#shutdown",
    "lifecycle-shutdown-stdio-server-exit": "basic/transports/stdio#shutdown",
    "lifecycle-server-initiated-shutdown": "basic/transports/stdio#shutdown",
    "lifecycle-shutdown-http-client": "basic/transports/streamable-http",
    "lifecycle-client-request-timeout": _TIMEOUTS,
    "lifecycle-client-timeout-cancels": _TIMEOUTS,
    "lifecycle-client-timeout-hard-cap": _TIMEOUTS,
    "lifecycle-client-timeout-configurable": _TIMEOUTS,
}
_ON_THE_SITE = ("basic", "server/", "client/", "changelog", "deprecated")


def address_of(requirement: Requirement, version: str) -> str:
    """Where the specification says it in this revision."""
    if requirement.group == "tasks-ext":
        return _TASKS
    page, dialect = _page_of(requirement, version), DIALECTS[version]
    if dialect.messages_page:
        page = _MOVED_IN_THE_FIRST.get(page, page)
    elif not dialect.handshake:
        page = _MOVED_IN_THE_MODERN.get(requirement.id, _MOVED_IN_THE_MODERN.get(page, page))
    heading = requirement.heading if "#" not in page else None
    return f"{_SITE}/specification/{version}/{page}" + (f"#{heading}" if heading else "")


def _page_of(requirement: Requirement, version: str) -> str:
    section = requirement.section or ""
    section = section.removeprefix(f"{version} ")  # some sections say themselves of which revision they are
    section = _HEADINGS.get(section, section).replace("basic/index#", "basic#")
    if section == "schema" and DIALECTS[version].schema_page:
        return section
    if section.startswith(_ON_THE_SITE):
        return section
    return _PAGES_OF_GROUPS[requirement.group]
