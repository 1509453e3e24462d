"""What a client answers when the server asks for roots, sampling and elicitation."""

import asyncio
from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.replies import error_code
from mcp_conductor.checks.harness.answers import (
    FORM,
    SAMPLING,
    content_problems,
    root_problems,
    sampling_problems,
)
from mcp_conductor.checks.harness.client_record import Asked, ClientRecord, seen
from mcp_conductor.checks.harness.input_rounds import modern_action, modern_content, modern_roots, modern_sampling
from mcp_conductor.checks.harness.scenario import HANDSHAKES, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

_PAGE = "/elicited"  # what a client that is asked to open a page must not fetch by itself
_CAPABILITIES = {"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation"}
_TOOLS = [{"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}]


@scenario("questions", revisions=HANDSHAKES)
class Questions(ServerScript):
    """While a tool is called the server asks for roots, for sampling and for elicitation, declared or not."""

    asks = True

    async def before(self, call: ScriptCall) -> None:
        if "asked" in self.record.moments or (self.client_calls_tools and call.method != "tools/call"):
            return
        self.did("asked")
        dialect = call.connection.dialect
        known = () if dialect is None else dialect.asks
        questions = [
            (method, params, f"question-{number}")
            for number, (method, params) in enumerate(self._questions(call))
            if method in known
        ]
        while questions:
            method, params, identity = questions.pop(0)
            if await call.ask(method, params, identity=identity) is None:
                break
        # Who leaves one question without an answer may answer others; it need not be waited for each time.
        await asyncio.gather(*(call.ask(method, params, identity=identity) for method, params, identity in questions))

    def _questions(self, call: ScriptCall) -> list[tuple[str, Json | None]]:
        asked: list[tuple[str, Json | None]] = [
            ("roots/list", None),
            ("sampling/createMessage", SAMPLING),
            ("elicitation/create", FORM),
        ]
        if call.connection.dialect is not None and call.connection.dialect.elicitation_id:
            page = {"mode": "url", "message": "Log in?", "url": self.record.origin + _PAGE, "elicitationId": "e-1"}
            asked += [
                ("elicitation/create", {"mode": "form", **FORM}),
                ("elicitation/create", page),
                ("sampling/createMessage", {**SAMPLING, "tools": _TOOLS, "toolChoice": {"mode": "auto"}}),
            ]
        return [*asked, ("roots/list", None)]  # once more: they may have changed


def _answered_questions(
    record: ClientRecord, method: str, *, mode: Any = ..., tools: bool = False
) -> list[tuple[Message, Message]]:
    """Our questions of one kind that were answered, with the answers."""
    found = []
    for question, reply in record.asked(method):
        fits = mode is ... or question.params.get("mode") == mode
        if fits and ("tools" in question.params) == tools and reply is not None:
            found.append((question, reply))
    return seen(found, f"{method} was not answered")


def _left_open(record: ClientRecord, method: str) -> Iterator[Finding]:
    """Findings about questions that were never answered, although the client declares their capability."""
    declared = _CAPABILITIES[method]
    for question, reply in record.asked(method):
        if reply is not None or not any(declared in connection.capabilities for connection in record.connections):
            continue
        if record.waited_for(question):
            yield fault(
                f"{method} was not answered within {record.patience:g} s, but {declared} is declared", question.raw
            )
        elif record.exit_code not in (None, 0):
            problem = f"the client ended with exit code {record.exit_code}, and did not answer {method}"
            yield fault(problem, record.last_words() or question.raw)


def _undeclared_questions(record: ClientRecord, *methods: str) -> list[Asked]:
    """Our questions about what the client does not declare."""
    found = [
        Asked(question, reply)
        for connection in record.connections
        for question, reply in record.asked_on(connection, *methods)
        if _CAPABILITIES.get(question.method, "") not in connection.capabilities and question.method in _CAPABILITIES
    ]
    return seen(found, f"the client declares {' and '.join(_CAPABILITIES[each] for each in methods) or 'everything'}")


@watched(
    "lifecycle-capabilities-declared-client",
    scenario="questions",
    recorded="conversation",
    follows=(
        "roots-capability-declared-client",
        "sampling-capability-declared-client",
        "elicit-capability-declared-client",
    ),
)
def what_is_answered_is_declared(record: ClientRecord) -> Iterator[Finding]:
    """Ask for roots, sampling and elicitation: what the client did not declare, it does not answer with a result."""
    for question, reply in _undeclared_questions(record):
        if reply is not None and _is_given(reply):
            yield fault(f"{question.method} was answered, but the capability is not declared", reply.raw)


def _is_given(reply: Message | None) -> bool:
    """Whether an answer gives what was asked for; decline and cancel do not."""
    if reply is None or reply.kind != "result":
        return False
    return not isinstance(reply.result, dict) or reply.result.get("action") not in ("decline", "cancel")


def _undeclared_answers(record: ClientRecord, method: str) -> Iterator[Finding]:
    for question, reply in _undeclared_questions(record, method):
        if reply is not None and _is_given(reply):
            yield fault(f"{question.method} was answered, but {_CAPABILITIES[method]} is not declared", reply.raw)


@watched("roots-capability-declared-client", scenario="questions", recorded="conversation")
def roots_are_declared(record: ClientRecord) -> Iterator[Finding]:
    """Ask for roots: a client that did not declare them does not list any."""
    yield from _undeclared_answers(record, "roots/list")


@watched("sampling-capability-declared-client", scenario="questions", recorded="conversation")
def sampling_is_declared(record: ClientRecord) -> Iterator[Finding]:
    """Ask for sampling: a client that did not declare it does not answer with a message."""
    yield from _undeclared_answers(record, "sampling/createMessage")


@watched("elicit-capability-declared-client", scenario="questions", recorded="conversation")
def elicitation_is_declared(record: ClientRecord) -> Iterator[Finding]:
    """Ask for elicitation: a client that did not declare it, or not this mode of it, does not answer with a result."""
    yield from _undeclared_answers(record, "elicitation/create")


@watched(
    "roots-unsupported-error-client",
    scenario="questions",
    recorded="conversation",
    follows=("base-response-id-echo-client",),
)
def roots_are_refused(record: ClientRecord) -> Iterator[Finding]:
    """Ask a client that did not declare roots for them: the error is -32601."""
    for _, reply in _undeclared_questions(record, "roots/list"):
        if reply is None and record.recorded:  # the answer may have come later
            continue
        if reply is None or (reply.kind == "error" and error_code(reply) != METHOD_NOT_FOUND):
            yield fault(f"roots/list was not answered with {METHOD_NOT_FOUND}", None if reply is None else reply.raw)


@watched("sampling-unsupported-client", scenario="questions", follows=("base-response-id-echo-client",))
def sampling_is_refused(record: ClientRecord) -> Iterator[Finding]:
    """Ask a client that did not declare sampling for it: it answers with an error."""
    for question, reply in _undeclared_questions(record, "sampling/createMessage"):
        if reply is None:
            yield fault("sampling/createMessage was not answered", question.raw)


@watched(
    "roots-list-array-client",
    scenario=("questions", "input-rounds"),
    recorded="conversation",
    follows=("base-response-id-echo-client",),
)
def roots_are_a_list(record: ClientRecord) -> Iterator[Finding]:
    """Ask a client that declares roots for them: the result has an array roots."""
    if record.asks_in_results:
        yield from modern_roots(record, "roots")
        return
    yield from _left_open(record, "roots/list")
    for _, reply in _results(record, "roots/list"):
        if not isinstance(reply.result, dict) or not isinstance(reply.result.get("roots"), list):
            yield fault("the result of roots/list has no roots", reply.raw, path="result.roots")


def _results(record: ClientRecord, method: str, **which: Any) -> list[tuple[Message, Message]]:
    found = [
        (question, reply) for question, reply in _answered_questions(record, method, **which) if reply.kind == "result"
    ]
    return seen(found, f"{method} was answered with an error")


@watched("roots-item-uri-client", scenario=("questions", "input-rounds"), recorded="conversation")
def roots_are_files(record: ClientRecord) -> Iterator[Finding]:
    """Ask for roots: each has a uri that begins with file://."""
    if record.asks_in_results:
        yield from modern_roots(record, "uri")
        return
    for _, reply in _results(record, "roots/list"):
        yield from root_problems(reply.result, "uri", reply.raw)


@watched("roots-item-name-client", scenario=("questions", "input-rounds"), recorded="conversation")
def roots_have_names(record: ClientRecord) -> Iterator[Finding]:
    """Ask for roots: a name, if there is one, is a string."""
    if record.asks_in_results:
        yield from modern_roots(record, "name")
        return
    for _, reply in _results(record, "roots/list"):
        yield from root_problems(reply.result, "name", reply.raw)


@watched("roots-listchanged-flag-client", scenario="plain", recorded="messages")
def list_changed_is_a_boolean(record: ClientRecord) -> Iterator[Finding]:
    """Look at the capabilities: roots.listChanged, if it is there, is true or false."""
    roots = record.connection.capabilities.get("roots")
    if not isinstance(roots, dict) or "listChanged" not in roots:
        raise NotSeen("the client does not declare roots.listChanged")
    if not isinstance(roots["listChanged"], bool):
        yield fault(
            "roots.listChanged is not a boolean", record.connection.initialize, path="capabilities.roots.listChanged"
        )


@watched("roots-listchanged-needs-capability-client", recorded="conversation")
def list_changed_is_declared(record: ClientRecord) -> Iterator[Finding]:
    """Look at every notifications/roots/list_changed: the client has declared that it sends it."""
    for connection in record.connections:
        roots = connection.capabilities.get("roots")
        declared = isinstance(roots, dict) and roots.get("listChanged") is True
        for message in connection.notifications("notifications/roots/list_changed"):
            if not declared:
                yield fault("the client does not declare roots.listChanged", message.raw)
    seen(record.notifications("notifications/roots/list_changed"), "the client did not say that its roots changed")


def _sampling(record: ClientRecord, side: str, *, several: bool = False) -> Iterator[Finding]:
    """What is wrong with one SIDE of sampled messages: in responses, or in the answers of input rounds."""
    if record.asks_in_results:
        yield from modern_sampling(record, side)
        return
    for _, reply in _results(record, "sampling/createMessage"):
        yield from sampling_problems(reply.result, side, reply.raw, several=several)


@watched("sampling-result-fields-client", scenario=("questions", "input-rounds"), recorded="conversation")
def sampling_results_are_complete(record: ClientRecord) -> Iterator[Finding]:
    """Ask for sampling: the result has a role, content and a model."""
    yield from _sampling(record, "fields")


@watched("sampling-content-types-client", scenario="questions", recorded="conversation")
def sampling_content_is_text_or_image(record: ClientRecord) -> Iterator[Finding]:
    """Ask for sampling: the content is text or an image."""
    yield from _sampling(record, "old content")


@watched("sampling-content-types-later-client", scenario=("questions", "input-rounds"), recorded="conversation")
def sampling_content_is_of_a_known_type(record: ClientRecord) -> Iterator[Finding]:
    """Ask for sampling: the content is text, an image or audio; since 2025-11-25 also tools, and several of these."""
    yield from _sampling(record, "content", several=record.dialect is not None and record.dialect.elicitation_id)


@watched("sampling-result-stopreason-client", scenario=("questions", "input-rounds"), recorded="conversation")
def stop_reasons_are_strings(record: ClientRecord) -> Iterator[Finding]:
    """Ask for sampling: stopReason, if it is there, is a string."""
    yield from _sampling(record, "stopReason")


@watched("sampling-rejected-error-client", scenario="questions", follows=("base-response-id-echo-client",))
def refused_sampling_is_an_error(record: ClientRecord) -> Iterator[Finding]:
    """Ask for sampling: a client that declares it, but refuses, answers with an error and not with silence."""
    yield from _left_open(record, "sampling/createMessage")
    _answered_questions(record, "sampling/createMessage")


@watched("sampling-tools-rejected-client", scenario="questions", recorded="conversation")
def tools_in_sampling_are_declared(record: ClientRecord) -> Iterator[Finding]:
    """Ask for sampling with tools: a client that does not declare sampling.tools answers with an error."""
    sampling = record.connection.capabilities.get("sampling")
    if not isinstance(sampling, dict) or "tools" in sampling:
        raise NotSeen("the client declares sampling.tools" if sampling else "the client does not declare sampling")
    for _, reply in _answered_questions(record, "sampling/createMessage", tools=True):
        if reply.kind == "result":
            yield fault("sampling with tools was answered, but sampling.tools is not declared", reply.raw)


def _modes(record: ClientRecord) -> set[str]:
    """The modes of elicitation that the client declares."""
    declared = record.connection.capabilities.get("elicitation")
    if not isinstance(declared, dict):
        raise NotSeen("the client does not declare elicitation")
    return {"form", "url"} & set(declared) or {"form"}


@watched("elicit-mode-absent-client", scenario="questions")
def a_form_needs_no_mode(record: ClientRecord) -> Iterator[Finding]:
    """Ask for a form without saying that it is one: the client answers as it does with the mode."""
    if "form" not in _modes(record):
        raise NotSeen("the client declares no forms")
    with_mode = [reply.kind for _, reply in _answered_questions(record, "elicitation/create", mode="form")]
    for _, reply in _answered_questions(record, "elicitation/create", mode=None):
        if reply.kind == "error" and "result" in with_mode:
            yield fault("a form without mode was refused", reply.raw)


@watched("elicit-result-action-client", scenario=("questions", "input-rounds"), recorded="conversation")
def elicitation_results_have_an_action(record: ClientRecord) -> Iterator[Finding]:
    """Ask for elicitation: the action is accept, decline or cancel."""
    if record.asks_in_results:
        yield from modern_action(record)
        return
    for _, reply in _results(record, "elicitation/create"):
        action = reply.result.get("action") if isinstance(reply.result, dict) else None
        if action not in ("accept", "decline", "cancel"):
            yield fault("action is not accept, decline or cancel", reply.raw, path="result.action")


@watched("elicit-result-content-client", scenario=("questions", "input-rounds"), recorded="conversation")
def elicitation_content_fits(record: ClientRecord) -> Iterator[Finding]:
    """Ask with a form: content that is accepted fits the schema of the form."""
    if record.asks_in_results:
        yield from modern_content(record)
        return
    yield from content_problems(_results(record, "elicitation/create"))


@watched(
    "elicit-defaults-applied-client",
    scenario=("questions", "input-rounds"),
    follows=("elicit-result-content-client",),
)
def defaults_are_filled_in(record: ClientRecord) -> Iterator[Finding]:
    """Ask with a form that has a default: content that is accepted has a value there."""
    if record.asks_in_results:
        yield from modern_content(record, defaults=True)
        return
    yield from content_problems(_results(record, "elicitation/create"), defaults=True)


@watched("elicit-unsupported-mode-client", scenario="questions", recorded="conversation")
def other_modes_are_refused(record: ClientRecord) -> Iterator[Finding]:
    """Ask for a mode of elicitation that is not declared: the error is -32602."""
    if "url" in _modes(record):
        raise NotSeen("the client declares both modes")
    for _, reply in _answered_questions(record, "elicitation/create", mode="url"):
        if error_code(reply) != INVALID_PARAMS:
            yield fault(f"the mode url, which is not declared, was not refused with {INVALID_PARAMS}", reply.raw)


@watched("elicit-url-accept-no-content-client", scenario="questions", recorded="conversation")
def pages_return_no_content(record: ClientRecord) -> Iterator[Finding]:
    """Ask for a page to be opened: the answer has no content."""
    for _, reply in _results(record, "elicitation/create", mode="url"):
        if isinstance(reply.result, dict) and "content" in reply.result:
            yield fault("the answer to a request in the mode url has content", reply.raw, path="result.content")


@watched("elicit-url-no-prefetch-client", scenario="questions")
def pages_are_not_fetched(record: ClientRecord) -> Iterator[Finding]:
    """Ask for a page to be opened: the client itself does not fetch it."""
    _answered_questions(record, "elicitation/create", mode="url")
    for request in record.http:
        if request.path == _PAGE:
            yield fault("the client itself fetched the URL; only the user may open it", str(request), beside=[request])


@watched("elicit-url-shown-client", scenario="questions")
def pages_are_shown(record: ClientRecord) -> Iterator[Finding]:
    """Ask for a page to be opened: a client that accepts has shown its URL."""
    found = [reply for _, reply in _results(record, "elicitation/create", mode="url") if _is_given(reply)]
    for reply in seen(found, "the client did not accept"):
        if not record.printed(record.origin + _PAGE):
            yield fault("the client accepted, but did not show the URL to the user", reply.raw)
