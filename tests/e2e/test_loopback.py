"""The server that waits for the browser to come back: what else may connect to it, and what else may be sent there."""

import asyncio
import re
import signal
import socket
import subprocess
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from tests.conftest import MCP_CLI
from tests.e2e.authorizing import browse
from tests.servers.oauth_server import oauth_server

from mcp_conductor.transport.browser_pages import MOST_VISITS
from mcp_conductor.transport.loopback import open_loopback

PATIENCE = 10
GOOD = "/callback?code=1&state=right"


class Visited:
    """A login that waits, and the visitors of its listener."""

    def __init__(self, loopback, shown):
        self.shown = shown
        self.port = urlsplit(loopback.redirect_uri).port
        self.login = asyncio.ensure_future(loopback.authorize("http://127.0.0.1/authorize?state=right"))

    async def page(self, target, method="GET", host="127.0.0.1:{port}", version="HTTP/1.1", more=""):
        """The status and the rest of an answer; nothing if the connection is only closed."""
        host = f"Host: {host.format(port=self.port)}\r\n"
        return await self.raw(f"{method} {target} {version}\r\n{host}{more}\r\n".encode())

    async def raw(self, data):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        try:
            return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.close()

    async def ends(self):
        """Send the right redirect: the login ends with it, and with nothing that came before."""
        assert not self.login.done()
        assert (await self.page(GOOD)).startswith(b"HTTP/1.1 200 ")
        assert await self.login == f"http://127.0.0.1:{self.port}{GOOD}"


@asynccontextmanager
async def waiting():
    shown = []
    async with asyncio.timeout(PATIENCE), open_loopback(port=None, show=shown.append) as loopback:
        visited = Visited(loopback, shown)
        await asyncio.sleep(0)  # the login begins
        yield visited


async def test_connections_that_say_nothing_do_not_keep_the_browser_out():
    async with waiting() as visited:
        silent = [await asyncio.open_connection("127.0.0.1", visited.port) for _ in range(2 * MOST_VISITS)]
        await visited.ends()
        # The oldest had to make room.
        assert await silent[0][0].read() == b""
        for _, each in silent:
            each.close()


REFUSED = {
    "no state": ({"target": "/callback?code=2"}, 400),
    "another state": ({"target": "/callback?code=2&state=wrong"}, 400),
    "another state, with an error": ({"target": "/callback?error=access_denied&state=wrong"}, 400),
    "two states, the wrong one first": ({"target": "/callback?code=2&state=wrong&state=right"}, 400),
    "no path": ({"target": "/?code=2&state=right"}, 404),
    "a longer path": ({"target": "/callback/?code=2&state=right"}, 404),
    "a path behind a host": ({"target": "//evil.example/callback?code=2&state=right"}, 404),
    "a whole URL": ({"target": "http://127.0.0.1/callback?code=2&state=right"}, 404),
    "the icon that browsers ask for": ({"target": "/favicon.ico"}, 404),
    "HEAD": ({"target": GOOD, "method": "HEAD"}, 405),
    "POST": ({"target": GOOD, "method": "POST", "more": "Content-Length: 0\r\n"}, 405),
    "get": ({"target": GOOD, "method": "get"}, 405),
    "a name that leads here": ({"target": GOOD, "host": "evil.example:{port}"}, 421),
    "another port": ({"target": GOOD, "host": "127.0.0.1:1"}, 421),
    "no port": ({"target": GOOD, "host": "127.0.0.1"}, 421),
    "two hosts": ({"target": GOOD, "more": "Host: evil.example\r\n"}, 421),
    "another version": ({"target": GOOD, "version": "HTTP/2.0"}, 400),
    "no version": ({"target": GOOD, "version": ""}, 400),
    "a space too many": ({"target": f" {GOOD}"}, 400),
}


@pytest.mark.parametrize("form", REFUSED)
async def test_what_is_not_the_answer_is_refused_and_the_login_waits_on(form):
    request, status = REFUSED[form]
    async with waiting() as visited:
        page = await visited.page(**request)
        assert page.startswith(b"HTTP/1.1 %d " % status)
        assert page.endswith(b"\r\n\r\n") is (request.get("method") == "HEAD")
        await visited.ends()


@pytest.mark.parametrize(
    "junk",
    [b"\r\n\r\n", b"\0" * 10 + b"\r\n\r\n", b"GET /callback?code=2&state=" + b"x" * (1 << 20)],
    ids=["nothing", "not HTTP", "a head without end"],
)
async def test_what_is_no_request_is_cut_off_and_the_login_waits_on(junk):
    async with waiting() as visited:
        page = await visited.raw(junk)
        assert page == b"" or page.startswith(b"HTTP/1.1 400 ")
        await visited.ends()


async def test_the_user_is_told_once_that_a_redirect_had_another_state():
    async with waiting() as visited:
        for _ in range(3):
            await visited.page("/callback?code=2&state=wrong")
        await visited.ends()
        assert [line for line in visited.shown if "another state" in line] == visited.shown[1:]
        assert len(visited.shown) == 2


async def test_an_error_with_the_right_state_is_an_answer():
    async with waiting() as visited:
        assert (await visited.page("/callback?error=access_denied&state=right")).startswith(b"HTTP/1.1 200 ")
        assert (await visited.login).endswith("?error=access_denied&state=right")


@pytest.fixture
def login(environment, tmp_path):
    """Begin a login with mcp-cli: the process, and the URL that the user is sent to."""
    started = []

    def begin(*words):
        process = subprocess.Popen(
            [*MCP_CLI, *words, "--method", "tools/list", "--oauth", "--timeout", "20s"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment, text=True,
        )  # fmt: skip
        started.append(process)
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+/authorize\S+", line):
                return process, found[0]
        raise AssertionError("there was no URL")

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_a_signal_ends_a_login_quietly_although_a_connection_says_nothing(login):
    with oauth_server() as server:
        process, url = login(server.url)
        port = urlsplit(asyncio.run(browse(url))).port
        with (
            socket.create_connection(("127.0.0.1", port)) as silent,
            socket.create_connection(("127.0.0.1", port)) as other,
        ):
            other.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert other.recv(9) == b"HTTP/1.1 "  # so the first, too, has been taken
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
            silent.close()
    assert (process.returncode, out, err) == (130, "", "")


def test_a_login_refuses_a_forged_redirect_and_takes_the_right_one(login):
    with oauth_server() as server:
        process, url = login(server.url)
        redirect = asyncio.run(browse(url))
        forged = asyncio.run(browse(re.sub("state=[^&]*", "state=guessed", redirect).replace("code-1", "forged")))
        assert forged.startswith("HTTP/1.1 400 ")
        assert asyncio.run(browse(redirect)).startswith("HTTP/1.1 200 ")
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert "secret" in out
        assert "a redirect with another state was refused" in err
        assert [form["code"] for form in server.forms] == ["code-1"]


def test_a_user_who_says_no_ends_the_login_with_a_clear_message(login):
    with oauth_server(redirect_extra={"code": "", "error": "access_denied", "error_description": "no"}) as server:
        process, url = login(server.url)
        asyncio.run(browse(asyncio.run(browse(url))))
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (1, "")
    assert "refused the authorization: access_denied: no" in err
