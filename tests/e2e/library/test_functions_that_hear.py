"""Functions given to connect() that hear a server: in order, and without harm to others when they fail."""

import asyncio

import pytest
from tests.e2e.library.test_functions_that_answer import cancelled, cancelled_at_once, reported, spec

from mcp_conductor import ConductorError, connect

__all__ = ["reported", "spec"]  # the fixtures


async def test_functions_hear_log_messages_and_every_notification_in_order(spec):
    server = spec("""
        hello()
        request = hear()
        for n in range(20):
            notify("notifications/message", level="info", logger="me", data=n)
        notify("notifications/tools/list_changed")
        result(request, {})
        result(hear(), {})
        hear()
    """)
    logged, told = [], []

    async def on_log(message):
        await asyncio.sleep(0)
        logged.append((message.level, message.logger, message.data))

    async with connect(
        server, on_log=on_log, on_notification=lambda message: told.append(message.method), timeout=10
    ) as session:
        await session.request("x")
        await session.request("y")
        while len(logged) < 20:  # noqa: ASYNC110  # it takes some turns of the loop
            await asyncio.sleep(0)
    assert logged == [("info", "me", n) for n in range(20)]
    assert told == ["notifications/message"] * 20 + ["notifications/tools/list_changed"]


async def test_a_callback_that_raises_loses_no_message(spec, reported):
    server = spec("""
        hello()
        first, second = hear(), hear()
        lines = [{"method": "notifications/message", "params": {"level": "info", "data": n}} for n in range(3)]
        lines += [{"id": first["id"], "result": {}}, {"id": second["id"], "result": {}}]
        shout("".join(json.dumps({"jsonrpc": "2.0", **line}) + "\\n" for line in lines))
        hear()
    """)
    heard = []

    def fail(incoming):
        heard.append(incoming.message.params.get("data"))
        raise ValueError("mine")

    async with connect(server, on_incoming=fail, on_log=fail_async, timeout=10) as session:
        await asyncio.gather(session.request("x"), session.request("y"))
        while len(reported) < 6:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0)
    assert heard == [0, 1, 2]
    assert [type(error) for error in reported].count(ValueError) == 3
    assert [type(error) for error in reported].count(LookupError) == 3


async def fail_async(_):
    raise LookupError("mine too")


PROGRESS = """
    hello(tools={})
    def call(request, notes):
        token = request["params"].get("_meta", {}).get("progressToken")
        lines = [{"method": "notifications/progress", "params": {"progressToken": token, "progress": n}} for n in notes]
        return "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\\n" for line in lines)
    first, second = hear(), hear()
    text = call(first, [1, 2, 3]) + call(second, [4, 5])
    shout(text)
    for request in (first, second):
        result(request, {"content": [{"type": "text", "text": "done"}]})
    hear()
"""


async def test_what_on_progress_raises_is_raised_by_its_own_call_alone(spec, reported):
    def fail(params):
        raise ValueError(params["progress"])

    told = []
    async with connect(spec(PROGRESS), timeout=10) as session:
        bad, good = await asyncio.gather(
            session.call_tool("a", on_progress=fail),
            session.call_tool("b", on_progress=told.append),
            return_exceptions=True,
        )
    assert isinstance(bad, ValueError)
    assert bad.args == (1,)
    assert good.text == "done"
    assert [params["progress"] for params in told] == [4, 5]
    assert reported == []


async def test_a_call_returns_when_an_async_on_progress_has_heard_everything(spec):
    told = []

    async def slow(params):
        await asyncio.sleep(0.01)
        told.append(params["progress"])

    async with connect(spec(PROGRESS), timeout=10) as session:
        await asyncio.gather(session.call_tool("a", on_progress=slow), session.call_tool("b"))
        assert told == [1, 2, 3]


@pytest.mark.parametrize("function", [cancelled, cancelled_at_once])
async def test_a_callback_that_is_cancelled_by_what_it_waits_for_hears_the_next_message(spec, function, reported):
    server = spec("""
        hello()
        request = hear()
        token = request["params"]["_meta"]["progressToken"]
        for n in range(3):
            notify("notifications/message", level="info", data=n)
        notify("notifications/progress", progressToken=token, progress=1)
        result(request, {"content": []})
        hear()
    """)
    heard = []

    def on_log(message):
        heard.append(message.data)
        return function()

    async with connect(server, on_log=on_log, timeout=10) as session:
        with pytest.raises(ConductorError, match="cancelled"):
            await session.call_tool("x", on_progress=function)
        while len(reported) < 3:  # noqa: ASYNC110  # it takes some turns of the loop
            await asyncio.sleep(0)
    assert heard == [0, 1, 2]
