"""One call of a recording, played to a client: what the server said before its reply, the reply, and what followed.

Ids and tokens are those of this client. A question is asked again; what was said after the client had answered it is
said when the client has answered it now.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose_error
from mcp_conductor.protocol.dialect import INTERNAL_ERROR
from mcp_conductor.protocol.ledger import SUBSCRIPTION, progress_token
from mcp_conductor.protocol.message import Message, parse
from mcp_conductor.recording.dialogue import shown_request
from mcp_conductor.replaying.matching import Conversation, Pool
from mcp_conductor.replaying.recorded_calls import RecordedCall, Step
from mcp_conductor.server.client import Client, Send
from mcp_conductor.server.definitions import AskFailed
from mcp_conductor.server.state import Subscriber
from mcp_conductor.text.visible import cut, one_line

LONGEST_PAUSE = 300.0  # seconds between two steps, however long it was in the recording
_TOLD_PAUSE = 10.0  # one of this length is told: it looks like a server that does not answer
# A client that forgets its listener with the reply loses all progress that it reads together with the reply: the
# TypeScript SDK does, on stdio and HTTP+SSE. With 20 ms, it lost nothing in 2,000 calls on a machine with twice as
# many busy processes as cores; with 5 ms, it lost some in 27 of them.
PROGRESS_LEAD = 0.02
UNANSWERED_SECONDS = 10.0  # in which a client may cancel what has no answer in the recording
_LONGEST_NAME = 100
_WAITED_FOR = ("answered", "hold")
_NO_ANSWER = "the recording has no answer to this request: "


class Listening(NamedTuple):
    """A subscription that is open."""

    id: Id
    send: Send
    subscriber: Subscriber
    ended: list[Json]  # the reply, once it is over


class Talk:
    """What is known of one client: which requests it has made, its subscriptions, and what is still to be said."""

    def __init__(self, pool: Pool) -> None:
        self.conversation = Conversation(pool)
        self.opened_by: Message | None = None  # its initialize, once that is answered
        self.listening: dict[RecordedCall, Listening] = {}
        self._later: set[asyncio.Task[None]] = set()

    def later(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Do WORK beside all else, unless the client leaves."""
        task = asyncio.create_task(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)
        return task

    def end(self) -> None:
        """The client has gone."""
        for task in list(self._later):
            task.cancel()


class Playing:
    """One recorded call, and the client that it is played to."""

    def __init__(
        self,
        call: RecordedCall,
        client: Client,
        talk: Talk,
        message: Message,
        *,
        real_time: bool,
        lead: float,
        complain: Callable[[str], None],
    ) -> None:
        self._call = call
        self._client = client
        self._talk = talk
        self._message = message
        self._id = message.id
        self._token = progress_token(message.raw)
        self._real_time = real_time
        self._complain = complain
        self._questions: dict[int, asyncio.Task[None]] = {}
        kinds = [step.kind for step in call.steps]
        self._place = kinds.index("reply") if "reply" in kinds else len(kinds)
        has_progress = self._token is not None and "progress" in kinds[: self._place]
        self._lead = lead if has_progress else 0.0

    @property
    def at_once(self) -> bool:
        """Whether there is nothing to wait for before the reply."""
        waits = any(step.kind in _WAITED_FOR for step in self._call.steps[: self._place])
        return self._call.replied and not self._real_time and not waits and not self._lead

    def reply_at_once(self, send: Send) -> Json:
        """Say what came before the reply: the reply."""
        for step in self._call.steps[: self._place]:
            self._do(step, send)
        return self.recorded_reply()

    async def reply(self, send: Send) -> Json:
        """Play what came before the reply: the reply."""
        await self._play(self._call.steps[: self._place], send)
        if not self._call.replied and not self._call.cancelled:
            await asyncio.sleep(UNANSWERED_SECONDS)  # unless the client cancels the request, which ends this
        if self._call.replied and self._real_time:
            await self._pause(self._call.steps[self._place])
        if self._lead:
            await asyncio.sleep(self._lead)
        return self.recorded_reply()

    def recorded_reply(self) -> Json:
        """The reply, as an answer to this request."""
        if self._call.replied:
            return answer_as(self._call.steps[self._place].text, self._id)
        why = "the client cancelled it" if self._call.cancelled else "it ends before that, or the server gave none"
        return compose_error(self._id, {"code": INTERNAL_ERROR, "message": _NO_ANSWER + why})

    @property
    def goes_on(self) -> bool:
        """Whether something follows the reply."""
        return self._place + 1 < len(self._call.steps)

    async def afterwards(self) -> None:
        """Play what followed the reply, on the way that belongs to no request."""
        await self._play(self._call.steps[self._place + 1 :], self._client.send)

    def reaction(self) -> None:
        """Play what followed a notification of the client. What need not wait is said at once.

        A request may have come with the notification, and some clients fail on what comes after its reply.
        """
        steps, done = self._call.steps, 0
        while done < len(steps) and not self._real_time and steps[done].kind not in _WAITED_FOR:
            self._do(steps[done], self._client.send)
            done += 1
        if done < len(steps):
            self._talk.later(self._play(steps[done:], self._client.send))

    async def everything(self, send: Send) -> None:
        """Play all steps of a subscription, which has no reply."""
        await self._play(self._call.steps, send)

    async def _play(self, steps: Iterable[Step], send: Send) -> None:
        for step in steps:
            if step.kind == "hold":
                await asyncio.sleep(UNANSWERED_SECONDS)
            elif step.kind == "answered":
                if (asked := self._questions.pop(step.question, None)) is not None:
                    await asyncio.wait({asked})
            else:
                if self._real_time:
                    await self._pause(step)
                self._do(step, send)

    async def _pause(self, step: Step) -> None:
        seconds = min(step.pause, LONGEST_PAUSE)
        if seconds >= _TOLD_PAUSE:
            recorded = "as in" if seconds == step.pause else f"and not {step.pause:.0f} s as in"
            shown = cut(one_line(shown_request(self._message.method, self._message.params)), _LONGEST_NAME)
            self._complain(f"{shown} waits {seconds:.0f} s, {recorded} the recording")
        await asyncio.sleep(seconds)

    def _do(self, step: Step, send: Send) -> None:
        match step.kind:
            case "say" | "end" if step.listening is not None:
                self._tell_listener(step)
            case "say":
                send(parse(step.text).raw)
            case "progress" if self._token is not None:
                raw = parse(step.text).raw
                send({**raw, "params": {**raw["params"], "progressToken": self._token}})
            case "ask":
                self._ask(step, parse(step.text), send)
            case "withdraw" if (asked := self._questions.pop(step.question, None)) is not None:
                asked.cancel()

    def _tell_listener(self, step: Step) -> None:
        """Say something on a subscription, if the client has it."""
        listening = None if step.listening is None else self._talk.listening.get(step.listening)
        if listening is None:
            return
        if step.kind == "end":
            listening.ended.append(renamed(answer_as(step.text, listening.id), "result", listening.id))
            listening.subscriber.end()
        else:
            listening.send(renamed(parse(step.text).raw, "params", listening.id))

    def _ask(self, step: Step, question: Message, send: Send) -> None:
        if self._client.dialect is None or not self._client.declares(question.raw):
            self._complain(f"{question.method} was not asked of this client, which has not declared that it answers it")
            return
        self._questions[step.question] = self._talk.later(self._answer(question, send))

    async def _answer(self, question: Message, send: Send) -> None:
        with suppress(AskFailed):  # what came of the question then, the recording tells
            await self._client.ask(question.raw, send)


def answer_as(text: str, identity: Id | None) -> Json:
    """The recorded reply in TEXT, as an answer to the request with this IDENTITY."""
    raw = parse(text).raw
    if isinstance(raw, dict):
        return {**raw, "id": identity}
    problem = "the recorded answer to this request is no message"
    return compose_error(identity, {"code": INTERNAL_ERROR, "message": problem})


def renamed(raw: Json, member: str, identity: Id) -> Json:
    """RAW, which belongs to a subscription, under the name that this has now."""
    inner = raw.get(member)
    if not isinstance(inner, dict) or not isinstance(inner.get("_meta"), dict):
        return raw
    return {**raw, member: {**inner, "_meta": {**inner["_meta"], SUBSCRIPTION: identity}}}
