"""What servers ask: it is passed on to the client whose request is open at the server, and the answer back.

A server of the handshake era does not say which request its question belongs to. So it is passed on only where one
client alone can be meant; otherwise it is refused, and that is said.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import NamedTuple

from mcp_conductor.bridge.passing import Open, Over, Passing, party
from mcp_conductor.bridge.plan import Plan
from mcp_conductor.bridge.uris import with_uris
from mcp_conductor.client.session import Session
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose_reply
from mcp_conductor.protocol.dialect import INTERNAL_ERROR
from mcp_conductor.protocol.message import Message
from mcp_conductor.server.client import Client, Send
from mcp_conductor.server.definitions import AskFailed

_MOST_OPEN = 100  # questions of one server at a time
_MOST_TOKENS = 1000


class Asked(NamedTuple):
    """Who is asked: a client of the handshake era, by a request that goes by SEND; or by the answer to PASSING."""

    client: Client | None = None
    send: Send | None = None
    passing: Passing | None = None


class Questions:
    """The open questions of the servers that MEMBERS share, which are clients of the handshake era."""

    def __init__(self, plan: Plan, members: "dict[Client, asyncio.Event]", open_requests: Open) -> None:
        self._plan = plan
        self._members = members  # with what is set once they are initialized
        self._open = open_requests
        self._tasks: dict[tuple[str, Id | None], asyncio.Task[None]] = {}
        self._tokens: OrderedDict[str, tuple[str, Id]] = OrderedDict()  # progress of answers: whose it is
        self._count = count(1)

    def take(self, server: str, session: Session, message: Message) -> None:
        """Answer a request of SERVER."""
        if sum(each[0] == server for each in self._tasks) >= _MOST_OPEN:
            session.send(compose_reply(message.id, _error(f"more than {_MOST_OPEN} requests are open")))
            return
        task = asyncio.create_task(self._answer(server, session, message))
        self._tasks[server, message.id] = task
        task.add_done_callback(lambda _: self._tasks.pop((server, message.id), None))

    def cancelled(self, server: str, identity: object) -> None:
        """SERVER does not want an answer any more."""
        if isinstance(identity, (str, int, float)) and (task := self._tasks.get((server, identity))) is not None:
            task.cancel()

    def close(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()

    def progress(self, token: object) -> tuple[str, Id] | None:
        """The server that the client's progress under TOKEN is for, and the token of that server."""
        return self._tokens.get(token) if isinstance(token, str) else None

    async def _answer(self, server: str, session: Session, message: Message) -> None:
        members = None
        while members is None:
            asked = await self._whom(server)
            if asked is None:
                why = "several clients use this session, so it is not known which of them is asked"
                self._plan.complain(f"{server}: {message.method} is refused: {why}")
                members = _error(f"{why} (conductor bridge, sessions: shared)")
            else:
                with suppress(Over):
                    members = await self.ask(server, asked, message.method, message.raw.get("params"))
        if not session.ended:
            session.send(compose_reply(message.id, members))

    async def ask(self, server: str, asked: Asked, method: str, params: Json | None) -> Json:
        """The answer to a question of SERVER: a result or an error."""
        if isinstance(params, dict):
            params = self._with_own_token(server, with_uris(params, self._uri_of(server)))
        question: Json = {"method": method} if params is None else {"method": method, "params": params}
        try:
            if asked.passing is not None:
                return {"result": await asked.passing.ask(question)}
            assert asked.client is not None
            assert asked.send is not None
            await self._members[asked.client].wait()
            return {"result": await asked.client.ask(question, asked.send)}
        except AskFailed as failure:
            return {"error": failure.error} if failure.error is not None else _error(str(failure))

    async def _whom(self, server: str) -> Asked | None:
        """Who is asked by SERVER; None if that is not clear."""
        passings = self._open.at(server)
        if not passings and not self._members and self._plan.one_client:
            passings = [await self._open.next_at(server)]  # there is no way to ask a client between its requests
        parties = {passing.party for passing in passings}
        if len(parties) == 1:
            return self.asked_by(next((each for each in passings if each.call is not None), passings[0]))
        if not passings and len(self._members) == 1:
            client = next(iter(self._members))
            return Asked(client=client, send=client.send)
        return None

    def asked_by(self, passing: Passing) -> Asked:
        if not passing.handshake or passing.call is None:
            return Asked(passing=passing)
        return Asked(client=passing.call.client, send=passing.call.send)

    def _uri_of(self, server: str) -> Callable[[str], str]:
        return lambda uri: self._plan.uris.linked(server, uri)

    def _with_own_token(self, server: str, params: Json) -> Json:
        """PARAMS with a progress token that no other server has."""
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if not isinstance(meta, dict) or not isinstance(token, (str, int)):
            return params
        own = f"bridge-{next(self._count)}"
        self._tokens[own] = (server, token)
        if len(self._tokens) > _MOST_TOKENS:
            self._tokens.popitem(last=False)
        return {**params, "_meta": {**meta, "progressToken": own}}

    def way_to(self, server: str, client: Client) -> Send:
        """How to send something to CLIENT that SERVER says: with a request that is open there, or by itself."""
        for passing in self._open.at(server):
            if passing.call is not None and passing.party == party(client):
                return passing.call.send
        return client.send


def _error(message: str) -> Json:
    return {"error": {"code": INTERNAL_ERROR, "message": message}}
