"""The methods of the extension for skills; with --verify, the files of each skill are read and compared."""

import binascii
from typing import Any

from mcp_conductor.cli.commands.mcp_cli.method_result import MethodResult
from mcp_conductor.cli.commands.mcp_cli.plan import CallPlan
from mcp_conductor.client.session import Session
from mcp_conductor.errors import MethodError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.paging import joined
from mcp_conductor.protocol.skills import (
    DYNAMIC,
    SKILL_LISTS,
    content_of,
    entries_of,
    entry_complaints,
    file_complaints,
    frontmatter_text,
    manifest_of,
    name_of,
    undeclared,
)

_MOST_TOLD = 20


async def call_skills(session: Session, plan: CallPlan, params: Json | None) -> MethodResult:
    """Carry out a method of the extension, which has its own lists."""
    method = plan.method or ""
    if (lacking := undeclared(session.capabilities, method)) is not None:
        session.note(f"the server does not declare {lacking}; {method} is sent anyway")
    cursor = plan.given.one("--cursor")
    if method in SKILL_LISTS and cursor is None:
        result = await _everything(session, method, params)
    else:
        page = {} if cursor is None else {"cursor": cursor}
        result = await session.request(method, {**(params or {}), **page} or None)
    if "--verify" not in plan.given:
        return MethodResult(result)
    problems = []
    for entry in entries_of(result):
        problems += [f"{name_of(entry)}: {problem}" for problem in await _verified(session, entry)]
    if not problems:
        return MethodResult(result)
    more = f"\n  and {len(problems) - _MOST_TOLD} more" if len(problems) > _MOST_TOLD else ""
    told = "".join(f"\n  {problem}" for problem in problems[:_MOST_TOLD])
    return MethodResult(result, complaint=f"the skills are not what their entries say:{told}{more}")


async def _everything(session: Session, method: str, params: Json | None) -> Any:
    """The first page with the items of all pages in it."""
    member, whole = SKILL_LISTS[method], None
    async for page in session.pages(method, params):
        if not isinstance(page, dict) or not isinstance(page.get(member), list):
            session.note(f"{method}: the result has no array {member!r}")
            return page if whole is None else whole
        whole = joined(whole, page, member)
    return whole


async def _verified(session: Session, entry: Json) -> list[str]:
    """What is wrong with a skill: with its entry, and with each file that the entry lists."""
    problems = list(entry_complaints(entry))
    if isinstance(entry, dict) and entry.get("resources") == DYNAMIC:
        session.note(f"{name_of(entry)}: its files are dynamic, so they cannot be verified")
    for file in manifest_of(entry):
        data = await _read(session, file.uri)
        if isinstance(data, str):
            problems.append(data)
            continue
        problems += file_complaints(file, data)
        if file.uri == entry.get("uri"):
            problems += _frontmatter_complaints(entry, data)
    return problems


async def _read(session: Session, uri: str) -> bytes | str:
    """The content of a resource; or, as text, why it could not be read."""
    try:
        content = content_of(await session.request("resources/read", {"uri": uri}), uri)
    except MethodError as error:
        return f"{uri}: {error.message}"
    if content is None:
        return f"{uri}: resources/read returns no content for it"
    if isinstance(content, str):
        return content.encode(errors="surrogatepass")
    try:
        return binascii.a2b_base64(content["blob"], strict_mode=True)
    except binascii.Error:
        return f"{uri}: its blob is not base64"


def _frontmatter_complaints(entry: Json, data: bytes) -> list[str]:
    """How the frontmatter of SKILL.md differs from that of the entry, in what every skill has."""
    from mcp_conductor.files.source import parse

    text = frontmatter_text(data)
    if text is None:
        return ["SKILL.md does not begin with frontmatter"]
    try:
        written = parse(text, "SKILL.md", json=False).data
    except UsageError as error:
        return [f"the frontmatter of SKILL.md cannot be read: {error.message}"]
    told = entry.get("frontmatter")
    if not isinstance(written, dict) or not isinstance(told, dict):
        return ["the frontmatter of SKILL.md is not a mapping"]
    return [
        f"{member} in the frontmatter of SKILL.md is {written.get(member)!r}, but the entry says {told.get(member)!r}"
        for member in ("name", "description")
        if written.get(member) != told.get(member)
    ]
