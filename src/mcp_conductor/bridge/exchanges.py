"""Requests of clients at servers: what is changed on the way there, and on the way back."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from mcp_conductor.bridge.link import Link
from mcp_conductor.bridge.passing import Open, Passing, Suspended, in_rounds
from mcp_conductor.bridge.plan import Plan
from mcp_conductor.bridge.questions import Questions
from mcp_conductor.bridge.uris import with_uri, with_uris
from mcp_conductor.client.session import MOST_ROUNDS, Session
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import INTERNAL_ERROR, META
from mcp_conductor.protocol.input_rounds import next_round
from mcp_conductor.protocol.message import Message
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import Refusal, error_result

LOG_LEVEL = f"{META}logLevel"
_MOST_TASKS = 10_000
# Members that the modern era adds to every result, and the `_meta` by which its requests introduce themselves.
_OF_THE_ERA = ("resultType", "ttlMs", "cacheScope")
_INTRODUCTION = frozenset(f"{META}{key}" for key in ("protocolVersion", "clientCapabilities", "clientInfo"))
_DEFAULT_LEVEL = "info"  # for clients that are told of everything until they say otherwise


class Exchanges:
    """The exchanges of one relay. LEVELS are the least log levels that clients have set."""

    def __init__(
        self, plan: Plan, links: Mapping[str, Link], open_requests: Open, questions: Questions, levels: dict[int, str]
    ) -> None:
        self._plan = plan
        self._links = links
        self._open = open_requests
        self._questions = questions
        self._levels = levels
        self.suspended = Suspended()
        self._task_servers: OrderedDict[str, str] = OrderedDict()
        self._task_tokens: OrderedDict[tuple[str, Id], Id] = OrderedDict()

    async def pass_on(self, call: Call, server: str, params: Json, *, repeatable: bool = True) -> Json:
        """The result of a request of our client at SERVER. Raises Refusal with the error that comes instead."""
        revision = call.client.revision
        if call.method not in revision.input_rounds:
            return await self._pass(Passing(call, server), params, repeatable=repeatable)
        passing = self.suspended.find(call, server) or Passing(call, server)
        return await in_rounds(self.suspended, passing, lambda: self._pass(passing, params, repeatable=repeatable))

    async def _pass(self, passing: Passing, params: Json, *, repeatable: bool) -> Json:
        link = self._links[passing.server]
        self._open.add(passing)
        try:
            return await link.ask(
                lambda session: self._exchange(session, passing, params),
                patience=self._plan.options.patience,
                repeatable=repeatable,
            )
        except ConductorError as error:
            if passing.method == "tools/call":
                return error_result(error.message)
            raise Refusal(INTERNAL_ERROR, error.message) from error
        finally:
            self._open.remove(passing)
            passing.end()

    async def _exchange(self, session: Session, passing: Passing, params: Json) -> Json:
        """Exchange a request with a server; if it asks a client of the handshake era, as often as it asks."""
        params = self._for_server(session, passing, params)
        token = _meta(params).get("progressToken")
        told = self._teller(passing, token)
        async with nullcontext() if token is None else session.progress_for(told) as own:
            asked = params if token is None else {**params, "_meta": {**_meta(params), "progressToken": own}}
            for _ in range(MOST_ROUNDS):
                result = self._result(passing, params, await session.pass_on(passing.method, asked))
                asks = not session.dialect.handshake and result.get("resultType") == "input_required"
                if not asks or not passing.handshake:
                    self._learn_task(passing, result, token, own)
                    return _plain(result) if passing.handshake and not session.dialect.handshake else result
                asked = next_round(asked, result, await self._answers(passing, result.get("inputRequests")))
        raise Refusal(INTERNAL_ERROR, f"{passing.method} wanted more input after {MOST_ROUNDS} rounds")

    def _for_server(self, session: Session, passing: Passing, params: Json) -> Json:
        """PARAMS without what is only about our client's connection with us."""
        dropped = _INTRODUCTION if not session.dialect.handshake else {*_INTRODUCTION, LOG_LEVEL}
        meta = {key: value for key, value in _meta(params).items() if key not in dropped}
        if not session.dialect.handshake and passing.handshake and "logging" in session.capabilities:
            meta[LOG_LEVEL] = self._levels.get(passing.party, _DEFAULT_LEVEL)
        ours = ("_meta", "inputResponses", "requestState") if session.dialect.handshake else ("_meta",)
        kept = {key: value for key, value in params.items() if key not in ours}
        return {**kept, "_meta": meta} if meta else kept

    def _teller(self, passing: Passing, token: Any) -> Callable[[Json], None]:
        def tell(progress: Json) -> None:
            if passing.call is not None:
                passing.call.send(compose("notifications/progress", {**progress, "progressToken": token}))

        return tell

    async def _answers(self, passing: Passing, questions: Any) -> Json:
        """What a client of the handshake era answers to the inputRequests of a result."""
        answers: Json = {}
        for key, question in (questions if isinstance(questions, dict) else {}).items():
            asked = question if isinstance(question, dict) else {}
            params = asked.get("params")
            members = await self._questions.ask(
                passing.server, self._questions.asked_by(passing), str(asked.get("method")), params
            )
            if "error" in members:
                raise Refusal(INTERNAL_ERROR, f"the client refused {asked.get('method')}", members["error"])
            answers[key] = members["result"]
        return answers

    def _result(self, passing: Passing, params: Json, reply: Message) -> Json:
        """The result in REPLY, with URIs as our clients know them; raises Refusal with the error in it."""
        own, server, uris = params.get("uri"), passing.server, self._plan.uris
        if reply.kind == "error" and isinstance(reply.error, dict) and isinstance(reply.error.get("code"), int):
            error = reply.error
            data = with_uri(error.get("data"), lambda uri: passing.uri if uri == own else uris.named(server, uri))
            raise Refusal(error["code"], str(error.get("message")), data)
        if reply.kind != "result" or not isinstance(reply.result, dict):
            raise Refusal(INTERNAL_ERROR, f"the answer of {server} cannot be used: {reply.problem or 'no object'}")
        return with_uris(reply.result, lambda uri: passing.uri if uri == own else uris.linked(server, uri))

    def _learn_task(self, passing: Passing, result: Json, token: Any, own: Any) -> None:
        made = result.get("task") if isinstance(result.get("task"), dict) else result
        identity = made.get("taskId") if isinstance(made, dict) else None
        if not isinstance(identity, str):
            return
        _keep(self._task_servers, identity, passing.server)
        if token is not None:
            _keep(self._task_tokens, (passing.server, own), token)

    def server_of_task(self, identity: Any) -> str | None:
        """The server that has made a task; if it is not known, the only one that has any."""
        known = self._task_servers.get(identity) if isinstance(identity, str) else None
        able = [name for name, link in self._links.items() if link.has("tasks", "extensions")]
        return known if known is not None or len(able) != 1 else able[0]

    def server_that_made(self, identity: Any) -> str | None:
        return self._task_servers.get(identity) if isinstance(identity, str) else None

    def token_of_task(self, server: str, token: Any) -> Id | None:
        """The client's token for the progress of a task, whose request was answered already."""
        return self._task_tokens.get((server, token)) if isinstance(token, (str, int)) else None


def _meta(params: Json) -> Json:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _plain(result: Json) -> Json:
    """RESULT without what only the modern era has."""
    kept = {key: value for key, value in result.items() if key not in _OF_THE_ERA}
    meta = {key: value for key, value in _meta(result).items() if key != f"{META}serverInfo"}
    kept.pop("_meta", None)
    return {**kept, "_meta": meta} if meta else kept


def _keep(kept: "OrderedDict[Any, Any]", key: Any, value: Any) -> None:
    kept[key] = value
    if len(kept) > _MOST_TASKS:
        kept.popitem(last=False)
