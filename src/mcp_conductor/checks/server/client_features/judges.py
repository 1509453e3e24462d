"""The form of what a server asks of its client: sampling and elicitation."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from urllib.parse import SplitResult


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


URL_REQUIRED = -32042
COMPLETE = "notifications/elicitation/complete"
_FORMATS = ("email", "uri", "date", "date-time")
_PRIMITIVES = ("string", "number", "integer", "boolean")
# Names that leave no doubt: "token" alone may be a word, "key" may belong to a map.
_SENSITIVE = compiled_later(
    r"pass_?(word|wd|phrase)|api_?key|(access|auth|bearer|refresh|api)_?token|private_?key|client_?secret"
    r"|(credit_?)?card_?number|credit_?card|\bcvv\b|\bcvc\b|\bsecret(_?key)?\b",
)
_MAIL = compiled_later(r"[\w.+-]+@[\w-]+\.[\w.]+")
_LOCAL = ("localhost", "127.0.0.1", "::1")


def _mode(record: Record, mode: str) -> list[tuple[Json, Any]]:
    found = [
        (params, evidence)
        for _, params, evidence in asked_for(record, ELICITATION)
        if params.get("mode", "form") == mode
    ]
    if not found:
        raise NotSeen(f"nothing was elicited in the mode {mode}")
    return found


def _fields(record: Record) -> Iterator[tuple[str, Any, Any]]:
    """The properties of all forms: name, schema, and the message that it came in."""
    for params, evidence in _mode(record, "form"):
        schema = params.get("requestedSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        for name, each in properties.items() if isinstance(properties, dict) else []:
            yield name, each, evidence


@judged("elicit-form-request-server")
def forms_are_whole(record: Record) -> Iterator[Finding]:
    """Look at every form: it has a message, and a requestedSchema of type object with properties."""
    for _, params, evidence in asked_for(record, ELICITATION):
        if params.get("mode", "form") not in ("form", "url"):
            yield fault("mode is neither form nor url", evidence)
    for params, evidence in _mode(record, "form"):
        schema = params.get("requestedSchema")
        if not isinstance(params.get("message"), str):
            yield fault("message is not a string", evidence)
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield fault("requestedSchema is not a schema of type object", evidence)
        elif not isinstance(schema.get("properties"), dict):
            yield fault("requestedSchema has no properties", evidence)
        elif not isinstance(schema.get("required", []), list):
            yield fault("required is not an array", evidence)


@judged("elicit-form-flat-schema-server")
def forms_are_flat(record: Record) -> Iterator[Finding]:
    """Look at every property of a form: a string, a number, a boolean or a choice, and nothing nested."""
    choices = record.dialect.tasks is not None  # multi-select came with the revision that has tasks
    for name, schema, evidence in _fields(record):
        kind = schema.get("type") if isinstance(schema, dict) else None
        if kind not in _PRIMITIVES and not (kind == "array" and choices):
            yield fault(f"property {name!r}: the type is not a primitive one", evidence, path=name)
        elif kind == "string" and "format" in schema and schema["format"] not in _FORMATS:
            yield fault(f"property {name!r}: the format is not {', '.join(_FORMATS)}", evidence, path=name)


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_titled(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict) and isinstance(each.get("const"), str) and isinstance(each.get("title"), str)
        for each in value
    )


def _is_choice(schema: Json) -> bool:
    """Whether a property that offers a choice does so in one of the ways there are."""
    if schema.get("type") == "array":
        items = schema.get("items")
        return isinstance(items, dict) and (_are_strings(items.get("enum")) or _are_titled(items.get("anyOf")))
    return _are_strings(schema.get("enum")) or _are_titled(schema.get("oneOf"))


@judged("elicit-enum-forms-server")
def choices_are_offered_in_known_ways(record: Record) -> Iterator[Finding]:
    """Look at every property of a form that offers a choice: enum, oneOf with titles, or an array of these."""
    seen = False
    for name, schema, evidence in _fields(record):
        if not isinstance(schema, dict) or not (
            schema.get("type") == "array" or {"enum", "oneOf", "anyOf"} & set(schema)
        ):
            continue
        seen = True
        if not _is_choice(schema):
            yield fault(
                f"property {name!r}: the choice is not an enum, a oneOf with titles, or an array of these",
                evidence,
                path=name,
            )
    if not seen:
        raise NotSeen("no form offers a choice")


@judged("elicit-defaults-typed-server")
def defaults_fit(record: Record) -> Iterator[Finding]:
    """Look at the defaults in forms: they are of the type of their property."""
    types: dict[str, Any] = {
        "string": str,
        "boolean": bool,
        "number": (int, float),
        "integer": (int, float),
        "array": list,
    }
    seen = False
    for name, schema, evidence in _fields(record):
        if not isinstance(schema, dict) or "default" not in schema or schema.get("type") not in types:
            continue
        seen = True
        default = schema["default"]
        number_wanted = schema["type"] in ("number", "integer")
        if not isinstance(default, types[schema["type"]]) or (number_wanted and isinstance(default, bool)):
            yield fault(f"property {name!r}: the default does not have the type of the property", evidence, path=name)
    if not seen:
        raise NotSeen("no form has defaults")


@judged("elicit-no-sensitive-form-server")
def forms_do_not_ask_for_secrets(record: Record) -> Iterator[Finding]:
    """Look at the names and titles of properties in forms: none asks for a password, a key, a token or a card."""
    for name, schema, evidence in _fields(record):
        title = schema.get("title") if isinstance(schema, dict) else None
        spelled = (_plain(name), _plain(title) if isinstance(title, str) else "")
        if any(_SENSITIVE.search(text) for text in spelled):
            yield fault(f"property {name!r}: the name or title asks for a secret", evidence, path=name)


def _plain(name: str) -> str:
    """NAME in lower case with underscores, however it was written: apiKey, API-Key."""
    return re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).lower()


def _parts(value: Any) -> "SplitResult | None":
    """The parts of a URL; None if VALUE is none."""
    from urllib.parse import urlsplit  # which a run of tests does not need otherwise

    if not isinstance(value, str):
        return None
    try:
        parts = urlsplit(value)
    except ValueError:
        return None
    return parts if parts.scheme and (parts.netloc or parts.path) else None


def _page_faults(params: Json, evidence: Any) -> Iterator[Finding]:
    if not isinstance(params.get("message"), str):
        yield fault("message is not a string", evidence)
    if _parts(params.get("url")) is None:
        yield fault("url is not a URL", evidence)


@judged("elicit-url-request-server")
def pages_are_whole(record: Record) -> Iterator[Finding]:
    """Look at every page that is to be visited: it has a message, a URL and an elicitationId."""
    for params, evidence in _mode(record, "url"):
        yield from _page_faults(params, evidence)
        if not isinstance(params.get("elicitationId"), str):
            yield fault("elicitationId is not a string", evidence)


@judged("elicit-url-request-modern-server")
def modern_pages_are_whole(record: Record) -> Iterator[Finding]:
    """Look at every page that is to be visited: it has a message and a URL."""
    for params, evidence in _mode(record, "url"):
        yield from _page_faults(params, evidence)


@judged("elicit-url-https-server")
def pages_are_safe_to_visit(record: Record) -> Iterator[Finding]:
    """Look at every page that is to be visited: its URL begins with https, except on this machine."""
    for params, evidence in _mode(record, "url"):
        parts = _parts(params.get("url"))
        if parts is not None and parts.scheme == "http" and parts.hostname not in _LOCAL:
            yield fault("the URL is not https", evidence)


@judged("elicit-url-no-sensitive-server")
def urls_have_no_secrets(record: Record) -> Iterator[Finding]:
    """Look at every page that is to be visited: no password, token or mail address is in its URL."""
    for params, evidence in _mode(record, "url"):
        parts = _parts(params.get("url"))
        if parts is None:
            continue
        if parts.password or _has_secrets(parts.query):
            yield fault("the URL has sensitive data in it", evidence)


def _has_secrets(query: str) -> bool:
    from urllib.parse import parse_qsl

    return any(_SENSITIVE.search(_plain(name)) or _MAIL.fullmatch(value) for name, value in parse_qsl(query))


@judged("elicit-complete-notification-server")
def completed_pages_are_named(record: Record) -> Iterator[Finding]:
    """Look at every notification that a URL elicitation is complete: it has an elicitationId."""
    found = list(record.notifications(COMPLETE))
    if not found:
        raise NotSeen(f"{COMPLETE} did not come")
    for message in found:
        if not isinstance(message.params.get("elicitationId"), str):
            yield fault("elicitationId is not a string", message.raw)


@judged("elicit-complete-removed-server")
def completed_pages_are_not_notified(record: Record) -> Iterator[Finding]:
    """Look for notifications that a URL elicitation is complete, which this revision does not have."""
    sent = list(record.notifications(COMPLETE))
    if not sent and not any(result.get("resultType") == "input_required" for _, result in record.results()):
        raise NotSeen("the server asked for nothing")
    for message in sent:
        yield fault(f"{COMPLETE} is sent, but this revision no longer has it", message.raw)


@judged("elicit-url-required-error-server")
def required_pages_are_listed(record: Record) -> Iterator[Finding]:
    """Look at errors with the code -32042: their data lists pages to be visited, each with an elicitationId."""
    found = [(exchange, error) for exchange, error in record.errors() if error.get("code") == URL_REQUIRED]
    if not found:
        raise NotSeen(f"no error had the code {URL_REQUIRED}")
    for exchange, error in found:
        data = error.get("data")
        listed = data.get("elicitations") if isinstance(data, dict) else None
        if not isinstance(listed, list) or not listed or not all(_is_page(each) for each in listed):
            yield fault(
                "data.elicitations is not an array of objects with url and elicitationId",
                exchange.reply and exchange.reply.raw,
            )


def _is_page(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and entry.get("mode") == "url"
        and _parts(entry.get("url")) is not None
        and isinstance(entry.get("elicitationId"), str)
    )
