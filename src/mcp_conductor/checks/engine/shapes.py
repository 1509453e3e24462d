"""What things look like in each revision: content blocks, annotations, icons, URIs; and lists, over all their pages.

A flaw is what is wrong with a value, in words that follow its name; None when nothing is.
"""

import base64
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.replies import error_code
from mcp_conductor.errors import RequestTimeout, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.budgets import LONGEST_URI
from mcp_conductor.protocol.dialect import METHOD_NOT_FOUND
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

if TYPE_CHECKING:
    from mcp_conductor.checks.engine.probe import Probe

ROLES = ("user", "assistant")
THEMES = ("light", "dark")

# RFC 3986: a scheme, then nothing but its characters and percent-encoded bytes.
SCHEME = compiled_later(r"[A-Za-z][A-Za-z0-9+.-]*")
_URI = compiled_later(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
# RFC 6570: an operator, then variables with their modifiers; `=,!@|` are reserved, so they are operators too.
_VARIABLE = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*(?::[1-9][0-9]{0,3}|\*)?"
_TEMPLATE = compiled_later(rf"(?:[^{{}}\x00-\x20]|\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}})*")
_MIME_TYPE = compiled_later(r"[^/\s;]+/[^/\s;]+(?:\s*;.*)?")

Fits = Callable[[Any], bool]


def text(value: Any) -> bool:
    return isinstance(value, str)


def list_of_texts(value: Any) -> list[str] | None:
    """VALUE, if it is a list of nothing but texts."""
    return value if isinstance(value, list) and all(isinstance(each, str) for each in value) else None


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    """1.0 is an integer too: JSON knows only numbers."""
    return is_number(value) and value == value // 1


def texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def structure(value: Any) -> bool:
    return isinstance(value, dict)


_KINDS: dict[Fits, str] = {
    text: "a string",
    flag: "a boolean",
    is_number: "a number",
    is_integer: "an integer",
    texts: "an array of strings",
    structure: "an object",
}
ANNOTATIONS: dict[str, Fits] = {"audience": texts, "priority": is_number, "lastModified": text}
TOOL_ANNOTATIONS: dict[str, Fits] = {
    "title": text,
    "readOnlyHint": flag,
    "destructiveHint": flag,
    "idempotentHint": flag,
    "openWorldHint": flag,
}


def misfits(thing: Any, members: Mapping[str, Fits], path: str) -> Iterator[Finding]:
    """The MEMBERS of a thing that are there, but of another type than they should be."""
    for name, fits in members.items():
        if isinstance(thing, dict) and name in thing and not fits(thing[name]):
            yield fault(f"{name} is not {_KINDS[fits]}", thing[name], path=f"{path}.{name}", beside=[thing])


def having(things: Iterable[tuple[str, Any]], *members: str) -> Iterator[tuple[str, Any]]:
    """Those of THINGS, with their paths, that have one of MEMBERS, which they need not have; NotSeen if none has."""
    seen = False
    for path, thing in things:
        if isinstance(thing, dict) and not thing.keys().isdisjoint(members):
            seen = True
            yield path, thing
    if not seen:
        raise NotSeen(f"nothing has {' or '.join(members)}")


def annotation_faults(thing: Json, path: str) -> Iterator[Finding]:
    """What is wrong with the annotations of a content block or a resource."""
    annotations = thing.get("annotations", {})
    path = f"{path}.annotations"
    if not isinstance(annotations, dict):
        yield fault("annotations is not an object", annotations, path=path, beside=[thing])
        return
    yield from misfits(annotations, ANNOTATIONS, path)
    audience: Any = annotations.get("audience")
    if texts(audience) and not set(audience) <= set(ROLES):
        told = f"audience has something other than {' and '.join(ROLES)}"
        yield fault(told, audience, path=f"{path}.audience", beside=[thing])
    priority: Any = annotations.get("priority")
    if is_number(priority) and not 0 <= priority <= 1:
        yield fault("priority is not between 0 and 1", priority, path=f"{path}.priority", beside=[thing])


# Flaws.


def uri_flaw(value: Any) -> str | None:
    if not isinstance(value, str):
        return "is missing" if value is None else "is not a string"
    return None if len(value) > LONGEST_URI or _URI.fullmatch(value) else "is not a URI by RFC 3986"


def template_flaw(value: Any) -> str | None:
    if not isinstance(value, str):
        return "is missing" if value is None else "is not a string"
    return None if len(value) > LONGEST_URI or _TEMPLATE.fullmatch(value) else "is not a URI template by RFC 6570"


def base64_flaw(value: Any) -> str | None:
    if not isinstance(value, str):
        return "is missing" if value is None else "is not a string"
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return "is not base64"
    return None


def mime_type_flaw(value: Any) -> str | None:
    if not isinstance(value, str):
        return "is missing" if value is None else "is not a string"
    return None if _MIME_TYPE.fullmatch(value) else "is not a MIME type"


def is_one_of(block: Any, kinds: frozenset[str]) -> bool:
    """Whether BLOCK is an object whose type is one of KINDS; a type may be anything, and not all can be looked up."""
    return isinstance(block, dict) and isinstance(block.get("type"), str) and block["type"] in kinds


def text_flaw(block: Json) -> str | None:
    return None if isinstance(block.get("text"), str) else "text is not a string"


def binary_flaw(block: Json) -> str | None:
    """Of an image or audio."""
    if flaw := base64_flaw(block.get("data")):
        return f"data {flaw}"
    if not isinstance(block.get("mimeType"), str) or not block["mimeType"]:
        return "mimeType is missing"
    return None


def contents_flaw(item: Any) -> str | None:
    """Of what a resource contains, as it is read or embedded; whether a blob is base64 is another question."""
    if not isinstance(item, dict):
        return "is not an object"
    if not isinstance(item.get("uri"), str):
        return "has no uri"
    given = [name for name in ("text", "blob") if isinstance(item.get(name), str)]
    if len(given) == 2:
        return "has both text and blob"
    return None if given else "has neither text nor blob"


def embedded_flaw(block: Json) -> str | None:
    resource = block.get("resource")
    if flaw := contents_flaw(resource):
        return f"resource {flaw}"
    if isinstance(resource, dict) and "text" not in resource and (flaw := base64_flaw(resource.get("blob"))):
        return f"resource.blob {flaw}"
    return None


def link_flaw(block: Json) -> str | None:
    if flaw := uri_flaw(block.get("uri")):
        return f"uri {flaw}"
    return None if isinstance(block.get("name"), str) else "name is missing"


def echoes(block: Json, params: Json) -> bool:
    """Whether something in BLOCK is only what we sent in PARAMS: if it does not fit, that is our doing."""
    arguments = params.get("arguments")
    given = list(arguments.values()) if isinstance(arguments, dict) else []
    resource = block.get("resource")
    members = [*block.values(), *(resource.values() if isinstance(resource, dict) else ())]
    begins = tuple(each for each in given if isinstance(each, str) and each)
    return any(member in given or (isinstance(member, str) and member.startswith(begins)) for member in members)


def icon_flaw(icon: Any) -> str | None:
    if not isinstance(icon, dict):
        return "is not an object"
    if flaw := uri_flaw(icon.get("src")):
        return f"src {flaw}"
    if "mimeType" in icon and not text(icon["mimeType"]):
        return "mimeType is not a string"
    if "sizes" in icon and not texts(icon["sizes"]):
        return "sizes is not an array of strings"
    if "theme" in icon and icon["theme"] not in THEMES:
        return f"theme is not {' or '.join(THEMES)}"
    return None


# Lists.


def listing(record: Record, method: str, member: str) -> list[tuple[str, Any]]:
    """The items of the first whole listing, over all its pages, each with its path; NotSeen when there are none.

    Other listings would repeat them, and a probe may have made up other cursors.
    """
    items: list[Any] = []
    cursors: list[Any] = [None]
    for exchange, result in record.complete(method):
        if exchange.request.params.get("cursor") != cursors[-1]:
            continue
        page = result.get(member)
        items += page if isinstance(page, list) else []
        following = result.get("nextCursor")
        ended = following is None or (following == "" and not record.dialect.empty_cursor)
        if ended or following in cursors:
            break
        cursors.append(following)
    if not items:
        raise NotSeen(f"{method} lists nothing")
    return [(f"{member}[{index}]", item) for index, item in enumerate(items)]


def objects(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Json]]:
    """Those items that are objects; that the others are not is said once, about their names."""
    for path, item in items:
        if isinstance(item, dict):
            yield path, item


def name_faults(items: list[tuple[str, Any]], what: str) -> Iterator[Finding]:
    """Items without names, and names that several have."""
    first: dict[str, str] = {}
    for path, item in items:
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            yield fault(f"a {what} has no name", item, path=path)
        elif name in first:
            yield fault(f"{what} {name!r} is listed twice, first as {first[name]}", item, path=path)
        else:
            first[name] = path


def array_faults(record: Record, method: str, member: str) -> Iterator[Finding]:
    """Results of a list method that have no array."""
    seen = False
    for exchange, result in record.complete(method):
        seen = True
        if not isinstance(result.get(member), list):
            yield fault(f"the result of {method} has no array {member!r}", exchange.reply and exchange.reply.raw)
    if not seen:
        raise NotSeen(f"there is no result of {method}")


async def declared_faults(probe: "Probe", method: str, member: str) -> AsyncIterator[Finding]:
    """A list that is there but not declared, or declared but not there."""
    capability = method.partition("/")[0]
    if not probe.declares(capability):
        result = await probe.served(method)
        if result is None or not result.get(member):
            raise NotSeen(f"the server has no {capability}")
        yield fault(f"{method} is answered, but {capability} is not declared", result)
        return
    try:
        reply = await probe.ask(method)
    except (RequestTimeout, TransportError):
        # Who declares and is silent has no answer that could be judged.
        raise NotSeen(f"{method} is not answered") from None
    if error_code(reply) == METHOD_NOT_FOUND:
        yield fault(f"{capability} is declared, but {method} does not exist", reply.raw)


async def served_faults(probe: "Probe", method: str) -> AsyncIterator[Finding]:
    """A list that is declared, but refused."""
    reply = await probe.ask(method)
    if reply.kind != "result":
        yield fault(f"{method} is not answered with a result", reply.raw)


def need_opening(record: Record) -> None:
    """Raise NotSeen for a session that was not opened: what a server declares is not known there."""
    if not record.opened:
        raise NotSeen("the session was not opened")


def undeclared_changes(record: Record, kind: str) -> Iterator[Finding]:
    """Notifications that a list has changed, although the server does not declare them."""
    need_opening(record)
    if record.declares(f"{kind}.listChanged"):
        raise NotSeen(f"{kind}.listChanged is declared")
    sent = list(record.notifications(f"notifications/{kind}/list_changed"))
    if not sent and not record.declares(kind):
        raise NotSeen(f"the server has no {kind}")
    for message in sent:
        yield fault(f"notifications/{kind}/list_changed is sent, but {kind}.listChanged is not declared", message.raw)


# Replies.


def acknowledges(probe: "Probe", method: str, reply: Message) -> bool:
    """Whether REPLY is a result where there is nothing to tell. The schema allows members in it, such as a remark."""
    if reply.kind != "result" or not isinstance(reply.result, dict):
        return False
    more = sorted(reply.result.keys() - {"_meta", "resultType"})
    remark = f"the result of {method} has members that the specification does not know: {', '.join(more)}"
    if more and remark not in probe.found.remarks:
        probe.found.remarks.append(remark)
    return True


def is_notification(message: Message, method: str) -> bool:
    """Whether MESSAGE is a notification by this name."""
    return message.kind == "notification" and message.method == method


def listed_tools(record: Record) -> Iterator[tuple[str, Json]]:
    """Every listed tool that is an object, with its path."""
    return objects(listing(record, "tools/list", "tools"))
