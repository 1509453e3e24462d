"""Coroutines that go on within the callback that ends their wait."""

import asyncio

import pytest

from mcp_conductor.bounded.direct import DirectFuture, DirectTask, in_task


class Work:
    """A coroutine that waits for one value, as a DirectTask."""

    def __init__(self, *, direct: bool = True) -> None:
        loop = asyncio.get_running_loop()
        self.waited: DirectFuture[str] = DirectFuture(loop)
        self.told: list[object] = []
        self.task = DirectTask(loop, self._work(), lambda: self.told.append("then"), direct=direct)

    async def _work(self) -> None:
        try:
            self.told.append(await self.waited)
            self.told.append(asyncio.current_task() is not None)
        except asyncio.CancelledError:
            self.told.append("cancelled")


async def turn() -> None:
    """Let the loop do what is due."""
    for _ in range(3):
        await asyncio.sleep(0)


async def in_callback(do) -> None:
    """DO it where no task runs."""
    asyncio.get_running_loop().call_soon(do)
    await turn()


async def test_work_that_waits_goes_on_within_the_callback_that_ends_its_wait():
    work, seen = Work(), []
    assert not work.task.start()

    def settle() -> None:
        work.waited.settle("value")
        seen.extend(work.told)

    await in_callback(settle)
    assert seen == ["value", False, "then"]


async def test_work_that_needs_a_task_gets_one_when_it_waits():
    work = Work(direct=False)
    work.task.start()
    await turn()
    await in_callback(lambda: work.waited.settle("value"))
    assert work.told == ["value", True, "then"]


@pytest.mark.parametrize("direct", [True, False])
async def test_work_can_be_cancelled_while_it_waits(direct):
    work = Work(direct=direct)
    work.task.start()
    await turn()
    work.task.cancel()
    await turn()
    assert work.told == ["cancelled", "then"]


async def test_work_that_waits_for_nothing_ends_at_once():
    told = []

    async def work() -> None:
        told.append("work")

    assert DirectTask(asyncio.get_running_loop(), work(), lambda: told.append("then")).start()
    assert told == ["work"]


async def test_what_fails_after_a_wait_is_told_to_the_loop_and_what_follows_is_done():
    loop, problems, told = asyncio.get_running_loop(), [], []
    loop.set_exception_handler(lambda _, context: problems.append(context["exception"]))
    waited: DirectFuture[None] = DirectFuture(loop)

    async def work() -> None:
        await waited
        raise RuntimeError("broken")

    DirectTask(loop, work(), lambda: told.append("then"), direct=True).start()
    await in_callback(lambda: waited.settle(None))
    assert ([str(each) for each in problems], told) == (["broken"], ["then"])
    assert DirectFuture.direct


async def test_work_asks_for_a_task_where_it_needs_one():
    told = []

    async def work() -> None:
        await in_task()
        told.append(asyncio.current_task() is not None)

    task = DirectTask(asyncio.get_running_loop(), work(), lambda: told.append("then"), direct=True)
    await in_callback(task.start)
    assert told == [True, "then"]
