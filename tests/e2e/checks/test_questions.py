"""Roots, sampling, elicitation and input rounds: each requirement kept, and broken."""

import sys

import pytest
from tests.e2e.checks.broken import ROOT, checked, found, lines, reported_alone

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
V4, V5 = "2025-11-25", "2026-07-28"

# A tool that asks those who can answer; a change may replace METHOD, NEED, PARAMS, `able` and `take`.
ASKS = """
CLIENT = {}
good_hello = hello
def hello(**capabilities):
    CLIENT.update(good_hello(**capabilities)["capabilities"])
able = lambda: NEED in CLIENT
take = lambda answer: TEXT
def tool(params):
    return take(ask("q1", METHOD, **PARAMS)) if able() else TEXT
"""
ROOTS = ASKS + 'METHOD, NEED, PARAMS = "roots/list", "roots", {}\n'
SAMPLES = (
    ASKS
    + """
METHOD, NEED = "sampling/createMessage", "sampling"
MESSAGES = [{"role": "user", "content": {"type": "text", "text": "?"}}]
PARAMS = {"messages": MESSAGES, "maxTokens": 5}
"""
)
ELICITS = (
    ASKS
    + """
METHOD, NEED = "elicitation/create", "elicitation"
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
PARAMS = {"message": "Name?", "requestedSchema": SCHEMA}
able = lambda: NEED in CLIENT and (PARAMS.get("mode", "form") in CLIENT[NEED] or CLIENT[NEED] == {})
BAD = {"content": [], "isError": True}
def take(answer):
    if answer["result"]["action"] != "accept" or PARAMS.get("mode") == "url":
        return TEXT
    return TEXT if isinstance(answer["result"]["content"].get("name", ""), str) else BAD
"""
)
PAGE = ELICITS + 'PARAMS = {"mode": "url", "message": "Go", "url": "https://example.com/x", "elicitationId": "e-1"}\n'

# The same in the modern era: a tool that asks for a name in place of a result.
ROUNDS = """
FORM = {"message": "Name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
QUESTIONS = {"who": {"method": "elicitation/create", "params": FORM}}
able = lambda params: "form" in capabilities(params).get("elicitation", {}) or capabilities(params).get("elicitation") == {}
asks = lambda **more: {"resultType": "input_required", "inputRequests": QUESTIONS, "requestState": "state-1", **more}
def take(answer):
    if not isinstance(answer, dict):
        refuse(-32602)
    text = (answer.get("content") or {}).get("name", "")
    return done(**TEXT) if isinstance(text, str) else done(content=[], isError=True)
def tool(params):
    if not able(params):
        return done(**TEXT)
    if params.get("requestState", "state-1") != "state-1":
        refuse(-32602)
    answer = params.get("inputResponses", {}).get("who")
    return asks() if answer is None or "requestState" not in params else take(answer)
"""
MODERN_PAGE = (
    ROUNDS
    + """
FORM = {"mode": "url", "message": "Go", "url": "https://example.com/x"}
QUESTIONS["who"]["params"] = FORM
able = lambda params: "url" in capabilities(params).get("elicitation", {})
"""
)


def field(schema: str) -> str:
    return ELICITS + f'SCHEMA["properties"] = {{"name": {schema}}}; take = lambda answer: TEXT\n'


# Two questions in one line: the first cannot be answered before the second is there.
BOTH = """
question = lambda number: {"jsonrpc": "2.0", "id": f"q{number}", "method": METHOD, "params": {"_meta": {"progressToken": token(number)}}}
token = lambda number: number
tool = lambda params: able() and shout(json.dumps([question(1), question(2)]) + "\\n") or TEXT
"""

BROKEN = [
    ("progress-token-unique-server", "2025-03-26", ROOTS + BOTH + "token = lambda number: 'mine'"),
    ("roots-request-server", V4, ROOTS + "able = lambda: True"),
    ("roots-listchanged-handled-server", V4, 'n = 0\ndef heard(request):\n  global n\n  n += request.get("method") == "notifications/roots/list_changed"\n  n > 1 and sys.exit(1)'),
    ("sampling-request-server", V4, SAMPLES + 'del PARAMS["maxTokens"]'),
    ("sampling-request-server", V4, SAMPLES + 'PARAMS["messages"] = [{"role": "system", "content": "x"}]'),
    ("sampling-request-server", V4, SAMPLES + "able = lambda: True"),
    ("sampling-content-array-server", V4, SAMPLES + 'take = lambda answer: TEXT if isinstance(answer["result"]["content"], dict) else {"content": [], "isError": True}'),
    ("sampling-preferences-range", V4, SAMPLES + 'PARAMS["modelPreferences"] = {"costPriority": 2}'),
    ("sampling-include-context-server", V4, SAMPLES + 'PARAMS["includeContext"] = "allServers"'),
    ("sampling-tools-gated-server", V4, SAMPLES + 'PARAMS["tools"] = []'),
    ("sampling-tool-result-only-server", V4, SAMPLES + 'MESSAGES.append({"role": "user", "content": [{"type": "tool_result", "toolUseId": "1", "content": []}, {"type": "text", "text": "x"}]})'),
    ("sampling-tool-balance-server", V4, SAMPLES + 'MESSAGES.append({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "x", "input": {}}]})'),
    ("elicit-gated-server", "2025-06-18", ELICITS + "able = lambda: True"),
    ("elicit-mode-gated-server", V4, ELICITS + "able = lambda: NEED in CLIENT"),
    ("elicit-mode-gated-server", V4, PAGE + "able = lambda: NEED in CLIENT"),
    ("elicit-decline-handled-server", V4, ELICITS + 'good = take; take = lambda answer: time.sleep(1.5) if answer["result"]["action"] == "decline" else good(answer)'),
    ("elicit-content-validated-server", V4, ELICITS + "take = lambda answer: TEXT"),
    ("elicit-form-request-server", V4, ELICITS + 'PARAMS["message"] = None'),
    ("elicit-form-request-server", V4, ELICITS + 'SCHEMA["type"] = "string"; take = lambda answer: TEXT'),
    ("elicit-form-flat-schema-server", V4, field('{"type": "object"}')),
    ("elicit-form-flat-schema-server", V4, field('{"type": "string", "format": "ipv4"}')),
    ("elicit-form-flat-schema-server", "2025-06-18", field('{"type": "array", "items": {"type": "string", "enum": ["a"]}}')),
    ("elicit-enum-forms-server", V4, field('{"type": "string", "enum": [1]}')),
    ("elicit-enum-forms-server", V4, field('{"type": "array", "items": {"type": "string"}}')),
    ("elicit-defaults-typed-server", V4, field('{"type": "number", "default": "1"}')),
    ("elicit-no-sensitive-form-server", V4, field('{"type": "string", "title": "Your API key"}')),
    ("elicit-form-no-urls-server", V4, ELICITS + 'PARAMS["message"] = "see https://example.com"'),
    ("elicit-url-request-server", V4, PAGE + 'del PARAMS["elicitationId"]'),
    ("elicit-url-request-server", V4, PAGE + 'PARAMS["url"] = "nowhere"'),
    ("elicit-url-request-modern-server", V5, MODERN_PAGE + 'FORM["url"] = 5'),
    ("elicit-url-https-server", V4, PAGE + 'PARAMS["url"] = "http://example.com"'),
    ("elicit-url-no-sensitive-server", V4, PAGE + 'PARAMS["url"] = "https://example.com/?access_token=1"'),
    ("elicit-complete-notification-server", V4, 'tool = lambda params: notify("notifications/elicitation/complete") or TEXT'),
    ("elicit-complete-removed-server", V5, 'tool = lambda params: notify("notifications/elicitation/complete", elicitationId="e") or done(**TEXT)'),
    ("elicit-url-required-error-server", V4, "tool = lambda params: refuse(-32042, elicitations=[{}])"),
    ("mrtr-only-via-result", V5, 'tool = lambda params: say({"id": "q", "method": "roots/list"}) or done(**TEXT)'),
    ("mrtr-supported-methods", V5, 'METHODS["tools/list"] = {"resultType": "input_required", "requestState": "x"}'),
    ("mrtr-shape", V5, ROUNDS + 'tool = lambda params: {"resultType": "input_required"}'),
    ("mrtr-input-request-kinds", V5, ROUNDS + 'QUESTIONS["who"]["id"] = 1'),
    ("mrtr-keys-unique", V5, ROUNDS + 'json_text = json.dumps\njson.dumps = lambda value: json_text(value).replace(\'{"who": \', \'{"who": {"method": "roots/list"}, "who": \')'),
    ("mrtr-retry-completes", V5, ROUNDS + "take = lambda answer: refuse(-32603)"),
    ("mrtr-state-tamper-rejected", V5, ROUNDS + 'def tool(params):\n  return done(**TEXT) if not able(params) else take(params["inputResponses"]["who"]) if "inputResponses" in params and "requestState" in params else asks()'),
    ("mrtr-missing-response-rerequested", V5, ROUNDS + 'good = tool; tool = lambda params: refuse(-32602) if "requestState" in params and "inputResponses" not in params else good(params)'),
    ("mrtr-unknown-keys-ignored", V5, ROUNDS + 'good = tool; tool = lambda params: refuse(-32602) if set(params.get("inputResponses", {})) - {"who"} else good(params)'),
    ("mrtr-invalid-responses-error", V5, ROUNDS + "good = take; take = lambda answer: good(answer) if isinstance(answer, dict) else done(**TEXT)"),
    ("mrtr-no-abandon-assumption", V5, ROUNDS + 'n = 0\ngood = tool\ndef tool(params):\n  global n\n  n = 0 if "inputResponses" in params else n + able(params)\n  return good(params) if n < 9 else time.sleep(9)'),
    ("caching-not-on-input-required", V5, ROUNDS + "good = asks; asks = lambda: good(**HINTS)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "version", "change"), BROKEN, ids=[f"{row[0]}-{n}" for n, row in enumerate(BROKEN)])
async def test_what_is_broken_is_reported_and_nothing_else(serve, name, version, change):
    reported_alone(await checked(serve(lines(change, version)), version), name)


async def test_a_question_that_was_not_declared_for_is_reported_for_what_it_is_about_as_well(serve):
    verdicts = await checked(serve(lines(ROUNDS + "able = lambda params: True", V5)), V5)
    both = ("elicit-gated-server", "elicit-mode-gated-server")
    reported_alone(verdicts, "mrtr-capability-respected", *both)


@pytest.mark.parametrize(
    ("version", "change"),
    [(V4, ROOTS), (V4, SAMPLES), (V4, ELICITS), (V4, PAGE), ("2025-06-18", ELICITS), (V5, ROUNDS), (V5, MODERN_PAGE)],
    ids=["roots", "samples", "elicits", "page", "elicits-older", "rounds", "modern-page"],
)
async def test_nothing_is_reported_of_servers_that_ask_as_they_should(serve, version, change):
    assert found(await checked(serve(lines(change, version)), version), "failed", "warned") == set()


@pytest.mark.parametrize("version", [V4, V5])
async def test_our_own_server_asks_as_it_should(version):
    file = str(ROOT / "examples" / "servers" / "conformance.yaml")
    verdicts = await checked((*CONDUCTOR, "serve", file, "--transport", "stdio"), version)
    assert found(verdicts, "failed") == set()
