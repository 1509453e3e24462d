"""The file that a server is made from, understood completely before anything is served.

Its format is that of the Inspector's composable server, with inline definitions and faults on top. Mistakes are errors
that name the file, the line, the column and the nearest known name.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.fields import Field
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, HANDSHAKE, MODERN
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.server import inline
from mcp_conductor.server.definitions import Definition, Prompt, Resource, Template, Tool
from mcp_conductor.server.faults import Fault, read as read_fault
from mcp_conductor.server.params import checked, used
from mcp_conductor.server.presets import MEMBERS, PRESETS, Kind
from mcp_conductor.source import load as load_source

TRANSPORTS = ("stdio", "streamable-http", "sse")
TransportType = Literal["stdio", "streamable-http", "sse"]
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 3000

KEYS = (
    "$schema",
    "serverInfo",
    "instructions",
    "tools",
    "resources",
    "resourceTemplates",
    "prompts",
    "logging",
    "listChanged",
    "subscriptions",
    "tasks",
    "tasksExtension",
    "maxPageSize",
    "protocolVersions",
    "transport",
    "faults",
    "seed",
)
INFO_KEYS = ("name", "version", "title", "description", "websiteUrl", "icons")
TRANSPORT_KEYS = (
    "type",
    "host",
    "port",
    "path",
    "json",
    "stateless",
    "resumable",
    "retry",
    "allowedHosts",
    "allowedOrigins",
    "modern",
    "strictPort",
)
_MODERN_KEYS = ("legacy", "injectSpecErrors")
_TASK_KEYS = ("list", "cancel", "pollInterval")
_LISTS = ("tools", "resources", "prompts")
_EXTENSION_TOOLS = ("modern_task", "modern_input_task", "modern_loop_task")
_POLL_INTERVAL_MS = 500
_HTTP_ONLY = TRANSPORT_KEYS[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportConfig:
    """How clients reach the server."""

    type: TransportType
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    path: str = "/mcp"
    json: bool = False  # answer with JSON where that is possible, not with event streams
    stateless: bool = False  # no sessions in the handshake era
    resumable: bool = True
    retry: int | None = None  # milliseconds after which a client should come back to a closed stream
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """A server, as its file describes it."""

    info: Json
    transport: TransportConfig
    instructions: str | None = None
    tools: tuple[Tool, ...] = ()
    resources: tuple[Resource, ...] = ()
    templates: tuple[Template, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    logging: bool = False
    list_changed: frozenset[str] = frozenset()
    subscriptions: bool = False
    completions: bool = False  # declared although no definition has any so far
    tasks: frozenset[str] | None = None  # which of list and cancel the tasks of 2025-11-25 have; None: no tasks
    tasks_extension: bool = False
    poll_interval: int = _POLL_INTERVAL_MS
    page_sizes: Mapping[str, int] = field(default_factory=dict)
    versions: tuple[str, ...] = tuple(DIALECTS)
    inject_spec_errors: bool = False
    faults: tuple[Fault, ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What the command line says in place of the file."""

    transport: TransportType | None = None
    host: str | None = None
    port: int | None = None
    allowed_hosts: tuple[str, ...] = ()  # besides those of the file

    def check_stdio(self) -> None:
        """Refuse what says where to listen: on stdio, nothing listens."""
        if self.host is not None or self.port is not None or self.allowed_hosts:
            flags = "--host, --port and --allow-host"
            raise UsageError(f"{flags} have no meaning for stdio", hint="add --transport streamable-http")


def load(path: str, *, environ: Mapping[str, str], json: bool | None = None, over: Overrides) -> ServerConfig:
    """Read the config at PATH; JSON tells the format where the name does not."""
    if json is None and os.path.splitext(path)[1].lower() not in (".json", ".jsonc", ".yaml", ".yml"):
        raise UsageError(
            f"cannot tell from its name whether {path} is JSON or YAML",
            hint="call it .json, .yaml or .yml, or pass --json or --yaml",
        )
    return read(Field.root(load_source(path, json=json), environ), over)


def read(root: Field, over: Overrides) -> ServerConfig:
    """The server that the document at ROOT describes."""
    if root.value is None:
        root.refuse("is empty", "a server has at least serverInfo and transport")
    if isinstance(root.value, dict) and "tests" in root.value and "serverInfo" not in root.value:
        root.refuse("is a file of tests, not of a server", f"conductor test {root.document.file}")
    given = root.members(KEYS)
    transport, versions, inject = _transport(root, given.get("transport"), over)
    tasks, poll_interval = _tasks(given.get("tasks"))
    extension = given.get("tasksExtension")
    return ServerConfig(
        info=_info(root, given.get("serverInfo")),
        transport=transport,
        instructions=given["instructions"].text() if "instructions" in given else None,
        tools=_extended(_definitions(given, "tools", inline.tool), extension),
        resources=_definitions(given, "resources", inline.resource),
        templates=_definitions(given, "resourceTemplates", inline.template),
        prompts=_definitions(given, "prompts", inline.prompt),
        logging=_switch(given, "logging"),
        list_changed=_switches(given.get("listChanged"), _LISTS),
        subscriptions=_switch(given, "subscriptions"),
        tasks=tasks,
        poll_interval=poll_interval,
        tasks_extension=extension is not None and extension.value is not False,
        page_sizes=_page_sizes(given.get("maxPageSize")),
        versions=_versions(given["protocolVersions"]) if "protocolVersions" in given else versions,
        inject_spec_errors=inject,
        faults=tuple(map(read_fault, given["faults"].items())) if "faults" in given else (),
        seed=given["seed"].integer() if "seed" in given else 0,
    )


def _info(root: Field, info: Field | None) -> Json:
    hint = "serverInfo: {name: …, version: …}"
    if info is None:
        root.refuse("has no serverInfo: serverInfo.name and serverInfo.version are required", hint)
    known = info.members(INFO_KEYS)
    for key in ("name", "version"):
        if key not in known:
            info.refuse(f"has no {key}: serverInfo.name and serverInfo.version are required", hint)
        if isinstance(known[key].value, (int, float)):
            known[key].refuse("must be a string, not a number", f'put it in quotes: "{known[key].value}"')
        if not known[key].text():
            known[key].refuse("must not be empty")
    described: Json = info.value
    return described


def _transport(root: Field, given: Field | None, over: Overrides) -> tuple[TransportConfig, tuple[str, ...], bool]:
    if given is None and over.transport is None:
        root.refuse("has no transport: transport.type is required", "transport: {type: stdio}")
    known = {} if given is None else given.members(TRANSPORT_KEYS)
    if given is not None and "type" not in known and over.transport is None:
        given.refuse("has no type: transport.type is required", f"one of {', '.join(TRANSPORTS)}")
    kind: Any = over.transport or known["type"].one_of(TRANSPORTS)
    if kind == "stdio" and over.transport is None:
        for key in _HTTP_ONLY:
            if key in known:
                known[key].refuse("has no meaning for stdio", "leave it out, or serve over HTTP: type: streamable-http")
    if kind == "stdio":
        over.check_stdio()
    versions, stateless, inject = _modern(known.get("modern"))
    texts = {
        key: tuple(item.text() for item in known[key].items()) if key in known else ()
        for key in ("allowedHosts", "allowedOrigins")
    }
    transport = TransportConfig(
        type=kind,
        host=over.host or (known["host"].text() if "host" in known else DEFAULT_HOST),
        port=_port(known, over),
        path=_path(known.get("path"), kind),
        json=_switch(known, "json"),
        stateless=stateless or _switch(known, "stateless"),
        resumable=_switch(known, "resumable", default=True),
        retry=known["retry"].integer() if "retry" in known else None,
        allowed_hosts=(*texts["allowedHosts"], *over.allowed_hosts),
        allowed_origins=texts["allowedOrigins"],
    )
    return transport, versions, inject


def _port(known: dict[str, Field], over: Overrides) -> int:
    if over.port is not None:
        return over.port
    return known["port"].integer(0, 65535) if "port" in known else DEFAULT_PORT


def _path(given: Field | None, kind: TransportType) -> str:
    if given is None:
        return "/sse" if kind == "sse" else "/mcp"
    if not given.text().startswith("/"):
        given.refuse(f"must begin with a slash, not {given.text()!r}")
    return given.text()


def _modern(given: Field | None) -> tuple[tuple[str, ...], bool, bool]:
    """What the Inspector's `transport.modern` says: versions, whether sessions are off, whether errors are injected."""
    if given is None or isinstance(given.value, bool):
        return tuple(DIALECTS), False, False
    known = given.members(_MODERN_KEYS)
    legacy = known["legacy"].one_of(("stateless", "reject")) if "legacy" in known else "stateless"
    versions = MODERN if legacy == "reject" else tuple(DIALECTS)
    return versions, legacy == "stateless", _switch(known, "injectSpecErrors")


def _definitions(given: dict[str, Field], key: str, written_out: Callable[[Field], Any]) -> tuple[Any, ...]:
    """All definitions of one kind: presets, arrays of presets, and those that are written out."""
    found: dict[str, Definition] = {}
    waiting = list(reversed(given[key].items())) if key in given else []
    while waiting:
        entry = waiting.pop()
        if isinstance(entry.value, list):
            waiting += reversed(entry.items())
            continue
        for definition in _from_preset(entry, MEMBERS[key]) if _is_reference(entry) else [written_out(entry)]:
            name = _name(definition)
            if name in found:
                entry.refuse(f"makes a second {MEMBERS[key]} called {name!r}", "rename or remove one of them")
            found[name] = definition
    return tuple(found.values())


def _is_reference(entry: Field) -> bool:
    if not isinstance(entry.value, dict):
        meant = isinstance(entry.value, str) and entry.value in PRESETS
        hint = f"write {{preset: {entry.value}}}" if meant else "{preset: NAME}, or a definition that is written out"
        entry.refuse(f"must be an object, not {kind_of(entry.value)}", hint)
    if "params" in entry.value and "preset" not in entry.value:
        entry.refuse("has params, but no preset that they are for")
    return "preset" in entry.value


def _from_preset(entry: Field, kind: Kind) -> list[Definition]:
    known = entry.members(("preset", "params"))
    name = known["preset"].text()
    if name not in PRESETS:
        near = nearest(name, [each for each, _ in PRESETS.items()])
        hint = f"did you mean {near!r}?" if near else "conductor serve --list-presets shows them all"
        known["preset"].refuse(f"is {name!r}, which is no preset", hint)
    found = PRESETS.get(name)
    if found.kind != kind:
        member = next(member for member, each in MEMBERS.items() if each == found.kind)
        known["preset"].refuse(f"is a preset that makes a {found.kind}, not a {kind}", f"put it under {member}")
    params = checked(entry, known.get("params"), found.params, f"preset {name!r}")
    made: Definition | list[Definition] = used(found.make, params)
    return made if isinstance(made, list) else [made]


def _name(definition: Definition) -> str:
    match definition:
        case Resource():
            return definition.uri
        case Template():
            return definition.uri_template
        case _:
            return definition.name


def _extended(tools: tuple[Tool, ...], extension: Field | None) -> tuple[Tool, ...]:
    """`tasksExtension: true` brings three tools with it, as in the Inspector's server; an object declares it only."""
    if extension is None or extension.value is False:
        return tools
    if extension.value is not True:
        extension.members(())
        return tools
    names = {tool.name for tool in tools}
    made = [PRESETS.get(name).make() for name in _EXTENSION_TOOLS if name not in names]
    return (*tools, *(tool for tool in made if isinstance(tool, Tool)))


def _switch(given: dict[str, Field], key: str, *, default: bool = False) -> bool:
    return given[key].boolean() if key in given else default


def _switches(given: Field | None, names: tuple[str, ...]) -> frozenset[str]:
    """Those of NAMES that are switched on."""
    known = {} if given is None else given.members(names)
    return frozenset(name for name, switch in known.items() if switch.boolean())


def _tasks(given: Field | None) -> tuple[frozenset[str] | None, int]:
    if given is None:
        return None, _POLL_INTERVAL_MS
    known = given.members(_TASK_KEYS)
    interval = known.pop("pollInterval", None)
    on = frozenset(name for name, switch in known.items() if switch.boolean())
    return on, _POLL_INTERVAL_MS if interval is None else interval.integer()


def _page_sizes(given: Field | None) -> dict[str, int]:
    known = {} if given is None else given.members(tuple(MEMBERS))
    return {name: size.integer(1) for name, size in known.items()}


def _versions(given: Field) -> tuple[str, ...]:
    asked = [item.one_of(tuple(DIALECTS)) for item in given.items()]
    if not asked:
        given.refuse("must name at least one version", f"there are {', '.join((*HANDSHAKE, *MODERN))}")
    return tuple(version for version in DIALECTS if version in asked)
