"""A reply to come, under asyncio's own tasks: it wakes them at once, and can be cancelled, shielded and timed out."""

import asyncio
import contextvars

import pytest

from mcp_conductor.client.deadlines import Waiting
from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import build

REQUEST = build({"jsonrpc": "2.0", "id": 1, "method": "x"})
EXCHANGE = Exchange(REQUEST, build({"jsonrpc": "2.0", "id": 1, "result": {}}), 0.0)
WHO = contextvars.ContextVar("WHO", default="nobody")


async def wait(waiting, said, seconds=5.0):
    reply = waiting.add(1, "x", seconds)
    said.append("asked")
    exchange = await reply
    said.append(f"heard by {WHO.get()}")
    return exchange


async def asked(said):
    """Let the task run until it waits."""
    await asyncio.sleep(0)
    assert said == ["asked"]


async def test_the_task_goes_on_within_the_callback_that_brings_the_reply():
    waiting, said = Waiting(), []
    WHO.set("the task")
    task = asyncio.create_task(wait(waiting, said))
    WHO.set("the test")
    await asked(said)

    def bring():
        waiting.settle(EXCHANGE)
        said.append("brought")

    asyncio.get_running_loop().call_soon(bring)
    assert await task == EXCHANGE
    assert said == ["asked", "heard by the task", "brought"]


async def test_a_reply_brought_by_another_task_is_heard_a_turn_later():
    waiting, said = Waiting(), []
    task = asyncio.create_task(wait(waiting, said))
    await asked(said)
    waiting.settle(EXCHANGE)
    said.append("brought")
    assert await task == EXCHANGE
    assert said == ["asked", "brought", "heard by nobody"]


async def test_a_waiting_task_can_be_cancelled_and_a_late_reply_does_no_harm():
    waiting, said = Waiting(), []
    task = asyncio.create_task(wait(waiting, said))
    await asked(said)
    task.cancel("enough")
    with pytest.raises(asyncio.CancelledError):
        await task
    waiting.settle(EXCHANGE)
    assert said == ["asked"]


async def test_a_reply_that_is_there_already_needs_no_waiting():
    waiting = Waiting()
    reply = waiting.add(1, "x", 5.0)
    waiting.settle(EXCHANGE)
    assert await reply == EXCHANGE


async def test_time_outs_around_and_inside_both_work():
    waiting, said = Waiting(), []
    with pytest.raises(RequestTimeout):
        await wait(waiting, said, 0.01)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await wait(Waiting(), said)


async def test_many_can_be_gathered_and_all_can_fail_at_once():
    waiting = Waiting()

    async def one(number):
        return await waiting.add(number, "x", 5.0)

    tasks = [asyncio.create_task(one(number)) for number in range(100)]
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(waiting.fail_all, ValueError)
    assert {type(error) for error in await asyncio.gather(*tasks, return_exceptions=True)} == {ValueError}
