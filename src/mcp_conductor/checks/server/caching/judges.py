"""How long results may be cached, and by whom: the hints of lists, of resources and of server/discover."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.report.model import Finding

HINTS = ("ttlMs", "cacheScope")


def _cacheable(record: Record) -> list[tuple[Exchange, Json]]:
    found = list(record.complete(*sorted(record.dialect.cacheable)))
    if not found:
        raise NotSeen("no result that can be cached was seen")
    return found


def _raw(exchange: Exchange) -> Any:
    return exchange.reply.raw if exchange.reply is not None else None


@judged("caching-hints-present")
def hints_are_given(record: Record) -> Iterator[Finding]:
    """Look at the results of server/discover, of all lists and of resources/read: they have ttlMs and cacheScope."""
    for exchange, result in _cacheable(record):
        missing = [hint for hint in HINTS if hint not in result]
        if missing:
            yield fault(f"{exchange.request.method}: {' and '.join(missing)} missing", _raw(exchange))


@judged("caching-ttl-valid")
def times_are_whole_and_not_negative(record: Record) -> Iterator[Finding]:
    """Look at every ttlMs: it is an integer, 0 or more."""
    for exchange, result in _cacheable(record):
        if "ttlMs" not in result:
            continue
        ttl = result["ttlMs"]
        number = isinstance(ttl, (int, float)) and not isinstance(ttl, bool)
        if not number or ttl < 0 or not float(ttl).is_integer():
            yield fault(f"{exchange.request.method}: ttlMs is not an integer of 0 or more", _raw(exchange))


@judged("caching-scope-valid")
def scopes_are_public_or_private(record: Record) -> Iterator[Finding]:
    """Look at every cacheScope: it is public or private."""
    for exchange, result in _cacheable(record):
        if "cacheScope" in result and result["cacheScope"] not in ("public", "private"):
            yield fault(f"{exchange.request.method}: cacheScope is neither public nor private", _raw(exchange))


@judged("caching-scope-uniform-pages")
def pages_have_one_scope(record: Record) -> Iterator[Finding]:
    """Compare the pages of each list: they have the same cacheScope."""
    gave: dict[tuple[str, str], Json] = {}  # the page that gave a cursor
    turned = False
    for exchange, result in record.complete(*sorted(record.dialect.cacheable)):
        method, cursor = exchange.request.method, exchange.request.params.get("cursor")
        if isinstance(cursor, str) and (method, cursor) in gave:
            turned = True
            before = gave[method, cursor]
            if result.get("cacheScope") != before.get("cacheScope"):
                told = f"{method}: this page has another cacheScope than the page before"
                yield fault(told, _raw(exchange), beside=[before])
        if isinstance(result.get("nextCursor"), str):
            gave[method, result["nextCursor"]] = result
    if not turned:
        raise NotSeen("no list has a second page")


@judged("caching-not-on-input-required")
def questions_are_not_cacheable(record: Record) -> Iterator[Finding]:
    """Look at results that are questions (input_required): they have neither ttlMs nor cacheScope."""
    seen = False
    for exchange, result in record.results():
        if result.get("resultType") == "input_required":
            seen = True
            if any(hint in result for hint in HINTS):
                yield fault("a result that is a question has caching hints", _raw(exchange))
    if not seen:
        raise NotSeen("no result was a question")
