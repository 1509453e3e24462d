"""The errors of MCP Conductor: one sentence each, perhaps a hint and a place; never an exit code or a colour.

    ConductorError
    ├── UsageError          bad flag, config, suite or preset
    ├── TransportError      cannot start, cannot connect, went away
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
