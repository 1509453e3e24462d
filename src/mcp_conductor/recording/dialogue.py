"""What a recorded client said, in order, and what came of each request.

A reply belongs to its request by id, progress by its token. Other notifications, and questions of the server, name no
request: they belong to the one that was open when they came, if it was the only one. A request that is never answered
stays open: what comes later may be its own. Only questions are taken for those of a request that was answered.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from sys import intern
from typing import Any, Literal, NamedTuple

from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.ledger import id_key, progress_token
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.protocol.together import Unread
from mcp_conductor.protocol.transcript import Frame, decoded, spoken
from mcp_conductor.values import dataclass

_CANCELLED = "notifications/cancelled"
_PROGRESS = "notifications/progress"
_LISTEN = "subscriptions/listen"  # stays open, and what it hears names it


@dataclass(slots=True)
class Question:
    """A request of the server, and the client's answer to it."""

    message: Message
    answer: Message | None = None


@dataclass(slots=True)
class Asked:
    """A request of the client, and what came of it.

    A conversation may have very many; so their values are read when they are asked for, which is seldom.
    """

    number: int  # of this request, counted from 1
    request: Message
    at: float
    method: str  # of the request
    reply: Message | None = None
    seconds: float = 0.0  # until the reply came
    cancelled: bool = False
    alone: bool = True  # no other request that was answered was open meanwhile
    progress: list[Message] = field(default_factory=list)
    notices: list[Message] = field(default_factory=list)  # other notifications
    questions: list[Question] = field(default_factory=list)

    @property
    def awaited(self) -> bool:
        """Whether the client had use for the reply, which came."""
        return self.reply is not None and not self.cancelled

    @property
    def result(self) -> Json:
        """The members of the result; none if there is no result, or none that has members."""
        result = self.reply.result if self.reply is not None and self.reply.kind == "result" else None
        return result if isinstance(result, dict) else {}


class Moment(NamedTuple):
    """One thing that happened on the client's side."""

    kind: Literal["request", "notification", "answer", "reply"]
    asked: Asked | None  # of a request and its reply
    message: Message


@dataclass(slots=True)
class Dialogue:
    """One conversation, as its client saw it."""

    moments: list[Moment] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)  # all of them
    notices: list[Message] = field(default_factory=list)  # all notifications of the server but progress
    strays: list[Message] = field(default_factory=list)  # of the server: no messages, or answers to no open request
    unusable: int = 0  # messages of the client that are none

    @classmethod
    def of(cls, frames: Iterable[Frame]) -> "Dialogue":
        """The dialogue in FRAMES, which are those of one conversation."""
        dialogue, open_requests = cls(), _Open()
        for at, source, message in spoken(decoded(frames)):
            if source == "client":
                dialogue._client_said(message, at, open_requests)
            else:
                dialogue._server_said(message, at, open_requests)
        dialogue._assign(open_requests)
        return dialogue

    def _client_said(self, message: Message, at: float, now: "_Open") -> None:
        if message.kind == "request" and message.id is not None:
            asked = Asked(len(self.asked) + 1, Unread.of(message), at, intern(message.method))
            self.asked.append(asked)
            self.moments.append(Moment("request", asked, asked.request))
            now.sent(asked, progress_token(message.raw))
        elif message.kind == "notification":
            self.moments.append(Moment("notification", None, message))
            if message.method == _CANCELLED and (known := now.by_id.get(id_key(message.params.get("requestId")))):
                known.cancelled = True
                now.story.append(known)
        elif message.kind in ("result", "error"):
            if (question := now.questions.pop(id_key(message.id), None)) is not None:
                question.answer = message
                self.moments.append(Moment("answer", None, message))
        else:
            self.unusable += 1

    def _server_said(self, message: Message, at: float, now: "_Open") -> None:
        if message.kind in ("result", "error", "invalid"):
            asked = now.by_id.pop(id_key(message.id), None)
            if asked is not None:
                reply = Unread.of(message)
                asked.reply, asked.seconds = reply, at - asked.at
                self.moments.append(Moment("reply", asked, reply))
                if not asked.cancelled:
                    now.story.append(asked)
            else:
                self.strays.append(message)
        elif message.kind == "request":
            question = Question(message)
            self.questions.append(question)
            now.questions[id_key(message.id)] = question
            now.story.append(question)
        elif message.method == _PROGRESS:
            if (asked := now.by_token.get(id_key(message.params.get("progressToken")))) is not None:
                asked.progress.append(message)
        else:
            self.notices.append(message)
            now.story.append(message)

    def _assign(self, now: "_Open") -> None:
        """Give what names no request to the one that was open, now that it is known which were answered."""
        waiting: dict[int, Asked] = {}
        given_up = False  # whether the client no longer waits for a request, which the server may still work on
        for each in now.story:
            if isinstance(each, Asked) and each.reply is None and not each.cancelled:
                given_up = given_up or each.method != _LISTEN
            elif isinstance(each, Asked) and each.number in waiting:
                del waiting[each.number]
            elif isinstance(each, Asked):
                waiting[each.number] = each
                if given_up or len(waiting) > 1:
                    for other in waiting.values():
                        other.alone = False
            elif len(waiting) == 1:
                (asked,) = waiting.values()
                if isinstance(each, Question):
                    asked.questions.append(each)
                elif not given_up:
                    asked.notices.append(each)


class _Open:
    """What is under way while a dialogue is read."""

    def __init__(self) -> None:
        self.by_id: dict[object, Asked] = {}
        self.by_token: dict[object, Asked] = {}
        self.questions: dict[object, Question] = {}
        # In order: a request, which stands here again when it is answered or cancelled; a question; a notification.
        self.story: list[Asked | Question | Message] = []

    def sent(self, asked: Asked, token: Id | None) -> None:
        self.by_id[id_key(asked.request.id)] = asked
        self.story.append(asked)
        if token is not None:
            self.by_token[id_key(token)] = asked


def shown_request(method: str, params: Mapping[str, Any]) -> str:
    """A request in a few words: its method, and what it is about."""
    about = next((params[key] for key in ("name", "uri", "taskId", "level") if isinstance(params.get(key), str)), None)
    if about is None and isinstance(params.get("ref"), dict):
        about = compact({key: each for key, each in params["ref"].items() if key != "type"})
    return method if about is None else f"{method} {about}"
