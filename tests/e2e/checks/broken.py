"""Servers that are broken in one place: a whole one in a few lines, and what is changed in it."""

from pathlib import Path

from tests import prefork

from mcp_conductor.checks.engine.run import Options, Verdicts, check
from mcp_conductor.checks.requirements import requirement
from mcp_conductor.protocol.server_spec import StdioSpec

ROOT = Path(__file__).parents[3]
AREA = (
    "completion", "logging", "pagination", "caching", "progress", "cancellation", "ping", "roots", "sampling",
    "elicitation", "mrtr", "subscriptions", "tasks-core", "tasks-ext", "deprecation",
)  # fmt: skip

# What both eras share. A change may replace CAPABILITIES, METHODS, TOOLS, `tool` and `after`.
_WORDS = """
class Refuse(Exception):
    def __init__(self, code, **data):
        self.code, self.data = code, data

TOOLS = [{"name": "t", "inputSchema": {"type": "object"}}]
CAPABILITIES = {"tools": {}}
TEXT = {"content": [{"type": "text", "text": "ok"}]}
after = lambda request: None
heard = lambda request: None

def refuse(code, **data):
    raise Refuse(code, **data)

LATER = []

def ask(identity, method, **params):
    say({"id": identity, "method": method, "params": params})
    while True:
        message = hear()
        if message.get("id") == identity and "method" not in message:
            return message
        LATER.append(message)

def loop():
    global request
    while True:
        request = LATER.pop(0) if LATER else hear()
        heard(request)
        if "id" not in request or "method" not in request:
            continue
        method = METHODS.get(request["method"])
        if method is None:
            error(request, -32601, "Method not found")
            continue
        this = request
        try:
            value = method(request.get("params") or {}) if callable(method) else method
        except Refuse as refusal:
            error(this, refusal.code, "no", **({"data": refusal.data} if refusal.data else {}))
            continue
        result(this, value)
        after(this)
"""
_HANDSHAKE = """
tool = lambda params: TEXT
METHODS = {
    "ping": {},
    "tools/list": lambda params: refuse(-32602) if "cursor" in params else {"tools": TOOLS},
    "tools/call": lambda params: tool(params),
}
CHANGE
hello(**CAPABILITIES)
loop()
"""
_MODERN = """
HINTS = {"ttlMs": 0, "cacheScope": "private"}
done = lambda **members: {"resultType": "complete", **members}
tool = lambda params: done(**TEXT)
METHODS = {
    "server/discover": lambda params: done(supportedVersions=["2026-07-28"], capabilities=CAPABILITIES, **HINTS),
    "tools/list": lambda params: refuse(-32602) if "cursor" in params else done(tools=TOOLS, **HINTS),
    "tools/call": lambda params: tool(params),
}
capabilities = lambda params: params["_meta"][META + "clientCapabilities"]
CHANGE
loop()
"""


def lines(change: str, version: str) -> str:
    """The code of a server for this revision, with a CHANGE in it."""
    return _WORDS + (_MODERN if version == "2026-07-28" else _HANDSHAKE).replace("CHANGE", change)


async def checked(command: tuple[str, ...], version: str) -> Verdicts:
    """What is found out about the whole area, when all tools may be called."""
    spec = StdioSpec(command=prefork.command(command, "script"), env={"PYTHONPATH": str(ROOT / "tests" / "servers")})
    return await check(spec, version, Options(only=AREA, call="all", timeout=1.0))


def found(verdicts: Verdicts, *statuses: str) -> set[str]:
    return {outcome.id for outcome in verdicts.outcomes if outcome.status in statuses}


def reported_alone(verdicts: Verdicts, name: str, *with_it: str) -> None:
    """Assert that the requirement NAME is reported, and nothing else as failed but what cannot be kept then either."""
    findings = [(each.id, *each.findings) for each in verdicts.outcomes if each.status in ("failed", "warned")]
    assert name in found(verdicts, "failed", "warned"), (
        findings,
        [each for each in verdicts.outcomes if each.id == name],
    )
    died = any(each.id == name and each.cause == "server" for each in verdicts.outcomes)  # which always is a failure
    expected = {name, *with_it} if died or requirement(name).level == "MUST" else set(with_it)
    assert found(verdicts, "failed") == expected, findings
