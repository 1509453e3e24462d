"""What `connect()` can be given, and the server that is meant by it."""

import os
import sys
from collections.abc import AsyncIterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from mcp_conductor.errors import ConductorError, ConfigError
from mcp_conductor.files.settings_file import SettingsFile
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.in_process_spec import APPLICATION_MAKERS, AsgiApp, AsgiSpec, ServerObject, StreamsSpec
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.protocol.server_spec import ServerSpec, from_words, hidden, is_spec, is_url, supported_transports

if TYPE_CHECKING:
    from mcp_conductor.files.settings import Surroundings

# A spec; a config such as {"url": …} or {"command": …, "args": […]}; a URL or a command, as one text or as words; an
# ASGI application; a server object of FastMCP or of the official SDK; a pair of streams, of which the first is read.
Target = (
    ServerSpec | Mapping[str, Any] | str | Sequence[str] | AsgiApp | ServerObject | tuple[AsyncIterable[Any], object]
)


def surroundings_of_errors() -> Json:
    """What every error says: where this program runs, and how servers can be reached from there."""
    return {"platform": sys.platform, "supportedTransports": list(supported_transports(sys.platform))}


def spec_of(target: Target, name: str = "") -> ServerSpec:
    """The server that TARGET means; raises ConfigError where it means none."""
    if is_spec(target):
        return target
    try:
        return _spec_of(target, name)
    except ConductorError as error:
        error.tell_with({**_what_was_given(target, name), **surroundings_of_errors()})
        raise


def _what_was_given(target: object, name: str) -> Json:
    """What an error says of the target that names no server."""
    config = hidden(target) if isinstance(target, Mapping) else target if isinstance(target, str) else repr(target)
    given = name or (target.get("name") if isinstance(target, Mapping) else None)
    return {"server": given if isinstance(given, str) else "", "serverConfig": config}


def _spec_of(target: Target, name: str) -> ServerSpec:
    if is_spec(target):
        return target
    if isinstance(target, Mapping):
        return _from_config(dict(target), name)
    if isinstance(target, str):
        return _from_words(_words(target))
    if isinstance(target, tuple) and len(target) == 2 and hasattr(target[0], "__aiter__"):
        return StreamsSpec(read=target[0], write=target[1], name=name)
    if isinstance(target, Sequence):
        return _from_words(tuple(target))
    if callable(target) or _is_server_object(target):
        return AsgiSpec(app=target, name=name)
    raise ConfigError(
        f"the target is {kind_of(target)}, which does not name a server",
        hint='a URL, a command, {"url": …} or {"command": …, "args": […]}, a server object, an ASGI application, '
        "a pair of streams",
    )


def _is_server_object(target: object) -> TypeGuard[ServerObject]:
    return any(callable(getattr(target, maker, None)) for maker in APPLICATION_MAKERS)


def _words(text: str) -> tuple[str, ...]:
    """The words of a command, quoted as for a shell; a URL is one word."""
    if is_url(text):
        return (text,)
    import shlex

    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigError(f"the command cannot be split into words: {str(error).lower()}", hint=text) from error


def _from_words(words: tuple[object, ...]) -> ServerSpec:
    texts = tuple(word for word in words if isinstance(word, str))
    if not texts or len(texts) != len(words):
        raise ConfigError("a command needs at least one word, and every word must be a text")
    return from_words(texts)


def _from_config(config: dict[str, Any], name: str) -> ServerSpec:
    from mcp_conductor.files.settings import TABLES, entry_spec, from_settings

    around = _surroundings()
    if any(table in config for table in TABLES):
        return from_settings(config, around)
    given = config.get("name")
    return entry_spec(config, around, name or (given if isinstance(given, str) else ""))


def specs_of_table(table: Mapping[str, Any]) -> "dict[str, ServerSpec | ConfigError]":
    """The servers of `{"mcpServers": …}`; one that is described wrongly is its mistake."""
    from mcp_conductor.files.settings import every_server

    return _with_context(every_server(dict(table), _surroundings()), table.get("mcpServers"))


def specs_of_file(path: str) -> "dict[str, ServerSpec | ConfigError]":
    """The servers of a settings file; one that is described wrongly is its mistake."""
    settings = SettingsFile(path, here=os.getcwd(), environ=os.environ)
    return _with_context(settings.servers(), None)


def _with_context(specs: "dict[str, ServerSpec | ConfigError]", table: object) -> "dict[str, ServerSpec | ConfigError]":
    """SPECS, whose mistakes say what was given."""
    for name, spec in specs.items():
        if isinstance(spec, ConfigError):
            given = table.get(name) if isinstance(table, Mapping) else None
            spec.tell_with({**_what_was_given(given or {}, name), **surroundings_of_errors()})
    return specs


def _surroundings() -> "Surroundings":
    """What a config is read against that stands in a program: this process."""
    from mcp_conductor.files.settings import Surroundings

    here = os.getcwd()
    return Surroundings(file="the config", directory=here, invocation=here, environ=os.environ, exists=os.path.exists)
