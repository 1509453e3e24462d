"""Drafts filled in: what is sent to a tool, a prompt or a template, in several ways, those that fit best first."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.samples import (
    SAMPLE,
    nothing_suggested,
    optional_arguments,
    required_arguments,
    sample_arguments,
)
from mcp_conductor.protocol.schema import complaints
from mcp_conductor.protocol.schema_weight import is_vast
from mcp_conductor.protocol.uri_template import UriTemplate, parse
from mcp_conductor.suites.authoring.case_drafts import CaseDraft
from mcp_conductor.suites.authoring.known_values import KnownValues
from mcp_conductor.suites.authoring.outward import outward_argument, outward_text
from mcp_conductor.suites.authoring.recorder import plain_data, plain_text
from mcp_conductor.suites.authoring.yaml_text import is_writable
from mcp_conductor.text.visible import cut

MOST_WAYS = 6
_LONGEST_NOTE = 80
_MOST_OPTIONAL = 100  # arguments that are named


def fillings(draft: CaseDraft, known: KnownValues) -> list[CaseDraft]:
    """DRAFT with what can be sent, in several ways; at least one."""
    match draft.kind:
        case "tool":
            return _of_tool(draft, draft.item, known)
        case "template":
            return _of_template(draft, draft.item["uriTemplate"], known)
        case "prompt":
            return _of_prompt(draft, draft.item, known)
    return [draft]


# Tools.


def _of_tool(draft: CaseDraft, tool: Json, known: KnownValues) -> list[CaseDraft]:
    schema = tool.get("inputSchema")
    if is_vast(schema):
        return [replace(draft, gap="its schema has too many parts to generate arguments")]
    # A tool that may change something is given nothing that is there: what we made up can do no harm.
    suggest = known.suggest(tool["name"], draft.about) if draft.changes_nothing else nothing_suggested
    given = known.given.for_tool(tool)
    required = {name: each for name, each in required_arguments(schema).items() if name not in given}
    offers = {name: len(list(suggest(name, _suggesting(each)))) for name, each in required.items()}
    ways: list[Json] = []
    for choice in islice(_other_choices(offers), MOST_WAYS):
        arguments = {**sample_arguments(schema, suggest, choice), **given}
        ways += [] if arguments in ways else [arguments]
    return [_called(draft, tool, schema, each, given) for each in ways]


def _suggesting(schema: Any) -> Json:
    """The part of SCHEMA that values are suggested for: of an array, that is its items."""
    items = schema.get("items") if isinstance(schema, dict) else None
    found = items if isinstance(items, dict) else schema
    return found if isinstance(found, dict) else {}


def _other_choices(offers: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Which value is taken for a name: the first of all; then for one name after the other the second, and so on."""
    yield {}
    for choice in range(1, max(offers.values(), default=0)):
        yield from ({name: choice} for name, count in offers.items() if choice < count)


def _called(draft: CaseDraft, tool: Json, schema: Any, arguments: Json, given: Json) -> CaseDraft:
    if not is_writable(arguments):
        return replace(draft, gap="its arguments cannot be written in a test file")
    call = {"tool": plain_text(tool["name"]), **({"args": plain_data(arguments)} if arguments else {})}
    filled = replace(draft, action={"call": call}, optional=_optional(schema, arguments))
    execution = tool.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        return replace(filled, skip="it can only be called as a task")
    if (outward := outward_argument(schema, arguments, given)) is not None:
        name, place = outward
        mend = f"give it with --arg {tool['name']}.{name}=…, or put in another and remove this line"
        return replace(filled, skip=f"{name} would lead to another host ({cut(place, _LONGEST_NOTE)}): {mend}")
    problems = complaints(arguments, schema) if schema is not None else []
    return replace(filled, skip=f"no arguments that fit its schema are known: {problems[0]}") if problems else filled


def _optional(schema: Any, arguments: Json) -> tuple[str, ...]:
    others = optional_arguments(schema, arguments)
    more = len(others) - _MOST_OPTIONAL
    shown = (_argument_text(key, each) for key, each in islice(others.items(), _MOST_OPTIONAL))
    return (*shown, f"and {more} more") if more > 0 else tuple(shown)


def _argument_text(name: str, schema: Any) -> str:
    """An argument in a few words: its name, its type, its default, what it is for."""
    given = schema if isinstance(schema, dict) else {}
    kind = given.get("type")
    words = [kind] if isinstance(kind, str) else [str(each) for each in kind] if isinstance(kind, list) else []
    if isinstance(given.get("enum"), list):
        words = [compact(each) for each in given["enum"]]
    default = f", default {compact(given['default'])}" if "default" in given else ""
    about = " ".join(str(given.get("description") or "").split())
    text = f"{name}: {' or '.join(words) or 'anything'}{default}{'; ' * bool(about)}{about}"
    return cut(text, _LONGEST_NOTE)


# Templates and prompts.


def _of_template(draft: CaseDraft, text: str, known: KnownValues) -> list[CaseDraft]:
    unfilled = replace(draft, title=f"reads {text}", action={"read": plain_text(text)})
    try:
        template = parse(text)
    except ValueError as error:
        return [replace(unfilled, skip=str(error))]
    about = str(draft.item.get("description") or "")
    suggested = {name: [each for each in known.texts(name, text, about) if each != SAMPLE] for name in template.names}
    values = {name: _staying([*draft.completed.get(name, ()), *suggested[name]]) for name in template.names}
    given = known.given.texts(text, template.names)
    values |= {name: [value] for name, value in given.items()}
    missing = ", ".join(name for name, some in values.items() if not some)
    uris = [*_expanded(template, values), *(() if given else _listed(template, known.resources))]
    if not uris:
        return [replace(unfilled, skip=f"no value for {missing} is known: put one in, then remove this line")]
    shown = list(dict.fromkeys(uris))[:MOST_WAYS]
    return [replace(draft, title=f"reads {uri} by {text}", action={"read": plain_text(uri)}) for uri in shown]


def _staying(texts: Iterable[str]) -> list[str]:
    """TEXTS without addresses of other hosts."""
    return [each for each in texts if outward_text(each) is None]


def _expanded(template: UriTemplate, values: Mapping[str, list[str]]) -> Iterator[str]:
    for each in _choices(values):
        uri = template.expand(each)
        if template.match(uri) is not None:
            yield uri


def _listed(template: UriTemplate, uris: Iterable[str]) -> Iterator[str]:
    return (uri for uri in uris if template.match(uri) is not None)


def _choices(values: Mapping[str, list[str]]) -> Iterator[dict[str, str]]:
    first = {name: some[0] for name, some in values.items() if some}
    offers = {name: len(some) for name, some in values.items()}
    for choice in islice(_other_choices(offers), MOST_WAYS):
        yield first | {name: values[name][index] for name, index in choice.items()}


def _of_prompt(draft: CaseDraft, item: Json, known: KnownValues) -> list[CaseDraft]:
    name, listed = item["name"], item.get("arguments")
    every = (
        [each for each in listed if isinstance(each, dict) and isinstance(each.get("name"), str)]
        if isinstance(listed, list)
        else []
    )
    values = {
        each["name"]: _staying(
            [
                *draft.completed.get(each["name"], ()),
                *known.texts(each["name"], name, str(each.get("description") or "")),
                SAMPLE,
            ]
        )
        for each in every
        if each.get("required") is True
    }
    values |= {key: [value] for key, value in known.given.texts(name, (each["name"] for each in every)).items()}
    others = (each for each in every if each["name"] not in values)
    optional = tuple(_argument_text(each["name"], {**each, "type": "string"}) for each in others)
    ways = []
    for arguments in _choices(values):
        prompt = {"name": plain_text(name), "args": plain_data(arguments)} if arguments else plain_text(name)
        ways.append(replace(draft, action={"prompt": prompt}, optional=optional))
    return ways
