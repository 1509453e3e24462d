"""Steps that ask the client: its model, its user, its roots, and what it can do.

Answers are filled in as `{{ answers.KEY }}`. How a question travels is the business of `Call.ask`.
"""

from typing import Any

from mcp_conductor.files.fields import Field
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.server.client import missing_capability
from mcp_conductor.server.identity import new_uuid
from mcp_conductor.server.placeholders import Draft, Scope, array, record
from mcp_conductor.server.steps import Script, Step, StepFailedError, one_of, step

_OPTIONS = ("as", "ifSupported")
_SAMPLING = (
    "systemPrompt",
    "modelPreferences",
    "includeContext",
    "temperature",
    "stopSequences",
    "metadata",
    "tools",
    "toolChoice",
    "_meta",
)
_MAX_TOKENS = 100


@step
def sample(given: Field, script: Script) -> Step:
    """Ask the client's model: a text, or `{prompt}` or `{messages}` with any other member of the request.

    That is `maxTokens` (100 if not given), `systemPrompt`, `modelPreferences`, `includeContext`, `temperature`,
    `stopSequences`, `metadata`, `tools`, `toolChoice` and `_meta`. The answer is `{{ answers.KEY }}`, with the KEY
    that `as` gives it, or else sample_1, sample_2, and so on. With `ifSupported: true` a client that does not declare
    this is not asked, and there is no answer.
    """
    return _single("sample", given, script)


@step
def elicit(given: Field, script: Script) -> Step:
    """Ask the user: `{message, schema}` for a form, or `{message, url}` for a page.

    What is accepted must fit the schema; if it does not, the call fails with the reason. A page may have an
    `elicitationId`, or else gets one of its own. `as` and `ifSupported` as for sample; without `as` the answer is
    elicit_1, elicit_2, and so on.
    """
    return _single("elicit", given, script)


@step
def list_roots(given: Field, script: Script) -> Step:
    """Ask for the client's roots: nothing, or `{as, ifSupported}` as for sample; or else list_roots_1, and so on."""
    return _single("list_roots", given, script)


@step
def ask(given: Field, script: Script) -> Step:
    """Ask several things at once: `{KEY: {elicit: …}, KEY: {sample: …}, KEY: {list_roots: {}}}`.

    The answers have the same keys. Next to `elicit`, `sample` or `list_roots`, `ifSupported: true` leaves a
    question out when the client does not declare that it answers it.
    """
    questions: dict[str, tuple[Draft, bool]] = {}
    for key, entry in given.members().items():
        known = entry.members((*_QUESTIONS, "ifSupported"))
        kind = one_of(entry, known, *_QUESTIONS)
        optional = known["ifSupported"].boolean() if "ifSupported" in known else False
        questions[key] = (_QUESTIONS[kind](known[kind], script, ()), optional)
    for key, entry in given.members().items():
        script.answered(key, entry)
    return _asking(questions)


def _single(kind: str, given: Field, script: Script) -> Step:
    question = _QUESTIONS[kind](given, script, _OPTIONS)
    options = given.members() if isinstance(given.value, dict) else {}
    key = options["as"].text() if "as" in options else script.next_key(kind)
    script.answered(key, options.get("as", given))
    return _asking({key: (question, options["ifSupported"].boolean() if "ifSupported" in options else False)})


def _asking(questions: dict[str, tuple[Draft, bool]]) -> Step:
    async def act(scope: Scope) -> None:
        filled = {key: (question.filled(scope), optional) for key, (question, optional) in questions.items()}
        declares = scope.call.client.declares
        asked = {key: question for key, (question, optional) in filled.items() if not optional or declares(question)}
        if asked:
            scope.answers.update(await scope.call.ask(asked))

    return act


def _sampling(given: Field, script: Script, options: tuple[str, ...]) -> Draft:
    if isinstance(given.value, str):
        known = {"prompt": given}
    else:
        known = given.members(("prompt", "messages", "maxTokens", *_SAMPLING, *options))
    if one_of(given, known, "prompt", "messages") == "prompt":
        content = record({"type": Draft("text"), "text": script.text(known["prompt"])})
        messages = array([record({"role": Draft("user"), "content": content})])
    else:
        known["messages"].items()
        messages = script.draft(known["messages"])
    tokens = script.draft(known["maxTokens"]) if "maxTokens" in known else Draft(_MAX_TOKENS)
    rest = {key: script.draft(known[key]) for key in _SAMPLING if key in known}
    return _question("sampling/createMessage", {"messages": messages, "maxTokens": tokens, **rest})


def _elicitation(given: Field, script: Script, options: tuple[str, ...]) -> Draft:
    known = given.members(("message", "schema", "url", "elicitationId", "_meta", *options))
    one_of(given, known, "message")
    params = {"message": script.text(known["message"])}
    if one_of(given, known, "schema", "url") == "schema":
        known["schema"].members()
        params = {"mode": Draft("form"), **params, "requestedSchema": script.draft(known["schema"])}
        if "elicitationId" in known:
            known["elicitationId"].refuse("belongs to a url, and here is a schema")
    else:
        fresh = Draft(None, lambda _: new_uuid())
        identity = script.text(known["elicitationId"]) if "elicitationId" in known else fresh
        params = {"mode": Draft("url"), **params, "url": script.text(known["url"]), "elicitationId": identity}
    if "_meta" in known:
        params["_meta"] = script.draft(known["_meta"])
    return _question("elicitation/create", params)


def _roots(given: Field, _: Script, options: tuple[str, ...]) -> Draft:
    if given.value is not None:
        given.members(options)
    return _question("roots/list", {})


def _question(method: str, params: dict[str, Draft]) -> Draft:
    return record({"method": Draft(method), **({"params": record(params)} if params else {})})


_QUESTIONS = {"elicit": _elicitation, "sample": _sampling, "list_roots": _roots}


@step
def require(given: Field, _: Script) -> Step:
    """Go on only if the client declares a capability: its name, or an object such as `{elicitation: {url: {}}}`."""
    needed: Json = {given.value: {}} if isinstance(given.value, str) else given.value
    for member in Field(given.document, given.path, needed).members().values():
        member.members()

    async def act(scope: Scope) -> None:
        client = scope.call.client
        declared = client.capabilities
        if declared.get("elicitation") == {}:
            declared = {**declared, "elicitation": {"form": {}}}  # client/elicitation#capabilities: the same thing
        if _covers(declared, needed):
            return
        if client.revision.handshake:
            raise StepFailedError(f"this needs a client that declares {compact(needed)}")
        raise missing_capability(needed)

    return act


def _covers(declared: Any, needed: Any) -> bool:
    """Whether every member of NEEDED, however deep, is DECLARED."""
    if not isinstance(needed, dict):
        return bool(declared == needed)
    return isinstance(declared, dict) and all(
        key in declared and _covers(declared[key], member) for key, member in needed.items()
    )
