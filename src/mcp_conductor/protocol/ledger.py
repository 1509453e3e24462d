"""Which reply belongs to which request: by id, never by order of arrival.

Used live by Session and offline on a recorded Transcript, so that both give the same result.
"""

from typing import Any, NamedTuple

from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.text.visible import cut

_NOTICES = 1_000_000  # characters of the progress of one request that are kept
_MESSAGE = 100  # for each message, however short
_LONGEST_ID = 80  # that is shown
SUBSCRIPTION = f"{META}subscriptionId"
_TOKEN = "progressToken"
_new_tuple = tuple.__new__


class Exchange(NamedTuple):
    """A request and what came of it; `reply` is None when it was lost.

    `notices` are its progress, up to a million characters of it.
    """

    request: Message
    reply: Message | None
    seconds: float
    notices: tuple[Message, ...] = ()


class _Progress:
    """What was heard of an open request that asks for progress."""

    __slots__ = ("notices", "request", "room")

    def __init__(self, request: Message) -> None:
        self.request = request
        self.notices: list[Message] = []
        self.room = _NOTICES  # that is left for them


class Recent:
    """The most recent ids, at least so many; the memory for them is limited, however long the conversation is."""

    MOST = 10_000

    def __init__(self) -> None:
        self._newer: set[Id] = set()
        self._older: set[Id] = set()

    def add(self, identity: Id) -> None:
        self._newer.add(identity)
        if len(self._newer) >= self.MOST:
            self._older, self._newer = self._newer, set()

    def __contains__(self, identity: object) -> bool:
        return identity in self._newer or identity in self._older


class Ledger:
    """Open requests of one side of a conversation."""

    def __init__(self) -> None:
        self._open: dict[Id | None, tuple[Message, float, _Progress | None]] = {}
        self._by_token: dict[Id, _Progress] = {}
        self._answered = Recent()
        self._given_up = Recent()

    def sent(self, message: Message, at: float) -> None:
        if message.id is None:
            return
        progress = None
        # Few requests ask for progress, and to look for the word is quicker than to look into the message.
        if (_TOKEN in message.text or "\\u" in message.text) and (token := progress_token(message.raw)) is not None:
            progress = self._by_token[token] = _Progress(message)
        self._open[message.id] = message, at, progress

    def heard(self, message: Message, at: float) -> Exchange | None:
        """The exchange that MESSAGE completes, if it does; progress is remembered with its request."""
        _, _, kind, identity, _ = message
        if identity is not None and identity in self._open and kind != "request":
            return self._close(identity, message, at)
        if kind == "notification" and message.method == "notifications/progress":
            self._note_progress(message)
        return None

    def lost(self, request_id: Id, at: float) -> Exchange | None:
        """The exchange of a request that is not waited for any more."""
        return self._close(request_id, None, at) if request_id in self._open else None

    def request_of(self, progress: Message) -> Message | None:
        """The open request whose progress this notification reports."""
        known = self._progress(progress)
        return known.request if known else None

    def open_requests(self) -> list[Message]:
        return [request for request, _, _ in self._open.values()]

    def stray(self, reply: Message) -> str | None:
        """What is odd about REPLY, which answers no open request; None if we stopped waiting for its request."""
        if reply.id in self._given_up:
            return None
        if reply.id is None:
            return "an answer without an id"
        shown = cut(render(reply.id), _LONGEST_ID)
        if reply.id in self._answered:
            return f"a second answer to the request with id {shown}"
        return f"an answer with id {shown}, which no request has"

    def _note_progress(self, message: Message) -> None:
        known = self._progress(message)
        if known is not None and known.room > 0:
            known.room -= len(message.text) + _MESSAGE
            known.notices.append(message)

    def _progress(self, notice: Message) -> _Progress | None:
        token = _token(notice.params.get(_TOKEN))
        return None if token is None else self._by_token.get(token)

    def _close(self, request_id: Id, reply: Message | None, at: float) -> Exchange:
        request, began, progress = self._open.pop(request_id)
        (self._given_up if reply is None else self._answered).add(request_id)
        if progress is None:
            return _new_tuple(Exchange, (request, reply, at - began, ()))  # as `Exchange(…)`, in half the time
        token = progress_token(request.raw)
        if token is not None and self._by_token.get(token) is progress:
            del self._by_token[token]
        return Exchange(request, reply, at - began, tuple(progress.notices))


def progress_token(raw: Any) -> str | int | None:
    """The progress token that a request asks to be told about."""
    params = raw.get("params") if isinstance(raw, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return _token(meta.get(_TOKEN)) if isinstance(meta, dict) else None


def id_key(identity: object) -> tuple[type, object] | None:
    """IDENTITY as a key: to Python, 1 is 1.0 and true, but these are other ids."""
    known = isinstance(identity, (str, int, float)) and not isinstance(identity, bool)
    return (type(identity), identity) if known else None


def subscription_key(message: Message) -> tuple[type, object] | None:
    """The subscription that a notification belongs to, as a key."""
    meta = message.params.get("_meta")
    return id_key(meta.get(SUBSCRIPTION)) if isinstance(meta, dict) else None


def _token(value: Any) -> str | int | None:
    # To Python, true is 1.
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None
