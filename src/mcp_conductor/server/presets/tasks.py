"""Tools that run as tasks: those of 2025-11-25, and those of the tasks extension of 2026-07-28.

Where there are no tasks, they run as any other tool.
"""
# ruff: noqa: N803  # params are named as in config files

from collections.abc import Awaitable, Callable
from itertools import count

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import TaskSupport, Tool, text_result
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.making import form, not_negative, sample, string, tool

_MESSAGE = {"message": string("Optional message parameter")}


@preset("tool")
def simple_task(name: str = "simple_task", delayMs: int = 1000) -> Tool:
    """A task that completes after a while."""
    return _delayed_task(name, delayMs, "required")


@preset("tool")
def optional_task(name: str = "optional_task", delayMs: int = 500) -> Tool:
    """A tool that runs as a task only if the client wants it to."""
    return _delayed_task(name, delayMs, "optional")


@preset("tool")
def progress_task(name: str = "progress_task", delayMs: int = 2000, progressUnits: int = 5) -> Tool:
    """A task that reports its progress."""
    units = not_negative("progressUnits", progressUnits)
    pause = not_negative("delayMs", delayMs) / 1000 / max(units, 1)

    async def work(call: Call) -> None:
        for unit in range(1, units + 1):
            await call.sleep(pause)
            call.progress(unit, units, f"Processing... {unit}/{units}")

    return _task(name, "required", work)


@preset("tool")
def elicitation_task(name: str = "elicitation_task") -> Tool:
    """A task that has the user fill in a form."""

    async def work(call: Call) -> None:
        whose = "" if call.task is None else f" for task {call.task.id}"
        question = form(f"Please provide input{whose}", {"input": string("User input required for task")})
        await call.ask({"input": question})

    return _task(name, "required", work)


@preset("tool")
def sampling_task(name: str = "sampling_task", samplingText: str = "Please provide a response for this task") -> Tool:
    """A task that asks the client's model."""

    async def work(call: Call) -> None:
        await call.ask({"sample": sample(samplingText, 100)})

    return _task(name, "required", work)


def _delayed_task(name: str, delay: int, support: TaskSupport) -> Tool:
    seconds = not_negative("delayMs", delay) / 1000
    return _task(name, support, lambda call: call.sleep(seconds))


def _task(name: str, support: TaskSupport, work: Callable[[Call], Awaitable[None]]) -> Tool:
    async def run(call: Call) -> Json:
        await work(call)
        identity = {} if call.task is None else {"taskId": call.task.id}
        return text_result(compact({"message": f"Task completed: {_words(call)}", **identity}))

    return tool(
        name,
        "A flexible task tool supporting progress, elicitation, and sampling",
        _MESSAGE,
        run,
        required=[],
        task=support,
        execution={"taskSupport": support},
    )


@preset("tool")
def forbidden_task(name: str = "forbidden_task", delayMs: int = 100) -> Tool:
    """A tool that never runs as a task."""
    return _no_task(name, delayMs)


@preset("tool")
def immediate_return_task(name: str = "immediate_return_task", delayMs: int = 100) -> Tool:
    """A tool that answers in the same request although the server has tasks."""
    return _no_task(name, delayMs)


def _no_task(name: str, delay: int) -> Tool:
    seconds = not_negative("delayMs", delay) / 1000

    async def run(call: Call) -> Json:
        await call.sleep(seconds)
        return text_result(f"Task completed immediately: {_words(call)}")

    return tool(name, "A tool that completes immediately without creating a task", _MESSAGE, run, required=[])


def _words(call: Call) -> str:
    return call.arguments.get("message") or "no message"


@preset("tool")
def modern_task() -> Tool:
    """A task of the extension that the third tasks/get finds completed."""

    async def run(call: Call) -> Json:
        if _by_extension(call) and call.task is not None:
            await call.task.wait_for_polls(2)
        return text_result(f"Modern task{_identity(call)} completed (args={compact(call.arguments)}).")

    return tool(
        "modern_task",
        "Create a task of the tasks extension that is working for two polls and then completes.",
        {"message": string("Text echoed back in the completed task result.")},
        run,
        required=[],
        task="optional",
    )


@preset("tool")
def modern_input_task() -> Tool:
    """A task of the extension that waits for tasks/update."""

    async def run(call: Call) -> Json:
        answers = await call.ask({"confirm": _APPROVE})
        return text_result(f"Modern task{_identity(call)} completed (input={compact(answers)}).")

    description = "Create a task of the tasks extension that pauses at input_required and completes after tasks/update."
    return tool("modern_input_task", description, {}, run, task="optional")


@preset("tool")
def modern_loop_task() -> Tool:
    """A task of the extension that needs input again and again, and never completes."""

    async def run(call: Call) -> Json:
        if not _by_extension(call):
            return text_result("Modern task completed (it loops only as a task of the extension).")
        for number in count(1):  # a key is never used twice within a task, or clients would not ask again
            await call.ask({"confirm" if number == 1 else f"confirm-{number}": _APPROVE})
        raise AssertionError

    description = "Create a task of the tasks extension that never completes: it asks again after every answer."
    return tool("modern_loop_task", description, {}, run, task="optional")


_APPROVE = form(
    "Approve this task before it continues?",
    {"approved": {"type": "boolean", "title": "Approved", "description": "Whether to proceed with the task"}},
)


def _by_extension(call: Call) -> bool:
    return call.task is not None and call.client.revision.tasks == "extension"


def _identity(call: Call) -> str:
    return "" if call.task is None else f" {call.task.id}"
