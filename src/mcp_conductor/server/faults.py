"""What goes wrong on purpose: declared in the config, seeded, and matched by method, name or count.

A fault is one decorated function. It is given a `SpoiledReply`, and sets how the reply is to differ from the right one.
The hosts carry that out, each with the means of its transport. What a transport cannot do does not happen there.
"""

import os
import re
from collections.abc import Callable
from copy import copy
from random import Random
from typing import Any, Literal

from mcp_conductor.catalog import Catalog
from mcp_conductor.errors import UsageError
from mcp_conductor.plugins import guarded
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.duration import seconds
from mcp_conductor.protocol.message import Message
from mcp_conductor.server.params import BadParam
from mcp_conductor.server.spoiled_reply import EVERY_MEANS, Means, SpoiledReply, say_nothing
from mcp_conductor.values import dataclass

ANOTHER_TYPE = "a value of another type"

_STEP = re.compile(r'(?:^|(?!^)\.)([^.\[\]"]+)|\["([^"]+)"\]|\[([0-9]{1,9})\]')
_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
# What every result of the modern era has: not what a schema is about.
_ENVELOPE = ("_meta", "resultType", "ttlMs", "cacheScope")


Act = Callable[..., None]
Side = Literal["server", "client"]
FAULTS: Catalog[Act] = Catalog("fault", __name__)


def fault(act: Act) -> Act:
    """Register a fault under its function's name; its keyword arguments are its params."""
    FAULTS.add(act.__name__, guarded(act, f"the fault {act.__name__!r}", ["spoiled"], exactly=False), act)
    return act


# When the reply comes, and whether.


@fault
def delay(spoiled: SpoiledReply, time: float | str, jitter: float | str = 0) -> None:
    """Wait before the request is looked at; with `jitter`, a random time of up to `jitter` longer."""
    spoiled.delay += _time("time", time) + spoiled.random.random() * _time("jitter", jitter)


@fault
def never_answer(spoiled: SpoiledReply) -> None:
    """Do what is asked, and do not answer."""
    spoiled.silent = True


# What the reply says.


@fault
def answer_twice(spoiled: SpoiledReply, times: int = 2) -> None:
    """Send the same reply more than once; in a JSON response over HTTP, one after the other."""
    spoiled.copies = _within("times", times, 2, 1000)


@fault
def wrong_id(spoiled: SpoiledReply, id: int | str | None = None) -> None:  # noqa: A002  # its name in the message
    """Answer with another id than that of the request; without `id`, with a text that begins with `not-`."""
    spoiled.changes.append(lambda reply: {**reply, "id": f"not-{reply.get('id')}" if id is None else id})


@fault
def malformed_json(spoiled: SpoiledReply) -> None:
    """Send a reply that is not JSON: its last character is missing."""
    spoiled.garble.append(lambda text: text[:-1])


@fault
def drop_field(spoiled: SpoiledReply, path: str) -> None:
    """Leave out a member of the reply, such as `result.content` or `result.tools[0].inputSchema`."""
    steps = _steps(path)

    def drop(reply: Json) -> Json:
        edited, part = _copy_and_part(reply, steps)
        if _holds(part, steps[-1]):
            del part[steps[-1]]
        return edited

    spoiled.changes.append(drop)


@fault
def break_schema(spoiled: SpoiledReply, path: str | None = None, value: Any = ANOTHER_TYPE) -> None:
    """Put a wrong value into the reply: at `path`, or else first in structuredContent, or else first in the result.

    Without `value` it is one of another type than the right one.
    """
    given = None if path is None else _steps(path)

    def spoil(reply: Json) -> Json:
        steps = given or _first_member(reply)
        edited, part = _copy_and_part(reply, steps)
        last = steps[-1]
        if _holds(part, last):
            other = 0 if isinstance(part[last], str) else "broken"
            part[last] = other if value == ANOTHER_TYPE else value
        elif isinstance(part, dict):
            part[str(last)] = value
        return edited

    spoiled.changes.append(spoil)


@fault
def oversize(spoiled: SpoiledReply, bytes: int = 16 << 20) -> None:  # noqa: A002  # what it counts
    """Make the reply longer by `bytes`, in the member `padding` of its _meta."""
    _within("bytes", bytes, 1, 256 << 20)

    def pad(reply: Json) -> Json:
        member = "error" if "error" in reply else "result"
        inner = reply.get(member)
        inner = inner if isinstance(inner, dict) else {}
        meta = inner.get("_meta")
        padded = {**(meta if isinstance(meta, dict) else {}), "padding": "x" * bytes}
        return {**reply, member: {**inner, "_meta": padded}}

    spoiled.changes.append(pad)


# What happens to stdout, or to the process.


@fault
def stdout_noise(spoiled: SpoiledReply, text: str = "this line is not a message", lines: int = 1) -> None:
    """Print lines that are not messages before the reply (stdio)."""
    spoiled.noise += [text.encode(errors="surrogatepass")] * _within("lines", lines, 1, 10_000)


@fault
def half_a_line_then_exit(spoiled: SpoiledReply, code: int = 1) -> None:
    """Send the first half of the reply, and end the process."""
    spoiled.part, spoiled.exit_code = 0.5, _within("code", code, 0, 255)


@fault
def crash(spoiled: SpoiledReply, code: int = 1) -> None:
    """End the process instead of answering."""
    spoiled.part, spoiled.exit_code = 0.0, _within("code", code, 0, 255)


@fault
def close_stdout(spoiled: SpoiledReply) -> None:
    """Close stdout (over HTTP: the connection) instead of answering, and live on."""
    spoiled.part, spoiled.close = 0.0, True


# What happens to the HTTP response.


@fault
def http_status(spoiled: SpoiledReply, status: int = 500, retryAfter: int | None = None) -> None:  # noqa: N803  # as in the file
    """Answer with an HTTP status and no message; the request is not carried out. `retryAfter` is in seconds."""
    spoiled.status = _within("status", status, 200, 599)
    if retryAfter is not None:
        spoiled.headers.append(("Retry-After", str(_within("retryAfter", retryAfter, 0, 24 * 3600))))


@fault
def wrong_content_type(spoiled: SpoiledReply, type: str = "text/html") -> None:  # noqa: A002  # the header's own word
    """Give the HTTP response another content type than it has."""
    if not _HEADER_VALUE.fullmatch(type):
        raise BadParam("type", f"must be printable ASCII, not {type!r}")
    spoiled.content_type = type


@fault
def cut_stream(spoiled: SpoiledReply, after: int = 0, resumable: bool = True) -> None:
    """Break off the HTTP event stream after `after` messages; if `resumable`, a client can fetch the rest.

    The empty event by which a stream of 2025-11-25 begins is sent before, and does not count. No stream of 2026-07-28
    can be resumed.
    """
    spoiled.cut_stream, spoiled.forget_events = _within("after", after, 0, 1000), not resumable


@fault
def expire_session(spoiled: SpoiledReply) -> None:
    """End the HTTP session: this request and all later ones are answered with 404."""
    spoiled.expire_session = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One entry of `faults`: what goes wrong, and when."""

    name: str
    act: Callable[[SpoiledReply], None]
    replier: Side = "server"  # whose reply is spoiled
    method: str | None = None
    target: str | None = None  # the name of a tool or prompt, or a URI
    nth: tuple[int, ...] = ()
    every: int | None = None
    probability: float | None = None
    needs: Means = frozenset()  # without one of these nothing comes of it; none: it works everywhere

    @property
    def aim(self) -> str:
        """Which requests it is for."""
        name = None if self.target is None else repr(self.target)
        aim = " ".join(part for part in (self.method, name) if part is not None) or "all requests"
        return f"{aim} of the server" if self.replier == "client" else aim

    @property
    def needed(self) -> str:
        return " or ".join(sorted(self.needs))

    def can_strike(self, means: Means) -> bool:
        return not self.needs or not self.needs.isdisjoint(means)

    def concerns(self, message: Message) -> bool:
        if self.method is not None and message.method != self.method:
            return False
        return self.target is None or self.target in (message.params.get("name"), message.params.get("uri"))

    def strikes(self, count: int, random: Random) -> bool:
        """Whether it strikes at the request that is the COUNTth to concern it."""
        if self.nth and count not in self.nth:
            return False
        if self.every is not None and count % self.every:
            return False
        return self.probability is None or random.random() < self.probability


class Faults:
    """The faults of one server, and how often each has had a chance to strike."""

    def __init__(self, faults: tuple[Fault, ...], seed: int, complain: Callable[[str], None] = say_nothing) -> None:
        self._faults = faults
        self._complain = complain
        self._counts = [0] * len(faults)
        self._struck = [0] * len(faults)
        self._unable = [0] * len(faults)  # requests that it has no means to strike at
        # Each has its own, so that what strikes does not depend on the traffic that concerns others.
        self._randoms = [Random(f"{seed}/{index}") for index in range(len(faults))]

    def concern(self, replier: Side) -> bool:
        """Whether any of them is for replies of REPLIER."""
        return any(each.replier == replier for each in self._faults)

    def spoiled_reply(
        self, message: Message, means: Means = EVERY_MEANS, replier: Side = "server"
    ) -> SpoiledReply | None:
        """What is to go wrong with the reply of REPLIER to MESSAGE, if anything is, where a host has these MEANS."""
        spoiled: SpoiledReply | None = None
        for index, (each, random) in enumerate(zip(self._faults, self._randoms, strict=True)):
            if each.replier != replier or not each.concerns(message):
                continue
            if not each.can_strike(means):
                self._unable[index] += 1
                continue
            self._counts[index] += 1
            if each.strikes(self._counts[index], random):
                spoiled = spoiled or SpoiledReply(random, complain=self._complain, leave=self._leave)
                spoiled.random = random
                if self._acts(each, spoiled):
                    self._struck[index] += 1
                    spoiled.struck.append((index, each.name))
        return spoiled

    def take_back(self, spoiled: SpoiledReply, means: Means) -> None:
        """Those of SPOILED have not struck that need more than these MEANS: they are known only now."""
        for index, name in list(spoiled.struck):
            if not self._faults[index].can_strike(means):
                spoiled.struck.remove((index, name))
                self._struck[index] -= 1
                self._counts[index] -= 1
                self._unable[index] += 1

    def missed(self, spoiled: SpoiledReply) -> None:
        """Those of SPOILED have not struck after all: they left the reply as it was."""
        for index, _ in spoiled.struck:
            self._struck[index] -= 1

    def report(self) -> list[str]:
        """How often each has struck so far, in lines for people."""
        counts = zip(self._faults, self._struck, self._counts, self._unable, strict=True)
        return [f"fault {fault.name} ({fault.aim}): {_told(fault, *each)}" for fault, *each in counts]

    def _leave(self, code: int) -> None:
        """End the process at once, as a crash does; only what has struck is still told."""
        for line in self.report():
            self._complain(line)
        os._exit(code)

    def _acts(self, fault: Fault, spoiled: SpoiledReply) -> bool:
        """Whether FAULT does what it is there for."""
        try:
            fault.act(spoiled)
        except UsageError as error:  # one of a plugin; it did not fail when the file was read
            self._complain(f"{error}; the reply is sent without it")
            return False
        return True


def _told(fault: Fault, struck: int, count: int, unable: int) -> str:
    requests = "1 such request" if count == 1 else f"{count or 'no'} such requests"
    if struck:
        return f"struck {struck} of {requests}"
    if unable and not count:
        return f"never struck: it needs {fault.needed}, which is not there"
    return f"never struck: {requests} came"


def _within(param: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise BadParam(param, f"must be from {least} to {most}, not {value}")
    return value


def _time(param: str, written: float | str) -> float:
    known = 0.0 if written == 0 else seconds(written)
    if known is None:
        raise BadParam(param, f"must be a time such as 500 (milliseconds), 500ms or 2s, not {written!r}")
    return known


# Places in a reply.

_Steps = list[str | int]


def _steps(path: str) -> _Steps:
    """`result.tools[0]._meta["a.b"]` as steps."""
    found = list(_STEP.finditer(path))
    if not path or "".join(step[0] for step in found) != path:
        raise BadParam("path", f"must be a path such as result.tools[0].name, not {path!r}")
    return [int(step[3]) if step[3] else step[1] or step[2] for step in found]


def _first_member(reply: Json) -> _Steps:
    """Where a schema is broken most plainly."""
    outer = "error" if "error" in reply else "result"
    inner = reply.get(outer)
    if not isinstance(inner, dict):
        return [outer]
    structured = inner.get("structuredContent")
    if isinstance(structured, dict) and structured:
        return [outer, "structuredContent", next(iter(structured))]
    named = ("structuredContent",) if structured is not None else (key for key in inner if key not in _ENVELOPE)
    return [outer, *list(named)[:1]]


def _holds(part: Any, step: str | int) -> bool:
    if isinstance(part, dict):
        return step in part
    return isinstance(part, list) and isinstance(step, int) and step < len(part)


def _copy_and_part(reply: Json, steps: _Steps) -> tuple[Json, Any]:
    """A copy of REPLY, and in it what holds the last of STEPS; None where they lead nowhere."""
    edited = dict(reply)
    part: Any = edited
    for step in steps[:-1]:
        if not _holds(part, step):
            return edited, None
        part[step] = copy(part[step])
        part = part[step]
    return edited, part
