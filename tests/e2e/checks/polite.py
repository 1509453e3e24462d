"""A server of a few lines that keeps all rules about tools, resources and prompts; a test breaks one by a line or two."""

from tests import prefork
from tests.conftest import SERVERS

from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.protocol.server_spec import StdioSpec

GROUPS = frozenset({"tools", "resources", "prompts", "json-schema", "icons", "x-mcp-header"})
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

_SERVER = """
class Refusal(Exception):
    pass

def refuse(code):
    raise Refusal(code)

capabilities = {"tools": {}, "resources": {}, "prompts": {}}
info = {"name": "polite", "version": "1"}
schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
look = {"name": "look", "inputSchema": schema}
tools = [look]
content = [{"type": "text", "text": "fine"}]
called = {"content": content}
resource = {"uri": "note:///one", "name": "one"}
resources = [resource]
template = {"uriTemplate": "note:///{name}", "name": "a note"}
templates = [template]
item = {"uri": "note:///one", "mimeType": "text/plain", "text": "1"}
prompt = {"name": "greet", "arguments": [{"name": "who", "required": True}]}
prompts = [prompt]
message = {"role": "user", "content": {"type": "text", "text": "hello"}}

def call(params):
    given = params.get("arguments", {})
    if params.get("name") != tools[0].get("name") or not isinstance(given, dict):
        refuse(-32602)
    wrong = "city" in schema.get("required", []) and not isinstance(given.get("city"), str)
    return {"content": [{"type": "text", "text": "which city?"}], "isError": True} if wrong else called

def read(params):
    return {"contents": [item]} if params.get("uri") == resources[0].get("uri") else refuse(-32602)

def get(params):
    given = params.get("arguments", {}).get("who")
    if params.get("name") != "greet" or not isinstance(given, str):
        refuse(-32602)
    return {"messages": [message, {"role": "assistant", "content": {"type": "text", "text": given}}]}

methods = {
    "initialize": lambda params: {
        "protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info,
    },
    "server/discover": lambda params: {
        "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "_meta": {META + "serverInfo": info},
    },
    "ping": lambda params: {},
    "tools/list": lambda params: {"tools": tools},
    "tools/call": lambda params: call(params),
    "resources/list": lambda params: {"resources": resources},
    "resources/templates/list": lambda params: {"resourceTemplates": templates},
    "resources/read": lambda params: read(params),
    "prompts/list": lambda params: {"prompts": prompts},
    "prompts/get": lambda params: get(params),
}
%s
while True:
    request = hear()
    if "id" not in request:
        continue
    if request["method"] not in methods:
        error(request, -32601, "Method not found")
        continue
    try:
        result(request, methods[request["method"]](request.get("params") or {}))
    except Refusal as refusal:
        error(request, refusal.args[0], "refused")
"""


async def outcomes(command, version, call="all"):
    """What came of our requirements on a server, by id."""
    spec = StdioSpec(command=prefork.command(command, "script"), env={"PYTHONPATH": str(SERVERS)})
    verdicts = await check(spec, version, Options(only=GROUPS, timeout=1.0, call=call))
    return {outcome.id: outcome for outcome in verdicts.outcomes}


def failed(found):
    return {name for name, outcome in found.items() if outcome.status == "failed"}


def reported(found):
    return {name for name, outcome in found.items() if outcome.findings}


async def report(serve, version, change="", **options):
    """What came of our requirements on the polite server with a CHANGE in it."""
    return await outcomes(serve(_SERVER % change), version, **options)


async def assert_reported(serve, name, version, change, also=()):
    """The change breaks NAME, and no other requirement that is a MUST but those in ALSO."""
    found = await report(serve, version, change)
    assert name in reported(found), found[name]
    assert failed(found) - {name} == set(also), [found[each].findings for each in failed(found)]
