"""What every server may offer besides its features: completion of arguments, and lists in pages.

Also methods of an earlier time that are gone, and features that are on their way out.
"""

from collections.abc import AsyncIterator, Iterator
from time import perf_counter

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.exploration import LONGEST_LIST, MOST_PAGES
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.replies import code_of, result_of
from mcp_conductor.checks.engine.shapes import is_integer
from mcp_conductor.checks.engine.timing import INCONCLUSIVE
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.paging import LIST_MEMBERS, Cursors, Room
from mcp_conductor.report.model import Finding

MOST_COMPLETIONS = 6
MOST_VALUES = 100
# What a list method belongs to, and by what its items are told apart.
_LISTS = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resources", "uriTemplate"),
}


# Completion.


def _arguments(probe: Probe) -> Iterator[Json]:
    """Params that ask to complete an argument: of every prompt, and of every template."""
    for prompt in probe.found.prompts:
        listed = prompt.get("arguments")
        for argument in listed if isinstance(listed, list) else []:
            if isinstance(argument, dict) and isinstance(argument.get("name"), str):
                yield _completion({"type": "ref/prompt", "name": prompt.get("name")}, argument["name"])
    for template in probe.found.templates:
        uri = template.get("uriTemplate")
        if isinstance(uri, str) and "{" in uri:
            variable = uri.partition("{")[2].partition("}")[0].lstrip("+#./;?&").partition(",")[0].rstrip("*")
            yield _completion({"type": "ref/resource", "uri": uri}, variable.partition(":")[0])


def _completion(ref: Json, name: str) -> Json:
    return {"ref": ref, "argument": {"name": name, "value": ""}}


def _require_completions(probe: Probe) -> None:
    if probe.dialect.completions and not probe.declares("completions"):
        raise NotSeen("the server does not declare completions")


async def _completion_replies(probe: Probe) -> list[tuple[Json, Message]]:
    """Replies to completion/complete for what the server lists."""
    _require_completions(probe)
    wanted = list(_arguments(probe))[:MOST_COMPLETIONS]
    if not wanted:
        raise NotSeen("no prompt and no template has an argument to complete")
    replies = [(params, await probe.ask("completion/complete", params)) for params in wanted]
    if not probe.dialect.completions and all(code_of(reply) == METHOD_NOT_FOUND for _, reply in replies):
        raise NotSeen("the server does not complete arguments")
    return replies


async def _completions(probe: Probe) -> list[tuple[Message, Json]]:
    """The member `completion` of those replies that have one."""
    found = [
        (reply, reply.result["completion"])
        for _, reply in await _completion_replies(probe)
        if reply.kind == "result"
        and isinstance(reply.result, dict)
        and isinstance(reply.result.get("completion"), dict)
    ]
    if not found:
        raise NotSeen("nothing was completed")
    return found


@probed("completion-capability-declared")
async def completion_is_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Send completion/complete to a server that does not declare completions: it must not answer with a completion."""
    if probe.declares("completions"):
        return
    params = next(_arguments(probe), _completion({"type": "ref/prompt", "name": "conductor-no-such-prompt"}, "x"))
    result = await probe.served("completion/complete", params)
    completion = (result or {}).get("completion")
    if completion is None or (isinstance(completion, dict) and completion.get("values") == []):
        raise NotSeen("the server completes no arguments")
    yield fault("arguments are completed, but completions is not declared", result)


@probed("completion-values")
async def completions_have_values(probe: Probe) -> AsyncIterator[Finding]:
    """Complete arguments of listed prompts and templates: the result has completion.values, an array of strings."""
    for _, reply in await _completion_replies(probe):
        if code_of(reply) == METHOD_NOT_FOUND:
            yield fault("completions is declared, but completion/complete does not exist", reply.raw)
        if reply.kind != "result":
            continue
        completion = reply.result.get("completion") if isinstance(reply.result, dict) else None
        values = completion.get("values") if isinstance(completion, dict) else None
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            yield fault("completion.values is not an array of strings", reply.raw)


@probed("completion-max-100")
async def completions_are_few(probe: Probe) -> AsyncIterator[Finding]:
    """Complete with an empty value: there are at most 100 values."""
    for reply, completion in await _completions(probe):
        values = completion.get("values")
        if isinstance(values, list) and len(values) > MOST_VALUES:
            yield fault(f"completion.values has {len(values)} values, more than {MOST_VALUES}", reply.raw)


@probed("completion-total-hasmore")
async def completions_say_how_many(probe: Probe) -> AsyncIterator[Finding]:
    """Look at completions: total is an integer from 0 on and hasMore a boolean, where they are given."""
    for reply, completion in await _completions(probe):
        if "total" in completion and not is_integer(completion["total"]):
            yield fault("completion.total is not an integer", reply.raw)
        elif completion.get("total", 0) < 0:
            yield fault("completion.total is below 0", reply.raw)
        if "hasMore" in completion and not isinstance(completion["hasMore"], bool):
            yield fault("completion.hasMore is not a boolean", reply.raw)


@probed("completion-context-server")
async def completion_takes_a_context(probe: Probe) -> AsyncIterator[Finding]:
    """Complete once more with context.arguments: what gave a result before gives one now."""
    kept = [(params, usual) for params, usual in await _completion_replies(probe) if usual.kind == "result"]
    if not kept:
        raise NotSeen("nothing was completed")
    params, usual = kept[0]
    reply = await probe.ask("completion/complete", {**params, "context": {"arguments": {"conductor": "x"}}})
    if reply.kind != "result":
        yield fault("a completion with a context is refused", reply.raw, beside=[usual.raw])


@probed("completion-not-supported-32601", follows=("base-method-not-found-server", "completion-capability-declared"))
async def completion_is_refused_where_it_is_not_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Send completion/complete to a server that does not declare completions: the error has the code -32601."""
    if probe.declares("completions"):
        raise NotSeen("the server declares completions")
    reply = await probe.ask("completion/complete", _completion({"type": "ref/prompt", "name": "x"}, "x"))
    if code_of(reply) != METHOD_NOT_FOUND:
        yield fault(f"completion/complete is not answered with {METHOD_NOT_FOUND}", reply.raw)


@probed("completion-invalid-ref", needs="completions", follows="completion-values")
async def completion_of_nothing_is_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Complete for a prompt that does not exist, and without the name of an argument: the code is -32602."""
    unknown = _completion({"type": "ref/prompt", "name": "conductor-no-such-prompt"}, "x")
    nameless = {**next(_arguments(probe), unknown), "argument": {"value": ""}}
    for what, params in (("an unknown prompt", unknown), ("an argument without a name", nameless)):
        reply = await probe.ask("completion/complete", params)
        if code_of(reply) != INVALID_PARAMS:
            yield fault(f"{what} is not answered with {INVALID_PARAMS}", reply.raw)


# Pagination.


def _lists(probe: Probe) -> list[str]:
    methods = [method for method, (capability, _) in _LISTS.items() if probe.declares(capability)]
    if not methods:
        raise NotSeen("the server declares no lists")
    return methods


async def _paged_lists(probe: Probe) -> list[tuple[str, str, Json | None]]:
    """The lists that have more than one page, each with the cursor of its second, and its first."""
    found = []
    for method in _lists(probe):
        page = await probe.result(method)
        cursor = Cursors(probe.dialect).after(page)[0]
        if cursor is not None:
            found.append((method, cursor, page))
    if not found:
        raise NotSeen("no list has a second page")
    return found


@probed("pagination-methods")
async def lists_take_cursors(probe: Probe) -> AsyncIterator[Finding]:
    """Ask for the second page of each list that has one: the server's own cursor is not refused."""
    for method, cursor, page in await _paged_lists(probe):
        reply = await probe.ask(method, {"cursor": cursor})
        if reply.kind == "error":
            yield fault(f"{method} refuses the cursor that it returned", reply.raw, beside=[page])


@probed("pagination-continues")
async def pages_follow_each_other(probe: Probe) -> AsyncIterator[Finding]:
    """Walk each list that has pages to its end: no cursor is returned again, and no item is on two pages.

    After 200 pages, or ten seconds, a list is left: whether it has an end is not known then.
    """
    unseen: NotSeen | None = None
    for method, *_ in await _paged_lists(probe):
        try:
            async for message, before, page in _repetitions(probe, method):
                yield fault(f"{method}: {message}", page, beside=[before])
        except NotSeen as nothing:
            unseen = nothing
    if unseen is not None:
        raise unseen


async def _repetitions(probe: Probe, method: str) -> AsyncIterator[tuple[str, Json, Json]]:
    """What comes again on a page, with the earlier page that has it."""
    member, key = LIST_MEMBERS[method], _LISTS[method][1]
    cursors: dict[str, Json] = {}
    seen: dict[str, Json] = {}
    params: Json | None = None
    room = Room(probe.session.budgets)
    began = perf_counter()
    for _ in range(MOST_PAGES):
        if perf_counter() - began > LONGEST_LIST:
            figures = f"{len(cursors)} pages in {LONGEST_LIST:g} s"
            raise NotSeen(f"{INCONCLUSIVE}: the end of {method} was not reached on {figures}")
        reply = await probe.ask(method, params)
        page = result_of(reply)
        if page is None:
            raise NotSeen(f"a page of {method} is not answered with a result")
        items = page.get(member)
        listed = [item.get(key) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        names = {name for name in listed if isinstance(name, str)}
        if repeated := sorted(names & seen.keys()):
            yield f"{', '.join(repeated)} is on two pages", seen[repeated[0]], page
            return
        seen |= dict.fromkeys(names, page)
        cursor = Cursors(probe.dialect).after(page)[0]
        if cursor is None:
            return
        if cursor in cursors:
            yield f"the cursor {cursor!r} is returned again, so that the list never ends", cursors[cursor], page
            return
        if (excess := room.excess(reply.text)) is not None:
            raise NotSeen(f"the pages of {method} are together {excess}")
        cursors[cursor] = page
        params = {"cursor": cursor}
    raise NotSeen(f"the end of {method} was not reached on {len(cursors)} pages")


@probed("pagination-stable-cursor")
async def cursors_are_stable(probe: Probe) -> AsyncIterator[Finding]:
    """Ask for the second page twice: the same items come."""
    for method, cursor, _ in await _paged_lists(probe):
        pages = [await probe.result(method, {"cursor": cursor}) or {} for _ in range(2)]
        once, again = (page.get(LIST_MEMBERS[method]) for page in pages)
        if once != again:
            yield fault(f"{method}: the same cursor leads to another page", pages[1], beside=pages[:1])


@probed("pagination-invalid-cursor")
async def unknown_cursors_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Send a cursor that the server never gave to each list: the error has the code -32602."""
    for method in _lists(probe):
        reply = await probe.ask(method, {"cursor": "conductor-no-such-cursor"})
        if reply.kind == "error" and code_of(reply) == METHOD_NOT_FOUND:
            continue  # resources need not have templates
        if code_of(reply) != INVALID_PARAMS:
            if reply.kind == "error" and (await probe.ask(method)).kind == "error":
                continue  # the list fails, whatever the cursor
            yield fault(f"{method} does not answer an unknown cursor with {INVALID_PARAMS}", reply.raw)


# What is gone, or going.


@probed("ping-removed", follows="versioning-removed-methods")
async def ping_is_gone(probe: Probe) -> AsyncIterator[Finding]:
    """Send ping, which this revision does not have: the error has the code -32601."""
    reply = await probe.ask("ping")
    if code_of(reply) != METHOD_NOT_FOUND:
        yield fault(f"ping is not answered with {METHOD_NOT_FOUND}", reply.raw)
