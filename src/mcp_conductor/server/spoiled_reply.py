"""How a reply is to differ from the right one: what faults write, and what the hosts carry out."""

import os
from collections.abc import Callable
from dataclasses import field
from random import Random
from typing import TypeVar

from mcp_conductor.errors import UsageError
from mcp_conductor.plugins import guarded, wrong_return
from mcp_conductor.protocol import Json
from mcp_conductor.values import dataclass

R = TypeVar("R")

# What it takes to spoil a reply in one way or another; not every host has all of it.
Means = frozenset[str]
STDOUT = "a stdout"
STATUS = "an HTTP status"
CONTENT_TYPE = "a content type"
EVENT_STREAM = "an event stream"
SESSION = "a session"
EVERY_MEANS: Means = frozenset({STDOUT, STATUS, CONTENT_TYPE, EVENT_STREAM, SESSION})
_CHANGE = "a change that a fault makes"


def say_nothing(_: str) -> None: ...


@dataclass(slots=True)
class SpoiledReply:
    """How one reply differs from what it should be."""

    random: Random  # of the fault that acts at the moment
    struck: list[tuple[int, str]] = field(default_factory=list)  # the faults that act: their places and names
    delay: float = 0.0  # seconds before the request is even looked at
    silent: bool = False  # there is no reply
    changes: list[Callable[[Json], Json]] = field(default_factory=list)  # to the reply, as a value; ours never raise
    garble: list[Callable[[bytes], bytes]] = field(default_factory=list)  # to the reply, as bytes
    copies: int = 1
    noise: list[bytes] = field(default_factory=list)  # lines before it that are not messages (stdio)
    part: float = 1.0  # how much of it is sent
    close: bool = False  # then stdout, or the connection, is closed
    exit_code: int | None = None  # then the process ends
    status: int | None = None  # of the HTTP response, instead of an answer
    headers: list[tuple[str, str]] = field(default_factory=list)  # of the HTTP response
    content_type: str | None = None  # of the HTTP response
    cut_stream: int | None = None  # the HTTP event stream breaks off after this many messages
    forget_events: bool = False  # and cannot be resumed
    expire_session: bool = False  # the HTTP session ends with this request
    complain: Callable[[str], None] = say_nothing  # is told what fails in a fault of a plugin
    leave: Callable[[int], None] = os._exit  # ends the process with this code

    @property
    def needs(self) -> Means:
        """What a host needs one of, if anything is to come of it; none of them if it can be done everywhere."""
        everywhere = self.delay or self.silent or self.changes or self.garble or self.copies != 1
        if everywhere or self.truncates or self.close or self.exit_code is not None:
            return frozenset()
        there = {
            STDOUT: bool(self.noise),
            STATUS: self.status is not None or bool(self.headers),
            CONTENT_TYPE: self.content_type is not None,
            EVENT_STREAM: self.cut_stream is not None,
            SESSION: self.expire_session,
        }
        return frozenset(means for means, needed in there.items() if needed)

    @property
    def truncates(self) -> bool:
        return self.part < 1.0

    def leaves(self, reply: Json) -> bool:
        """Whether nothing comes of it, because all that it would change of REPLY is not there."""
        rest = SpoiledReply(self.random, self.struck, changes=self.changes, complain=self.complain, leave=self.leave)
        return bool(self.changes) and self == rest and self.changed(reply) == reply

    def changed(self, reply: Json) -> Json:
        for change in self.changes:
            reply = self._result(change, reply, dict)
        return reply

    def garbled(self, text: bytes) -> bytes:
        for garble in self.garble:
            text = self._result(garble, text, bytes)
        return text[: int(len(text) * self.part)]

    def _result(self, change: Callable[[R], R], given: R, kind: type) -> R:
        """What CHANGE makes of GIVEN; if it is of a plugin and fails, GIVEN: the client waits for a reply."""
        try:
            result = guarded(change, _CHANGE, ["reply"])(given)
            if isinstance(result, kind):
                return result
            failed: UsageError = wrong_return(change, _CHANGE, result, kind.__name__)
        except UsageError as error:
            failed = error
        self.complain(f"{failed}; the reply is sent without it")
        return given
