"""The client's side of a recording, played to a server: its requests, notifications and answers, in their order.

A request is sent when all replies have come that the recorded client had by then. Values that came in an answer are
replaced by those that stand in their place now.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Any

from mcp_conductor.client.connect import connect
from mcp_conductor.client.negotiation import NONE
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, TransportError, UsageError
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose_reply
from mcp_conductor.protocol.dialect import DIALECTS, METHOD_NOT_FOUND, named_in
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.recording.dialogue import Asked, Dialogue, Question, shown_request
from mcp_conductor.recording.flows import Flow, leaves, pick, values_in
from mcp_conductor.recording.format import FIRST_SESSION
from mcp_conductor.recording.http_sessions import SESSION_HEADER, header_of
from mcp_conductor.recording.opening import OPENINGS, opening_of
from mcp_conductor.recording.reader import Recording
from mcp_conductor.suites.matching.paths import spelled
from mcp_conductor.suites.verifying.alignment import Alignment
from mcp_conductor.text.redaction import REDACTED, Redactor
from mcp_conductor.values import dataclass

HANDSHAKE = "initialize"
_LATE_SECONDS = 0.5  # for notifications that may come after the last reply
_LOOK_SECONDS = 0.02
_POLL_SECONDS = 0.1
AT_ANY_TIME = ("roots/list",)  # questions that servers ask as often as they like: after a notification, or by a timer
_REACHED = ("input_required", "completed", "failed", "cancelled")  # states that a task waits in, or ends in


@dataclass(slots=True)
class Played:
    """What came of a recording that was played."""

    ids: dict[int, Id] = field(default_factory=dict)  # of the last request for each recorded one, by its number
    problems: dict[int, ConductorError] = field(default_factory=dict)  # what came in place of a reply
    carried: dict[str, str | int] = field(default_factory=dict)  # recorded values, and what they are now
    frames: list[Frame] = field(default_factory=list)
    repeated: dict[int, Message] = field(default_factory=dict)  # recorded questions that came again, by `id()`
    new: list[Message] = field(default_factory=list)  # questions that the recording does not have
    left_out: frozenset[int] = frozenset()  # requests that are not sent again, by their numbers
    lost: TransportError | None = None  # the server went away
    refused: bool = False  # the handshake, after which nothing more was sent
    server: Json = field(default_factory=dict)
    version: str | None = None


def refuse_redacted(dialogue: Dialogue) -> None:
    """Raise UsageError if the client said something that was left out of the recording as a secret."""
    for kind, asked, message in dialogue.moments:
        if kind == "reply" or REDACTED not in message.text:
            continue
        path = next((steps for steps, leaf in leaves(message.raw) if isinstance(leaf, str) and REDACTED in leaf), ())
        what = message.method if kind != "answer" else "an answer of the client"
        number = "" if asked is None else f" (request {asked.number})"
        raise UsageError(
            f"the recording cannot be played: {spelled(path)} of {what}{number} is a secret that was left out of it",
            hint="record it again, with --keep PATH if it only looks secret",
        )


def refuse_mixed(recording: Recording, session: int | None) -> None:
    """Raise UsageError if SESSION has what several clients said, which nothing in the recording tells apart.

    Over HTTP, that is so where a server gives no session ids, and clients opened sessions at the same time: then two
    requests have the same id, or `initialized` comes twice.
    """
    if recording.header is None or recording.header.transport != "http":
        return
    named: set[int] = set()
    opened: dict[int, int] = {}  # how often a client said that it was
    seen: set[tuple[int, str]] = set()
    twice: set[int] = set()
    for frame, each, *_ in recording.entries:
        if frame.source == "http" and header_of(frame.text, SESSION_HEADER) is not None:
            named.add(each)
        elif frame.source == "client":
            for message in frame.messages():
                if message.method == "notifications/initialized":
                    opened[each] = opened.get(each, 0) + 1
                elif message.kind == "request":
                    key = each, f"{compact(message.id)} {message.method}"
                    twice |= {each} if key in seen else set()
                    seen.add(key)
    sessions = recording.sessions()
    mixed = {each for each in sessions if each not in named and (each in twice or opened.get(each, 0) > 1)}
    if session is None:
        session = sessions[0] if sessions else FIRST_SESSION
    # One whose messages stand in another has none of its own beyond the opening.
    if session not in named and mixed and len(sessions) > 1:
        raise UsageError(
            f"session {session} cannot be played: the server gave no session ids, and several clients spoke at once, "
            "so that their requests cannot be told apart",
            hint="record one client at a time, or over stdio",
        )


def refused_attempts(dialogue: Dialogue) -> list[Asked]:
    """Attempts to open DIALOGUE that were refused, where another was not.

    A client that speaks both eras makes them. A later version of the server may accept what was refused, and then speak
    another era than the recording.
    """
    opening = opening_of((each.request, each.reply) for each in dialogue.asked)
    if opening is None or opening.request.method not in OPENINGS:
        return []
    tried = (each for each in dialogue.asked if each.method in OPENINGS and each.reply is not None)
    return [each for each in tried if each.reply is not None and each.reply.kind != "result"]


async def play(
    spec: ServerSpec,
    dialogue: Dialogue,
    flows: list[Flow],
    *,
    alignment: Alignment,
    timeout: float,
    redactor: Redactor,
    tell: Callable[[str], None] = lambda _: None,
) -> Played:
    """Play the client of DIALOGUE to a server; raises what keeps us from reaching it."""
    played = Played()
    transcript = Transcript(spec.secrets(), listener=played.frames.append, redactor=redactor)
    answers = _RecordedAnswers(dialogue, played, alignment)
    opening = connect(spec, protocol=NONE, timeout=timeout, transcript=transcript, on_request=answers.to)
    async with opening as session:
        await _Player(session, dialogue, flows, played, timeout).run(tell)
    return played


class _RefusedError(Exception):
    """The server answered the handshake with an error, where the recorded one did not."""


class _Player:
    """One recording on one session."""

    def __init__(self, session: Session, dialogue: Dialogue, flows: list[Flow], played: Played, timeout: float) -> None:
        self._session = session
        self._dialogue = dialogue
        self._played = played
        self._timeout = timeout
        self._flows: dict[int, list[Flow]] = {}
        for flow in flows:
            self._flows.setdefault(flow.source.exchange, []).append(flow)
        self._pending: dict[int, Callable[[], Awaitable[Exchange]]] = {}
        played.left_out = frozenset(each.number for each in refused_attempts(dialogue))
        self._next_id = 1_000_000_000  # of requests that the recording does not have

    async def run(self, tell: Callable[[str], None]) -> None:
        try:
            for kind, asked, message in self._dialogue.moments:
                if asked is not None and asked.number in self._played.left_out:
                    continue
                if kind == "notification":
                    self._session.send(self._now(message))
                elif kind == "request" and asked is not None:
                    what = shown_request(asked.method, message.params)
                    tell(f"{what} ({asked.number} of {len(self._dialogue.asked)})")
                    self._ask(asked)
                elif kind == "reply" and asked is not None and asked.awaited:
                    await self._answer(asked)
            await self._late_notices()
        except TransportError as error:
            self._played.lost = error
        except _RefusedError:
            self._played.refused = True

    def _now(self, message: Message) -> Json:
        """What the client said, with the values of now."""
        raw: Json = carried_over(message.raw, self._played.carried)
        return raw

    def _ask(self, asked: Asked) -> None:
        raw = self._now(asked.request)
        if (dialect := named_in(asked.request.params)) is not None and dialect is not self._session.dialect:
            self._session.settle(dialect, {})
        self._played.ids[asked.number] = raw["id"]
        if asked.awaited:
            self._pending[asked.number] = self._session.exchange_later(raw, timeout=self._patience(asked))
        else:
            self._session.send(raw)

    def _patience(self, asked: Asked) -> float:
        """A server may take as long as the recorded one did, and half as long again."""
        return max(self._timeout, asked.seconds * 1.5)

    async def _answer(self, asked: Asked) -> None:
        try:
            reply = (await self._pending.pop(asked.number)()).reply
            if reply is not None and asked.method == "tasks/get":
                reply = await self._polled(asked, reply)
        except TransportError as error:
            self._played.problems[asked.number] = error
            raise
        except ConductorError as error:
            if asked.method == HANDSHAKE:  # without one, nothing else may be said
                lost = TransportError(error.message, hint="--timeout TIME waits longer")
                self._played.problems[asked.number] = lost
                raise lost from error
            self._played.problems[asked.number] = error
            return
        if reply is None:
            return
        if asked.method == HANDSHAKE and reply.kind != "result" and asked.result:
            raise _RefusedError
        if asked.method in OPENINGS:
            self._open(asked.method, reply)
        for flow in self._flows.get(asked.number, ()):
            self._carry(flow, reply)

    def _open(self, method: str, reply: Message) -> None:
        result = reply.result if reply.kind == "result" and isinstance(reply.result, dict) else {}
        dialect = DIALECTS.get(str(result.get("protocolVersion"))) if method == HANDSHAKE else self._session.dialect
        if dialect is not None:
            self._session.settle(dialect, result)
            self._played.version = dialect.version
            self._played.server = self._session.server

    def _carry(self, flow: Flow, reply: Message) -> None:
        """Remember what stands where the value of FLOW came from, unless that value came again."""
        name = str(flow.value)
        if any(str(value) == name for value, _ in values_in(reply.raw, 0)):
            return
        value = pick(flow.source, reply.raw)
        if value is not None:
            self._played.carried[name] = value

    async def _polled(self, asked: Asked, reply: Message) -> Message:
        """The state that a task has reached in the recording: this server may need longer, or less polls."""
        wanted = _status(asked.reply)
        patience = max(self._patience(asked), polled_for(self._dialogue, asked) * 1.5)
        until = asyncio.get_running_loop().time() + patience
        while wanted in _REACHED and _status(reply) == "working" and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(_POLL_SECONDS)
            self._next_id += 1
            raw = {**self._now(asked.request), "id": self._next_id}
            self._played.ids[asked.number] = self._next_id
            again = (await self._session.exchange(raw, timeout=self._timeout)).reply
            reply = reply if again is None else again
        return reply

    async def _late_notices(self) -> None:
        """Wait a moment for notifications of the recording that did not come yet."""
        missing = Counter(each.method for asked in self._dialogue.asked for each in asked.notices)
        if not missing:
            return
        looked = 0
        for _ in range(int(_LATE_SECONDS / _LOOK_SECONDS)):
            news, looked = self._played.frames[looked:], len(self._played.frames)
            missing -= Counter(each.method for each in Dialogue.of(news).notices)
            if not missing:
                return
            await asyncio.sleep(_LOOK_SECONDS)


class _RecordedAnswers:
    """What the recorded client answered, given once more."""

    def __init__(self, dialogue: Dialogue, played: Played, alignment: Alignment) -> None:
        self._left: dict[str, list[Question]] = {}  # those that did not come again yet, by method
        for each in dialogue.questions:
            self._left.setdefault(each.message.method, []).append(each)
        self._always = {method: some[-1] for method, some in self._left.items() if method in AT_ANY_TIME}
        self._played = played
        self._alignment = alignment

    def to(self, session: Session, message: Message) -> None:
        """Answer MESSAGE as the client did, if it did."""
        question = self._take(message)
        if question is None:
            self._played.new.append(message)
            error = {"code": METHOD_NOT_FOUND, "message": "the recording has no answer to this"}
            session.send(compose_reply(message.id, {"error": error}))
        elif question.answer is not None:
            raw = carried_over(question.answer.raw, self._played.carried)
            session.send(compose_reply(message.id, {key: raw[key] for key in ("result", "error") if key in raw}))

    def _take(self, message: Message) -> Question | None:
        """The question of the recording that MESSAGE repeats: the same one, or else the next with its method."""
        self._alignment.carry(self._played.carried)
        fitting = self._left.get(message.method)
        if not fitting:
            return self._always.get(message.method)
        params = message.params
        same = (place for place, each in enumerate(fitting) if self._alignment.is_same(each.message.params, params))
        chosen = fitting.pop(next(same, 0))
        self._played.repeated[id(chosen)] = message
        return chosen


def carried_over(value: Any, carried: dict[str, str | int]) -> Any:
    """VALUE, something that the client said, with the values of now in place of the recorded ones."""
    if not carried:
        return value
    if isinstance(value, dict):
        return {key: carried_over(member, carried) for key, member in value.items()}
    if isinstance(value, list):
        return [carried_over(item, carried) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return _as_number(carried.get(str(value), value))
    if not isinstance(value, str):
        return value
    if value in carried:
        return str(carried[value])
    for old, new in carried.items():
        if old in value:
            value = value.replace(old, str(new))
    return value


def _as_number(value: str | int) -> str | int:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def polled_for(dialogue: Dialogue, asked: Asked) -> float:
    """For how many seconds the client had polled the task of ASKED when that was answered."""
    task, method = asked.request.params.get("taskId"), asked.method
    polls = (each for each in dialogue.asked if each.method == method)
    first = next((each for each in polls if each.request.params.get("taskId") == task), asked)
    return asked.at + asked.seconds - first.at


def _status(reply: Message | None) -> object:
    """The status of a task, as REPLY to tasks/get tells it."""
    result = reply.result if reply is not None and reply.kind == "result" else None
    return result.get("status") if isinstance(result, dict) else None
