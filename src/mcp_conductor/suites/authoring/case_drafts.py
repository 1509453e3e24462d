"""The cases that a server's lists suggest: one for each tool, resource, template and prompt, not yet filled in."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from itertools import islice
from typing import Any

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.client.session import Session
from mcp_conductor.errors import MethodError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import METHOD_NOT_FOUND
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.protocol.uri_template import parse
from mcp_conductor.suites.authoring.recorder import plain_text
from mcp_conductor.suites.authoring.yaml_text import is_writable
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

NOT_CALLED = "not marked read-only, so not called yet; check its arguments, then remove this line"
_MEND = " (put in others, then remove this line)"
_LONGEST_NOTE = 80
_LONGEST_ITEM = 1000  # that is shown
LONGEST_NAME = 10_000  # that is worth a case
_MOST_COMPLETED = 3  # values of a name


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDraft:
    """A case that might be written: what is sent, and what is worth saying about it."""

    kind: str = ""  # of what is listed: tool, resource, template, prompt; or list
    item: Json = field(default_factory=dict)  # what the list says of it
    completed: Mapping[str, list[str]] = field(default_factory=dict)  # values that the server offers for names

    group: str  # the heading that it stands under
    what: str  # what it is about, for people: tool 'add'
    title: str = ""
    action: Json | None = None  # None: it is not known yet, or there is nothing that could be sent
    about: str = ""
    optional: tuple[str, ...] = ()  # arguments that could be given too
    skip: str | None = None  # why it is not to be sent yet
    gap: str | None = None  # why there can be no such case
    tool: Json | None = None
    pins: str | None = None  # for a list: the member of its items that must stay

    @property
    def name(self) -> str:
        """What the server calls a tool, a prompt or a template."""
        return str(self.item.get("uriTemplate" if self.kind == "template" else "name", ""))

    @property
    def changes_nothing(self) -> bool:
        """Whether it can be tried more than once."""
        return self.tool is None or _hint(self.tool, "readOnlyHint")

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
    if not any(draft.kind for draft in found):
        method = "ping" if session.dialect.handshake else "server/discover"
        found.append(
            CaseDraft(group="Server", what="server", title=f"answers {method}", action={"request": {"method": method}})
        )
    return found


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
    yield CaseDraft(group=kind.group, what=title, title=title, action={"list": kind.word}, pins=kind.name, kind="list")
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
    about = str(item.get("description") or "")
    bare = CaseDraft(group=kind.group, what=f"{kind.item} {name!r}", about=about, kind=kind.item, item=item)
    match kind.item:
        case "tool":
            may_be_called = writes or _hint(item, "readOnlyHint")
            return replace(bare, title=f"calls {name}", skip=None if may_be_called else NOT_CALLED, tool=item)
        case "resource":
            return replace(bare, title=f"reads {name}", action={"read": plain_text(name)})
        case "template":
            ref, names = {"type": "ref/resource", "uri": name}, _template_names(name)
            return replace(bare, title=f"reads {name}", completed=await _completions(session, ref, names))
        case _:
            ref, names = {"type": "ref/prompt", "name": name}, _required_arguments(item)
            return replace(bare, title=f"gets the prompt {name}", completed=await _completions(session, ref, names))


def _hint(tool: Json, name: str) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get(name) is True


def with_own_titles(found: Iterable[CaseDraft]) -> Iterator[CaseDraft]:
    """The drafts, each with a title that no other has."""
    seen: set[str] = set()
    for draft in found:
        title, number = draft.title, 1
        while title in seen and title:
            number += 1
            title = f"{draft.title} ({number})"
        seen.add(title)
        yield replace(draft, title=title)


# What a server completes.


async def _completions(session: Session, ref: Json, names: Iterable[str]) -> dict[str, list[str]]:
    """For each of NAMES the first values that the server offers, if it offers any."""
    values: dict[str, list[str]] = {}
    if "completions" not in session.capabilities:
        return values
    for name in names:
        context = {"context": {"arguments": {key: each[0] for key, each in values.items()}}} if values else {}
        with suppress(MethodError):
            found = await session.request(
                "completion/complete", {"ref": ref, "argument": {"name": name, "value": ""}, **context}
            )
            offered = list(islice(_offered(found), _MOST_COMPLETED))
            if offered:
                values[name] = offered
    return values


def _offered(result: Any) -> Iterator[str]:
    completion = result.get("completion") if isinstance(result, dict) else None
    values = completion.get("values") if isinstance(completion, dict) else None
    for each in values if isinstance(values, list) else ():
        if isinstance(each, str) and each and is_writable(each):
            yield each


def argument_names(item: Json) -> list[str]:
    """The arguments of a tool or a prompt, or the variables of a template."""
    if "uriTemplate" in item:
        return [*_template_names(item["uriTemplate"])]
    schema, listed = item.get("inputSchema"), item.get("arguments")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(properties, dict):
        return [*properties]
    return [str(each.get("name")) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _template_names(text: str) -> Iterable[str]:
    try:
        return parse(text).names
    except ValueError:
        return ()


def _required_arguments(prompt: Json) -> Iterator[str]:
    listed = prompt.get("arguments")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("required") is True and isinstance(each.get("name"), str):
            yield each["name"]
