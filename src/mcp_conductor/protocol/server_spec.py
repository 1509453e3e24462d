"""Which server is meant, and how to reach it: a command to start, or a URL to call; never both, never neither.

A server in our own process is reached without either (`in_process_spec`). All of these are a ServerSpec, and so is
what others add; no other module asks which of them it has.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Any, ClassVar, TypeGuard

from mcp_conductor.errors import ConfigError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.budgets import DEFAULT, Budgets
from mcp_conductor.text.redaction import (
    REDACTED,
    inherited_secrets,
    secrets_of_environment,
    secrets_of_headers,
    secrets_of_url,
    secrets_of_words,
)
from mcp_conductor.text.visible import cut, one_line
from mcp_conductor.values import dataclass

MAX_NAME_LENGTH = 100  # characters of a name that are shown
TRANSPORTS = ("stdio", "sse", "http")
# Where there are no processes to start.
_NO_PROCESSES = ("emscripten", "wasi", "ios", "tvos", "watchos")
_GUESSED_ENDPOINT_SECONDS = 3.0  # for the first event, where HTTP+SSE is only a guess


def server_name(specs: "Iterable[ServerSpec]") -> str:
    """What the settings call the server of all SPECS; nothing, if there are several."""
    names = {spec.name for spec in specs}
    return cut(one_line(names.pop()), MAX_NAME_LENGTH) if len(names) == 1 else ""


def supported_transports(platform: str) -> tuple[str, ...]:
    """How servers can be reached from PLATFORM, which is what `sys.platform` says."""
    return TRANSPORTS[1:] if platform in _NO_PROCESSES else TRANSPORTS


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """A server and the way to it; each transport has a kind of its own. Pure data: `transport/` opens it."""

    name: str = ""
    protocol: str | None = None
    budgets: Budgets = field(default=DEFAULT, repr=False)

    started_by_us: ClassVar[bool] = False  # so that we can start it once more

    def __str__(self) -> str:
        return cut(self.name, MAX_NAME_LENGTH) or self.label

    @property
    def kind(self) -> str:
        """The transport: by this name it is registered, and reports call it so."""
        raise NotImplementedError

    @property
    def module(self) -> str | None:
        """The module that registers the transport, if that is to be imported when it is needed, and not before."""
        return None

    @property
    def label(self) -> str:
        """What the server is called where it was given no name: its command, or its URL."""
        raise NotImplementedError

    @property
    def startup_timeout(self) -> float | None:
        """How long the first answer may take, in seconds, where that is told."""
        return None

    def config(self) -> Json:
        """These settings as a config has them; values that may be secret are left out."""
        return {"name": self.name} if self.name else {}

    def secrets(self) -> list[str]:
        """What must not be shown of these settings."""
        return []

    def starting_within(self, _seconds: float, /) -> "ServerSpec":
        """The same with so many seconds to start, if it is started and nothing else was said."""
        return self

    def older(self) -> "ServerSpec | None":
        """The same by an older transport, where that may turn out to be meant."""
        return None

    # Settings that only one way to a server has.

    def as_process(self) -> "StdioSpec | None":
        """This, if it is a command that we start."""
        return None

    def as_http(self) -> "HttpSpec | None":
        """This, if it is reached by HTTP requests to a URL."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioSpec(ServerSpec):
    """A server that we start, and talk to over its stdin and stdout."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # in addition to our own environment
    cwd: str | None = None
    ready_pattern: str | None = None
    startup_timeout: float | None = None

    module = "mcp_conductor.transport.stdio"
    started_by_us = True
    kind = "stdio"

    @property
    def label(self) -> str:
        return " ".join(self.command)

    def config(self) -> Json:
        # Not super(): dataclasses with slots are made a second time, and super() looks for the class made first.
        named = ServerSpec.config(self)
        words: Json = {"command": self.command[0], "args": list(self.command[1:])}
        return {**named, **words, **({"cwd": self.cwd} if self.cwd else {}), **hidden({"env": self.env})}

    def secrets(self) -> list[str]:
        inherited = {name: value for name, value in os.environ.items() if name not in self.env}
        return [*secrets_of_environment(self.env), *secrets_of_words(self.command), *inherited_secrets(inherited)]

    def starting_within(self, seconds: float, /) -> "StdioSpec":
        return self if self.startup_timeout is not None else replace(self, startup_timeout=seconds)

    def as_process(self) -> "StdioSpec":
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSpec(ServerSpec):
    """A server at a URL, which is not started by us."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sse: bool = False  # HTTP+SSE, the transport of 2024-11-05
    fall_back: bool = True  # to HTTP+SSE, where the URL turns out to be one
    endpoint_timeout: float = 30.0  # for the first event of HTTP+SSE
    cafile: str | None = None  # the authorities to trust for TLS, instead of the system's
    insecure: bool = False  # trust every certificate

    @property
    def credentials(self) -> dict[str, str]:
        """The header that says who is named in the URL, unless another header says it."""
        user, found, _ = self.url.partition("://")[2].partition("/")[0].rpartition("@")
        if not found or any(name.lower() == "authorization" for name in self.headers):
            return {}
        from base64 import b64encode
        from urllib.parse import unquote

        name, _, password = user.partition(":")
        pair = f"{unquote(name)}:{unquote(password)}".encode()
        return {"Authorization": f"Basic {b64encode(pair).decode()}"}

    @property
    def module(self) -> str:
        return "mcp_conductor.transport.http_sse" if self.sse else "mcp_conductor.transport.streamable_http"

    @property
    def kind(self) -> str:
        return "sse" if self.sse else "http"

    @property
    def label(self) -> str:
        return self.url

    def config(self) -> Json:
        kind = {"type": "sse"} if self.sse else {}
        return {**ServerSpec.config(self), "url": self.url, **kind, **hidden({"headers": self.headers})}

    def secrets(self) -> list[str]:
        return [*secrets_of_headers({**self.headers, **self.credentials}), *secrets_of_url(self.url)]

    def older(self) -> "HttpSpec | None":
        may_be = self.fall_back and not self.sse
        return replace(self, sse=True, endpoint_timeout=_GUESSED_ENDPOINT_SECONDS) if may_be else None

    def as_http(self) -> "HttpSpec":
        return self


def hidden(config: Mapping[str, Any]) -> Json:
    """CONFIG with the names of its environment and headers, without their values."""
    return {
        key: dict.fromkeys(value, REDACTED) if key in ("env", "headers") and isinstance(value, Mapping) else value
        for key, value in config.items()
        if value or key not in ("env", "headers")
    }


# What each scheme makes of a URL, where a transport was added to ours that is named by URLs: see transport.opens().
SCHEMES: dict[str, Callable[[str], ServerSpec]] = {}


def is_spec(target: object) -> TypeGuard[ServerSpec]:
    """Whether TARGET describes a server already, and need not be read first."""
    return isinstance(target, ServerSpec)


def is_url(word: str) -> bool:
    """Whether WORD is a URL of any transport, and no command."""
    return word.startswith(("http://", "https://")) or is_added_url(word)


def is_added_url(word: str) -> bool:
    """Whether WORD is a URL of a transport that was added to ours."""
    return scheme_of(word) in SCHEMES


def scheme_of(word: str) -> str:
    """The scheme that WORD begins with, if it is a URL; else nothing."""
    scheme = word.partition("://")[0] if "://" in word else ""
    return scheme if scheme.isascii() and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum() else ""


def at_url(url: str) -> ServerSpec | None:
    """The server at URL, where a transport has registered its scheme."""
    make = SCHEMES.get(scheme_of(url))
    return None if make is None else make(url)


def from_words(words: tuple[str, ...], *, transport: str | None = None) -> ServerSpec:
    """The server that the words of a command line name: a URL, or a command with its arguments."""
    first = words[0]
    if transport == "stdio" or (transport is None and not is_url(first)):
        if is_url(first):
            raise ConfigError(f"{first} is a URL; stdio needs a command")
        return StdioSpec(command=words)
    if not is_url(first):
        raise UsageError(f"--transport {transport} needs a URL (http:// or https://), not {first!r}")
    if len(words) > 1:
        raise ConfigError(f"nothing can follow a URL, but {words[1]!r} does")
    if (registered := at_url(first)) is not None:
        if transport is not None:
            raise UsageError(f"--transport {transport} does not fit {first}")
        return registered
    if problem := url_problem(first):
        raise ConfigError(f"{first} is not the URL of a server: {problem}")
    return HttpSpec(url=first, sse=is_sse(first, transport), fall_back=transport is None)


def url_problem(url: str) -> str | None:
    """Why URL cannot be the address of a server."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https"):
        return "it must begin with http:// or https://"
    return None if parts.hostname and port != 0 else "it names no host"


def url_without_scheme(word: str) -> str | None:
    """The URL that WORD is if it begins with HOST:PORT, as in localhost:8000/mcp; None if it does not."""
    host, _, port = word.partition("/")[0].rpartition(":")
    name = host.replace(".", "").replace("-", "")
    if not (port.isascii() and port.isdigit()) or not (name.isalnum() or (host[:1] == "[" and host[-1:] == "]")):
        return None
    url = f"http://{word}"
    return url if url_problem(url) is None else None


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of URL: what must be equal for credentials to be sent along."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or (443 if parts.scheme == "https" else 80)


def is_sse(url: str, transport: str | None) -> bool:
    """Whether a URL is spoken to by HTTP+SSE: if TRANSPORT says so, or, without that, if it ends in /sse."""
    return url.partition("?")[0].endswith("/sse") if transport is None else transport == "sse"
