"""JSON Schemas of tools, the headers that they ask for, and icons."""

import re
from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import icon_flaw, listed_tools, listing, objects
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.schema import choices_of, flaw, parts, types_of
from mcp_conductor.protocol.schema_weight import is_vast
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

ANNOTATION = "x-mcp-header"
HEADER_TYPES = frozenset({"string", "integer", "boolean"})
# Keywords whose values are schemas, arrays of schemas, and objects of schemas, in all drafts.
_SCHEMA = (
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_SCHEMAS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
_COMPOSITION = ("$ref", "allOf", "anyOf", "else", "if", "not", "oneOf", "then")
_DIALECT = compiled_later(r"https?://json-schema\.org/draft(-0[467]|/2019-09|/2020-12)/schema#?")
_TOKEN = compiled_later(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SENSITIVE = compiled_later(r"pass(word|wd|phrase)|secret|token|api[_-]?key|credential|private[_-]?key", re.IGNORECASE)
_SAFE_SCHEMES = ("https:", "data:")
_LISTS = (
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
)


def subschemas(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Json]]:
    """SCHEMA and all schemas in it, each with the keys that lead to it."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for keyword in _SCHEMA:
        yield from subschemas(schema.get(keyword), (*path, keyword))
    for keyword in _SCHEMAS:
        members = schema.get(keyword)
        for index, member in enumerate(members if isinstance(members, list) else []):
            yield from subschemas(member, (*path, keyword, str(index)))
    for keyword in _NAMED:
        named = schema.get(keyword)
        for name, member in (named if isinstance(named, dict) else {}).items():
            yield from subschemas(member, (*path, keyword, name))


@judged("schema-valid-in-dialect", needs="tools")
def schemas_are_valid(record: Record) -> Iterator[Finding]:
    """Compile the schemas of all listed tools, by the dialect that $schema names, or else by 2020-12."""
    vast = None
    for path, tool in listed_tools(record):
        for member in ("inputSchema", "outputSchema"):
            schema = tool.get(member)
            if is_vast(schema):
                vast = f"tool {tool.get('name')!r}: {member} has too many parts to be judged"
            elif isinstance(schema, dict) and _judgeable(schema) and (found := flaw(_without_patterns(schema))):
                yield fault(
                    f"tool {tool.get('name')!r}: {member} is not a valid schema: {found}",
                    schema,
                    path=f"{path}.{member}",
                    beside=[tool],
                )
    if vast is not None:
        raise NotSeen(vast)


def _judgeable(schema: Json) -> bool:
    """Whether SCHEMA is in a dialect that we know, and whole: what stands elsewhere cannot be judged here."""
    dialect = schema.get("$schema")
    if dialect is not None and not (isinstance(dialect, str) and _DIALECT.fullmatch(dialect)):
        return False
    references = [part.get(word) for _, part in subschemas(schema) for word in ("$ref", "$dynamicRef", "$recursiveRef")]
    outside = [each for each in references if isinstance(each, str) and not each.startswith("#")]
    return not outside


def _without_patterns(value: Any) -> Any:
    """SCHEMA without regular expressions: those of ECMA-262 are not quite those that our validator knows."""
    if isinstance(value, list):
        return [_without_patterns(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain: Json = {}
    for key, member in value.items():
        if key == "patternProperties" and isinstance(member, dict):
            plain[key] = {f"p{index}": _without_patterns(each) for index, each in enumerate(member.values())}
        elif key != "pattern" or not isinstance(member, str):
            plain[key] = _without_patterns(member)
    return plain


@judged("schema-object-root-input", needs="tools")
def composed_input_schemas_are_for_objects(record: Record) -> Iterator[Finding]:
    """Look at the inputSchema of every listed tool with oneOf, anyOf, $ref or the like: its type is object."""
    seen = False
    for path, tool in listed_tools(record):
        schema = tool.get("inputSchema")
        if isinstance(schema, dict) and any(word in schema for word in _COMPOSITION):
            seen = True
            if schema.get("type") != "object":
                yield fault(
                    f'tool {tool.get("name")!r}: inputSchema.type must be "object"', schema, path=path, beside=[tool]
                )
    if not seen:
        raise NotSeen("no inputSchema is composed of others")


# Headers.


def _annotated_schemas(record: Record) -> Iterator[tuple[Json, tuple[str, ...], Json]]:
    """Every schema with an annotation: its tool, the keys that lead to it, and itself."""
    found = [
        (tool, keys, schema)
        for _, tool in listed_tools(record)
        if not is_vast(tool.get("inputSchema"))
        for keys, schema in subschemas(tool.get("inputSchema"))
        if ANNOTATION in schema
    ]
    if not found:
        raise NotSeen(f"no tool has {ANNOTATION}")
    yield from found


def _place(tool: Json, keys: tuple[str, ...]) -> str:
    return ".".join((f"{tool.get('name')}.inputSchema", *keys))


@judged("xmcp-annotation-valid-server", needs="tools")
def header_names_are_tokens(record: Record) -> Iterator[Finding]:
    """Look at every x-mcp-header in listed tools: an HTTP token, unlike all others of its tool, even ignoring case."""
    used: set[tuple[str, str]] = set()
    for tool, keys, schema in _annotated_schemas(record):
        name = schema[ANNOTATION]
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            yield fault(f"{ANNOTATION} is not a valid header name", schema, path=_place(tool, keys), beside=[tool])
            continue
        if (once := (str(tool.get("name")), name.lower())) in used:
            yield fault(f"{ANNOTATION} {name!r} is used twice", schema, path=_place(tool, keys), beside=[tool])
        used.add(once)


@judged("xmcp-annotation-primitive-server", needs="tools")
def header_values_are_primitive(record: Record) -> Iterator[Finding]:
    """Look at every property with x-mcp-header in listed tools: its type is string, integer or boolean."""
    for tool, keys, schema in _annotated_schemas(record):
        some = parts(schema, tool.get("inputSchema"))
        types = types_of(some) - {"null"}
        plain = (
            types <= HEADER_TYPES if types else all(isinstance(each, (str, int)) for each in choices_of(some) or [None])
        )
        if not plain:
            yield fault(
                f"the type of a property with {ANNOTATION} is not {', '.join(sorted(HEADER_TYPES))}",
                schema,
                path=_place(tool, keys),
                beside=[tool],
            )


@judged("xmcp-annotation-reachable-server", needs="tools")
def header_values_are_reachable(record: Record) -> Iterator[Finding]:
    """Look at every x-mcp-header in listed tools: only properties lead to it, no items, alternatives or references."""
    for tool, keys, schema in _annotated_schemas(record):
        if any(keyword != "properties" for keyword in keys[::2]):
            yield fault(
                f"{ANNOTATION} is not reached through properties alone", schema, path=_place(tool, keys), beside=[tool]
            )


@judged("xmcp-not-sensitive", needs="tools")
def headers_have_no_secrets(record: Record) -> Iterator[Finding]:
    """Look at the names of properties with x-mcp-header: none is that of a password, token, secret or key."""
    for tool, keys, schema in _annotated_schemas(record):
        if keys and _SENSITIVE.search(keys[-1]):
            yield fault(
                f"property {keys[-1]!r} seems to be a secret, but many programs can read headers",
                schema,
                path=_place(tool, keys),
                beside=[tool],
            )


# Icons.


def _icons(record: Record) -> Iterator[tuple[str, Any]]:
    """All icons: of the server, and of what it lists; NotSeen when there are none."""
    seen = False
    for path, thing in _things_with_icons(record):
        seen = True
        icons = thing["icons"]
        if not isinstance(icons, list):
            yield f"{path}.icons", icons
            continue
        for index, icon in enumerate(icons):
            yield f"{path}.icons[{index}]", icon
    if not seen:
        raise NotSeen("nothing has icons")


def _things_with_icons(record: Record) -> Iterator[tuple[str, Json]]:
    meta = record.opened.get("_meta")
    modern = meta.get(f"{META}serverInfo") if isinstance(meta, dict) else None
    found: list[tuple[str, Any]] = [
        ("serverInfo", record.opened.get("serverInfo") if record.dialect.handshake else modern)
    ]
    for method, member in _LISTS:
        try:
            found += listing(record, method, member)
        except NotSeen:
            continue
    return ((path, thing) for path, thing in objects(found) if "icons" in thing)


@judged("icons-shape-server")
def icons_have_sources(record: Record) -> Iterator[Finding]:
    """Look at the icons of the server and of all that it lists: arrays of objects with src, which is a URI."""
    for path, icon in _icons(record):
        if found := icon_flaw(icon):
            yield fault(f"an icon: {found}", icon, path=path)


@judged("icons-safe-scheme-server")
def icons_are_safe(record: Record) -> Iterator[Finding]:
    """Look at the src of all icons: https: or data:."""
    for path, icon in _icons(record):
        src = icon.get("src") if isinstance(icon, dict) else None
        if isinstance(src, str) and not src.lower().startswith(_SAFE_SCHEMES):
            yield fault("an icon should come by https: or data:", src, path=f"{path}.src", beside=[icon])
