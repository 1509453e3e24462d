"""The file that a server is made from, understood completely before anything is served.

Its format is that of the Inspector's composable server, with inline definitions and faults on top. Mistakes are errors
that name the file, the line, the column and the nearest known name.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes, read_all
from mcp_conductor.files.source import load as load_source
from mcp_conductor.plugins import load_those_of, with_plugins
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, HANDSHAKE, MODERN
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.server import inline
from mcp_conductor.server.config import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    POLL_INTERVAL_MS,
    TRANSPORTS,
    ServerConfig,
    TransportConfig,
    TransportType,
)
from mcp_conductor.server.definitions import Definition, Resource, Template, Tool
from mcp_conductor.server.faults import read as read_fault
from mcp_conductor.server.params import checked_params, make_with
from mcp_conductor.server.presets import MEMBERS, PRESETS, Kind
from mcp_conductor.server.presets.described import described
from mcp_conductor.values import dataclass

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
    "plugins",
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
_HTTP_ONLY = TRANSPORT_KEYS[1:]
_NO_TRANSPORT = (TransportConfig(type="stdio"), tuple(DIALECTS), False)  # where the transport in the file is not valid


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
    mistakes = Mistakes()
    root = Field.root(load_source(path, json=json), environ, mistakes)
    if isinstance(root.value, dict) and "plugins" in root.value:
        load_those_of(root.member("plugins", root.value["plugins"]), os.path.dirname(path))  # before it is read
    return read(root, over, mistakes)


def read(root: Field, over: Overrides, mistakes: Mistakes | None = None) -> ServerConfig:
    """The server that the document at ROOT describes; MISTAKES have been made in it already, if any have."""
    mistakes = Mistakes() if mistakes is None else mistakes
    if root.value is None:
        root.refuse("is empty", "a server has at least serverInfo and transport")
    if isinstance(root.value, dict) and "tests" in root.value and "serverInfo" not in root.value:
        root.refuse("is a file of tests, not of a server", f"conductor test {root.document.file}")
    given = root.members(KEYS, mistakes=mistakes)
    unsure = bool(mistakes)  # a key that is not known may be one that is required
    extension = given.get("tasksExtension")

    def switch(key: str) -> bool:
        return mistakes.read(given.get(key), Field.boolean, otherwise=False)

    def definitions(key: str, written_out: Callable[[Field], Any]) -> tuple[Any, ...]:
        return mistakes.read(given.get(key), lambda field: _definitions(field, key, written_out), ())

    transport, versions, inject = mistakes.read(
        None if unsure and "transport" not in given else root,
        lambda field: _transport(field, given.get("transport"), over),
        _NO_TRANSPORT,
    )
    tasks, poll_interval = mistakes.read(given.get("tasks"), _tasks, (None, POLL_INTERVAL_MS))
    tools = definitions("tools", inline.tool)
    config = ServerConfig(
        info=mistakes.read(
            None if unsure and "serverInfo" not in given else root,
            lambda field: _info(field, given.get("serverInfo")),
            {},
        ),
        transport=transport,
        instructions=mistakes.read(given.get("instructions"), Field.text, None),
        tools=mistakes.read(extension, lambda field: _with_extension_tools(tools, field), tools),
        resources=definitions("resources", inline.resource),
        templates=definitions("resourceTemplates", inline.template),
        prompts=definitions("prompts", inline.prompt),
        logging=switch("logging"),
        list_changed=mistakes.read(given.get("listChanged"), lambda field: _switches(field, _LISTS), frozenset()),
        subscriptions=switch("subscriptions"),
        tasks=tasks,
        poll_interval=poll_interval,
        tasks_extension=extension is not None and extension.value is not False,
        page_sizes=mistakes.read(given.get("maxPageSize"), _page_sizes, {}),
        versions=mistakes.read(given.get("protocolVersions"), _versions, versions),
        inject_spec_errors=inject,
        faults=mistakes.read(given.get("faults"), lambda field: tuple(read_all(read_fault, field.items())), ()),
        seed=mistakes.read(given.get("seed"), Field.integer, 0),
    )
    mistakes.tell()
    return config


def _info(root: Field, info: Field | None) -> Json:
    hint = "serverInfo: {name: …, version: …}"
    if info is None:
        root.refuse("has no serverInfo: serverInfo.name and serverInfo.version are required", hint)
    mistakes = Mistakes()
    known = info.members(INFO_KEYS, mistakes=mistakes)
    for key in ("name", "version"):
        if key not in known and not mistakes:
            mistakes.add(info.mistake(f"has no {key}: serverInfo.name and serverInfo.version are required", hint))
        mistakes.read(known.get(key), _word, "")
    mistakes.tell()
    described: Json = info.value
    return described


def _word(given: Field) -> str:
    if isinstance(given.value, (int, float)):
        given.refuse("must be a string, not a number", f'put it in quotes: "{given.value}"')
    if not given.text():
        given.refuse("must not be empty")
    return given.text()


def _transport(root: Field, given: Field | None, over: Overrides) -> tuple[TransportConfig, tuple[str, ...], bool]:
    if given is None and over.transport is None:
        root.refuse("has no transport: transport.type is required", "transport: {type: stdio}")
    mistakes = Mistakes()
    known = {} if given is None else given.members(TRANSPORT_KEYS, mistakes=mistakes)
    if given is not None and "type" not in known and over.transport is None:
        mistakes.tell()
        given.refuse("has no type: transport.type is required", f"one of {', '.join(TRANSPORTS)}")
    kind: Any = over.transport or mistakes.read(known["type"], lambda field: field.one_of(TRANSPORTS), "")
    if kind == "stdio" and over.transport is None:
        for key in _HTTP_ONLY:
            if key in known:
                hint = "leave it out, or serve over HTTP: type: streamable-http"
                mistakes.add(known[key].mistake("has no meaning for stdio", hint))
        mistakes.tell()
    if kind == "stdio":
        over.check_stdio()
    versions, stateless, inject = mistakes.read(known.get("modern"), _modern, (tuple(DIALECTS), False, False))

    def switch(key: str, *, otherwise: bool) -> bool:
        return mistakes.read(known.get(key), Field.boolean, otherwise=otherwise)

    transport = TransportConfig(
        type=kind,
        host=over.host or mistakes.read(known.get("host"), Field.text, DEFAULT_HOST),
        port=_port(known.get("port"), over, mistakes),
        path=mistakes.read(known.get("path"), _path, "/sse" if kind == "sse" else "/mcp"),
        json=switch("json", otherwise=False),
        stateless=switch("stateless", otherwise=False) or stateless,
        resumable=switch("resumable", otherwise=True),
        retry=mistakes.read(known.get("retry"), Field.integer, None),
        allowed_hosts=(*mistakes.read(known.get("allowedHosts"), _texts, ()), *over.allowed_hosts),
        allowed_origins=mistakes.read(known.get("allowedOrigins"), _texts, ()),
    )
    mistakes.tell()
    return transport, versions, inject


def _port(given: Field | None, over: Overrides, mistakes: Mistakes) -> int:
    if over.port is not None:
        return over.port
    return mistakes.read(given, lambda field: field.integer(0, 65535), DEFAULT_PORT)


def _texts(given: Field) -> tuple[str, ...]:
    return tuple(read_all(Field.text, given.items()))


def _path(given: Field) -> str:
    if not given.text().startswith("/"):
        given.refuse(f"must begin with a slash, not {given.text()!r}")
    return given.text()


def _modern(given: Field) -> tuple[tuple[str, ...], bool, bool]:
    """What the Inspector's `transport.modern` says: versions, whether sessions are off, whether errors are injected."""
    if isinstance(given.value, bool):
        return tuple(DIALECTS), False, False
    known = given.members(_MODERN_KEYS)
    legacy = known["legacy"].one_of(("stateless", "reject")) if "legacy" in known else "stateless"
    versions = MODERN if legacy == "reject" else tuple(DIALECTS)
    return versions, legacy == "stateless", _switch(known, "injectSpecErrors")


def _definitions(given: Field, key: str, written_out: Callable[[Field], Any]) -> tuple[Any, ...]:
    """All definitions of one kind: presets, arrays of presets, and those that are written out."""
    found: dict[str, Definition] = {}

    def take(entry: Field) -> None:
        for definition in _from_preset(entry, MEMBERS[key]) if _is_reference(entry) else [written_out(entry)]:
            name = _name(definition)
            if name in found:
                entry.refuse(f"makes a second {MEMBERS[key]} called {name!r}", "rename or remove one of them")
            found[name] = definition

    read_all(take, _entries(given))
    return tuple(found.values())


def _entries(given: Field) -> Iterator[Field]:
    """The elements of an array, and of the arrays in it."""
    waiting = list(reversed(given.items()))
    while waiting:
        entry = waiting.pop()
        if isinstance(entry.value, list):
            waiting += reversed(entry.items())
        else:
            yield entry


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
    found = PRESETS.find(name)
    if found is None:
        near = nearest(name, [each for each, _ in PRESETS.items()])
        hint = f"did you mean {near!r}?" if near else "conductor serve --list-presets shows them all"
        known["preset"].refuse(f"is {name!r}, which is not a preset", with_plugins(hint))
    if found.kind != kind:
        member = next(member for member, each in MEMBERS.items() if each == found.kind)
        known["preset"].refuse(f"is a preset that makes a {found.kind}, not a {kind}", f"put it under {member}")
    params = checked_params(entry, known.get("params"), found.params, f"preset {name!r}")
    made: Any = make_with(found.make, params)
    return [described(each, found) for each in (made if isinstance(made, list) else [made])]


def _name(definition: Definition) -> str:
    match definition:
        case Resource():
            return definition.uri
        case Template():
            return definition.uri_template
        case _:
            return definition.name


def _with_extension_tools(tools: tuple[Tool, ...], extension: Field) -> tuple[Tool, ...]:
    """`tasksExtension: true` brings three tools with it, as in the Inspector's server; an object declares it only."""
    if extension.value is False:
        return tools
    if extension.value is not True:
        extension.members(())
        return tools
    names = {tool.name for tool in tools}
    made = [PRESETS.get(name).make() for name in _EXTENSION_TOOLS if name not in names]
    return (*tools, *(tool for tool in made if isinstance(tool, Tool)))


def _switch(given: dict[str, Field], key: str, *, default: bool = False) -> bool:
    return given[key].boolean() if key in given else default


def _switches(given: Field, names: tuple[str, ...]) -> frozenset[str]:
    """Those of NAMES that are switched on."""
    mistakes = Mistakes()
    known = given.members(names, mistakes=mistakes)
    on = [name for name, each in known.items() if mistakes.read(each, Field.boolean, otherwise=False)]
    mistakes.tell()
    return frozenset(on)


def _tasks(given: Field) -> tuple[frozenset[str] | None, int]:
    mistakes = Mistakes()
    known = given.members(_TASK_KEYS, mistakes=mistakes)
    interval = mistakes.read(known.pop("pollInterval", None), Field.integer, POLL_INTERVAL_MS)
    on = [name for name, each in known.items() if mistakes.read(each, Field.boolean, otherwise=False)]
    mistakes.tell()
    return frozenset(on), interval


def _page_sizes(given: Field) -> dict[str, int]:
    mistakes = Mistakes()
    known = given.members(tuple(MEMBERS), mistakes=mistakes)
    sizes = {name: mistakes.read(size, lambda field: field.integer(1), 1) for name, size in known.items()}
    mistakes.tell()
    return sizes


def _versions(given: Field) -> tuple[str, ...]:
    asked = read_all(lambda item: item.one_of(tuple(DIALECTS)), given.items())
    if not asked:
        given.refuse("must name at least one version", f"there are {', '.join((*HANDSHAKE, *MODERN))}")
    return tuple(version for version in DIALECTS if version in asked)
