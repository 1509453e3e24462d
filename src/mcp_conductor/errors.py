"""The errors of MCP Conductor: one sentence each, with an optional hint and place; never an exit code or a colour.

    ConductorError              RUNTIME_MCP_ERROR
    ├── UsageError              RUNTIME_MCP_INVALID_USAGE        bad flag, suite or preset
    │   └── ConfigError         RUNTIME_MCP_INVALID_CONFIG       the target does not name a server
    ├── TransportError          RUNTIME_MCP_TRANSPORT_ERROR      cannot start, cannot connect
    │   ├── StdioNotSupported   RUNTIME_MCP_STDIO_NOT_SUPPORTED  this platform cannot start processes
    │   ├── ConnectionLost      RUNTIME_MCP_CONNECTION_LOST      the server went away, perhaps with our request
    │   ├── ServerDown          RUNTIME_MCP_SERVER_DOWN          a server of a bridge is not connected; nothing was sent
    │   └── HttpStatusError     RUNTIME_MCP_HTTP_STATUS          an HTTP status, without a message that we can use
    ├── ProtocolError           RUNTIME_MCP_PROTOCOL_ERROR       the conversation cannot go on after what the peer said
    ├── MethodError             RUNTIME_MCP_METHOD_ERROR         the peer answered with a JSON-RPC error
    ├── InvalidResult           RUNTIME_MCP_INVALID_RESULT       a result is not as it has to be for what was asked
    ├── TimeLimitReached        RUNTIME_MCP_TIMEOUT              something was not done in time
    │   └── RequestTimeout      RUNTIME_MCP_TIMEOUT              no answer in time: method, seconds
    ├── Refused                 RUNTIME_MCP_REFUSED              a function of the user does not want to answer a server
    └── InternalError           RUNTIME_MCP_INTERNAL_ERROR       a bug of ours

These texts never change; every error has its own as `kind`, and as `code` too; only the `code` of a MethodError is the
one that the server gave. `str()` of an error is always safe to show; `message` is not escaped. An
exception means that we could not go on. A mistake of a server after which we can go on is a note in the transcript.
"""

from collections.abc import Callable
from typing import Any

from mcp_conductor.text.visible import cut, visible
from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int
    source: str = ""
    value: tuple[int, int] | None = None  # the columns that the value takes on this line, the end excluded

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def of_key(self, key: str) -> "Location":
        """The same place, where KEY stands with its value, for what is wrong with the key."""
        quotes = 2 * self.source.startswith(('"', "'"), self.column - 1)
        value = (self.column, self.column + len(key) + quotes)
        return Location(self.file, self.line, self.column, self.source, value)

    @property
    def marked(self) -> tuple[int, int]:
        """What to mark of the source, as indexes into it."""
        first, last = self.value or (self.column, self.column + 1)
        return first - 1, last - 1


def location_in(text: str, file: str, line: int, column: int) -> Location:
    """A place in TEXT, which is that of FILE."""
    lines = text.split("\n")
    return Location(file, line, column, lines[line - 1] if 0 < line <= len(lines) else "")


class ConductorError(Exception):
    """We cannot go on; the message is for the person who must act."""

    kind = "RUNTIME_MCP_ERROR"  # stable, for programs

    def __init__(self, message: str, *, hint: str | None = None, where: Location | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where
        self.stderr: tuple[str, ...] = ()  # the server's last lines, where they may explain what happened
        self.frames: tuple[Any, ...] = ()  # what was said until then, for a report; each is a `Frame` of a transcript
        self.context: dict[str, Any] = {}  # the server, the platform and its transports, once they are known

    def __str__(self) -> str:
        return visible(self.message)

    @property
    def code(self) -> str | int | None:
        return self.kind

    def __reduce__(self) -> tuple[Any, ...]:
        # What the constructors take differs, and most of it is in the message already.
        return _restored, (type(self), self.args, self.__dict__)

    def tell_with(self, context: dict[str, Any], redact: Callable[[str], str] = str) -> None:
        """Add CONTEXT, and REDACT the message and the hint."""
        self.context = {**context, **self.context}
        self.message = redact(self.message)
        self.hint = self.hint and redact(self.hint)
        self.args = (self.message, *self.args[1:])


def _restored(kind: type[ConductorError], args: tuple[Any, ...], state: dict[str, Any]) -> ConductorError:
    """An error as it was pickled."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class UsageError(ConductorError):
    """A flag, a file or a value given to us is wrong."""

    kind = "RUNTIME_MCP_INVALID_USAGE"
    more: "tuple[UsageError, ...]" = ()  # what else is wrong with the same file
    left_out: int = 0  # how many mistakes there are beyond those


class ConfigError(UsageError):
    """The target does not say which server is meant, or how to reach it."""

    kind = "RUNTIME_MCP_INVALID_CONFIG"


class CannotTellError(UsageError):
    """It cannot be decided whether a value is right: neither yes nor no."""


class TransportError(ConductorError):
    """The server cannot be started or reached, or it went away."""

    kind = "RUNTIME_MCP_TRANSPORT_ERROR"
    sent = True  # False: nothing of the request has left us, so it can be sent again


class StdioNotSupported(TransportError):  # noqa: N818  # what is so, not what kind of class it is
    """This platform cannot start processes, so only servers at a URL can be reached."""

    kind = "RUNTIME_MCP_STDIO_NOT_SUPPORTED"


class ConnectionLost(TransportError):  # noqa: N818  # what happened, not what kind of class it is
    """The server went away; it is not known whether it has done what it was asked last."""

    kind = "RUNTIME_MCP_CONNECTION_LOST"
    final = False  # whether the server cannot be reached any more, and not only this connection to it


class Flooded(ConnectionLost):
    """The server said far more than it was asked, and is not heard any more."""

    flood = ""  # how much that was
    first: "tuple[Any, ...]" = ()  # frames of it, and of what had been asked


class ServerDown(TransportError):  # noqa: N818  # what is so, not what kind of class it is
    """A server of a bridge is not connected; nothing was sent to it."""

    kind = "RUNTIME_MCP_SERVER_DOWN"


class HttpStatusError(TransportError):
    """The server answered over HTTP with a status that means failure, and without a JSON-RPC error."""

    kind = "RUNTIME_MCP_HTTP_STATUS"

    def __init__(
        self,
        method: str,
        status: int,
        headers: "list[tuple[str, str]]",
        body: str,
        *,
        session: bool = False,
        reason: str | None = None,  # what the headers say about the error, if that explains more than the body
        hint: str | None = None,
    ) -> None:
        hints = dict.fromkeys((404, 405, 501), "is the path right?")
        if status == 404 and session:
            hints[404] = "the server has ended the session"
        if status == 429:
            wait = next((value for name, value in headers if name.lower() == "retry-after"), "a while")
            hints[429] = f"the server asks to wait: {wait}"
        shown = cut(" ".join(body.split()), 200)
        said = reason or (repr(shown) if shown else "")
        phrase = " Unauthorized" if status == 401 else ""
        super().__init__(
            f"{method} was answered with status {status}{phrase}" + (f": {said}" if said else ""),
            hint=hint or hints.get(status),
        )
        self.method = method
        self.status = status
        self.session = session  # whether the request was part of an HTTP session
        self.headers = headers
        self.body = body
        self.error: Any = None  # the JSON-RPC error in the body, if there is one
        self.answers: Any = None  # the id of the request that it answers


class ProtocolError(ConductorError):
    """The conversation cannot go on after what the peer said."""

    kind = "RUNTIME_MCP_PROTOCOL_ERROR"

    def __init__(self, message: str, *, hint: str | None = None, heard: Any = None) -> None:
        super().__init__(message, hint=hint)
        self.heard = heard


class MisnamedEvent(ProtocolError):  # noqa: N818  # what came, not what kind of class it is
    """An answer came as an event that carries no messages."""


class MethodError(ConductorError):
    """The peer answered a request with a JSON-RPC error; `code` is the server's."""

    kind = "RUNTIME_MCP_METHOD_ERROR"

    def __init__(self, method: str, error: Any, *, hint: str | None = None) -> None:
        self.method = method
        self.error = error
        said = error.get("message") if isinstance(error, dict) else error
        super().__init__(f"{method} was answered with error {self.code}: {said}", hint=hint)

    @property
    def code(self) -> Any:
        return self.error.get("code") if isinstance(self.error, dict) else None


class InvalidResult(ConductorError):  # noqa: N818  # what came, not what kind of class it is
    """A result is not as it has to be: it breaks the outputSchema, or has nothing to write to a file."""

    kind = "RUNTIME_MCP_INVALID_RESULT"


class TimeLimitReached(ConductorError):  # noqa: N818  # what happened, not what kind of class it is
    """Something was not done in time."""

    kind = "RUNTIME_MCP_TIMEOUT"


class RequestTimeout(TimeLimitReached):
    """No answer came in time."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"no answer to {method} within {seconds:g} s")
        self.method = method
        self.seconds = seconds


class Refused(ConductorError):  # noqa: N818  # what happened, not what kind of class it is
    """Raised by a function that answers a server, where the user does not want to: a refusal, and no mistake."""

    kind = "RUNTIME_MCP_REFUSED"


class InternalError(ConductorError):
    """A bug of ours."""

    kind = "RUNTIME_MCP_INTERNAL_ERROR"


_with_flags = False  # whether one of our programs runs


def speak_of_flags(on: bool = True) -> bool:
    """Say from now on by which flag something can be changed, since one of our programs runs; returns what it was."""
    global _with_flags  # what runs is a property of the process
    before, _with_flags = _with_flags, on
    return before


def way(flag: str, keyword: str) -> str:
    """How something can be changed: by FLAG of our programs, by KEYWORD in a program that uses the library."""
    return flag if _with_flags else keyword


def nearest(word: str, known: "list[str] | tuple[str, ...]") -> str | None:
    """The known word that WORD was most likely meant to be."""
    from difflib import get_close_matches

    # One letter more or less is much of a short word: `bb` may be meant to be `b`.
    return next(iter(get_close_matches(word, known, n=1, cutoff=0.7 if len(word) > 3 else 0.66)), None)
