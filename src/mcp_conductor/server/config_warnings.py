"""What a server file says that can be served, and yet not to all clients: what one era, or all of them, cannot see."""

from collections.abc import Callable, Iterator, Mapping

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.protocol.dialect import Dialect, versions_with
from mcp_conductor.server.config import ServerConfig

_BOTH_ERAS = "transport: {modern: true} serves both eras"


def warnings(given: Mapping[str, Field], config: ServerConfig) -> Iterator[UsageError]:
    """What a person should know of CONFIG, whose file has the members GIVEN."""
    handshake = _served(config, lambda each: each.handshake)
    modern = _served(config, lambda each: not each.handshake)
    if config.transport.type == "sse" and not handshake:
        key = "protocolVersions" if "protocolVersions" in given else "transport"
        hint = "type: streamable-http"
        yield given[key].mistake("leaves no client: HTTP+SSE is of the handshake era, which is not served", hint)
    if config.tasks is not None:
        yield from _tasks(given, config, modern)
    if config.tasks_extension:
        yield from _tasks_extension(given, config)


def _tasks(given: Mapping[str, Field], config: ServerConfig, modern: tuple[str, ...]) -> Iterator[UsageError]:
    those = versions_with(lambda each: each.tasks == "core")
    if not _served(config, lambda each: each.tasks == "core"):
        hint = f"add {those[-1]} to protocolVersions; the tasks of {modern[-1]} are tasksExtension" if modern else None
        yield given["tasks"].mistake(f"is for {_either(those)}, which is not served: no client sees tasks", hint)
    elif modern and not config.tasks_extension:
        hint = "tasksExtension: {} offers tasks to them, too; without transport.modern they use the handshake"
        yield given["tasks"].mistake(f"is for {_either(those)}: clients of {_either(modern)} see no tasks", hint)


def _tasks_extension(given: Mapping[str, Field], config: ServerConfig) -> Iterator[UsageError]:
    those = versions_with(lambda each: each.tasks == "extension")
    older = _served(config, lambda each: each.tasks == "core")
    field = given["tasksExtension"]
    if not _served(config, lambda each: each.tasks == "extension"):
        yield field.mistake(f"is for {_either(those)}, which is not served: no client sees it", _BOTH_ERAS)
    elif older and config.tasks is None:
        hint = "tasks: {list: true, cancel: true} offers tasks to them, too"
        yield field.mistake(f"is for {_either(those)}: clients of {_either(older)} see no tasks", hint)


def _served(config: ServerConfig, has: Callable[[Dialect], bool]) -> tuple[str, ...]:
    return tuple(version for version in versions_with(has) if version in config.versions)


def _either(versions: tuple[str, ...]) -> str:
    return " or ".join(versions)
