"""Tools that ask the client: for a sample, for its roots, for what the user enters here or on a page of the web."""

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact, kind_of, render
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import AskFailed, InputRequired, Tool, error_result, text_result
from mcp_conductor.server.form import FORM_SECONDS, Form, Forms
from mcp_conductor.server.identity import new_uuid
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.making import sample, string, tool


@preset("tool")
def collect_sample() -> Tool:
    """Ask the client's model, and answer with what it says."""

    async def run(call: Call) -> Json:
        answers = await call.ask({"sample": sample(call.arguments["text"], 100)})
        return text_result(f"Sampling response: {compact(answers['sample'])}")

    return tool(
        "collect_sample",
        "Send a sampling request with the given text and return the response",
        {"text": string("Text to send in the sampling request")},
        run,
    )


@preset("tool")
def list_roots() -> Tool:
    """Ask the client for its roots."""

    async def run(call: Call) -> Json:
        try:
            roots = (await call.ask({"roots": {"method": "roots/list"}}))["roots"].get("roots")
        except AskFailed as failure:
            return error_result(f"Error listing roots: {failure}")
        if not isinstance(roots, list):
            return error_result(f"Error listing roots: the client's roots are {kind_of(roots)}, not an array")
        return text_result(f"Roots: {render(roots, 2)}")

    return tool("list_roots", "List the current roots configured on the client", {}, run)


@preset("tool")
def collect_elicitation() -> Tool:
    """Have the user fill in a form by the schema of the call."""

    async def run(call: Call) -> Json:
        schema = call.arguments["schema"]
        if not isinstance(schema, dict):
            return error_result(f"schema must be a JSON Schema, which is an object, not {kind_of(schema)}")
        params = {"mode": "form", "message": call.arguments["message"], "requestedSchema": schema}
        answers = await call.ask({"elicitation": {"method": "elicitation/create", "params": params}})
        return text_result(f"Elicitation response: {compact(answers['elicitation'])}")

    return tool(
        "collect_elicitation",
        "Send an elicitation request with the given message and schema and return the response",
        {
            "message": string("Message to send in the elicitation request"),
            "schema": {"description": "JSON schema for the elicitation request"},
        },
        run,
    )


@preset("tool")
def collect_url_elicitation(url: str = "") -> Tool:
    """Have the user open a URL: that of the call, or else `url`."""

    async def run(call: Call) -> Json:
        identity = call.arguments.get("elicitationId") or f"url-elicitation-{new_uuid()}"
        question = _visit(call.arguments["message"], call.arguments.get("url") or url, identity)
        answer = (await call.ask({"elicitation": question}))["elicitation"]
        if answer.get("action") == "accept":
            _notify_complete(call, identity)
        return text_result(f"URL elicitation response: {compact(answer)}")

    return tool(
        "collect_url_elicitation",
        "Send a URL-based elicitation request with the given message and URL and return the response",
        {
            "message": string("Message to send in the elicitation request"),
            "url": string("URL for the user to navigate to", format="uri"),
            "elicitationId": string("Optional elicitation ID (generated if not provided)"),
        },
        run,
        required=["message"] if url else ["message", "url"],
    )


@preset("tool")
def url_elicitation_form() -> Tool:
    """Have the user fill in a form that this server shows on 127.0.0.1."""
    forms = Forms()

    async def run(call: Call) -> Json:
        form = _earlier_form(call, forms) or await forms.open()
        later = False
        try:
            return await _collect(call, form)
        except InputRequired:
            later = True  # the user fills it in before the request comes again
            raise
        finally:
            if not later:
                form.close()

    return tool(
        "url_elicitation_form",
        "Present a form via URL elicitation; collects submitted text and returns it in the tool response",
        {"message": string("Message to show in the elicitation (default: prompt for input)")},
        run,
        required=[],
    )


def _earlier_form(call: Call, forms: Forms) -> Form | None:
    """The form that an earlier round of CALL opened: its id is the key of the question."""
    answers = call.params.get("inputResponses")
    return forms.find(answers) if call.rounds is not None and isinstance(answers, dict) else None


async def _collect(call: Call, form: Form) -> Json:
    words = call.arguments.get("message") or "Please submit a value in the form"
    answer = (await call.ask({form.id: _visit(words, form.url, form.id)}))[form.id]
    if answer.get("action") != "accept":
        return text_result(f"Elicitation {answer.get('action')}: user did not accept")
    value = await form.value()
    if value is None:
        raise AskFailed(f"the form was not submitted within {FORM_SECONDS:g} s")
    _notify_complete(call, form.id)
    return text_result(f"Collected value: {value}")


def _visit(words: str, url: str, identity: str) -> Json:
    params = {"mode": "url", "message": words, "url": url, "elicitationId": identity}
    return {"method": "elicitation/create", "params": params}


def _notify_complete(call: Call, identity: str) -> None:
    if call.client.revision.elicitation_id:
        call.notify("notifications/elicitation/complete", {"elicitationId": identity})
