"""What a server file says in one place, and makes impossible in another: changes to what the server does not offer."""

from collections.abc import Iterator, Mapping
from typing import Any

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.server.config import ServerConfig

# What must be offered, so that a preset or a step of this name can do its work.
_CHANGED_BY = {
    "add_resource": "resources",
    "remove_resource": "resources",
    "update_resource": "resources",
    "add_prompt": "prompts",
    "remove_prompt": "prompts",
}

# Tools that are made to run as tasks.
_TASK_PRESETS = (
    *("simple_task", "progress_task", "elicitation_task", "sampling_task"),
    *("modern_task", "modern_input_task", "modern_loop_task"),
)


def contradictions(given: Mapping[str, Field], config: ServerConfig) -> Iterator[UsageError]:
    """What cannot work in CONFIG, whose file has the members GIVEN."""
    offered = {
        "resources": bool(config.resources or config.templates or config.subscriptions),
        "prompts": bool(config.prompts),
    }
    for name, where in _uses(given):
        kind = _CHANGED_BY.get(name)
        if kind is not None and not offered[kind] and kind not in config.list_changed:
            hint = f"listChanged: {{{kind}: true}} offers them, and tells clients of the change"
            yield where.mistake(f"cannot work: this server offers no {kind}", hint)
        elif name == "list_changed" and isinstance(where.value, str) and where.value not in config.list_changed:
            yield where.mistake("cannot work: clients are not told of this", f"listChanged: {{{where.value}: true}}")


def unheard(given: Mapping[str, Field], config: ServerConfig) -> Iterator[UsageError]:
    """What a file has that no client sees: log messages, and tools that run as tasks."""
    for name, where in _uses(given):
        if name in ("log", "send_notification") and not config.logging:
            yield where.mistake("sends nothing: this server has no log messages", "logging: true")
        elif name in _TASK_PRESETS and config.tasks is None and not config.tasks_extension:
            hint = "tasks: {list: true, cancel: true}, or tasksExtension: {} for the modern era"
            yield where.mistake("runs as any other tool: this server has no tasks", hint)


def _uses(given: Mapping[str, Field]) -> Iterator[tuple[str, Field]]:
    """The presets and steps that a file names, each with its place."""
    for key in ("tools", "resources", "resourceTemplates", "prompts"):
        if key in given:
            yield from _uses_in(given[key])


def _uses_in(entry: Field) -> Iterator[tuple[str, Field]]:
    if isinstance(entry.value, list):
        for item in entry.items():
            yield from _uses_in(item)
    elif isinstance(entry.value, dict):
        known = entry.members()
        if "preset" in known and isinstance(known["preset"].value, str):
            yield known["preset"].value, known["preset"]
        for key in ("before", "steps"):
            for step in known[key].items() if key in known else ():
                yield from _step(step)


def _step(step: Field) -> Iterator[tuple[str, Field]]:
    value: Any = step.value
    if isinstance(value, dict):
        yield from ((name, field) for name, field in step.members().items())
