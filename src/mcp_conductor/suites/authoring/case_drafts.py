"""The cases that a server's lists suggest: one for each tool, resource, template and prompt, not yet tried."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.client.session import Session
from mcp_conductor.errors import MethodError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import METHOD_NOT_FOUND
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.protocol.samples import SAMPLE, optional_arguments, sample_arguments
from mcp_conductor.protocol.schema import complaints
from mcp_conductor.protocol.schema_weight import is_vast
from mcp_conductor.protocol.uri_template import parse
from mcp_conductor.suites.authoring.recorder import plain_data, plain_text
from mcp_conductor.suites.authoring.yaml_text import is_writable
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

NOT_CALLED = "not marked read-only, so not called yet; check its arguments, then remove this line"
_MEND = " (put in others, then remove this line)"
_LONGEST_NOTE = 80
_LONGEST_ITEM = 1000  # that is shown
LONGEST_NAME = 10_000  # that is worth a case
_MOST_OPTIONAL = 100  # arguments that are named


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDraft:
    """A case that might be written: what is sent, and what is worth saying about it."""

    group: str  # the heading that it stands under
    what: str  # what it is about, for people: tool 'add'
    title: str = ""
    action: Json | None = None  # None: there is nothing that could be sent
    about: str = ""
    optional: tuple[str, ...] = ()  # arguments that could be given too
    skip: str | None = None  # why it is not to be sent yet
    gap: str | None = None  # why there can be no such case
    tool: Json | None = None
    pins: str | None = None  # for a list: the member of its items that must stay

    @property
    def failing(self) -> str:
        """How a reason begins that tells of a failure."""
        call = (self.action or {}).get("call")
        return f"it fails with these arguments{_MEND}" if isinstance(call, dict) and "args" in call else "it fails"


@dataclass(frozen=True, slots=True)
class _List:
    group: str
    capability: str
    method: str
    word: str  # for `list:`
    name: str  # the member that names an item
    item: str


_LISTS = (
    _List("Tools", "tools", "tools/list", "tools", "name", "tool"),
    _List("Resources", "resources", "resources/list", "resources", "uri", "resource"),
    _List("Resource templates", "resources", "resources/templates/list", "templates", "uriTemplate", "template"),
    _List("Prompts", "prompts", "prompts/list", "prompts", "name", "prompt"),
)


async def drafts(session: Session, tell: Callable[[str], None], *, writes: bool) -> list[CaseDraft]:
    """A draft for everything that the server offers; WRITES: tools that are not read-only may be called too.

    TELL is called with what is done now, in words.
    """
    found: list[CaseDraft] = []
    for each in _LISTS:
        if each.capability in session.capabilities:
            tell(f"listing {each.group.lower()}")
            found += [draft async for draft in _of_list(session, each, writes=writes)]
    if not any(draft.action for draft in found):
        method = "ping" if session.dialect.handshake else "server/discover"
        found.append(
            CaseDraft(group="Server", what="server", title=f"answers {method}", action={"request": {"method": method}})
        )
    return list(_with_own_titles(found))


async def _of_list(session: Session, kind: _List, *, writes: bool) -> AsyncIterator[CaseDraft]:
    try:
        listed = await session.everything(kind.method)
    except MethodError as error:
        # Many servers have resources, but know nothing of templates.
        if kind.word != "templates" or error.code != METHOD_NOT_FOUND:
            yield CaseDraft(group=kind.group, what=kind.group.lower(), gap=error.message)
        return
    items = listed.get(LIST_MEMBERS[kind.method]) if isinstance(listed, dict) else None
    if not items or not isinstance(items, list):
        return
    title = f"lists its {kind.group.lower()}"
    yield CaseDraft(group=kind.group, what=title, title=title, action={"list": kind.word}, pins=kind.name)
    seen: set[str] = set()
    pace = Pace()
    for item in items:
        name = item.get(kind.name) if isinstance(item, dict) else None
        await pace.keep()
        if not isinstance(name, str) or not is_writable(name):
            gap = f"it has no usable {kind.name}: {cut(compact(item), _LONGEST_ITEM)}"
            yield CaseDraft(group=kind.group, what=f"a {kind.item}", gap=gap)
        elif len(name) > LONGEST_NAME:
            gap = f"its {kind.name} has {len(name)} characters: {cut(name, _LONGEST_NOTE)}"
            yield CaseDraft(group=kind.group, what=f"a {kind.item}", gap=gap)
        elif name not in seen:
            seen.add(name)
            yield await _of_item(session, kind, item, name, writes=writes)


async def _of_item(session: Session, kind: _List, item: Json, name: str, *, writes: bool) -> CaseDraft:
    bare = CaseDraft(group=kind.group, what=f"{kind.item} {name!r}", about=str(item.get("description") or ""))
    match kind.item:
        case "tool":
            return await without_blocking(_of_tool, bare, item, name, writes)
        case "resource":
            return replace(bare, title=f"reads {name}", action={"read": plain_text(name)})
        case "template":
            return await _of_template(session, bare, name)
        case _:
            return await _of_prompt(session, bare, item, name)


def _with_own_titles(found: list[CaseDraft]) -> Iterator[CaseDraft]:
    seen: set[str] = set()
    for draft in found:
        title, number = draft.title, 1
        while title in seen and title:
            number += 1
            title = f"{draft.title} ({number})"
        seen.add(title)
        yield replace(draft, title=title)


# Tools.


def _of_tool(bare: CaseDraft, tool: Json, name: str, writes: bool) -> CaseDraft:
    schema = tool.get("inputSchema")
    if is_vast(schema):
        return replace(bare, gap="its schema has too many parts to generate arguments")
    arguments = sample_arguments(schema)
    call = {"tool": plain_text(name), **({"args": plain_data(arguments)} if arguments else {})}
    writable = is_writable(arguments)
    draft = replace(
        bare,
        title=f"calls {name}",
        action={"call": call} if writable else None,
        optional=_optional(schema, arguments),
        skip=None if writes or _hint(tool, "readOnlyHint") else NOT_CALLED,
        tool=tool,
    )
    if not writable:
        return replace(draft, gap="its arguments cannot be written in a test file")
    execution = tool.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        return replace(draft, skip="it can only be called as a task")
    problems = complaints(arguments, schema) if schema is not None else []
    return replace(draft, skip=f"no arguments that fit its schema are known: {problems[0]}") if problems else draft


def _optional(schema: Any, arguments: Json) -> tuple[str, ...]:
    others = optional_arguments(schema, arguments)
    more = len(others) - _MOST_OPTIONAL
    shown = (_argument_text(key, each) for key, each in islice(others.items(), _MOST_OPTIONAL))
    return (*shown, f"and {more} more") if more > 0 else tuple(shown)


def _hint(tool: Json, name: str) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get(name) is True


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


async def _of_template(session: Session, bare: CaseDraft, text: str) -> CaseDraft:
    draft = replace(bare, title=f"reads {text}", action={"read": plain_text(text)})
    try:
        template = parse(text)
    except ValueError as error:
        return replace(draft, skip=str(error))
    values = await _completions(session, {"type": "ref/resource", "uri": text}, template.names)
    uri = template.expand(values)
    if template.match(uri) is None:
        missing = ", ".join(name for name in template.names if name not in values)
        return replace(draft, skip=f"no value for {missing} is known: put one in, then remove this line")
    return replace(draft, title=f"reads {uri} by {text}", action={"read": plain_text(uri)})


async def _of_prompt(session: Session, bare: CaseDraft, item: Json, name: str) -> CaseDraft:
    listed = item.get("arguments")
    every = (
        [each for each in listed if isinstance(each, dict) and isinstance(each.get("name"), str)]
        if isinstance(listed, list)
        else []
    )
    required = [each["name"] for each in every if each.get("required") is True]
    values = await _completions(session, {"type": "ref/prompt", "name": name}, required)
    arguments = {each: values.get(each, SAMPLE) for each in required}
    prompt = {"name": plain_text(name), "args": plain_data(arguments)} if arguments else plain_text(name)
    others = (each for each in every if each["name"] not in arguments)
    optional = tuple(_argument_text(each["name"], {**each, "type": "string"}) for each in others)
    return replace(bare, title=f"gets the prompt {name}", action={"prompt": prompt}, optional=optional)


async def _completions(session: Session, ref: Json, names: Any) -> dict[str, str]:
    """For each of NAMES the first value that the server offers, if it offers any."""
    values: dict[str, str] = {}
    if "completions" not in session.capabilities:
        return values
    for name in names:
        context = {"context": {"arguments": dict(values)}} if values else {}
        with suppress(MethodError):
            found = await session.request(
                "completion/complete", {"ref": ref, "argument": {"name": name, "value": ""}, **context}
            )
            offered = _first_value(found)
            if offered is not None:
                values[name] = offered
    return values


def _first_value(result: Any) -> str | None:
    completion = result.get("completion") if isinstance(result, dict) else None
    values = completion.get("values") if isinstance(completion, dict) else None
    first = values[0] if isinstance(values, list) and values else None
    return first if isinstance(first, str) and first and is_writable(first) else None
