"""Two servers that keep every rule, one for each era: a test breaks one rule by overriding one method."""

import json
import sys

META = "io.modelcontextprotocol/"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
INFO = {"name": "plain", "version": "1"}


class Plain:
    """A server of the handshake era with one tool, which only reads."""

    versions = HANDSHAKE
    capabilities = {"tools": {}}
    tools = [{"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]

    def __init__(self):
        self.version = None
        self.methods = {
            "initialize": self.initialize,
            "ping": self.ping,
            "tools/list": self.list_tools,
            "tools/call": self.checked_call,
        }

    # Bytes and messages.

    def run(self):
        for line in sys.stdin.buffer:
            self.hear(line)

    def hear(self, line):
        try:
            message = json.loads(line)
        except ValueError:
            self.say(error(None, -32700, "Parse error"))
        else:
            self.take(message)

    def say(self, message):
        self.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def write(self, data):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def take(self, message):
        if isinstance(message, list):
            self.take_batch(message)
        elif isinstance(message, dict) and ("result" in message or "error" in message):
            pass
        elif not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or "method" not in message:
            self.say(error(None, -32600, "Invalid request"))
        elif "id" not in message:
            self.notified(message)
        elif message["id"] is None:
            self.say(error(None, -32600, "Invalid request"))
        else:
            self.say(self.reply(message))

    def take_batch(self, batch):
        if self.version == "2025-03-26":
            self.say([self.reply(each) for each in batch if "id" in each])
        else:
            self.say(error(None, -32600, "Invalid request"))

    def notified(self, notification):
        pass

    def ask(self, method, identity, **members):
        """Ask the client something; any answer will do."""
        self.say({"jsonrpc": "2.0", "id": identity, "method": method, **members})

    # Methods.

    def reply(self, request):
        if self.version is None and request["method"] not in ("initialize", "ping"):
            return error(request["id"], -32600, "not initialized")
        if request["method"] not in self.methods:
            return error(request["id"], -32601, "Method not found")
        return self.answer(request)

    def answer(self, request):
        try:
            return result(request["id"], self.methods[request["method"]](request.get("params", {})))
        except Refusal as refusal:
            return error(request["id"], *refusal.args)

    def initialize(self, params):
        asked = params["protocolVersion"]
        self.version = asked if asked in self.versions else self.versions[-1]
        return {"protocolVersion": self.version, "capabilities": self.capabilities, "serverInfo": INFO}

    def ping(self, params):
        return {}

    def list_tools(self, params):
        if "cursor" in params:
            raise Refusal(-32602, "Invalid cursor")
        return {"tools": self.tools}

    def checked_call(self, params):
        known = [tool["name"] for tool in self.tools]
        if params.get("name") not in known or not isinstance(params.get("arguments", {}), dict):
            raise Refusal(-32602, "Invalid params")
        return self.call_tool(params)

    def call_tool(self, params):
        return {"content": []}


class Modern(Plain):
    """A server of the modern era with one tool that only reads, and one that asks the user."""

    versions = ("2026-07-28",)
    tools = [
        *Plain.tools,
        {"name": "wonder", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    ]

    def __init__(self):
        super().__init__()
        self.methods = {
            "server/discover": self.discover,
            "tools/list": self.list_tools,
            "tools/call": self.checked_call,
        }

    def reply(self, request):
        if request["method"] == "initialize":
            return error(request["id"], -32601, f"Method not found; this server speaks {self.versions}")
        params = request.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        problem = self.meta_problem(meta)
        if problem is not None:
            return error(request["id"], *problem)
        if request["method"] not in self.methods:
            return error(request["id"], -32601, "Method not found")
        return self.answer(request)

    def meta_problem(self, meta):
        if not isinstance(meta, dict) or not {META + "protocolVersion", META + "clientCapabilities"} <= set(meta):
            return -32602, "Invalid params"
        asked = meta[META + "protocolVersion"]
        if asked not in self.versions:
            return -32022, "Unsupported version", {"supported": list(self.versions), "requested": asked}
        return None

    def answer(self, request):
        message = super().answer(request)
        if "result" in message:
            stamp = {"resultType": "complete", "_meta": {META + "serverInfo": INFO}}
            message["result"] = {**stamp, **message["result"]}
        return message

    def discover(self, params):
        return {
            "supportedVersions": list(self.versions),
            "capabilities": self.capabilities,
            "ttlMs": 0,
            "cacheScope": "private",
        }

    def list_tools(self, params):
        return {**super().list_tools(params), "ttlMs": 0, "cacheScope": "private"}

    def call_tool(self, params):
        answers = params.get("inputResponses", {})
        if not all(isinstance(answer, dict) for answer in answers.values()):
            raise Refusal(-32602, "Invalid params")
        if params["name"] != "wonder" or answers:
            return super().call_tool(params)
        able = self.abilities(params).get("elicitation")
        if able is None or ("url" in able and "form" not in able):
            raise Refusal(-32021, "elicitation is needed", {"requiredCapabilities": {"elicitation": {}}})
        return wondering()

    def abilities(self, params):
        return params["_meta"][META + "clientCapabilities"]


class Refusal(Exception):  # noqa: N818  # what happens, not what kind of class it is
    """An error in place of a result: code, message, perhaps data."""


def wondering():
    question = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}
    return {
        "resultType": "input_required",
        "inputRequests": {"q": {"method": "elicitation/create", "params": question}},
    }


def result(identity, value):
    return {"jsonrpc": "2.0", "id": identity, "result": value}


def error(identity, code, message, data=None):
    told = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return {"jsonrpc": "2.0", "id": identity, "error": told}
