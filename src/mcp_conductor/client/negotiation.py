"""Which era, which revision: what to send next, given what has come back. Events in, actions out; no I/O, no clock.

| choice      | what happens                                                                                          |
|-------------|-------------------------------------------------------------------------------------------------------|
| `handshake` | initialize; a server that refuses because it is of the modern era only is spoken to in that           |
| `auto`      | server/discover; no answer soon: initialize right behind it; the first usable answer decides          |
| `modern`    | the newest modern revision that both sides have, no handshake                                         |
| a version   | exactly that one                                                                                      |
"""

from typing import Any, Final, Literal, NamedTuple

from mcp_conductor.errors import ConductorError, HttpStatusError, MethodError, ProtocolError, RequestTimeout, way
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    HANDSHAKE,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MODERN,
    MODERN_CODES,
    NEWEST_HANDSHAKE,
    NEWEST_MODERN,
    UNSUPPORTED_VERSION,
    Dialect,
    newest_common,
)
from mcp_conductor.protocol.message import Message, render

NONE = "none"  # no opening at all: for those who send their own `initialize`
INITIALIZE: Final = "initialize"
DISCOVER: Final = "server/discover"
# How long `auto` waits for an answer to server/discover before it sends initialize as well: long enough for a server
# that is up, short enough to go unnoticed on one that never answers what it does not know.
PROBE_SECONDS = 0.3
READING_SECONDS = 0.02  # for a server that takes what it reads at once for one message
# What a server of HTTP+SSE answers to the POST of a newer client (basic/transports#backwards-compatibility).
_OLD_STATUSES = (400, 404, 405)

_HANDSHAKE = 'protocol="handshake"'
Method = Literal["initialize", "server/discover"]

# Events and actions are named tuples: each dataclass would cost every call of mcp-cli half a millisecond.


class Answered(NamedTuple):
    """The reply to the request that was sent last by this method."""

    method: Method
    reply: Message | None


class Refused(NamedTuple):
    """An HTTP status instead of a reply."""

    method: Method
    error: HttpStatusError


class Late:
    """Nothing has come within the patience of the last action."""


class Ask(NamedTuple):
    """Send this request, in DIALECT; then wait for the next event."""

    method: Method
    dialect: Dialect
    patience: float | None = None  # after so many seconds, being late is an event
    notes: tuple[str, ...] = ()


class Wait:
    """Send nothing; something is under way already."""


class Settle(NamedTuple):
    """The conversation is open, in DIALECT."""

    dialect: Dialect
    opened: Json  # the result that opened it
    notes: tuple[str, ...] = ()
    notifications: tuple[str, ...] = ()  # that the server is sent now
    pause: float = 0.0  # after each of them


class Fail(NamedTuple):
    """It cannot be opened."""

    error: ConductorError


Event = Answered | Refused | Late
Action = Ask | Wait | Settle | Fail


class Negotiation:
    """One opening of one conversation. LENIENT, NEEDS_VERSION and PROBE_SECONDS are as `connect()` has them."""

    def __init__(
        self, choice: str, *, lenient: bool = False, needs_version: bool = True, probe_seconds: float = PROBE_SECONDS
    ) -> None:
        self._choice = choice
        self._probe_seconds = probe_seconds
        self._lenient = lenient
        self._needs_version = needs_version
        pinned = DIALECTS.get(choice)
        self._pinned = pinned
        self._modern = pinned if pinned is not None and not pinned.handshake else NEWEST_MODERN
        self._offered = pinned if pinned is not None and pinned.handshake else NEWEST_HANDSHAKE
        self._asked = self._modern  # the dialect of the last server/discover
        self._repeated: set[Method] = set()  # what was sent a second time, in another dialect
        self._probing = choice == "auto"  # server/discover may still turn out to be understood
        self._initialize_reply: Message | None = None  # an answer to initialize that does not decide alone
        self._initialize_sent = False
        self._refusal: MethodError | None = None  # the answer to initialize that made us ask for server/discover

    def begin(self) -> Action:
        if self._probing:
            return Ask(method=DISCOVER, dialect=self._modern, patience=self._probe_seconds)
        if self._choice == "modern" or self._pinned is self._modern:
            return Ask(method=DISCOVER, dialect=self._modern)
        return self._initialize(self._offered)

    def after(self, event: Event) -> Action:
        """What to do, now that EVENT has come."""
        match event:
            case Late():
                return self._initialize(self._offered)
            case Refused(method="server/discover") if self._probing:
                return self._not_modern()
            case Refused(error=error):
                return Fail(error)
            case Answered(method="initialize", reply=reply):
                return self._after_initialize(reply)
            case Answered(reply=reply):
                return self._after_discover(reply)

    def _initialize(self, dialect: Dialect, *notes: str) -> Ask:
        self._offered, self._initialize_sent = dialect, True
        return Ask(method=INITIALIZE, dialect=dialect, notes=notes)

    # The handshake era.

    def _after_initialize(self, reply: Message | None) -> Action:
        error = _error(reply)
        if self._probing and (DISCOVER in self._repeated or (error or {}).get("code") in MODERN_CODES):
            self._initialize_reply = reply
            return Wait()  # a slow server, but a modern one
        if error is None:
            return self._settle_handshake(reply)
        if self._choice == "handshake" and INITIALIZE not in self._repeated:
            return self._after_refusal(reply, error)
        return self._settle_handshake(reply)

    def _after_refusal(self, reply: Message | None, error: Json) -> Action:
        if error.get("code") in (METHOD_NOT_FOUND, *MODERN_CODES):
            self._refusal = MethodError(INITIALIZE, error)
            return Ask(method=DISCOVER, dialect=self._modern)
        offered = self._offered
        supported = _data(error).get("supported")
        other = newest_common(supported, HANDSHAKE) if error.get("code") == INVALID_PARAMS else None
        if other is None or other is offered:
            return self._settle_handshake(reply)
        self._repeated.add(INITIALIZE)
        return self._initialize(
            other, f"the server refused {offered.version} with an error; it should have offered {other.version} instead"
        )

    def _settle_handshake(self, reply: Message | None) -> Action:
        """Take the server's answer to initialize, or say why we cannot."""
        result = _result(INITIALIZE, reply)
        if isinstance(result, Fail):
            return result
        notes = []
        version = result.get("protocolVersion")
        named = isinstance(version, str) or self._needs_version
        if not named or (self._lenient and version not in HANDSHAKE):
            notes.append(f"initialize: protocolVersion is {render(version)}; {self._offered.version} is used")
            version = self._offered.version
        if problem := self._version_problem(version):
            return Fail(problem)
        lacks = [member for member in ("capabilities", "serverInfo") if not isinstance(result.get(member), dict)]
        notes += [f"initialize: the result has no object {member!r}" for member in lacks]
        return Settle(
            dialect=DIALECTS[str(version)],
            opened=result,
            notes=tuple(notes),
            notifications=("notifications/initialized", "initialized")[: 2 if self._lenient else 1],
            pause=READING_SECONDS if self._lenient else 0.0,
        )

    def _version_problem(self, version: Any) -> ProtocolError | None:
        offers = f"the server offers protocol version {render(version)}"
        if self._pinned is not None and version != self._pinned.version:
            hint = f"{way('--protocol handshake', _HANDSHAKE)} accepts what the server offers"
            return ProtocolError(f"{offers} instead of {self._pinned.version}", hint=hint)
        if not isinstance(version, str) or version not in HANDSHAKE:
            hint = f"this client speaks {', '.join(HANDSHAKE)} after a handshake, and {', '.join(MODERN)} without"
            return ProtocolError(f"{offers}, which this client does not speak", hint=hint)
        return None

    # The modern era.

    def _after_discover(self, reply: Message | None) -> Action:
        """A server that refuses the version, but lists one that we speak, is asked once more."""
        error = _error(reply)
        if error is not None and error.get("code") == UNSUPPORTED_VERSION and DISCOVER not in self._repeated:
            common = newest_common(_data(error).get("supported"), self._acceptable)
            if common is not None:
                self._repeated.add(DISCOVER)
                self._asked = common
                return Ask(method=DISCOVER, dialect=common)
        if self._probing:
            return self._after_probe(reply, error)
        if error is None:
            return self._settle_modern(reply)
        older = way("--protocol handshake", _HANDSHAKE)
        hint = f"does the server speak {self._modern.version}? {older} is for older ones"
        return Fail(self._refusal or MethodError(DISCOVER, error, hint=hint))

    @property
    def _acceptable(self) -> tuple[str, ...]:
        return MODERN if self._pinned is None else (self._pinned.version,)

    def _settle_modern(self, reply: Message | None) -> Action:
        result = _result(DISCOVER, reply)
        if isinstance(result, Fail):
            return result
        versions = result.get("supportedVersions")
        dialect = newest_common(versions, self._acceptable)
        if dialect is None:
            lacks = f"the server does not list {' or '.join(self._acceptable)} among its versions: {render(versions)}"
            return Fail(ProtocolError(lacks))
        return Settle(dialect=dialect, opened=result)

    def _after_probe(self, reply: Message | None, error: Json | None) -> Action:
        """Any error but the three modern ones, with any code, means the handshake era (basic/versioning)."""
        if error is None:
            result = reply.result if reply is not None and reply.kind == "result" else None
            listed = result.get("supportedVersions") if isinstance(result, dict) else None
            return self._not_modern() if newest_common(listed, MODERN) is None else self._settle_modern(reply)
        if error.get("code") not in MODERN_CODES:
            return self._not_modern()
        if error.get("code") != UNSUPPORTED_VERSION:
            return Settle(dialect=self._asked, opened={})
        supported = render(_data(error).get("supported"))
        none = f"the server speaks none of our modern revisions ({', '.join(MODERN)}), only {supported}"
        return Fail(ProtocolError(none))

    def _not_modern(self) -> Action:
        self._probing = False
        if self._initialize_reply is not None:
            return self._settle_handshake(self._initialize_reply)
        return Wait() if self._initialize_sent else self._initialize(self._offered)


def may_be_older_transport(error: HttpStatusError) -> bool:
    """Whether a server that refuses the opening so may be one that speaks HTTP+SSE only."""
    return error.status in _OLD_STATUSES


def died_of_discover(choice: str, error: ConductorError) -> bool:
    """Whether a server that we started may be there for an opening without server/discover."""
    # One that says nothing would say nothing again.
    return choice == "auto" and not isinstance(error.__cause__, RequestTimeout)


def _error(reply: Message | None) -> Json | None:
    if reply is None or reply.kind != "error":
        return None
    return reply.error if isinstance(reply.error, dict) else {}


def _data(error: Json) -> Json:
    data = error.get("data")
    return data if isinstance(data, dict) else {}


def _result(method: Method, reply: Message | None) -> "Json | Fail":
    result: Any = reply.result if reply is not None and reply.kind == "result" else None
    if isinstance(result, dict):
        return result
    if reply is not None and reply.kind == "error":
        return Fail(MethodError(method, reply.error))
    problem = (reply and reply.problem) or "its result is not an object"
    return Fail(ProtocolError(f"the answer to {method} cannot be used: {problem}", heard=reply))
