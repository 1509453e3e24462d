"""What changes when tools are called: lists and subscribed resources, and whether the server notifies.

The tools are those of --trigger, or all that may be called. A change that was not told is looked for once more, in
another session: what changes by itself, or is told late, is not a finding.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

from mcp_conductor.checks.engine.exploration import MOST_ITEMS, MOST_PAGES
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.subscriptions import allowed, listening
from mcp_conductor.checks.engine.timing import INCONCLUSIVE, eventually, is_slow, timer_lag
from mcp_conductor.checks.engine.tool_calls import callable_again
from mcp_conductor.checks.engine.unanswered import BUSY_PART
from mcp_conductor.errors import ConductorError, MethodError, ProtocolError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import render
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.report.model import Finding
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

LISTS = {"tools/list": "name", "resources/list": "uri", "prompts/list": "name"}  # and what tells their items apart
UPDATED = "notifications/resources/updated"
MOST_SHOWN = 200  # characters of how it was before
LONGEST_CONTROL = 5.0  # seconds; what changes by itself, but less often, is told by the second look
_MOST_NAMED = 3  # tools
_NAME_A_TOOL = "--trigger TOOL=JSON names a tool that changes something"


class Page(NamedTuple):
    """A page of a list: the names on it."""

    names: set[str]
    result: Json


@dataclass(slots=True)
class _Look:
    """What came of the calls in one session; resources go by their URIs, lists by their methods."""

    changed: dict[str, Json] = field(default_factory=dict)  # how it was before, and after
    told: set[str] = field(default_factory=set)
    restless: set[str] = field(default_factory=set)  # what changes without a call
    failed: dict[str, str] = field(default_factory=dict)  # tools, and what they said
    waited: float = 0.0

    @property
    def untold(self) -> set[str]:
        return self.changed.keys() - self.told - self.restless


@dataclass(slots=True)
class Changes:
    """What is known after all looks."""

    untold: dict[str, Json]
    told: set[str]
    restless: set[str]
    unsure: set[str]  # what changed untold, but only in the first look
    waited: float
    calls: list[Json]
    failed: dict[str, str]

    def findings(self, things: Collection[str], notification: str) -> list[Finding]:
        """What is wrong with these THINGS. Raises NotSeen where none of them changed."""
        called = self._called()
        found = [
            fault(
                f"{thing} changed when {called} was called, but {notification} was not sent",
                evidence,
                hint=f"before: {cut(render(evidence['before']), MOST_SHOWN)}",
                beside=[*evidence.values(), *self.calls[:_MOST_NAMED]],
            )
            for thing, evidence in self.untold.items()
            if thing in things
        ]
        if not found and self.told.isdisjoint(things):
            raise NotSeen(self._why_nothing(set(things)))
        return found

    def _called(self) -> str:
        names = [str(params.get("name")) for params in self.calls]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return ", ".join(names[:_MOST_NAMED]) + more

    def _why_nothing(self, things: set[str]) -> str:
        if unsure := sorted(self.unsure & things):
            return (
                f"{unsure[0]} changed, and nothing told so in {self.waited:.1f} s, but a second call of "
                f"{self._called()} changed nothing: give a --trigger that changes something every time"
            )
        if restless := sorted(self.restless & things):
            return f"{restless[0]} changes also when no tool is called"
        if self.failed:
            tool, said = next(iter(self.failed.items()))
            return f"nothing changed: the tool {tool!r} failed ({said}); {_NAME_A_TOOL}"
        return f"nothing changed when {self._called()} was called: {_NAME_A_TOOL}"


async def changes(probe: Probe) -> Changes:
    """What changes when tools are called; found out once for all probes that ask."""
    return await probe.once("changes", partial(_find_changes, probe))


async def _find_changes(probe: Probe) -> Changes:
    await changed_lists(probe)  # over HTTP its session may hear of what is changed here
    calls = probe.found.triggers or _callable(probe)
    first = await _look_in_new_session(probe, calls)
    for tool, said in first.failed.items() if probe.found.triggers else ():
        probe.found.remarks.append(f"--trigger: the tool {tool!r} failed: {said}")
    second = await _look_again(probe, calls) if first.untold else _Look()
    return Changes(
        untold={thing: second.changed[thing] for thing in sorted(first.untold & second.untold)},
        told=first.told | second.told,
        restless=first.restless | second.restless,
        unsure=first.untold - second.untold,
        waited=first.waited,
        calls=calls,
        failed=first.failed,
    )


def _callable(probe: Probe) -> list[Json]:
    try:
        return callable_again(probe)
    except NotSeen:
        raise NotSeen(f"no tool may be called: {_NAME_A_TOOL}, --call-tools all calls every one") from None


async def _look_in_new_session(probe: Probe, calls: list[Json]) -> _Look:
    try:
        async with probe.new_session(answers=probe.session.answers) as other, _subscriptions(other) as uris:
            return await _look(other, uris, calls)
    except ConductorError as error:
        raise NotSeen(f"what changes could not be seen: {error.message}") from error


async def _look_again(probe: Probe, calls: list[Json]) -> _Look:
    async with timer_lag() as measured:
        look = await _look_in_new_session(probe, calls)
    if look.untold and (measured.worst > BUSY_PART * probe.timeout or await is_slow(probe)):
        raise NotSeen(f"{INCONCLUSIVE}: whether a change is told late or not at all cannot be said now")
    return look


async def _look(probe: Probe, uris: list[str], calls: list[Json]) -> _Look:
    look = _Look()
    await probe.settled()  # over HTTP the stream for notifications may still be opened
    before = await _state(probe, uris)
    began, mark = perf_counter(), len(probe.record().heard)
    for params in calls:
        if (said := await _failure_of_call(probe, params)) is not None:
            look.failed[str(params.get("name"))] = said
    await probe.settled()
    after = await _state(probe, uris)
    took = perf_counter() - began
    for thing in before.keys() & after.keys():
        if before[thing] != after[thing]:
            look.changed[thing] = {"before": before[thing], "after": after[thing]}

    def all_told() -> bool:
        look.told = _told_since(probe, mark, uris)
        return look.changed.keys() <= look.told

    waiting = perf_counter()
    if not await eventually(all_told, probe.timeout, probe.trail):
        # Nothing was called meanwhile: what is another now has not changed because of the calls.
        await asyncio.sleep(min(LONGEST_CONTROL, took) - (perf_counter() - waiting))
        later = await _state(probe, [uri for uri in uris if uri in look.untold])
        look.restless = {thing for thing in look.untold if thing in later and later[thing] != after[thing]}
        all_told()
        if look.untold and not _could_hear(probe):
            raise NotSeen("the server has opened no stream on which it could tell what changes")
    look.waited = perf_counter() - waiting
    return look


def _could_hear(probe: Probe) -> bool:
    """Whether what the server says unasked reaches us: over HTTP it has answered the GET for that, in any way."""
    if probe.transport != "http" or not probe.dialect.handshake:
        return True
    heads = [frame.text for frame in probe.session.transcript.since(0) if frame.source == "http"]
    answered = sum(text.startswith("HTTP ") for text in heads)
    return probe.dialect.http_session and answered == len(heads) - answered


async def _failure_of_call(probe: Probe, params: Json) -> str | None:
    """Call a tool: what it said when it failed."""
    try:
        result = await probe.session.request("tools/call", params)
    except ConductorError as error:
        return error.message
    if not isinstance(result, dict) or result.get("isError") is not True:
        return None
    content = result.get("content")
    first = content[0] if isinstance(content, list) and content else None
    return str(first.get("text") if isinstance(first, dict) else None)


async def changed_lists(probe: Probe) -> dict[str, tuple[Page, Page]]:
    """The lists that differ from those before the exploration called tools: a first page before, and one after."""
    return await probe.once("lists of the exploration", partial(_listed_again, probe))


async def _listed_again(probe: Probe) -> dict[str, tuple[Page, Page]]:
    found = {}
    for method in _watched_lists(probe):
        with suppress(ConductorError):  # a server that is silent or gone is a matter of other checks
            await probe.ask(method)
        pages = pairwise(_first_pages(probe.record(), method))
        if (changed := next((pair for pair in pages if pair[0].names != pair[1].names), None)) is not None:
            found[method] = changed
    return found


def _watched_lists(probe: Probe) -> list[str]:
    return [method for method in LISTS if probe.declares(f"{method.partition('/')[0]}.listChanged")]


def _first_pages(record: Record, method: str) -> list[Page]:
    """What each first page of a list has: a later one may change with it, but need not be asked for again."""
    return [
        Page(set(names), result)
        for exchange, result in record.complete(method)
        if "cursor" not in exchange.request.params and (names := _names(method, result)) is not None
    ]


def _names(method: str, page: Json) -> list[str] | None:
    items = page.get(LIST_MEMBERS[method])
    if not isinstance(items, list):
        return None
    return sorted(str(item.get(LISTS[method])) for item in items if isinstance(item, dict))


async def _state(probe: Probe, uris: list[str]) -> dict[str, Any]:
    """What the resources contain, and which names the lists have that the server says it watches."""
    found: dict[str, Any] = {}
    for uri in uris:
        result = await probe.result("resources/read", {"uri": uri})
        if result is not None and isinstance(result.get("contents"), list):
            found[uri] = result["contents"]
    for method in _watched_lists(probe):
        if (names := await _all_names(probe, method)) is not None:
            found[method] = names
    return found


async def _all_names(probe: Probe, method: str) -> list[str] | None:
    """The names in all pages of a list; None where it cannot be had."""
    names: list[str] = []
    pages = 0
    try:
        async for page in probe.session.pages(method):
            listed = _names(method, page) if isinstance(page, dict) else None
            if listed is None:
                return None
            names += listed
            pages += 1
            if pages == MOST_PAGES:
                break
    except (MethodError, ProtocolError):
        return None
    return sorted(names)


def _told_since(probe: Probe, mark: int, uris: list[str]) -> set[str]:
    """What the server has told since MARK. It may tell of a part of what was subscribed to."""
    told = set()
    for message in probe.record().heard[mark:]:
        if message.kind != "notification":
            continue
        if message.method == UPDATED:
            told |= {uri for uri in uris if str(message.params.get("uri")).startswith(uri)}
        told |= {method for method in LISTS if message.method == f"notifications/{method}_changed"}
    return told


@asynccontextmanager
async def _subscriptions(probe: Probe) -> AsyncIterator[list[str]]:
    """Subscribe to what can be subscribed to: the URIs that the server has taken."""
    wanted = [uri for each in probe.found.resources if isinstance(uri := each.get("uri"), str)][:MOST_ITEMS]
    if not probe.declares("resources.subscribe"):
        wanted = []
    if probe.dialect.handshake:
        yield [uri for uri in wanted if (await probe.ask("resources/subscribe", {"uri": uri})).kind == "result"]
        return
    lists = {f"{method.partition('/')[0]}ListChanged": True for method in _watched_lists(probe)}
    async with listening(probe, {**lists, **({"resourceSubscriptions": wanted} if wanted else {})}) as stream:
        taken = allowed(stream.acknowledged()).get("resourceSubscriptions")
        yield [uri for uri in wanted if isinstance(taken, list) and uri in taken]
