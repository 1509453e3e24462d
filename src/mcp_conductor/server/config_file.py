"""The file that a server is made from, understood completely before anything is served.

Its format is that of the Inspector's composable server, with inline definitions and faults on top. Mistakes are errors
that name the file, the line, the column and the nearest known name.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes, read_all
from mcp_conductor.files.source import load as load_source
from mcp_conductor.plugins import is_ours, load_those_of, with_plugins
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, HANDSHAKE, MODERN
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.server import inline
from mcp_conductor.server.config import POLL_INTERVAL_MS, ServerConfig
from mcp_conductor.server.config_sense import contradictions, unheard
from mcp_conductor.server.config_warnings import warnings
from mcp_conductor.server.definitions import Definition, Resource, Template, Tool
from mcp_conductor.server.fault_file import read_fault, unknown_targets, without_means
from mcp_conductor.server.params import checked_params, make_with
from mcp_conductor.server.presets import MEMBERS, PRESETS, Kind
from mcp_conductor.server.presets.described import described
from mcp_conductor.server.transport_file import Overrides, Reach, read_reach

# The keys of a file, and what the manual says of them.
KEYS = {
    "$schema": "for editors",
    "serverInfo": "name and version; title, description, websiteUrl and icons may stand here too (required)",
    "instructions": "what a client should know",
    "tools": "presets, and tools of your own",
    "resources": "presets, and resources of your own",
    "resourceTemplates": "presets, and templates of your own",
    "prompts": "presets, and prompts of your own",
    "duplicateToolNames": "tools that are listed a second time under the same name, which no server should do",
    "extensionGatedTools": "tools that only clients see that declare an extension: its name, and the tool",
    "logging": "whether log messages are sent, and logging/setLevel is served",
    "listChanged": "of which lists the server says that they have changed: tools, resources, prompts",
    "subscriptions": "whether clients can subscribe to resources",
    "tasks": "tasks of the handshake era: list, cancel, pollInterval",
    "tasksExtension": "tasks as the extension of the modern era; true adds three tools that show them",
    "state": "shared by all clients, or perSession",
    "maxPageSize": "how many items a page of each list has",
    "protocolVersions": "the revisions that are served; default: those of the eras that transport.modern chooses",
    "transport": "how clients reach the server (required)",
    "faults": "what goes wrong on purpose",
    "seed": "for faults that strike by chance",
    "plugins": "Python files and packages with presets, steps and faults of your own",
}
STATES = ("shared", "perSession")
INFO_KEYS = ("name", "version", "title", "description", "websiteUrl", "icons")
_TASK_KEYS = ("list", "cancel", "pollInterval")
_LISTS = ("tools", "resources", "prompts")
_ADDING = ("add_tool", "add_resource", "add_prompt")
_EXTENSION_TOOLS = ("modern_task", "modern_input_task", "modern_loop_task")


def load(path: str, *, environ: Mapping[str, str], json: bool | None = None, over: Overrides) -> ServerConfig:
    """Read the config at PATH; JSON tells the format where the name does not."""
    if json is None:
        insist_on_a_known_format(path, "call it .json, .yaml or .yml, or pass --input-format json or yaml")
    mistakes = Mistakes()
    root = Field.root(load_source(path, json=json), environ, mistakes)
    if isinstance(root.value, dict) and "plugins" in root.value:
        load_those_of(root.member("plugins", root.value["plugins"]), os.path.dirname(path))  # before it is read
    return read(root, over, mistakes)


def insist_on_a_known_format(path: str, hint: str) -> None:
    """Refuse PATH, with HINT, if its name does not tell whether it is JSON or YAML."""
    if os.path.splitext(path)[1].lower() not in (".json", ".jsonc", ".yaml", ".yml"):
        raise UsageError(f"cannot tell from its name whether {path} is JSON or YAML", hint=hint)


def read(root: Field, over: Overrides, mistakes: Mistakes | None = None) -> ServerConfig:
    """The server that the document at ROOT describes; MISTAKES have been made in it already, if any have."""
    mistakes = Mistakes() if mistakes is None else mistakes
    if root.value is None:
        root.refuse("is empty", "a server has at least serverInfo and transport")
    if isinstance(root.value, dict) and "tests" in root.value and "serverInfo" not in root.value:
        root.refuse("is a file of tests, not of a server", f"conductor test {root.document.file}")
    given = root.members(tuple(KEYS), mistakes=mistakes)
    unsure = bool(mistakes)  # a key that is not known may be one that is required
    extension = given.get("tasksExtension")

    def switch(key: str) -> bool:
        return mistakes.read(given.get(key), Field.boolean, otherwise=False)

    def definitions(key: str, written_out: Callable[[Field], Any]) -> tuple[Any, ...]:
        return mistakes.read(given.get(key), lambda field: _definitions(field, key, written_out), ())

    reach = mistakes.read(
        None if unsure and "transport" not in given else root,
        lambda field: read_reach(field, given.get("transport"), over),
        Reach(),
    )
    tasks, poll_interval = mistakes.read(given.get("tasks"), _tasks, (None, POLL_INTERVAL_MS))
    tools = definitions("tools", inline.tool)
    names = None if mistakes else tuple(tool.name for tool in tools)  # what is wrong may be one of them
    config = ServerConfig(
        info=mistakes.read(
            None if unsure and "serverInfo" not in given else root,
            lambda field: _info(field, given.get("serverInfo")),
            {},
        ),
        transport=reach.transport,
        instructions=mistakes.read(given.get("instructions"), Field.text, None),
        tools=mistakes.read(extension, lambda field: _with_extension_tools(tools, field), tools),
        resources=definitions("resources", inline.resource),
        templates=definitions("resourceTemplates", inline.template),
        prompts=definitions("prompts", inline.prompt),
        listed_twice=mistakes.read(
            given.get("duplicateToolNames"), lambda field: _listed_twice(field, names), frozenset()
        ),
        gates=mistakes.read(given.get("extensionGatedTools"), lambda field: _gates(field, names), {}),
        logging=switch("logging"),
        list_changed=mistakes.read(given.get("listChanged"), lambda field: _switches(field, _LISTS), frozenset()),
        subscriptions=switch("subscriptions"),
        tasks=tasks,
        poll_interval=poll_interval,
        tasks_extension=extension is not None and extension.value is not False,
        state_per_session=mistakes.read(given.get("state"), lambda field: field.one_of(STATES), STATES[0]) != STATES[0],
        page_sizes=mistakes.read(given.get("maxPageSize"), _page_sizes, {}),
        versions=mistakes.read(given.get("protocolVersions"), _versions, reach.versions),
        inject_spec_errors=reach.injects_errors,
        faults=mistakes.read(given.get("faults"), lambda field: tuple(read_all(read_fault, field.items())), ()),
        seed=mistakes.read(given.get("seed"), Field.integer, 0),
    )
    told = [] if mistakes else [*warnings(given, config), *unheard(given, config)]
    for problem in () if mistakes else contradictions(given, config):
        mistakes.add(problem)
    if not mistakes and config.faults:
        for problem in without_means(given["faults"], config):
            told.append(problem) if over.transport else mistakes.add(problem)
        for problem in unknown_targets(given["faults"], config):
            told.append(problem) if _may_grow(root.value) else mistakes.add(problem)
    mistakes.tell()
    return replace(config, warnings=tuple(told))


def _may_grow(part: Any) -> bool:
    """Whether a server with PART in its file could have more, some time, than the file names."""
    match part:
        case list():
            return any(_may_grow(each) for each in part)
        case dict():
            made = PRESETS.find(part["preset"]) if isinstance(part.get("preset"), str) else None
            adds = made is not None and (made.name in _ADDING or not is_ours(made.make))
            return adds or "add_resource" in part or any(_may_grow(each) for each in part.values())
    return False


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


def _tool_name(given: Field, names: tuple[str, ...] | None) -> str:
    """The name of one of the tools; any name, if they are not known."""
    if names is not None and given.text() not in names:
        near = nearest(given.text(), names)
        hint = f"did you mean {near!r}?" if near else f"known here: {', '.join(names)}" if names else None
        given.refuse(f"is {given.text()!r}, which is not a tool of this server", hint)
    return given.text()


def _listed_twice(given: Field, names: tuple[str, ...] | None) -> frozenset[str]:
    return frozenset(read_all(lambda item: _tool_name(item, names), given.items()))


def _gates(given: Field, names: tuple[str, ...] | None) -> dict[str, frozenset[str]]:
    """Which extensions open each tool."""
    extensions = given.members()
    opened = read_all(lambda tool: _tool_name(tool, names), extensions.values())
    gates: dict[str, frozenset[str]] = {}
    for extension, name in zip(extensions, opened, strict=True):
        gates[name] = gates.get(name, frozenset()) | {extension}
    return gates


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
