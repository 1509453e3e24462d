"""The polite server of checks of clients answers as a composed server does, and refuses as little as it can."""

import asyncio

import pytest

from mcp_conductor.checks.harness.client_record import ClientConnection, ClientRecord
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    HANDSHAKE,
    INVALID_PARAMS,
    META,
    METHOD_NOT_FOUND,
    MODERN,
    NEWEST_HANDSHAKE,
    UNSUPPORTED_VERSION,
)
from mcp_conductor.protocol.message import build, compact, read


class Conversation:
    """A client that says one thing after the other on one connection, and what it heard besides the answers."""

    def __init__(self, version=None, script=ServerScript):
        self.script = script(ClientRecord("plain"), version)
        self.connection = ClientConnection("stdio")
        self.heard = []

    async def say(self, text):
        self.heard.append(text)

    async def write_stderr(self, text): ...

    async def ask(self, raw, seconds): ...

    def reply(self, method, params=None):
        raw = {"jsonrpc": "2.0", "id": 7, "method": method, **({} if params is None else {"params": params})}
        call = ScriptCall(self.script.record, build(raw), self.connection, self)
        return asyncio.run(self._in_time(call))

    async def _in_time(self, call):
        async with asyncio.timeout(5):
            return await self.script.reply(call)

    def result(self, method, params=None):
        return self.reply(method, params)["result"]

    def error(self, method, params=None):
        return self.reply(method, params)["error"]


def introduced(version):
    return {"_meta": {f"{META}protocolVersion": version, f"{META}clientCapabilities": {}}}


@pytest.mark.parametrize("version", HANDSHAKE)
def test_the_revision_that_a_client_asks_for_is_agreed(version):
    client = Conversation()
    opened = client.result("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {}})
    assert (opened["protocolVersion"], client.connection.dialect) == (version, DIALECTS[version])
    assert client.connection.declared == opened["capabilities"]


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": 5}, {"protocolVersion": "1.0", "clientInfo": "me"}])
def test_an_opening_that_lacks_something_is_served_so_that_the_client_goes_on(params):
    client = Conversation()
    assert client.result("initialize", params)["protocolVersion"] == NEWEST_HANDSHAKE.version
    assert client.connection.initialize == (params or {})


def test_who_never_opened_a_conversation_is_served_too():
    client = Conversation()
    assert client.result("tools/call", {"name": "never listed"})["content"][0]["text"] == "never listed was called"
    assert client.connection.dialect is None


@pytest.mark.parametrize(
    ("method", "params", "found"),
    [
        ("tools/list", {}, ("tools", "nextCursor")),
        ("tools/list", {"cursor": "page-2"}, ("tools",)),
        ("resources/list", {}, ("resources", "nextCursor")),
        ("resources/templates/list", {}, ("resourceTemplates",)),
        ("prompts/list", {}, ("prompts", "nextCursor")),
        ("resources/read", {"uri": "other:///thing"}, ("contents",)),
        ("prompts/get", {"name": "letter"}, ("messages",)),
    ],
)
@pytest.mark.parametrize("version", DIALECTS)
def test_every_revision_is_answered_in_its_own_form(version, method, params, found):
    client = Conversation(version)
    modern = version in MODERN
    if not modern:
        client.result("initialize", {"protocolVersion": version})
    result = client.result(method, {**params, **(introduced(version) if modern else {})})
    assert result.keys() >= set(found)
    assert ("resultType" in result) is modern
    assert ("nextCursor" in result) is ("nextCursor" in found)


def test_a_cursor_that_was_never_given_and_a_method_that_is_not_there_are_refused():
    client = Conversation()
    assert client.error("tools/list", {"cursor": "page-3"})["code"] == INVALID_PARAMS
    assert client.error("conductor/nothing")["code"] == METHOD_NOT_FOUND


def test_a_revision_that_is_not_spoken_is_refused_with_those_that_are():
    only_modern, only_handshake = Conversation(MODERN[-1]), Conversation(HANDSHAKE[-1])
    refused = only_modern.error("initialize", {"protocolVersion": HANDSHAKE[-1]})
    assert (refused["code"], refused["data"]["supported"]) == (UNSUPPORTED_VERSION, [MODERN[-1]])
    assert only_handshake.error("server/discover", introduced(MODERN[-1]))["code"] == METHOD_NOT_FOUND


def test_a_scenario_answers_with_what_it_has_and_methods_of_its_own():
    class Odd(ServerScript):
        METHODS = {"ping": "acknowledge", "tasks/get": "get_task"}  # noqa: RUF012

        def tools(self):
            return [{"name": "one"}, {"name": "one"}, {"title": "nameless"}]

        def pages(self, method, items):
            return [(None, items)]

        async def get_task(self, call):
            return {"taskId": call.params["taskId"]}

    client = Conversation(MODERN[-1], Odd)
    listed = client.result("tools/list", introduced(MODERN[-1]))
    assert compact(listed["tools"]) == compact([{"name": "one"}, {"name": "one"}, {"title": "nameless"}])
    assert client.result("tasks/get", {"taskId": "t", **introduced(MODERN[-1])})["taskId"] == "t"


def test_who_listens_is_acknowledged_and_gets_no_answer():
    client = Conversation(MODERN[-1])
    client.told = asyncio.Event()

    async def say(text):
        client.heard.append(text)
        client.told.set()

    client.say = say
    wanted = {"notifications": {"toolsListChanged": True}, **introduced(MODERN[-1])}
    raw = {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": wanted}

    async def listen():
        call = ScriptCall(client.script.record, build(raw), client.connection, client)
        answer = asyncio.create_task(client.script.reply(call))
        async with asyncio.timeout(5):
            await client.told.wait()
        assert not answer.done()
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)

    asyncio.run(listen())
    (told,) = map(build, map(read, client.heard))
    assert (told.method, told.params["notifications"]) == (
        "notifications/subscriptions/acknowledged",
        {"toolsListChanged": True},
    )
