"""The errors of MCP Conductor: one sentence each, perhaps a hint and a place; never an exit code or a colour.

    ConductorError
    ├── UsageError          bad flag, config, suite or preset
    ├── TransportError      cannot start, cannot connect, went away
    │   └── HttpStatusError     the server answered with a status, and with nothing that we could use
    ├── ProtocolError       the peer said something we cannot continue from; has the Message
    ├── MethodError         the peer answered with a JSON-RPC error: code, message, data
    └── RequestTimeout      no answer in time: method, seconds

An exception means that we could not go on. What a server did wrong and we could live with is a note in the transcript.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int
    source: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class ConductorError(Exception):
    """Something that keeps us from going on, told to the person who must act."""

    def __init__(self, message: str, *, hint: str | None = None, where: Location | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where
        self.stderr: tuple[str, ...] = ()  # the server's last lines, where they may explain what happened


class UsageError(ConductorError):
    """A flag, a file or a value given to us is wrong."""


class TransportError(ConductorError):
    """The server cannot be started or reached, or it went away."""


class HttpStatusError(TransportError):
    """The server answered over HTTP with a status that is no success, and without a JSON-RPC error."""

    def __init__(
        self, method: str, status: int, headers: "list[tuple[str, str]]", body: str, *, session: bool = False
    ) -> None:
        hints = {401: "the server wants authorization: --token, or --oauth", 404: "is the path right?"}
        if status == 404 and session:
            hints[404] = "the server has ended the session"
        if status == 429:
            wait = next((value for name, value in headers if name.lower() == "retry-after"), "a while")
            hints[429] = f"the server asks to wait: {wait}"
        shown = " ".join(body.split())[:200]
        super().__init__(
            f"{method} was answered with status {status}" + (f": {shown!r}" if shown else ""), hint=hints.get(status)
        )
        self.method = method
        self.status = status
        self.session = session  # whether the request was part of an HTTP session
        self.headers = headers
        self.body = body
        self.error: Any = None  # the JSON-RPC error in the body, if there is one


class ProtocolError(ConductorError):
    """The peer said something that we cannot continue from."""

    def __init__(self, message: str, *, hint: str | None = None, heard: Any = None) -> None:
        super().__init__(message, hint=hint)
        self.heard = heard


class MethodError(ConductorError):
    """The peer answered a request with a JSON-RPC error."""

    def __init__(self, method: str, error: Any, *, hint: str | None = None) -> None:
        self.method = method
        self.error = error
        self.code = error.get("code") if isinstance(error, dict) else None
        said = error.get("message") if isinstance(error, dict) else error
        super().__init__(f"{method} was answered with error {self.code}: {said}", hint=hint)


class RequestTimeout(ConductorError):  # noqa: N818  # what happened, not what kind of class it is
    """No answer came in time."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"no answer to {method} within {seconds:g} s")
        self.method = method
        self.seconds = seconds


def nearest(word: str, known: "list[str] | tuple[str, ...]") -> str | None:
    """The known word that WORD was most likely meant to be."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1, cutoff=0.7)), None)
