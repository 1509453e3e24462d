"""The JSON Schema of a config file, for editors: made from the same tables and signatures that the file is read by."""

import inspect
import types
import typing
from collections.abc import Iterable
from typing import Any, Literal

from mcp_conductor.files.fields import FREE
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.server.config import TRANSPORTS
from mcp_conductor.server.config_file import INFO_KEYS, KEYS, STATES
from mcp_conductor.server.definitions import SCHEMA_2020_12
from mcp_conductor.server.faults import FAULTS
from mcp_conductor.server.inline import ARGUMENT_KEYS, PROMPT_KEYS, RESOURCE_KEYS, TEMPLATE_KEYS, TOOL_KEYS
from mcp_conductor.server.presets import MEMBERS, PRESETS, Kind
from mcp_conductor.server.steps import STEPS
from mcp_conductor.server.transport_file import LEGACY, MODERN_KEYS, TRANSPORT_KEYS

_CLOSED = {"patternProperties": {f"^{FREE}": True}, "additionalProperties": False}
_BOOLEAN = {"type": "boolean"}
_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 1}
_TIME = {"type": ["number", "string"], "description": "milliseconds, or a text such as 500ms or 2s"}
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}
# What is said of a key beyond its name; a key that is not here may have any value.
_KNOWN: dict[str, Json] = {
    "$schema": _TEXT,
    "instructions": _TEXT,
    "logging": _BOOLEAN,
    "subscriptions": _BOOLEAN,
    "tasksExtension": {"type": ["boolean", "object"]},
    "seed": {"type": "integer"},
    "state": {"enum": list(STATES)},
    "plugins": {"type": "array", "items": _TEXT},
    "type": {"enum": list(TRANSPORTS)},
    "host": _TEXT,
    "port": {"type": "integer", "minimum": 0, "maximum": 65535},
    "path": {"type": "string", "pattern": "^/"},
    "json": _BOOLEAN,
    "stateless": _BOOLEAN,
    "resumable": _BOOLEAN,
    "retry": {"type": "integer", "minimum": 0},
    "strictPort": _BOOLEAN,
    "name": _TEXT,
    "version": _TEXT,
    "title": _TEXT,
    "description": _TEXT,
    "uri": _TEXT,
    "uriTemplate": _TEXT,
    "mimeType": _TEXT,
    "text": _TEXT,
    "blob": _TEXT,
    "checked": _BOOLEAN,
    "required": _BOOLEAN,
    "task": {"enum": ["required", "optional"]},
    "steps": {"$ref": "#/$defs/steps"},
    "before": {"$ref": "#/$defs/steps"},
    "complete": {"type": "array", "items": _TEXT},
}
_INLINE: dict[Kind, tuple[tuple[str, ...], str]] = {
    "tool": (TOOL_KEYS, "name"),
    "resource": (RESOURCE_KEYS, "uri"),
    "resource template": (TEMPLATE_KEYS, "uriTemplate"),
    "prompt": (PROMPT_KEYS, "name"),
}


def config_schema() -> Json:
    """The schema of the whole file."""
    lists = {
        member: {"type": "array", "items": {"$ref": f"#/$defs/{_anchor(kind)}"}} for member, kind in MEMBERS.items()
    }
    return {
        "$schema": SCHEMA_2020_12,
        "title": "A server for `conductor serve`",
        **_object(KEYS, ("serverInfo", "transport")),
        "properties": {
            **_properties(KEYS),
            **lists,
            "serverInfo": _object(INFO_KEYS, ("name", "version")),
            "listChanged": _switches("tools", "resources", "prompts"),
            "tasks": _tasks(),
            "maxPageSize": {**_object(tuple(MEMBERS)), "properties": dict.fromkeys(MEMBERS, _COUNT)},
            "duplicateToolNames": {"type": "array", "items": _TEXT},
            "extensionGatedTools": {"type": "object", "additionalProperties": _TEXT},
            "protocolVersions": {"type": "array", "items": {"enum": list(DIALECTS)}, "minItems": 1},
            "transport": _transport(),
            "faults": {"type": "array", "items": {"oneOf": [_fault(name) for name in FAULTS]}},
        },
        "$defs": {**{_anchor(kind): _entry(kind) for kind in MEMBERS.values()}, "steps": _steps()},
    }


def _anchor(kind: Kind) -> str:
    """KIND as it is written in a reference."""
    return kind.replace(" ", "-")


def _properties(keys: Iterable[str]) -> Json:
    return {key: _KNOWN.get(key, {}) for key in keys}


def _object(keys: Iterable[str], required: tuple[str, ...] = ()) -> Json:
    wanted = {"required": list(required)} if required else {}
    return {"type": "object", "properties": _properties(keys), **_CLOSED, **wanted}


def _switches(*names: str) -> Json:
    return {"type": "object", "properties": dict.fromkeys(names, _BOOLEAN), **_CLOSED}


def _transport() -> Json:
    modern = _object(MODERN_KEYS)
    modern["properties"] = {"legacy": {"enum": list(LEGACY)}, "injectSpecErrors": _BOOLEAN}
    transport = _object(TRANSPORT_KEYS, ("type",))
    transport["properties"]["modern"] = {"oneOf": [_BOOLEAN, modern]}
    return transport


def _tasks() -> Json:
    switches = _switches("list", "cancel")
    switches["properties"]["pollInterval"] = {"type": "integer", "minimum": 0}
    return switches


def _entry(kind: Kind) -> Json:
    """One member of a list: a preset, an array of presets, or a definition that is written out."""
    keys, name = _INLINE[kind]
    inline = _object(keys, (name,))
    if kind == "prompt":
        inline["properties"]["arguments"] = {"type": "array", "items": _object(ARGUMENT_KEYS, ("name",))}
    presets = [_preset(each.name, each.doc, each.params) for _, each in PRESETS.items() if each.kind == kind]
    nested = {"type": "array", "items": {"$ref": f"#/$defs/{_anchor(kind)}"}}
    return {
        "if": {"type": "object", "required": ["preset"]},
        "then": {"oneOf": presets},
        "else": {"if": {"type": "array"}, "then": nested, "else": inline},
    }


def _preset(name: str, doc: str, params: dict[str, inspect.Parameter]) -> Json:
    return _reference("preset", name, doc, params, {})


def _fault(name: str) -> Json:
    act = FAULTS.get(name)
    params = dict(list(inspect.signature(act).parameters.items())[1:])
    when = {
        "method": _TEXT,
        "name": _TEXT,
        "nth": {"oneOf": [_COUNT, {"type": "array", "items": _COUNT}]},
        "every": _COUNT,
        "probability": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "direction": {"enum": ["server", "client"]},
    }
    matching = {"type": "object", "properties": when, **_CLOSED}
    return _reference("fault", name, (act.__doc__ or "").strip().split("\n")[0], params, {"when": matching})


def _reference(key: str, name: str, doc: str, params: dict[str, inspect.Parameter], more: Json) -> Json:
    """A reference by name: its params are those of the function behind it."""
    needed = [each.name for each in params.values() if each.default is each.empty]
    shape = {
        "type": "object",
        "properties": {each.name: _of_annotation(each.annotation) for each in params.values()},
        **_CLOSED,
        **({"required": needed} if needed else {}),
    }
    return {
        "type": "object",
        "description": doc,
        "properties": {key: {"const": name}, "params": shape, **more},
        "required": [key, *(["params"] if needed else [])],
        **_CLOSED,
    }


def _of_annotation(hint: Any) -> Json:
    if hint is Any:
        return {}
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    kinds: list[str] = []
    for option in options:
        kind = typing.get_origin(option) or option
        if kind is Literal:
            return {"enum": list(typing.get_args(option))}
        kinds += ["null"] if kind is types.NoneType else [_TYPES[kind]] if kind in _TYPES else []
    return {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}


def _steps() -> Json:
    steps = {name: {"description": " ".join((read.__doc__ or "").split())} for name, read in STEPS.items()}
    one = {
        "type": "object",
        "properties": {**steps, "sleep": {**steps["sleep"], **_TIME}},
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }
    return {"type": "array", "items": {"oneOf": [one, {"enum": list(steps)}]}}
