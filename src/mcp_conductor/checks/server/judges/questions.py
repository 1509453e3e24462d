"""The form of what a server asks of its client: sampling and elicitation."""

import re
from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.questions import (
    ELICITATION,
    SAMPLING,
    asked_for,
)
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import is_number
from mcp_conductor.protocol import Json
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

# Sampling.


def _blocks(message: Any, kind: str | None = None) -> list[Json]:
    content = message.get("content") if isinstance(message, dict) else None
    listed = content if isinstance(content, list) else [content]
    return [block for block in listed if isinstance(block, dict) and kind in (None, block.get("type"))]


def _conversations(record: Record) -> Iterator[tuple[list[Any], Any]]:
    for _, params, evidence in asked_for(record, SAMPLING):
        messages = params.get("messages")
        yield messages if isinstance(messages, list) else [], evidence


@judged("sampling-preferences-range")
def priorities_are_from_0_to_1(record: Record) -> Iterator[Finding]:
    """Look at the modelPreferences of sampling requests: priorities are numbers from 0 to 1."""
    for _, params, evidence in asked_for(record, SAMPLING):
        preferences = params.get("modelPreferences")
        for name in ("costPriority", "speedPriority", "intelligencePriority"):
            value = preferences.get(name, 0) if isinstance(preferences, dict) else 0
            if not is_number(value) or not 0 <= value <= 1:
                yield fault(f"{name} is not a number from 0 to 1", evidence)


def _is_declared(record: Record, part: str) -> bool:
    sampling = record.offered.get("sampling")
    return isinstance(sampling, dict) and part in sampling


@judged("sampling-include-context-server")
def context_is_not_included(record: Record) -> Iterator[Finding]:
    """Look at sampling requests to a client that does not declare sampling.context: they do not ask for context."""
    for _, params, evidence in asked_for(record, SAMPLING):
        if not _is_declared(record, "context") and params.get("includeContext") in ("thisServer", "allServers"):
            told = "context is requested from a client that does not declare sampling.context"
            yield fault(told, evidence, beside=record.opening[-1:])


@judged("sampling-tools-gated-server")
def tools_are_for_those_who_declare_them(record: Record) -> Iterator[Finding]:
    """Look at sampling requests to a client that does not declare sampling.tools: they have no tools."""
    for _, params, evidence in asked_for(record, SAMPLING):
        if not _is_declared(record, "tools") and ("tools" in params or "toolChoice" in params):
            told = "tools are given to a client that does not declare sampling.tools"
            yield fault(told, evidence, beside=record.opening[-1:])


@judged("sampling-tool-result-only-server")
def tool_results_stand_alone(record: Record) -> Iterator[Finding]:
    """Look at the messages of sampling requests: one with tool results has nothing else in it."""
    seen = False
    for messages, evidence in _conversations(record):
        for message in messages:
            results = _blocks(message, "tool_result")
            seen = seen or bool(results)
            if results and len(results) != len(_blocks(message)):
                yield fault("a message mixes tool results with other content", evidence)
    if not seen:
        raise NotSeen("no sampling request has tool results")


@judged("sampling-tool-balance-server")
def tool_uses_are_answered(record: Record) -> Iterator[Finding]:
    """Look at the messages of sampling requests: every tool_use has its tool_result in the message that follows."""
    seen = False
    for messages, evidence in _conversations(record):
        for message, following in zip(messages, [*messages[1:], {}], strict=False):  # there may be no messages
            used = {str(block.get("id")) for block in _blocks(message, "tool_use")}
            seen = seen or bool(used)
            answered = {str(block.get("toolUseId")) for block in _blocks(following, "tool_result")}
            if used - answered:
                yield fault(f"a tool_use has no tool_result: {', '.join(sorted(used - answered))}", evidence)
    if not seen:
        raise NotSeen("no sampling request has uses of tools")


# Elicitation, as far as it must be provoked; what requests look like is judged in `forms`.


_URL = compiled_later(r"https?://", re.IGNORECASE)


def texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from texts(each)


@judged("elicit-form-no-urls-server")
def forms_have_no_urls(record: Record) -> Iterator[Finding]:
    """Look at the texts of every form that is elicited: there is no URL in them."""
    for _, params, evidence in asked_for(record, ELICITATION):
        if params.get("mode", "form") == "form" and any(
            _URL.search(text) for text in texts([params.get("message"), params.get("requestedSchema")])
        ):
            yield fault("a form has a URL in it", evidence)
