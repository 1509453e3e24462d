"""Tasks of 2026-07-28, an extension: that it is declared, and what receipts look like."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.task_shapes import FOLLOWING, declares_extension, extension_flaw, guessable_ids
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import (
    TASKS_EXTENSION,
)
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding


def _receipts(record: Record) -> list[tuple[Message, Json]]:
    """Results that are tasks in place of an answer."""
    return [
        (exchange.reply, result)
        for exchange, result in record.results()
        if exchange.reply is not None
        and result.get("resultType") == "task"
        and exchange.request.method not in FOLLOWING
    ]


@judged("taske-advertised")
def the_extension_is_declared(record: Record) -> Iterator[Finding]:
    """Look at server/discover: tasks are declared as an extension, and not as the capability of an earlier revision."""
    receipts = _receipts(record)
    if "tasks" in record.capabilities:
        yield fault("tasks are declared as a capability, which this revision does not have", record.capabilities)
    elif receipts and not declares_extension(record.capabilities):
        yield fault(f"a task is made, but the extension {TASKS_EXTENSION} is not declared", receipts[0][0].raw)
    elif not declares_extension(record.capabilities):
        raise NotSeen("the server has no tasks")


@judged("taske-create-shape")
def receipts_are_flat(record: Record) -> Iterator[Finding]:
    """Look at every receipt of a task: taskId, status, times and ttlMs are in the result itself."""
    receipts = _receipts(record)
    if not receipts:
        raise NotSeen("no task was made")
    for reply, task in receipts:
        problem = "is nested" if "task" in task else extension_flaw(task)
        if problem is not None:
            yield fault(f"a task {problem}", reply.raw)


@judged("taske-resulttype-task-only-create")
def only_receipts_are_of_the_type_task(record: Record) -> Iterator[Finding]:
    """Look at the results of tasks/get, tasks/update and tasks/cancel: their resultType is complete."""
    seen = False
    for exchange, result in record.results(*FOLLOWING):
        seen = True
        if result.get("resultType") != "complete":
            message = f"the resultType of {exchange.request.method} is not complete"
            yield fault(message, exchange.reply and exchange.reply.raw)
    if not seen:
        raise NotSeen("no task was looked at")


@judged("taske-id-entropy")
def ids_cannot_be_guessed(record: Record) -> Iterator[Finding]:
    """Look at the ids of all tasks: they are different, and long enough not to be guessed."""
    made = [task for _, task in _receipts(record) if isinstance(task.get("taskId"), str)]
    if not made:
        raise NotSeen("no task was made")
    yield from guessable_ids(made)
