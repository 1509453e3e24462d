"""Clients of the handshake era that break one rule each: it is reported, and no other."""

import pytest

R1, R2, R3, R4 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"
RAISES = """
    def notified(self, message):
        if message["method"] == {!r}:
            raise Refused("what is this?")
"""

# The requirement; what is changed in the client; what cannot be kept then either; the revision.
BROKEN = {
    "base-jsonrpc-envelope-client": 'def request_of(self, *a): return {**super().request_of(*a), "jsonrpc": "1.0"}',
    "base-request-id-type-client": "def next_id(self): return super().next_id() + 0.5",
    "base-request-id-unique-session-client": "def next_id(self): return 7",
    "base-request-method-string-client": 'def more(self): self.link.send({"jsonrpc": "2.0", "id": 99})',
    "base-response-result-xor-error-client": """
        def pong(self, params): return {"result": {}, "error": {"code": 1, "message": "x"}}
    """,
    "base-error-shape-client": """
        def answer(self, *a):
            answer = super().answer(*a)
            answer.get("error", {}).pop("message", None)
            return answer
    """,
    "base-notification-shape-client": """
        def more(self): self.link.send({"jsonrpc": "2.0", "id": 99, "method": "notifications/roots/list_changed"})
    """,
    "base-notification-no-response-client": """
        def notified(self, message):
            self.link.send({"jsonrpc": "2.0", "id": "x", "error": {"code": -32601, "message": "what?"}})
    """,
    "base-method-not-found-client": """
        def answer(self, method, params):
            return {"result": {}} if "unknown" in method else super().answer(method, params)
    """,
    "base-unknown-capabilities-tolerated-client": """
        def initialize(self):
            result = super().initialize()
            if set(result["capabilities"]) - {"tools", "prompts", "resources", "logging", "completions"}:
                raise Refused("what can it do?")
            return result
    """,
    "base-meta-key-format-client": 'def more(self): self.request("tools/list", _meta={"no key!": 1})',
    "base-meta-reserved-prefix-client": 'def more(self): self.request("tools/list", _meta={"dev.mcp/mine": 1})',
    "batch-removed-client": 'def initialized(self): self.link.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])',
    "lifecycle-initialize-first-client": """
        def open(self):
            self.request("tools/list")
            super().open()
    """,
    "lifecycle-initialize-params-client": 'info = {"name": "polite"}',
    "lifecycle-initialized-sent-client": "def initialized(self): pass",
    "lifecycle-respect-negotiated-client-strict": """
        def more(self):
            if "prompts" not in self.server:
                self.link.exchange(self.request_of("prompts/list", {}))
    """,
    "resources-subscribe-gated-client": 'def more(self): self.request("resources/subscribe", uri="note:///one")',
    "tools-client-call-shape": "def arguments(self, tool): return []",
    "resources-read-client-shape": 'def more(self): self.request("resources/read", url="note:///one")',
    "prompts-get-client-shape": """
        def prompts(self): super().prompts(); self.request("prompts/get", name="letter", arguments={"to": 1})
    """,
    "completion-request-client": """
        def prompts(self): self.request("completion/complete", ref={"type": "ref/prompt"}, argument={"name": "to", "value": ""})
    """,
    "pagination-client-opaque": """
        def next_cursor(self, page): return page["nextCursor"].strip("d") if "nextCursor" in page else None
    """,
    "pagination-client-no-page-size": """
        def next_cursor(self, page): return page.get("nextCursor") if any(page[name] for name in page if name.endswith("s")) else None
    """,
    "logging-client-tolerates": RAISES.format("notifications/message"),
    "progress-client-tolerates": RAISES.format("notifications/progress"),
    "elicit-complete-unknown-client": RAISES.format("notifications/elicitation/complete"),
    "cancel-notification-shape-client": 'def more(self): self.notify("notifications/cancelled", reason="none")',
    "cancel-only-own-active-client": 'def more(self): self.notify("notifications/cancelled", requestId="never")',
    "ping-response-client": 'def pong(self, params): return {"result": "pong"}',
    "roots-list-array-client": 'def roots(self, params): return {"result": {}}',
    "roots-item-uri-client": 'def roots(self, params): return {"result": {"roots": [{"uri": "https://example.com"}]}}',
    "roots-listchanged-sent-client": """
        capabilities = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}
        def roots(self, params):
            self.rounds += 1
            return {"result": {"roots": [{"uri": f"file:///home/{self.rounds}"}]}}
    """,
    "roots-listchanged-needs-capability-client": 'def more(self): self.notify("notifications/roots/list_changed")',
    "sampling-result-fields-client": """
        def sample(self, params):
            answer = super().sample(params)
            answer.get("result", {}).pop("model", None)
            return answer
    """,
    "sampling-content-types-later-client": """
        def sample(self, params):
            answer = super().sample(params)
            if "result" in answer:
                answer["result"]["content"] = {"type": "video"}
            return answer
    """,
    "sampling-tools-rejected-client": """
        def sample(self, params): return super().sample({})
    """,
    "elicit-result-action-client": """
        def elicit(self, params): return super().elicit(params) if params.get("mode") == "url" else {"result": {"action": "yes"}}
    """,
    "elicit-result-content-client": 'def filled(self, schema): return {"age": "old"}',
    "elicit-unsupported-mode-client": """
        def elicit(self, params):
            print(params.get("url"), flush=True)
            return super().elicit(params) if "requestedSchema" in params else {"result": {"action": "accept"}}
    """,
    "elicit-mode-absent-client": """
        def elicit(self, params):
            return super().elicit(params) if "mode" in params else {"error": {"code": -32602, "message": "no mode"}}
    """,
    "elicit-url-accept-no-content-client": """
        capabilities = {"elicitation": {"form": {}, "url": {}}}
        def elicit(self, params):
            print(params.get("url"), flush=True)
            return super().elicit(params) if "requestedSchema" in params else {"result": {"action": "accept", "content": {}}}
    """,
    "elicit-url-shown-client": """
        capabilities = {"elicitation": {"form": {}, "url": {}}}
        def elicit(self, params):
            return super().elicit(params) if "requestedSchema" in params else {"result": {"action": "accept"}}
    """,
    "schema-default-2020-12-client": """
        def call(self, tool):
            if "$defs" in tool["inputSchema"]:
                raise Refused("what is $defs?")
            super().call(tool)
    """,
    "schema-unsupported-dialect": """
        def call(self, tool):
            if "$schema" in tool["inputSchema"]:
                raise Refused("which dialect?")
            super().call(tool)
    """,
    "icons-unsafe-rejected-client": """
        def call(self, tool):
            for icon in tool.get("icons", []):
                if icon["src"].startswith("http"):
                    Http(self, icon["src"]).ask("GET", {"Authorization": "Bearer secret"}).read()
            super().call(tool)
    """,
    "taskc-client-tool-gating": """
        capabilities = {**Client.capabilities, "tasks": {"requests": {"sampling": {"createMessage": {}}}}}
        def usable(self, tool):
            return tool["name"] != "required" or self.link.exchange(self.request_of("tools/call", {"name": "required", "arguments": {}})) is None
    """,
    "elicit-url-no-prefetch-client": """
        capabilities = {"elicitation": {"form": {}, "url": {}}}
        def elicit(self, params):
            if "requestedSchema" in params:
                return super().elicit(params)
            Http(self, params["url"]).ask("GET", {}).read()
            return {"result": {"action": "decline"}}
    """,
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_rule_is_reported_and_no_other(name, broken, reported):
    await reported(broken(BROKEN[name]), name)


@pytest.mark.parametrize(
    ("name", "change", "also"),
    [
        ("base-response-id-echo-client", 'def answers(self, message, request):\n    if isinstance(message, dict) and "id" in message and "method" in message:\n        message = {**message, "id": str(message["id"])}\n    return super().answers(message, request)', ()),
        ("base-response-id-echo-client", 'def answers(self, message, request):\n    if isinstance(message, dict) and str(message.get("id")).isdigit() and "method" in message:\n        message = {**message, "id": int(message["id"])}\n    return super().answers(message, request)', ()),
        ("base-response-id-echo-client", 'def answers(self, message, request):\n    if isinstance(message, dict) and message.get("id") == 1001 and "method" in message:\n        super().answers(message, request)\n    return super().answers(message, request)', ()),
        ("base-response-id-echo-client", 'def answers(self, message, request):\n    if isinstance(message, dict) and "id" in message and "method" in message:\n        message = {**message, "id": str(message["id"]) + "-1"}\n    return super().answers(message, request)', ()),
        ("roots-item-uri-client", 'def roots(self, params): return {"result": {"roots": [{"name": "home"}]}}', ()),
        ("base-notification-shape-client", 'def initialized(self): self.link.send(self.request_of("notifications/initialized", {}))', ()),
        ("lifecycle-version-client-disconnect", 'def initialize(self):\n    result = super().initialize()\n    return {**result, "protocolVersion": self.version}', ()),
        ("roots-capability-declared-client", 'capabilities = {}\ndef answer(self, method, params):\n    return self.roots(params) if method == "roots/list" else super().answer(method, params)', ()),
        ("sampling-capability-declared-client", 'capabilities = {}\ndef answer(self, method, params):\n    return self.sample(params) if method == "sampling/createMessage" else super().answer(method, params)', ()),
        ("elicit-capability-declared-client", 'capabilities = {}\ndef answer(self, method, params):\n    return self.elicit(params) if method == "elicitation/create" else super().answer(method, params)', ()),
    ],
)  # fmt: skip
async def test_a_broken_answer_is_reported(name, change, also, broken, reported):
    await reported(broken(change), name, also)


async def test_a_client_that_answers_twice_in_one_scenario_only_is_reported(broken, verdicts_of):
    change = """
        def answer(self, method, params):
            answer = super().answer(method, params)
            if self.batched:
                self.link.send({"jsonrpc": "2.0", "id": "alone-1", **answer})
            return answer
        batched = False
        def answers(self, message, request):
            self.batched = isinstance(message, dict) and message.get("id") == "alone-1"
            return super().answers(message, request)
    """
    name = "base-response-id-echo-client"
    outcomes = await verdicts_of(broken(change, version=R2), only=(name,), scenarios=("batch",))
    [finding] = outcomes[name].findings
    assert finding.message == 'the request "alone-1" is answered a second time'


@pytest.mark.parametrize(
    "changed",
    [
        "cursor.strip()", 'cursor.rstrip("=")', "int(cursor) if cursor.isdigit() else cursor", 'cursor.lstrip("0")',
        'float(cursor) if "e" in cursor and cursor[0].isdigit() else cursor', 'json.dumps(json.loads(cursor), indent=1) if cursor[0] == "{" else cursor',
        "urllib.parse.unquote(cursor)", "urllib.parse.quote(cursor)", 'unicodedata.normalize("NFC", cursor)',
    ],
)  # fmt: skip
async def test_a_client_that_changes_cursors_is_reported(changed, broken, reported):
    change = f"""
        def next_cursor(self, page):
            cursor = page.get("nextCursor")
            return cursor and ({changed})
    """
    await reported(
        broken(change, before="import unicodedata, urllib.parse"),
        "pagination-client-opaque",
        only=("pagination-client-opaque",),
    )


async def test_messages_in_several_lines_are_reported(broken, reported):
    patch = "Stdio.send = lambda self, message: self.write(json.dumps(message, indent=1))"
    await reported(broken(before=patch), "stdio-newline-framing-client")


async def test_what_is_no_message_is_reported(broken, reported):
    await reported(broken('def more(self): self.link.write("bye")'), "stdio-stdin-clean-client")


async def test_bytes_that_are_not_utf8_are_reported(broken, reported):
    patch = """
        def write(self, text):
            self.process.stdin.write(text.encode().replace("größe".encode(), "größe".encode("latin-1")) + b"\\n")
            self.process.stdin.flush()
        Stdio.write = write
    """
    change = 'info = {"name": "größe", "version": "1"}'
    await reported(broken(change, before=patch), "base-utf8-client")


async def test_two_open_requests_with_one_progress_token_are_reported(broken, reported):
    change = """
        def more(self):
            meta = {"progressToken": "same"}
            both = [self.request_of("tools/list", {"_meta": meta}) for _ in range(2)]
            self.link.write("\\n".join(json.dumps(each) for each in both))
            for _ in both:
                self.link.process.stdout.readline()
    """
    await reported(broken(change), "progress-token-unique-client", only=("progress", "base"))


async def test_a_client_of_2025_03_26_that_takes_no_batches_is_reported(broken, reported):
    change = """
        def answers(self, message, request):
            return False if isinstance(message, list) else super().answers(message, request)
    """
    await reported(broken(change, version=R2), "batch-receive-client")


async def test_initialize_in_a_batch_is_reported(broken, reported):
    change = """
        def initialize(self):
            request = self.request_of("initialize", {"protocolVersion": self.version, "capabilities": self.capabilities, "clientInfo": self.info})
            self.link.send([request])
            return json.loads(self.link.process.stdout.readline())["result"]
    """
    latest = ("lifecycle-version-client-latest",)  # it speaks newer revisions than it asks for
    groups = ("batching", "lifecycle", "base")
    await reported(broken(change, version=R2), "batch-initialize-excluded-client", latest, only=groups)


async def test_old_sampling_content_is_reported(broken, reported):
    change = """
        def sample(self, params):
            return {"result": {"role": "assistant", "model": "m", "content": {"type": "audio"}}}
    """
    await reported(broken(change, version=R1), "sampling-content-types-client")


async def test_a_client_that_does_not_answer_undeclared_sampling_is_reported(broken, reported):
    change = """
        capabilities = {}
        def answers(self, message, request):
            return False if message.get("method") == "sampling/createMessage" else super().answers(message, request)
    """
    await reported(broken(change), "sampling-unsupported-client", timeout=5.0)


# What should be so: warnings.
SHOULD = {
    "lifecycle-version-client-disconnect": """
        def initialize(self): return {**super().initialize(), "protocolVersion": "2025-11-25"}
    """,
    "base-malformed-input-survival-client": "def next_id(self): self.link.strict = True; return super().next_id()",
    "stdio-stderr-not-error-client": "pass",
    "pagination-client-loop-guard": """
        def everything(self, method, member):
            found, params = [], {}
            while True:
                page = self.request(method, **params)
                found += page[member]
                if "nextCursor" not in page:
                    return found
                params = {"cursor": page["nextCursor"]}
    """,
    "pagination-client-continues": "def next_cursor(self, page): return None",
}
STRICT = """
    def exchange(self, request):
        self.send(request)
        while True:
            message = json.loads(self.process.stdout.readline())
            if self.client.answers(message, request):
                return message
    Stdio.exchange = exchange
"""
EASILY_SCARED = """
    def exchange(self, request, calm=Stdio.exchange):
        if os.stat(2).st_size:
            raise Refused("it wrote to stderr")
        return calm(self, request)
    import os, tempfile
    def start(self):
        self.file = tempfile.TemporaryFile()
        os.dup2(self.file.fileno(), 2)
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    Stdio.exchange, Stdio.start = exchange, start
"""


@pytest.mark.parametrize("name", SHOULD)
async def test_what_should_be_so_is_a_warning(name, broken, reported):
    before = {"base-malformed-input-survival-client": STRICT, "stdio-stderr-not-error-client": EASILY_SCARED}.get(
        name, ""
    )
    await reported(broken(SHOULD[name], before=before), name)


async def test_requests_before_initialize_is_answered_are_a_warning(broken, reported):
    change = """
        def initialize(self):
            request = self.request_of("initialize", {"protocolVersion": self.version, "capabilities": {}, "clientInfo": self.info})
            self.link.send(request)
            early = self.request_of("tools/list", {})
            self.link.send(early)
            replies = [json.loads(self.link.process.stdout.readline()) for _ in range(2)]
            return next(each["result"] for each in replies if each["id"] == request["id"])
    """
    name = "lifecycle-client-quiet-before-init-response"
    await reported(broken(change), name, only=(name,))


async def test_a_client_that_kills_the_server_without_closing_its_stdin_is_a_warning(broken, reported):
    patch = "Stdio.close = lambda self: (self.process.kill(), self.process.wait())"
    await reported(broken(before=patch), "lifecycle-shutdown-stdio-client", only=("lifecycle-shutdown-stdio-client",))


async def test_a_client_that_leaves_a_stubborn_server_alone_is_a_warning(broken, reported):
    patch = "Stdio.close = lambda self: self.process.stdin.close()"
    await reported(broken(before=patch), "lifecycle-shutdown-stdio-client", only=("lifecycle-shutdown-stdio-client",))


async def test_a_client_that_waits_for_a_dead_server_is_a_warning(broken, reported):
    patch = """
        def exchange(self, request, calm=Stdio.exchange):
            try:
                return calm(self, request)
            except Refused:
                time.sleep(60)
        Stdio.exchange = exchange
    """
    name = "stdio-unexpected-exit-client-report"
    await reported(broken(before=patch), name, only=(name,), timeout=3.0)
