"""Questions in place of a result (2026-07-28): what they look like."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.questions import (
    CAPABILITIES,
    QUESTION,
    ROOTS,
)
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.report.model import Finding


def _questions(record: Record) -> list[tuple[Exchange, Json]]:
    found = [(each, result) for each, result in record.results() if result.get("resultType") == QUESTION]
    if not found:
        raise NotSeen("no result was a question")
    return found


def _raw(exchange: Exchange) -> Any:
    return exchange.reply.raw if exchange.reply is not None else None


@judged("mrtr-only-via-result")
def servers_send_no_requests(record: Record) -> Iterator[Finding]:
    """Look for requests of the server, which this revision does not have: it asks in place of a result."""
    requests = list(record.questions())
    for message in requests:
        yield fault(f"the server sends the request {message.method}", message.raw)
    if not requests:
        _questions(record)


@judged("mrtr-supported-methods")
def only_some_methods_ask(record: Record) -> Iterator[Finding]:
    """Look at results that are questions: they answer tools/call, prompts/get or resources/read."""
    for exchange, _ in _questions(record):
        if exchange.request.method not in record.dialect.input_rounds:
            yield fault(f"{exchange.request.method} is answered with a question", _raw(exchange))


@judged("mrtr-shape")
def questions_have_requests_or_a_state(record: Record) -> Iterator[Finding]:
    """Look at results that are questions: they have inputRequests (an object), requestState (a string), or both."""
    for exchange, result in _questions(record):
        if "inputRequests" not in result and "requestState" not in result:
            yield fault("neither inputRequests nor requestState", _raw(exchange))
        if not isinstance(result.get("inputRequests", {}), dict):
            yield fault("inputRequests is not an object", _raw(exchange))
        if not isinstance(result.get("requestState", ""), str):
            yield fault("requestState is not a string", _raw(exchange))


@judged("mrtr-input-request-kinds")
def questions_are_of_known_kinds(record: Record) -> Iterator[Finding]:
    """Look at every question: its method is one of three, it has params, and neither jsonrpc nor id."""
    for exchange, result in _questions(record):
        requests = result.get("inputRequests")
        for key, each in requests.items() if isinstance(requests, dict) else []:
            problem = _problem(each)
            if problem is not None:
                yield fault(f"{key}: {problem}", _raw(exchange), path=f"inputRequests.{key}")


def _problem(question: Any) -> str | None:
    if not isinstance(question, dict) or str(question.get("method")) not in CAPABILITIES:
        return "no elicitation/create, sampling/createMessage or roots/list"
    if "jsonrpc" in question or "id" in question:
        return "jsonrpc or id is in a question, which is not a message"
    if question["method"] != ROOTS and not isinstance(question.get("params"), dict):
        return "no params"
    return None


@judged("mrtr-keys-unique")
def keys_are_unique(record: Record) -> Iterator[Finding]:
    """Read results that are questions with an eye for repeated keys: there are none in inputRequests."""
    for exchange, _ in _questions(record):
        text = exchange.reply.text if exchange.reply is not None else "{}"
        for key in _repeated_keys(text):
            yield fault(f"the key {key!r} is twice in inputRequests", text)


class _Members(list[tuple[str, Any]]):
    """An object, with the members that it repeats."""


def _repeated_keys(text: str) -> list[str]:
    """Keys that stand twice in the inputRequests of a message."""
    found: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> _Members:
        for name, value in pairs:
            if name == "inputRequests" and isinstance(value, _Members):
                found.extend(key for key, times in Counter(key for key, _ in value).items() if times > 1)
        return _Members(pairs)

    json.loads(text, object_pairs_hook=members)
    return found
