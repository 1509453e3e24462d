"""A client of a few lines that keeps all rules, in both eras, on stdio and over HTTP; a test breaks one of them.

It opens, lists what there is, calls what it finds, and ends. What a test changes are methods of `Client`.
usage: polite_client.py (--url URL | -- COMMAND …) [--version V]
"""

import base64
import json
import re
import subprocess
import sys
import time  # noqa: F401  # for what tests change

from polite_http import ACCEPT, Http, Refused  # noqa: F401  # for what tests change

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


class Stdio:
    def __init__(self, client, words):
        self.client = client
        self.words = words
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def write(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message, ensure_ascii=False))

    def exchange(self, request):
        self.send(request)
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise Refused("the server is gone")
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if self.client.answers(message, request):
                return message

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            try:
                self.process.wait(0.5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Client:
    capabilities = {"roots": {}, "sampling": {}, "elicitation": {}}
    info = {"name": "polite", "version": "1"}
    names = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

    def __init__(self, argv):
        self.count = 0
        self.rounds = 0
        self.opened = False
        self.version = argv[argv.index("--version") + 1] if "--version" in argv else "2025-11-25"
        self.modern = self.version == MODERN
        self.server = {}
        self.headers = {}  # the tools that want headers
        self.link = (
            Http(self, argv[argv.index("--url") + 1]) if "--url" in argv else Stdio(self, argv[argv.index("--") + 1 :])
        )

    # Messages.

    def next_id(self):
        self.count += 1
        return self.count

    def meta(self):
        return {
            META + "protocolVersion": self.version,
            META + "clientCapabilities": self.capabilities,
            META + "clientInfo": self.info,
        }

    def request_of(self, method, params):
        if self.modern:
            params = {**params, "_meta": self.meta()}
        return {"jsonrpc": "2.0", "id": self.next_id(), "method": method, "params": params}

    def modern_headers(self, message):
        params = message.get("params", {})
        found = {"MCP-Protocol-Version": self.version, "Mcp-Method": message["method"]}
        if message["method"] in self.names:
            found["Mcp-Name"] = self.encoded(params[self.names[message["method"]]])
        if message["method"] == "tools/call":
            for name, header in self.headers.get(params["name"], {}).items():
                if params["arguments"].get(name) is not None:
                    found[f"Mcp-Param-{header}"] = self.encoded(params["arguments"][name])
        return found

    def encoded(self, value):
        text = json.dumps(value) if isinstance(value, (bool, int)) else value
        plain = re.fullmatch(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?", text)
        if plain and not (text.startswith("=?base64?") and text.endswith("?=")):
            return text
        return f"=?base64?{base64.b64encode(text.encode()).decode()}?="

    def notify(self, method, **params):
        self.link.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def request(self, method, **params):
        reply = self.link.exchange(self.request_of(method, params))
        if "error" in reply:
            raise Refused(reply["error"])
        result = reply["result"]
        if self.modern and result.get("resultType", "complete") == "input_required":
            self.rounds += 1
            if self.rounds > 20:
                raise Refused("the server asks without end")
            return self.request(method, **self.retried(params, result))
        if self.modern and result.get("resultType", "complete") != "complete":
            raise Refused(f"what is {result['resultType']}?")
        return result

    def retried(self, params, result):
        again = {name: value for name, value in params.items() if name not in ("inputResponses", "requestState")}
        answers = {
            key: self.answer(asked["method"], asked.get("params", {}))
            for key, asked in result.get("inputRequests", {}).items()
        }
        if answers:
            again["inputResponses"] = {key: value["result"] for key, value in answers.items()}
        if "requestState" in result:
            again["requestState"] = result["requestState"]
        return again

    # What the server says.

    def answers(self, message, request):
        """Whether this is the answer to the request; any other message is dealt with here."""
        for each in message if isinstance(message, list) else [message]:
            if "method" in each and "id" in each:
                self.link.send(
                    {"jsonrpc": "2.0", "id": each["id"], **self.answer(each["method"], each.get("params", {}))}
                )
            elif "method" in each:
                self.notified(each)
        return not isinstance(message, list) and "method" not in message and message.get("id") == request["id"]

    def notified(self, message):
        pass

    def answer(self, method, params):
        found = {
            "ping": self.pong,
            "roots/list": self.roots if "roots" in self.capabilities else None,
            "sampling/createMessage": self.sample if "sampling" in self.capabilities else None,
            "elicitation/create": self.elicit if "elicitation" in self.capabilities else None,
        }.get(method)
        return found(params) if found else {"error": {"code": -32601, "message": "Method not found"}}

    def pong(self, params):
        return {"result": {}}

    def roots(self, params):
        return {"result": {"roots": [{"uri": "file:///home", "name": "home"}]}}

    def sample(self, params):
        if "tools" in params or "toolChoice" in params:
            return {"error": {"code": -32602, "message": "no tools here"}}
        content = {"type": "text", "text": "Paris"}
        return {"result": {"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"}}

    def elicit(self, params):
        if params.get("mode", "form") != "form":
            return {"error": {"code": -32602, "message": "forms only"}}
        return {"result": {"action": "accept", "content": self.filled(params["requestedSchema"])}}

    def filled(self, schema):
        plain = {"string": "x", "integer": 1, "number": 1.5, "boolean": True}
        return {
            name: each["default"] if "default" in each else each["enum"][0] if "enum" in each else plain[each["type"]]
            for name, each in schema["properties"].items()
        }

    # What the client does.

    def open(self):
        self.open_modern() if self.modern else self.open_handshake()

    def open_modern(self):
        self.server = self.request("server/discover")["capabilities"]
        self.opened = True

    def initialize(self):
        return self.request(
            "initialize", protocolVersion=self.version, capabilities=self.capabilities, clientInfo=self.info
        )

    def open_handshake(self):
        result = self.initialize()
        if result["protocolVersion"] not in HANDSHAKES:
            raise Refused(f"I do not speak {result['protocolVersion']}")
        self.version = result["protocolVersion"]
        self.server = result["capabilities"]
        self.opened = True
        self.initialized()
        if isinstance(self.link, Http):
            self.link.listen()

    def initialized(self):
        self.notify("notifications/initialized")

    def everything(self, method, member):
        found, params, asked = [], {}, set()
        while True:
            page = self.request(method, **params)
            found += page[member]
            cursor = self.next_cursor(page)
            if cursor is None or cursor in asked:
                return found
            asked.add(cursor)
            params = {"cursor": cursor}

    def next_cursor(self, page):
        return page.get("nextCursor")

    def usable(self, tool):
        """Whether a tool may be called: over HTTP, what it wants in headers must be right."""
        if tool.get("execution", {}).get("taskSupport") == "required":
            return False
        wanted = {
            name: each["x-mcp-header"]
            for name, each in tool["inputSchema"].get("properties", {}).items()
            if isinstance(each, dict) and "x-mcp-header" in each
        }
        if not self.modern or not isinstance(self.link, Http):
            return True
        types = [tool["inputSchema"]["properties"][name].get("type") for name in wanted]
        names = [str(name).lower() for name in wanted.values()]
        fits = all(
            isinstance(name, str) and re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) for name in wanted.values()
        )
        self.headers[tool["name"]] = wanted
        return fits and len(set(names)) == len(names) and set(types) <= {"string", "integer", "boolean"}

    def arguments(self, tool):
        properties = tool["inputSchema"].get("properties", {})
        return {
            name: each["default"] for name, each in properties.items() if isinstance(each, dict) and "default" in each
        }

    def tools(self):
        for tool in self.everything("tools/list", "tools"):
            if self.usable(tool):
                self.call(tool)

    def call(self, tool):
        self.show(self.request("tools/call", name=tool["name"], arguments=self.arguments(tool)))

    def show(self, result):
        for item in result.get("content", []):
            print(item.get("text", ""), flush=True)

    def resources(self):
        for resource in self.everything("resources/list", "resources"):
            self.request("resources/read", uri=resource["uri"])
        self.everything("resources/templates/list", "resourceTemplates")

    def prompts(self):
        for prompt in self.everything("prompts/list", "prompts"):
            self.request(
                "prompts/get",
                name=prompt["name"],
                arguments={each["name"]: "Anna" for each in prompt.get("arguments", [])},
            )

    def more(self):
        if "completions" in self.server:
            ref = {"type": "ref/prompt", "name": "letter"}
            self.request("completion/complete", ref=ref, argument={"name": "to", "value": "an"})
        if "logging" in self.server and not self.modern:
            self.request("logging/setLevel", level="info")

    def work(self):
        self.tools()
        if "resources" in self.server:
            self.resources()
        if "prompts" in self.server:
            self.prompts()
        self.more()

    def main(self):
        try:
            self.open()
            self.work()
        except (Refused, OSError) as refusal:
            print(f"error: {refusal}", file=sys.stderr)
            return 1
        finally:
            self.link.close()
        return 0


if __name__ == "__main__":
    sys.exit(Client(sys.argv).main())
