"""A reply to come, under asyncio's own tasks: it wakes them at once, and can be cancelled, shielded and timed out."""

import asyncio
import contextvars

import pytest

from mcp_conductor.bounded.direct import DirectFuture
from mcp_conductor.client import deadlines
from mcp_conductor.client.deadlines import PendingReply, Waiting
from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import build

REQUEST = build({"jsonrpc": "2.0", "id": 1, "method": "x"})
EXCHANGE = Exchange(REQUEST, build({"jsonrpc": "2.0", "id": 1, "result": {}}), 0.0)
WHO = contextvars.ContextVar("WHO", default="nobody")


async def wait(waiting, said, seconds=5.0):
    reply = waiting.add(REQUEST, seconds)
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
    reply = waiting.add(REQUEST, 5.0)
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
        return await waiting.add(REQUEST._replace(id=number), 5.0)

    tasks = [asyncio.create_task(one(number)) for number in range(100)]
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(waiting.fail_all, ValueError)
    assert {type(error) for error in await asyncio.gather(*tasks, return_exceptions=True)} == {ValueError}


class Unknown(PendingReply):
    """What asyncio cannot take for a future: as if a version of Python had another mark of them than ours."""

    @property
    def _asyncio_future_blocking(self):
        raise AttributeError

    @_asyncio_future_blocking.setter
    def _asyncio_future_blocking(self, value):
        pass


@pytest.fixture
def other_python(monkeypatch):
    monkeypatch.setattr(DirectFuture, "direct", True)
    monkeypatch.setattr(deadlines, "PendingReply", Unknown)


async def answered(waiting, *, context=None, brought_in=None):
    """What a task hears that is answered by a callback, with their contexts."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(wait(waiting, []), context=context)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    loop.call_soon(waiting.settle, EXCHANGE, context=brought_in)
    return await task


async def test_where_asyncio_knows_no_futures_but_its_own_all_goes_on_after_one_warning(other_python):
    waiting = Waiting()
    with pytest.warns(RuntimeWarning, match="calls take a little longer"):
        assert await answered(waiting) == EXCHANGE
    assert await answered(waiting) == EXCHANGE


@pytest.mark.filterwarnings("ignore:.*calls take a little longer")
async def test_where_asyncio_knows_no_futures_but_its_own_waits_end_as_they_do_elsewhere(other_python):
    waiting = Waiting()
    early = asyncio.create_task(wait(waiting, []))
    asyncio.get_running_loop().call_soon(waiting.settle, EXCHANGE)  # before asyncio has refused it
    assert await early == EXCHANGE
    with pytest.raises(RequestTimeout):
        await wait(waiting, [], 0.01)
    cancelled = asyncio.create_task(wait(waiting, []))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    waiting.settle(EXCHANGE)
    failing = asyncio.create_task(wait(waiting, []))
    await asyncio.sleep(0)
    waiting.fail_all(RuntimeError)
    with pytest.raises(RuntimeError):
        await failing


async def test_where_a_task_cannot_go_on_at_once_it_does_a_turn_later_after_one_warning(monkeypatch):
    monkeypatch.setattr(DirectFuture, "direct", True)
    waiting, context = Waiting(), contextvars.copy_context()
    with pytest.warns(RuntimeWarning, match="calls take a little longer"):  # nothing enters a context twice
        assert await answered(waiting, context=context, brought_in=context) == EXCHANGE
    assert await answered(waiting, context=context, brought_in=context) == EXCHANGE


async def test_a_reply_that_fails_with_an_error_like_that_of_asyncio_is_not_taken_for_it():
    waiting = Waiting()
    task = asyncio.create_task(wait(waiting, []))
    await asyncio.sleep(0)
    waiting.fail_all(RuntimeError)
    with pytest.raises(RuntimeError):
        await task
    assert DirectFuture.direct
