"""Clients of 2026-07-28, and clients over HTTP in both eras, that break one rule each: it is reported, and no other."""

import pytest

MODERN = "2026-07-28"

ANYWHERE = {
    "meta-required-fields-client": """
        def meta(self): return {key: value for key, value in super().meta().items() if "Capabilities" not in key} if self.opened else super().meta()
    """,
    "meta-capabilities-each-request-client": """
        def request_of(self, method, params):
            request = super().request_of(method, params)
            if method == "prompts/get":
                request["params"]["_meta"][META + "clientCapabilities"] = {}
            return request
    """,
    "versioning-extension-ids-client": 'capabilities = {"extensions": {"tasks": {}}}',
    "versioning-removed-methods-client": """
        def more(self):
            self.link.exchange(self.request_of("logging/setLevel", {"level": "info"}))
    """,
    "versioning-resulttype-absent-client": """
        def request(self, method, **params):
            result = super().request(method, **params)
            return result if "resultType" in result else (_ for _ in ()).throw(Refused("no resultType"))
    """,
    "versioning-resulttype-unknown-client": """
        def request(self, method, **params):
            try:
                return super().request(method, **params)
            except Refused as refusal:
                if "what is" in str(refusal):
                    return {"content": [{"text": "this text is only here to be shown"}]}
                raise
    """,
    "base-meta-key-format-client": 'def meta(self): return {**super().meta(), "-odd-": 1}',
    "meta-trace-context-format-client": 'def meta(self): return {**super().meta(), "traceparent": "00-1-2-3"}',
    "progress-client-sends-none-modern": 'def more(self): self.notify("notifications/progress", progressToken=1, progress=1)',
    "pagination-client-empty-cursor": 'def next_cursor(self, page): return page.get("nextCursor") or None',
    "mrtr-client-answers-all": """
        def retried(self, params, result):
            again = super().retried(params, result)
            if len(again.get("inputResponses", {})) > 1:
                again["inputResponses"].popitem()
            return again
    """,
    "mrtr-client-echoes-state": """
        def retried(self, params, result): return {**super().retried(params, result), "requestState": "mine"}
    """,
    "mrtr-client-same-params": """
        def retried(self, params, result): return {**super().retried(params, result), "arguments": {"text": "other"}}
    """,
    "mrtr-client-new-id": """
        def retried(self, params, result):
            self.count -= 1
            return super().retried(params, result)
    """,
    "mrtr-client-isolation": """
        last = None
        def retried(self, params, result):
            self.last = self.last or result.get("requestState")
            again = super().retried(params, result)
            return {**again, "requestState": self.last} if self.last else again
    """,
    "tools-structured-content-any-client": """
        def call(self, tool):
            result = self.request("tools/call", name=tool["name"], arguments=self.arguments(tool))
            if not isinstance(result.get("structuredContent", {}), dict):
                raise Refused("no object")
            self.show(result)
    """,
    "sampling-max-tokens-client": """
        def sample(self, params):
            content = {"type": "text", "text": "Paris, " * 50}
            return {"result": {"role": "assistant", "model": "m", "content": content}}
    """,
    "schema-no-network-ref-client": """
        def call(self, tool):
            for each in tool["inputSchema"].get("properties", {}).values():
                if "$ref" in each and each["$ref"].startswith("http"):
                    Http(self, each["$ref"]).ask("GET", {}).read()
            super().call(tool)
    """,
    "caching-client-key": """
        kept = None
        def resources(self):
            for resource in self.everything("resources/list", "resources"):
                if not (self.kept or {}).get("ttlMs"):
                    self.kept = self.request("resources/read", uri=resource["uri"])
            self.everything("resources/templates/list", "resourceTemplates")
    """,
    "taske-client-both-shapes": """
        capabilities = {"extensions": {META + "tasks": {}}}
    """,
    "taske-client-unsupported-method": """
        capabilities = {"extensions": {META + "tasks": {}}}
        def request(self, method, **params):
            reply = self.link.exchange(self.request_of(method, params))
            if "error" in reply:
                raise Refused(reply["error"])
            result = reply["result"]
            if result.get("resultType") == "task":
                return self.request("tasks/get", taskId=result["taskId"])["result"]
            if result.get("resultType", "complete") != "complete":
                raise Refused("what is this?")
            return result
        def prompts(self):
            for prompt in self.everything("prompts/list", "prompts"):
                self.request("prompts/get", name=prompt["name"], arguments={})
    """,
    "taske-client-no-cancelled": """
        capabilities = {"extensions": {META + "tasks": {}}}
        def request(self, method, **params):
            request = self.request_of(method, params)
            reply = self.link.exchange(request)
            if "error" in reply:
                raise Refused(reply["error"])
            if reply["result"].get("resultType") == "task" and method == "tools/call":
                self.link.exchange(self.request_of("tasks/get", {"taskId": reply["result"]["taskId"]}))
                self.notify("notifications/cancelled", requestId=request["id"])
                return {}
            if reply["result"].get("resultType", "complete") != "complete":
                raise Refused("what is this?")
            return reply["result"]
    """,
    "roots-item-uri-client": 'def roots(self, params): return {"result": {"roots": [{"uri": "/home"}]}}',
    "sampling-result-fields-client": 'def sample(self, params): return {"result": {"role": "robot", "model": "m", "content": {"type": "text", "text": ""}}}',
    "elicit-result-content-client": 'def filled(self, schema): return {"name": 1}',
}  # fmt: skip


@pytest.mark.parametrize("name", ANYWHERE)
async def test_a_broken_rule_of_2026_07_28_is_reported_and_no_other(name, broken, reported):
    also = {"taske-client-no-cancelled": ("taske-client-polls",)}.get(name, ())  # it does not wait before it looks
    await reported(broken(ANYWHERE[name], version=MODERN), name, also)


async def test_a_response_of_a_modern_client_is_reported(broken, reported):
    change = 'def more(self): self.link.send({"jsonrpc": "2.0", "id": 1, "result": {}})'
    await reported(broken(change, version=MODERN), "stdio-no-client-responses")


async def test_two_open_requests_with_one_id_are_reported(broken, reported):
    change = """
        def more(self):
            one = self.request_of("tools/list", {})
            self.link.write("\\n".join([json.dumps(one)] * 2))
            for _ in range(2):
                self.link.process.stdout.readline()
    """
    await reported(broken(change, version=MODERN), "base-request-id-unique-inflight-client", only=("base",))


async def test_a_request_that_is_given_up_and_not_cancelled_is_reported(broken, reported):
    patch = """
        import select
        def exchange(self, request):
            self.send(request)
            while True:
                if not select.select([self.process.stdout], [], [], 1)[0]:
                    return {"result": {}}
                message = json.loads(self.process.stdout.readline())
                if self.client.answers(message, request):
                    return message
        Stdio.exchange = exchange
    """
    name = "stdio-cancel-notification-client"
    await reported(broken(before=patch, version=MODERN), name, only=(name,))


async def test_a_client_that_knows_old_servers_by_one_code_only_is_reported(broken, reported):
    change = """
        def open(self):
            reply = self.link.exchange(self.request_of("server/discover", {}))
            if "error" not in reply:
                self.server, self.opened = reply["result"]["capabilities"], True
            elif reply["error"]["code"] != -32601:
                raise Refused(reply["error"])
            else:
                self.modern, self.version = False, "2025-11-25"
                self.open_handshake()
    """
    name = "versioning-client-fallback-not-code-keyed"
    await reported(broken(change, version=MODERN), name, only=("versioning",))


async def test_a_broken_request_that_is_made_again_with_its_id_is_reported(broken, reported):
    patch = """
        def exchange(self, request, once=Http.exchange):
            try:
                return once(self, request)
            except (Refused, http.client.HTTPException):
                return once(self, request)
        import http.client
        Http.exchange = exchange
    """
    await reported(
        broken(before=patch, transport="http", version=MODERN), "httpm-reissue-new-id-client", only=("http-modern",)
    )


async def test_a_client_of_http_sse_that_posts_elsewhere_is_reported(broken, reported):
    patch = """
        import threading, queue
        def exchange(self, request, streamable=Http.exchange):
            answer = streamable(self, request)
            if answer.get("error", {}).get("code") != 0:
                return answer
            stream = self.ask("GET", {"Accept": "text/event-stream"})
            lines = iter(stream)
            while not next(lines).startswith(b"data:"):
                pass
            self.url = self.url.replace("/mcp", "/old/messages")
            self.send(request)
            raise Refused("enough")
        Http.exchange = exchange
    """
    await reported(broken(before=patch, transport="http"), "sse-client-posts-to-endpoint", only=("sse",))


async def test_a_client_that_listens_before_it_posts_is_not_taken_for_one_of_http_sse(broken, verdicts_of):
    patch = """
        def exchange(self, request, streamable=Http.exchange):
            if not self.client.opened:
                self.ask("GET", {"Accept": "text/event-stream"})
            return streamable(self, request)
        Http.exchange = exchange
    """
    outcomes = await verdicts_of(broken(before=patch, transport="http"), only=("sse", "http-accept-header-client"))
    assert outcomes.pop("http-accept-header-client").status == "passed"
    assert {each.reason for each in outcomes.values()} == {"the client does not speak HTTP+SSE"}, outcomes


OVER_HTTP = {
    "httpm-version-header-client": (MODERN, 'def modern_headers(self, message): return {key: value for key, value in super().modern_headers(message).items() if "Version" not in key}'),
    "httpm-version-header-matches-client": (MODERN, 'def modern_headers(self, message): return {**super().modern_headers(message), "MCP-Protocol-Version": "2025-11-25"}'),
    "httpm-method-header-client": (MODERN, 'def modern_headers(self, message): return {**super().modern_headers(message), "Mcp-Method": "tools"}'),
    "httpm-name-header-client": (MODERN, 'names = {"tools/call": "name"}'),
    "httpm-name-base64-client": (MODERN, 'def encoded(self, value): return super().encoded(value) if value != " grüße " else "gruesse"'),
    "httpm-base64-literal-client": (MODERN, 'def encoded(self, value): return value if str(value).startswith("=?") else super().encoded(value)'),
    "httpm-no-session-id-client": (MODERN, 'def modern_headers(self, message): return {**super().modern_headers(message), "Mcp-Session-Id": "x"}'),
    "httpm-no-client-responses": (MODERN, 'def more(self): self.link.ask("POST", {"Accept": ACCEPT, "Content-Type": "application/json"}, b\'{"jsonrpc":"2.0","id":1,"result":{}}\').read()'),
    "xmcp-mirroring-client": (MODERN, 'def modern_headers(self, message): return {key: value for key, value in super().modern_headers(message).items() if "Param" not in key}'),
    "xmcp-value-encoding-client": (MODERN, 'def encoded(self, value): return "yes" if value is True else super().encoded(value)'),
    "xmcp-omit-absent-client": (MODERN, 'def modern_headers(self, message): return {**super().modern_headers(message), "Mcp-Param-Absent": "null"}'),
    "xmcp-invalid-tool-excluded-client": (MODERN, 'def usable(self, tool): return super().usable(tool) or tool["name"] == "number-in-header"'),
    "http-version-header-client": ("2025-11-25", ""),
    "session-id-sent-client": ("2025-11-25", ""),
    "http-get-accept-client": ("2025-11-25", ""),
    "session-404-reinitialize-client": ("2025-11-25", ""),
    "http-both-response-kinds-client": ("2025-11-25", ""),
    "resume-priming-event-client": ("2025-11-25", ""),
    "resume-retry-respected-client": ("2025-11-25", ""),
    "http-accept-header-client": ("2025-11-25", ""),
    "http-content-type-client": ("2025-06-18", ""),
    "batch-removed-client": ("2025-06-18", 'def initialized(self): self.link.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])'),
}  # fmt: skip
WITHOUT = """
    def {name}(self, *a, kept=Http.{name}):
        return {{key: value for key, value in kept(self, *a).items() if key != {header!r}}}
    Http.{name} = {name}
"""
PATCHES = {
    "http-version-header-client": WITHOUT.format(name="get_headers", header="MCP-Protocol-Version"),
    "session-id-sent-client": WITHOUT.format(name="get_headers", header="Mcp-Session-Id"),
    "http-get-accept-client": WITHOUT.format(name="get_headers", header="Accept"),
    "http-accept-header-client": 'ACCEPT = "application/json"\nimport polite_http\npolite_http.ACCEPT = ACCEPT',
    "http-content-type-client": """
        def headers(self, message, kept=Http.headers): return kept(self, message) | {"Content-Type": "text/plain"}
        Http.headers = headers
    """,
    "session-404-reinitialize-client": """
        def refused(self, response, request): raise Refused(response.status)
        Http.refused = refused
    """,
    "http-both-response-kinds-client": """
        def events(self, response, request):
            for line in response:
                text = line.decode().strip()
                if text.startswith("data:"):
                    try:
                        message = json.loads(text[5:])
                    except ValueError:
                        continue
                    if isinstance(message, dict) and self.client.answers(message, request):
                        return message
        Http.events = events
    """,
    "resume-priming-event-client": """
        def events(self, response, request, kept=Http.events):
            text = response.read()
            if b"id: primed-1" in text:
                raise Refused("an empty event")
            return kept(self, text.splitlines(keepends=True), request)
        Http.events = events
    """,
    "resume-retry-respected-client": "time.sleep = lambda seconds: None",
}


@pytest.mark.parametrize("name", OVER_HTTP)
async def test_a_broken_rule_of_http_is_reported_and_no_other(name, broken, reported):
    version, change = OVER_HTTP[name]
    # A client that reads a stream to its end cannot answer what is asked on it.
    skip = {"resume-priming-event-client": {"only": ("http-resume", "http", "http-session")}}.get(name, {})
    await reported(broken(change, "http", version, PATCHES.get(name, "")), name, **skip)
