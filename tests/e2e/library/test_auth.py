"""connect(auth=…): a token, a function that returns one, OAuth with a store; and who we say that we are."""

import asyncio
import json
import sys
from importlib.util import find_spec

import pytest
from tests.e2e.authorizing import browse
from tests.servers.oauth_server import oauth_server

from mcp_conductor import HttpStatusError, OAuth, StdioSpec, UsageError, connect
from mcp_conductor.recording.writer import recording_lines

if find_spec("fastmcp") is None:  # to import it here would take a while in every collection
    pytest.skip("fastmcp is not installed", allow_module_level=True)

pytestmark = pytest.mark.peers


@pytest.fixture
def app():
    """A server of FastMCP that takes two tokens."""
    import fastmcp
    from fastmcp.server.auth.providers.jwt import StaticTokenVerifier

    tokens = {token: {"client_id": token, "scopes": []} for token in ("first-token", "second-token")}
    server = fastmcp.FastMCP("guarded", auth=StaticTokenVerifier(tokens=tokens))

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    return server.http_app()


async def test_a_token_opens_the_door_and_is_shown_nowhere(app):
    async with connect(app, auth="first-token") as session:
        assert (await session.call_tool("add", {"a": 2, "b": 40})).text == "42"
        recorded = "".join(recording_lines(session.transcript))
    assert "uthorization" in recorded
    assert "first-token" not in recorded


async def test_a_token_that_is_not_accepted_is_an_error_without_the_token(app):
    with pytest.raises(HttpStatusError) as raised:
        async with connect(app, auth="wrong-token"):
            pass
    assert raised.value.status == 401
    assert "wrong-token" not in f"{raised.value} {raised.value.hint} {raised.value.body} {raised.value.context}"
    assert "--" not in (raised.value.hint or "")


async def function_of(tokens, asynchronous):
    def next_token():
        return tokens.pop(0)

    async def next_token_later():
        return tokens.pop(0)

    return next_token_later if asynchronous else next_token


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_function_is_asked_for_a_token_and_again_when_that_is_refused(app, asynchronous):
    tokens = ["expired-token", "second-token", "never-asked-for"]
    async with connect(app, auth=await function_of(tokens, asynchronous)) as session:
        assert (await session.call_tool("add", {"a": 2, "b": 40})).text == "42"
        recorded = "".join(recording_lines(session.transcript))
    assert tokens == ["never-asked-for"]
    assert "expired-token" not in recorded
    assert "second-token" not in recorded


@pytest.mark.parametrize("tokens", [["same-token"] * 9, [f"wrong-{n}" for n in range(9)]])
async def test_a_function_that_has_no_good_token_is_not_asked_for_ever(app, tokens):
    with pytest.raises(HttpStatusError):
        async with connect(app, auth=await function_of(tokens, False)):
            pass
    assert len(tokens) >= 5


async def test_oauth_keeps_its_token_in_the_store_for_the_next_time(tmp_path):
    store = str(tmp_path / "tokens.json")
    shown = []
    with oauth_server() as server:
        oauth = OAuth(store=store, consent=browse, show=shown.append, open_browser=False)
        async with connect(server.url, auth=oauth) as session:
            assert session.server
        async with connect(server.url, auth=OAuth(store=store, consent=None, show=shown.append)) as session:
            assert session.server
        assert len(server.authorizations) == 1
    assert json.loads((tmp_path / "tokens.json").read_text())


async def test_where_no_user_can_consent_oauth_fails_at_once_and_says_what_needs_none():
    with oauth_server() as server, pytest.raises(UsageError) as raised:
        async with connect(server.url, auth=OAuth(interactive=False)):
            pass
    assert "OAuth(interactive=False)" in raised.value.message
    assert "OAuth(refresh_token=…, client_id=…)" in (raised.value.hint or "")
    assert "--" not in f"{raised.value.message} {raised.value.hint}"
    assert server.paths("register") == []


async def test_a_refresh_token_needs_no_user():
    with oauth_server(clients={"me": None}, refresh_tokens={"my-refresh-token"}) as server:
        oauth = OAuth(client_id="me", refresh_token="my-refresh-token", interactive=False)
        async with connect(server.url, auth=oauth) as session:
            assert session.server
            recorded = "".join(recording_lines(session.transcript))
    assert "my-refresh-token" not in recorded + repr(oauth)


async def test_a_client_chooses_how_it_authenticates():
    with oauth_server(clients={"me": "my-own-secret"}) as server:
        oauth = OAuth(
            client_id="me",
            client_secret="my-own-secret",
            client_auth="client_secret_post",
            grant="client_credentials",
        )
        async with connect(server.url, auth=oauth) as session:
            assert session.server
    assert [form.get("client_secret") for form in server.forms] == ["my-own-secret"]


@pytest.mark.parametrize("auth", ["", "two words", "line\nbreak", 7, {"token": "x"}])
async def test_what_cannot_be_a_token_is_refused_at_once(app, auth):
    with pytest.raises(UsageError):
        async with connect(app, auth=auth):
            pass


async def test_a_function_that_returns_no_token_is_named(app):
    with pytest.raises(UsageError):
        async with connect(app, auth=lambda: None):
            pass


def broken():
    raise LookupError("the keyring is locked")


async def cancelled():
    waiting = asyncio.ensure_future(asyncio.Event().wait())
    waiting.cancel()
    return await waiting


@pytest.mark.parametrize(
    ("auth", "message"),
    [
        (broken, "the function given as auth raised LookupError: the keyring is locked"),
        (cancelled, "the function given as auth was cancelled"),
    ],
)
async def test_a_function_that_fails_is_named_with_its_reason(app, auth, message):
    with pytest.raises(UsageError) as raised:
        async with connect(app, auth=auth, timeout=5):
            pass
    assert raised.value.message == message


async def test_a_server_on_stdio_takes_no_token():
    with pytest.raises(UsageError):
        async with connect([sys.executable, "-c", ""], auth="token"):
            pass


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_the_server_is_told_who_the_client_is(protocol, serve, environment):
    code = """
        request = hear()
        meta = request["params"].get("_meta", {})
        who = request["params"].get("clientInfo") or meta[META + "clientInfo"]
        result(request, {"protocolVersion": "2025-11-25", "supportedVersions": ["2026-07-28"], "capabilities": {},
                         "resultType": "complete", "serverInfo": {"name": who["name"], "version": who["version"]}})
        hear()
    """
    info = {"name": "my-agent", "version": "7", "title": "My agent"}
    server = StdioSpec(command=serve(code), env=environment)
    async with connect(server, protocol=protocol, client_info=info) as session:
        assert session.opened["serverInfo"] == {"name": "my-agent", "version": "7"}


@pytest.mark.parametrize("info", [{}, {"name": "x"}, {"name": "", "version": "1"}, {"name": 7, "version": "1"}])
async def test_a_client_has_a_name_and_a_version(info, app):
    with pytest.raises(UsageError):
        async with connect(app, auth="first-token", client_info=info):
            pass


async def test_a_long_conversation_is_kept_up_to_a_size(serve, environment):
    code = "hello(); serve({'big': {'text': 'x' * 1_000_000}})"
    async with connect(StdioSpec(command=serve(code), env=environment)) as session:
        for _ in range(40):
            await session.request("big")
        assert session.transcript.size <= 16_000_000
        assert session.transcript.forgotten.frames["server"] >= 24
