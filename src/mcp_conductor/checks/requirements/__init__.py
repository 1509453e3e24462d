"""The requirements of the specification, in our words: what must hold, for whom, since when, and how it can be seen.

They stand in `requirements.json` of each topic, in `checks/server` and `checks/client`, beside what checks them.
"""

from collections.abc import Collection, Container
from functools import cache
from json import loads

from mcp_conductor.checks.requirements.topics import texts
from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.plugins import load_packages, when_forgotten, with_plugins
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, versions_between
from mcp_conductor.values import dataclass

LEVELS = ("MUST", "SHOULD", "MAY")
SEVERITIES = ("critical", "major", "minor")
# In the order of the specification.
_GROUPS = (
    "base", "errors", "batching", "lifecycle", "versioning", "request-meta", "stdio", "sse", "http", "http-session",
    "http-resume", "http-modern", "x-mcp-header", "tools", "resources", "prompts", "completion", "logging",
    "pagination", "caching", "progress", "cancellation", "ping", "roots", "sampling", "elicitation", "mrtr",
    "subscriptions", "tasks-core", "tasks-ext", "json-schema", "icons", "auth-server", "auth-client", "deprecation",
)  # fmt: skip
_USUAL_SEVERITY = {"MUST": "major", "SHOULD": "minor", "MAY": "minor"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One sentence of the specification that can be kept or broken."""

    id: str
    group: str
    level: str
    severity: str  # critical, major or minor: what it costs to break it
    subject: str  # server or client
    revisions: tuple[str, ...]  # from `since` to `until` of the catalogue, or to the newest
    transports: tuple[str, ...]  # stdio, http, sse, or any
    statement: str
    test: str  # how it can be tested
    section: str | None
    remedy: str | None  # what the author of a server or of a client should change
    heading: str | None = None  # of the section, where that is a whole page
    unseen: str | None = None  # why it cannot be checked from outside
    plugin: str | None = None  # the file or package that it comes from, where it is none of the specification

    def holds_for(self, version: str, transport: str) -> bool:
        return version in self.revisions and ("any" in self.transports or transport in self.transports)


_of_plugins: dict[str, Requirement] = {}


def requirements() -> dict[str, Requirement]:
    """All requirements by their ids: those of the specification, and then those of plugins."""
    return {**_of_the_specification(), **_of_plugins} if _of_plugins else _of_the_specification()


def requirements_of(names: Container[str], levels: Container[str]) -> list[Requirement]:
    """Those of `requirements()` that have one of these NAMES and LEVELS; the others are not made: there are many."""
    ours = [_made(name) for name, each in _entries().items() if name in names and each["level"] in levels]
    return ours + [each for name, each in _of_plugins.items() if name in names and each.level in levels]


@cache
def _of_the_specification() -> dict[str, Requirement]:
    return {name: _made(name) for name in _entries()}


@cache
def _entries() -> dict[str, Json]:
    found = [{**row, "subject": subject} for subject, text in texts("requirements.json") for row in loads(text)]
    return {row["id"]: row for row in sorted(found, key=lambda row: _GROUPS.index(row["group"]))}


@cache
def _made(name: str) -> Requirement:
    entry = _entries()[name]
    return Requirement(
        **{
            "severity": _USUAL_SEVERITY[entry["level"]],
            **{name: value for name, value in entry.items() if name not in ("since", "until")},
            "revisions": versions_between(entry["since"], entry.get("until")),
            "transports": tuple(entry["transports"]),
        }
    )


def require(
    name: str,
    *,
    level: str,
    text: str,
    since: str | None,
    group: str,
    severity: str | None,
    plugin: str,
    remedy: str | None,
) -> None:
    """Add a requirement of a plugin, on servers; it holds in the revision SINCE and later."""
    if level not in LEVELS:
        raise TypeError(f"the level of a requirement is one of {', '.join(LEVELS)}, not {level!r}")
    if severity not in (None, *SEVERITIES):
        raise TypeError(f"the severity of a requirement is one of {', '.join(SEVERITIES)}, not {severity!r}")
    if since not in (None, *DIALECTS):
        raise TypeError(f"a requirement holds since one of {', '.join(DIALECTS)}, not {since!r}")
    known = _of_the_specification()
    if name in known or any(name == each.group for each in known.values()):
        raise TypeError(f"{name!r} is a name of the specification: begin it with the name of your project")
    if any(group in (each.group, each.id) for each in known.values()):
        raise TypeError(f"the group {group!r} is one of the specification: name it after your project")
    when_forgotten(lambda: _of_plugins.pop(name))
    _of_plugins[name] = Requirement(
        id=name,
        group=group,
        level=level,
        severity=severity or _USUAL_SEVERITY[level],
        subject="server",
        revisions=versions_between(since or next(iter(DIALECTS))),
        transports=("any",),
        statement=text,
        test="",
        section=None,
        plugin=plugin,
        remedy=remedy,
    )


def any_of_plugins() -> bool:
    """Whether a plugin that was loaded has requirements."""
    return bool(_of_plugins)


def of_plugin(name: str) -> bool:
    """Whether the requirement of this id comes from a plugin: it says nothing about the specification."""
    return name in _of_plugins


def requirement(name: str) -> Requirement:
    """The requirement of this id."""
    known = with_packages(name)
    if name not in known:
        near = nearest(name, list(known))
        raise UsageError(
            f"there is no requirement {name!r}",
            hint=with_plugins(f"did you mean {near!r}?" if near else "--list shows all"),
        )
    return known[name]


def check_names(names: Collection[str]) -> None:
    """Raise UsageError for the first of NAMES that is neither a requirement nor a group."""
    named = {name for each in with_packages(*names).values() for name in (each.id, each.group)}
    for name in names:
        if name not in named:
            near = nearest(name, sorted(named))
            hint = f"did you mean {near!r}?" if near else "--list shows all of them"
            raise UsageError(f"unknown group or requirement {name!r}", hint=with_plugins(hint))


def with_packages(*names: str) -> dict[str, Requirement]:
    """All requirements; where one of NAMES is neither a requirement nor a group, those of installed plugins too."""
    groups = {each.group for each in requirements().values()}
    if any(name not in requirements() and name not in groups for name in names):
        load_packages()
    return requirements()
