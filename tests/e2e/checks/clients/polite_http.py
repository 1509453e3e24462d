"""The HTTP side of the polite client: Streamable HTTP, in both eras."""

import http.client
import json
import time
from urllib.parse import urlsplit

ACCEPT = "application/json, text/event-stream"


class Refused(Exception):  # noqa: N818
    pass


class Http:
    def __init__(self, client, url):
        self.client = client
        self.url = url
        self.session = None
        self.last_id = None
        self.retry = 0
        self.connections = []

    def headers(self, message):
        found = {"Accept": ACCEPT, "Content-Type": "application/json"}
        if self.session and not self.client.modern:
            found["Mcp-Session-Id"] = self.session
        if self.client.modern:
            found |= self.client.modern_headers(message)
        elif self.client.opened and self.client.version >= "2025-06-18":
            found["MCP-Protocol-Version"] = self.client.version
        return found

    def ask(self, method, headers, body=None):
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=30)
        self.connections.append(connection)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def post(self, message):
        return self.ask("POST", self.headers(message), json.dumps(message).encode())

    def send(self, message):
        self.post(message).read()

    def exchange(self, request):
        response = self.post(request)
        if response.status >= 400:
            return self.refused(response, request)
        if request["method"] == "initialize":
            self.session = response.getheader("Mcp-Session-Id")
        if not response.getheader("Content-Type", "").startswith("text/event-stream"):
            return json.loads(response.read())
        while True:
            found = self.events(response, request)
            if found is not None:
                return found
            if self.client.modern or self.last_id is None:
                raise Refused("the stream ended without an answer")
            time.sleep(self.retry / 1000)
            response = self.ask("GET", self.get_headers() | {"Last-Event-ID": self.last_id})

    def refused(self, response, request):
        body = response.read()
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if response.status == 404 and self.session and not self.client.modern:
            self.session, self.client.opened = None, False
            self.client.open_handshake()
            return self.exchange({**request, "id": self.client.next_id()})
        if isinstance(answer, dict) and "error" in answer:
            return answer
        return {"error": {"code": 0, "message": f"status {response.status}"}}

    def get_headers(self):
        found = {"Accept": "text/event-stream", "Mcp-Session-Id": self.session}
        if self.client.version >= "2025-06-18":
            found["MCP-Protocol-Version"] = self.client.version
        return {name: value for name, value in found.items() if value}

    def events(self, response, request):
        """The answer to the request, as soon as the stream brings it; None when it ends before."""
        data = []
        for line in response:
            text = line.decode().rstrip("\r\n")
            name, _, value = text.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            elif name == "id":
                self.last_id = value
            elif name == "retry":
                self.retry = int(value)
            elif not text:
                joined, data = "\n".join(data), []
                try:
                    message = json.loads(joined)
                except ValueError:
                    continue
                if self.client.answers(message, request):
                    return message
        return None

    def listen(self):
        """Ask for the stream of the server; it need not have one."""
        self.ask("GET", self.get_headers())

    def close(self):
        if self.session:
            self.ask("DELETE", self.get_headers()).read()
        for connection in self.connections:
            connection.close()
