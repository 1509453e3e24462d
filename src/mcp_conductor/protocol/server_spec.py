"""Which server is meant, and how to reach it: a command to start, or a URL to call; never both, never neither.

A server in our own process is reached without either: as an ASGI application, or by a pair of streams.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from mcp_conductor.errors import ConfigError, UsageError
from mcp_conductor.protocol.budgets import DEFAULT, Budgets
from mcp_conductor.text.redaction import secrets_of_environment, secrets_of_headers, secrets_of_url, secrets_of_words

TRANSPORTS = ("stdio", "sse", "http")
# Where there are no processes to start.
_NO_PROCESSES = ("emscripten", "wasi", "ios", "tvos", "watchos")

_Event = MutableMapping[str, Any]
AsgiApp = Callable[[_Event, Callable[[], Awaitable[_Event]], Callable[[_Event], Awaitable[None]]], Awaitable[None]]


def supported_transports(platform: str) -> tuple[str, ...]:
    """How servers can be reached from PLATFORM, which is what `sys.platform` says."""
    return TRANSPORTS[1:] if platform in _NO_PROCESSES else TRANSPORTS


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioSpec:
    """A server that we start, and talk to over its stdin and stdout."""

    command: tuple[str, ...]
    name: str = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # in addition to our own environment
    cwd: str | None = None
    ready_pattern: str | None = None
    startup_timeout: float | None = None
    protocol: str | None = None
    budgets: Budgets = field(default=DEFAULT, repr=False)

    def __str__(self) -> str:
        return self.name or " ".join(self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSpec:
    """A server that somebody else runs, at a URL."""

    url: str
    name: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sse: bool = False  # HTTP+SSE, the transport of 2024-11-05
    fall_back: bool = True  # to HTTP+SSE, where the URL turns out to be one
    endpoint_timeout: float = 30.0  # for the first event of HTTP+SSE
    cafile: str | None = None  # the authorities to trust for TLS, instead of the system's
    insecure: bool = False  # trust anybody
    protocol: str | None = None
    budgets: Budgets = field(default=DEFAULT, repr=False)

    def __str__(self) -> str:
        return self.name or self.url


@dataclass(frozen=True, slots=True, kw_only=True)
class AsgiSpec(HttpSpec):
    """A server that is an ASGI application, called without a socket; its lifespan is that of the connection."""

    app: AsgiApp
    url: str = "http://127.0.0.1:8000/mcp"
    lifespan: bool = True  # whether to tell the application that it starts and ends

    def __str__(self) -> str:
        return self.name or f"the application {type(self.app).__name__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsSpec:
    """A server at the other end of two streams of messages.

    READ is iterated over; WRITE has `send`, as the streams of anyio, or `write`, as those of asyncio. ENCODE makes what
    is written from a line of JSON, DECODE makes a line of JSON from what is read.
    """

    read: AsyncIterable[Any]
    write: object
    encode: Callable[[str], Any] = lambda line: line.encode(errors="surrogateescape") + b"\n"
    decode: Callable[[Any], Any] = lambda item: item
    name: str = ""
    protocol: str | None = None
    budgets: Budgets = field(default=DEFAULT, repr=False)

    def __str__(self) -> str:
        return self.name or "the server at the other end of the streams"


ServerSpec = StdioSpec | HttpSpec
AnySpec = StdioSpec | HttpSpec | StreamsSpec


def secrets_of_server(spec: AnySpec) -> list[str]:
    """What must not be shown of a server's settings."""
    match spec:
        case StdioSpec():
            return [*secrets_of_environment(spec.env), *secrets_of_words(spec.command)]
        case HttpSpec():
            return [*secrets_of_headers(spec.headers), *secrets_of_url(spec.url)]
        case _:
            return []


def from_words(words: tuple[str, ...], *, transport: str | None = None) -> ServerSpec:
    """The server that the words of a command line name: a URL, or a command with its arguments."""
    first = words[0]
    is_url = first.startswith(("http://", "https://"))
    if transport == "stdio" or (transport is None and not is_url):
        if is_url:
            raise ConfigError(f"{first} is a URL; stdio needs a command")
        return StdioSpec(command=words)
    if not is_url:
        raise UsageError(f"--transport {transport} needs a URL (http:// or https://), not {first!r}")
    if len(words) > 1:
        raise ConfigError(f"nothing can follow a URL, but {words[1]!r} does")
    if problem := url_problem(first):
        raise ConfigError(f"{first} is not the URL of a server: {problem}")
    return HttpSpec(url=first, sse=is_sse(first, transport), fall_back=transport is None)


def url_problem(url: str) -> str | None:
    """Why URL cannot be the address of a server."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https"):
        return "it must begin with http:// or https://"
    return None if parts.hostname and port != 0 else "it names no host"


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of URL: what must be equal for credentials to be sent along."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or (443 if parts.scheme == "https" else 80)


def is_sse(url: str, transport: str | None) -> bool:
    """Whether a URL is spoken to by HTTP+SSE: if TRANSPORT says so, or, without that, if it ends in /sse."""
    return url.partition("?")[0].endswith("/sse") if transport is None else transport == "sse"
