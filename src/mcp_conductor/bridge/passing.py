"""Requests that were passed on to a server and are not answered yet.

A server of the handshake era may ask something meanwhile. A client of the modern era is asked by an answer to its
request, which then comes again: until that happens, the request at the server stays open without one of the client.
"""

import asyncio
import secrets
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import Client
from mcp_conductor.server.definitions import AskFailed, Refusal

STATE = "bridge:"  # how a requestState of ours begins
_KEPT_SECONDS = 600.0  # for a client to come back with its answers
_MOST_SUSPENDED = 1000


def party(client: Client) -> int:
    """Who a client is, besides a request of it: all requests on one pipe share what is under way, and no others do."""
    return id(client.running)


class Over(Exception):  # noqa: N818  # what is so; nothing is wrong
    """The request was answered before a question could go to the client in its place."""


class Passing:
    """One open request at SERVER; CALL is the request of the client that it belongs to, if there is one now."""

    def __init__(self, call: Call, server: str) -> None:
        self.call: Call | None = call
        self.server = server
        self.method = call.method
        self.uri = str(call.params.get("uri"))  # as the client calls it
        self.party = party(call.client)
        self.handshake = call.client.revision.handshake
        self._client = call.client
        self.work: asyncio.Task[Json] | None = None
        self._asked: dict[str, asyncio.Future[Json]] = {}  # questions that the client has got
        self._waiting: dict[str, tuple[Json, asyncio.Future[Json]]] = {}  # questions that it has not got
        self._keys = count(1)
        self._over = False
        self._stirred = asyncio.Event()

    async def ask(self, question: Json) -> Json:
        """The client's answer to QUESTION, which goes to it in place of a result. Raises Over if that came first."""
        if self._over:
            raise Over
        self._check(question["method"])
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        key = f"question-{next(self._keys)}"
        self._waiting[key] = (question, answer)
        self._stirred.set()
        try:
            return await answer
        finally:
            self._waiting.pop(key, None)
            self._asked.pop(key, None)

    def _check(self, method: str) -> None:
        """basic/patterns/mrtr: only these questions are asked, and only of clients that declare the capability."""
        capability = method.partition("/")[0]
        if method not in self._client.revision.asks:
            why = f"{self._client.revision.version} has no way to ask a client for {method}"
        elif capability not in self._client.capabilities:
            why = f"the client does not declare {capability}"
        else:
            return
        raise AskFailed(why, {"code": METHOD_NOT_FOUND, "message": why})

    async def outcome(self) -> Json | None:
        """The result of the request, or None if the client is asked something first. Raises as the request does."""
        assert self.work is not None
        while not self.work.done():
            if self._waiting:
                return None
            self._stirred.clear()
            stirred = asyncio.ensure_future(self._stirred.wait())
            both: set[asyncio.Future[Any]] = {stirred, self.work}
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                stirred.cancel()
        return self.work.result()

    def end(self) -> None:
        """The server has answered. What the client was asked already, it will answer."""
        self._over = True
        for _, answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(Over())

    def give_up(self) -> None:
        """The client does not come back."""
        if self.work is not None:
            self.work.cancel()
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(AskFailed("the client did not come back with an answer"))

    def questions(self) -> Json:
        """What the client is asked now."""
        found = {key: question for key, (question, _) in self._waiting.items()}
        self._asked.update({key: answer for key, (_, answer) in self._waiting.items()})
        self._waiting.clear()
        return found

    def go_on(self, call: Call) -> None:
        """The client has come back with CALL; a question that it does not answer is put to it once more."""
        responses = call.params.get("inputResponses")
        if not isinstance(responses, dict) or not all(isinstance(each, dict) for each in responses.values()):
            raise Refusal(INVALID_PARAMS, "inputResponses must be an object of objects")
        missing = [key for key in self._asked if key not in responses]
        if missing:
            raise Refusal(INVALID_PARAMS, f"inputResponses must have an answer to {', '.join(missing)}")
        self.call = call
        for key, answer in self._asked.items():
            if not answer.done():
                answer.set_result(responses[key])


class Suspended:
    """Requests whose clients were asked something, by the requestState that the client got."""

    def __init__(self) -> None:
        self._passings: dict[str, tuple[Passing, asyncio.TimerHandle]] = {}

    def find(self, call: Call, server: str) -> Passing | None:
        """The request that CALL is another round of. Raises Refusal if there is none, although its state is ours."""
        state = call.params.get("requestState")
        if not isinstance(state, str) or not state.startswith(STATE):
            return None
        passing, timer = self._passings.get(state, (None, None))
        if passing is None or timer is None or (passing.server, passing.method) != (server, call.method):
            raise Refusal(INVALID_PARAMS, "requestState is not one of this request, or has expired")
        passing.go_on(call)
        timer.cancel()
        del self._passings[state]
        return passing

    def put(self, passing: Passing) -> Json:
        """The result that asks the client, whose request is over until it comes back."""
        if len(self._passings) >= _MOST_SUSPENDED:
            self._expire(next(iter(self._passings)))
        state = STATE + secrets.token_urlsafe(16)
        timer = asyncio.get_running_loop().call_later(_KEPT_SECONDS, self._expire, state)
        self._passings[state] = (passing, timer)
        passing.call = None
        return {"resultType": "input_required", "inputRequests": passing.questions(), "requestState": state}

    def _expire(self, state: str) -> None:
        passing, timer = self._passings.pop(state)
        timer.cancel()
        passing.give_up()

    def close(self) -> None:
        for state in list(self._passings):
            self._expire(state)


class Open:
    """All open requests, in the order in which they began, by server."""

    def __init__(self, servers: list[str]) -> None:
        self._passings: dict[str, dict[Passing, None]] = {server: {} for server in servers}
        self._begun = asyncio.Event()

    def add(self, passing: Passing) -> None:
        self._passings[passing.server][passing] = None
        self._begun.set()

    def remove(self, passing: Passing) -> None:
        self._passings[passing.server].pop(passing, None)

    def at(self, server: str) -> list[Passing]:
        return list(self._passings[server])

    @property
    def any(self) -> bool:
        return any(self._passings.values())

    async def next_at(self, server: str) -> Passing:
        """The oldest at SERVER, as soon as there is one."""
        while not self._passings[server]:
            self._begun.clear()
            await self._begun.wait()
        return next(iter(self._passings[server]))


async def in_rounds(suspended: Suspended, passing: Passing, work: Callable[[], Coroutine[Any, Any, Json]]) -> Json:
    """The result of WORK for a client of the modern era, or what it is asked first; a later round goes on with it."""
    if passing.work is None:
        passing.work = asyncio.create_task(work())
    try:
        outcome = await passing.outcome()
    except asyncio.CancelledError:
        passing.work.cancel()
        raise
    return suspended.put(passing) if outcome is None else outcome
