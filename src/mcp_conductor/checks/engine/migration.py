"""What a server of the handshake era lacks for the modern one, by what it declares and was seen to use.

Of a server that speaks both, it is what fails in the modern revision and not in the older. Of one that does not, it is
what the catalogue has since the modern revision, as steps: one for everything that is done at the same place.
"""

from collections.abc import Callable, Iterable, Mapping

from mcp_conductor.checks.engine.check import CHECKS
from mcp_conductor.checks.engine.judging import Options, asked_for
from mcp_conductor.checks.engine.record import Traits
from mcp_conductor.checks.requirements import Requirement
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import HANDSHAKE, MODERN
from mcp_conductor.report.model import Outcome
from mcp_conductor.values import dataclass


def _always(_: Traits) -> str:
    return ""


def _over_http(traits: Traits) -> str | None:
    return "" if traits.transport != "stdio" else None


def _sessions(traits: Traits) -> str | None:
    return "it gives session ids" if traits.session else None


def _asks(traits: Traits) -> str | None:
    return f"it sent {', '.join(traits.asked)}" if traits.asked else None


def _announces(traits: Traits) -> str | None:
    names = ("tools.listChanged", "prompts.listChanged", "resources.listChanged", "resources.subscribe")
    return _declared_feature(traits, *names)


def _logs(traits: Traits) -> str | None:
    return _declared_feature(traits, "logging")


def _has_tasks(traits: Traits) -> str | None:
    return _declared_feature(traits, "tasks")


def _declared_feature(traits: Traits, *names: str) -> str | None:
    found = [name for name in names if traits.declares(name)]
    return f"it declares {', '.join(found)}" if found else None


def _old_transport(traits: Traits) -> str | None:
    return "it was reached over HTTP+SSE" if traits.transport == "sse" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationStep:
    """Something to do, and the requirements that it is for."""

    name: str
    what: str
    ids: tuple[str, ...] = ()  # what their ids begin with
    groups: tuple[str, ...] = ()
    why: Callable[[Traits], str | None] = _always  # what of the server makes it necessary; None: nothing does


STEPS = (
    MigrationStep(
        name="server/discover",
        what="answer it with supportedVersions, capabilities and caching hints",
        ids=("versioning-discover-", "versioning-supported-list-", "versioning-modern-only-"),
    ),
    MigrationStep(
        name="_meta",
        what="take the revision and the client's capabilities from each request, without initialize; refuse a request "
        "without them (-32602) or in an unknown revision (-32022)",
        ids=("versioning-unsupported-", "versioning-dual-era-"),
        groups=("request-meta",),
    ),
    MigrationStep(name="resultType", what="put it into every result", ids=("versioning-resulttype-",)),
    MigrationStep(
        name="caching hints",
        what="put ttlMs and cacheScope into the results of server/discover, of all lists and of resources/read",
        groups=("caching",),
    ),
    MigrationStep(
        name="removed methods",
        what="answer initialize, ping, logging/setLevel, resources/subscribe and the like with -32601 there",
        ids=("versioning-removed-methods", "ping-removed"),
    ),
    MigrationStep(
        name="error codes",
        what="-32002 and -32042 are retired; a resource that does not exist is answered with -32602",
        ids=("resources-not-found-",),
        groups=("errors",),
    ),
    MigrationStep(
        name="Streamable HTTP",
        what="serve it in place of HTTP+SSE, which this revision does not have",
        ids=("httpm-endpoint-post",),
        why=_old_transport,
    ),
    MigrationStep(
        name="HTTP headers",
        what="compare MCP-Protocol-Version, Mcp-Method and Mcp-Name with the body; an unknown method is a 404, and a "
        "stream that the client closes is a cancellation",
        groups=("http-modern", "http"),
        why=_over_http,
    ),
    MigrationStep(
        name="no sessions",
        what="give no Mcp-Session-Id and resume no stream; state needs a name that the client passes",
        ids=("httpm-session-id-", "httpm-last-event-id-", "stateless-explicit-handles"),
        why=_sessions,
    ),
    MigrationStep(
        name="questions to the client",
        what="return them as a result with inputRequests, and take the answers from the next request; there are no "
        "requests to the client",
        ids=("stdio-no-server-requests", "httpm-no-server-requests"),
        groups=("mrtr", "elicitation"),
        why=_asks,
    ),
    MigrationStep(
        name="subscriptions/listen",
        what="send changes of lists and resources to those who listen, and only there; resources/subscribe is gone",
        ids=("tools-listchanged-", "resources-listchanged-", "prompts-listchanged-", "resources-updated-"),
        groups=("subscriptions", "cancellation"),
        why=_announces,
    ),
    MigrationStep(
        name="logging",
        what="send log messages only to requests whose _meta has a logLevel; logging/setLevel is gone",
        groups=("logging",),
        why=_logs,
    ),
    MigrationStep(
        name="tasks",
        what=f"offer them as an extension, with other methods and results than in {HANDSHAKE[-1]}",
        groups=("tasks-ext",),
        why=_has_tasks,
    ),
)
# What no server of the handshake era has to do: it is for those who use something new, or holds already.
LEFT_OUT_IDS = ("versioning-extension-", "stdio-cancel-silences-", "tools-list-", "resources-list-", "prompts-list-")
LEFT_OUT_GROUPS = ("x-mcp-header", "auth-server", "deprecation", "json-schema")


def migration(outcomes: Mapping[str, Iterable[Outcome]], traits: Mapping[str, Traits], options: Options) -> Json | None:
    """What is to be done to speak the newest modern revision, by what came of each revision that is spoken.

    None of a server to which that means nothing: it speaks no revision of the handshake era.
    """
    older, newest = next((version for version in reversed(HANDSHAKE) if version in outcomes), None), MODERN[-1]
    if older is None:
        return None
    spoken = newest in outcomes
    steps = _broken(outcomes[older], outcomes[newest]) if spoken else _new(traits.get(older), options, newest)
    return {"from": older, "to": newest, "spoken": spoken, "steps": list(steps)}


def _broken(older: Iterable[Outcome], newest: Iterable[Outcome]) -> Iterable[Json]:
    """What fails in the newest revision and not in the older."""
    known = {outcome.id for outcome in older if outcome.status in ("failed", "errored")}
    for outcome in newest:
        if outcome.status in ("failed", "errored") and outcome.id not in known:
            what = outcome.findings[0].message if outcome.findings else outcome.title
            yield {"name": outcome.id, "what": what, "ids": [outcome.id]}


def _new(traits: Traits | None, options: Options, newest: str) -> Iterable[Json]:
    """What the newest revision asks of a server with TRAITS, and no older one does."""
    if traits is None:
        return
    transport = "http" if traits.transport == "sse" else traits.transport
    new = [
        each
        for each in added_requirements(newest, options)
        if each.holds_for(newest, transport) and _applies(each, traits)
    ]
    for step in STEPS:
        reason = step.why(traits)
        ids = [each.id for each in new if step_of(each) is step]
        if reason is not None and ids:
            yield {"name": step.name, "what": step.what, **({"because": reason} if reason else {}), "ids": ids}


def added_requirements(version: str, options: Options) -> list[Requirement]:
    """The requirements on servers that begin with VERSION, and are more than a permission."""
    return [each for each in asked_for(options, "server") if each.revisions[0] == version and each.level != "MAY"]


def _applies(each: Requirement, traits: Traits) -> bool:
    needs = CHECKS.get(each.id).needs if each.id in CHECKS else None
    return needs is None or traits.declares(needs)


def step_of(each: Requirement) -> MigrationStep | None:
    """The step that a requirement belongs to, if it belongs to one: by its id, or else by its group."""
    named = next((step for step in STEPS if each.id.startswith(step.ids)), None)
    if named is not None or each.id.startswith(LEFT_OUT_IDS):
        return named
    return next((step for step in STEPS if each.group in step.groups), None)
