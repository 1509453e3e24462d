"""CORS as a real browser enforces it: a page of an allowed origin uses a server, and one of another cannot.

The names of the pages are made up, and the browser resolves them to this machine alone.
"""

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.e2e.server.http_wire import Web
from tests.e2e.server.wire import SERVE, config, echo, initialize

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LIMIT = 60.0
PAGE = """<!doctype html><script>
const headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"};
async function post(message, more) {
  return await fetch(SERVER, {method: "POST", headers: {...headers, ...more}, body: JSON.stringify(message)});
}
async function use() {
  const opened = await post(INITIALIZE, {});
  const session = opened.headers.get("Mcp-Session-Id");
  const named = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"};
  const called = await (await post(CALL, named)).text();
  const ended = await fetch(SERVER, {method: "DELETE", headers: named});
  return {session: session !== null, called, ended: ended.status};
}
use().catch(error => ({error: String(error)}))
     .then(outcome => fetch("/outcome", {method: "POST", body: JSON.stringify(outcome)}));
</script>"""

pytestmark = [
    pytest.mark.peers,
    pytest.mark.slow,  # a browser takes seconds to start
    pytest.mark.skipif(BROWSER is None, reason="there is no browser"),
]


class Pages:
    """A page on this machine that uses the server at URL, and what came of that."""

    def __init__(self):
        self.url, self.outcomes = "", queue.Queue()
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                values = {"SERVER": pages.url, "INITIALIZE": initialize(), "CALL": echo(1)}
                text = PAGE
                for name, value in values.items():
                    text = text.replace(name, json.dumps(value))
                self.answer(text.encode())

            def do_POST(self):
                pages.outcomes.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.answer(b"")

            def answer(self, body):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]


@pytest.fixture
def pages():
    found = Pages()
    serving = threading.Thread(target=found.server.serve_forever)
    serving.start()
    yield found
    found.server.shutdown()
    serving.join()
    found.server.server_close()


@pytest.fixture
def visit(tmp_path, pages):
    """What came of a visit of the page at this host."""

    def visit(host):
        words = [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--no-proxy-server", f"--user-data-dir={tmp_path / host}",
            "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--remote-debugging-port=0", f"http://{host}:{pages.port}/",  # the port keeps it open
        ]  # fmt: skip
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        with subprocess.Popen(words, start_new_session=True, **streams) as browser:
            try:
                return pages.outcomes.get(timeout=LIMIT)
            finally:
                os.killpg(browser.pid, signal.SIGKILL)  # it has many processes

    return visit


def test_a_page_of_an_allowed_origin_uses_the_server_and_another_cannot(tmp_path, pages, visit):
    transport = {"type": "streamable-http", "port": 0, "allowedOrigins": [f"http://app.example:{pages.port}"]}
    (tmp_path / "server.json").write_text(json.dumps(config(transport)))
    server = Web([*SERVE, "server.json"], tmp_path)
    try:
        pages.url = f"http://127.0.0.1:{server.port}{server.path}"
        outcome = visit("app.example")
        assert (outcome["session"], outcome["ended"]) == (True, 200)
        assert "Echo: hello" in outcome["called"]
        assert visit("other.example") == {"error": "TypeError: Failed to fetch"}
    finally:
        server.dispose()
