"""One client, as the server knows it: for as long as its session lasts, or, in the modern era, for one request."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    INVALID_PARAMS,
    LOG_LEVELS,
    META,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    Dialect,
)
from mcp_conductor.protocol.message import Message, kind_of
from mcp_conductor.server.definitions import AskFailed, Refusal

# Sends a message to the client: on a pipe, in the response to one POST, or on an event stream.
Send = Callable[[Json], None]

ASK_SECONDS = 300.0
_CAPABILITY_OF_ASK = {"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation"}


class Client:
    """What a client said of itself, what it has under way, and what it was asked."""

    def __init__(self, send: Send, dialect: Dialect | None = None, capabilities: Json | None = None) -> None:
        self.send = send  # for what belongs to no request
        self.dialect = dialect  # None: it has not introduced itself
        self.capabilities: Json = capabilities or {}
        self.info: Json = {}  # its name and version
        self.level = 0  # the least log level that it wants to hear of, as an index of LOG_LEVELS
        self.subscriptions: set[str] = set()
        self.running: dict[Id, asyncio.Task[None]] = {}
        self.lasting = dialect is None  # whether it is there for more than one request
        self.listens: Callable[[], bool] = lambda: True  # whether it hears what belongs to no request
        self._has_gone = False
        self._ids = count(1)
        self._asked: dict[Id, asyncio.Future[Json]] = {}

    @property
    def revision(self) -> Dialect:
        assert self.dialect is not None, "only clients that have introduced themselves get this far"
        return self.dialect

    def declares(self, question: Json) -> bool:
        """Whether the client said that it answers questions of this kind."""
        method, params = question["method"], question.get("params") or {}
        if method not in _CAPABILITY_OF_ASK:  # such as ping
            return True
        declared = self.capabilities.get(_CAPABILITY_OF_ASK[method])
        if method not in self.revision.asks or not isinstance(declared, dict):
            return False
        if method == "elicitation/create":
            mode = params.get("mode", "form")
            return mode in declared or (mode == "form" and "url" not in declared)
        return not (method == "sampling/createMessage" and "tools" in params) or "tools" in declared

    def require(self, question: Json) -> None:
        """Refuse to go on when the client cannot answer QUESTION."""
        if self.declares(question):
            return
        capability = _CAPABILITY_OF_ASK[question["method"]]
        if self.revision.handshake:
            raise AskFailed(f"the client does not support {question['method']}: it has not declared {capability}")
        by_url = (question.get("params") or {}).get("mode") == "url"
        raise missing_capability({capability: {"url": {}} if by_url else {}})

    async def ask(self, question: Json, send: Send) -> Json:
        """Send QUESTION to a client of the handshake era, and wait for its answer."""
        if self._has_gone:
            raise AskFailed("the client has gone")
        identity = next(self._ids)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[identity] = answer
        send(compose(question["method"], question.get("params"), identity=identity))
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return await answer
        except TimeoutError as error:
            raise AskFailed(f"the client did not answer {question['method']} within {ASK_SECONDS:g} s") from error
        except asyncio.CancelledError:
            send(compose("notifications/cancelled", {"requestId": identity}))
            raise
        finally:
            del self._asked[identity]

    def take_answer(self, message: Message) -> None:
        """Take an answer; one to an unknown request is ignored."""
        answer = self._asked.get(message.id) if message.id is not None else None
        if answer is None or answer.done():
            return
        if message.kind == "result" and isinstance(message.result, dict):
            answer.set_result(message.result)
        elif message.kind == "result":
            answer.set_exception(AskFailed(f"the client's result is {kind_of(message.result)}, not an object"))
        else:
            error = message.error if isinstance(message.error, dict) else {}
            told = str(error.get("message", "the client answered with an error"))
            answer.set_exception(AskFailed(told, error or None))

    def close(self) -> None:
        """End all open questions: the client has gone."""
        self._has_gone = True
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(AskFailed("the client has gone"))


def missing_capability(required: Json) -> Refusal:
    """A client of the modern era did not declare on this request what it takes to answer it."""
    return Refusal(
        MISSING_CLIENT_CAPABILITY,
        f"this needs a client that declares {', '.join(required)}",
        {"requiredCapabilities": required},
    )


def version_in(raw: Any) -> Any:
    """The version by which a request introduces itself in the modern manner; None when it does not."""
    params = raw.get("params") if isinstance(raw, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(f"{META}protocolVersion") if isinstance(meta, dict) else None


def introduction(params: Json) -> tuple[str, Json]:
    """The version and the capabilities that every request of the modern era must state."""
    meta = params.get("_meta")
    version = meta.get(f"{META}protocolVersion") if isinstance(meta, dict) else None
    capabilities = meta.get(f"{META}clientCapabilities") if isinstance(meta, dict) else None
    if not isinstance(version, str):
        raise Refusal(INVALID_PARAMS, f"params._meta must have {META}protocolVersion, a string")
    if not isinstance(capabilities, dict):
        raise Refusal(INVALID_PARAMS, f"params._meta must have {META}clientCapabilities, an object")
    level = meta.get(f"{META}logLevel") if isinstance(meta, dict) else None
    if level is not None and level not in LOG_LEVELS:
        raise Refusal(INVALID_PARAMS, f"{META}logLevel must be one of {', '.join(LOG_LEVELS)}, not {level!r}")
    return version, capabilities


def unsupported_version(requested: Any, versions: tuple[str, ...]) -> Refusal:
    """A client asks for a revision that is not among VERSIONS, or names none: REQUESTED is None."""
    if requested is None:
        words, named = "this server has no handshake; send requests with _meta", {}
    else:
        words, named = f"protocol version {requested} is not supported", {"requested": requested}
    return Refusal(UNSUPPORTED_VERSION, words, {"supported": list(versions), **named})


def modern_client(params: Json, send: Send, versions: tuple[str, ...]) -> Client:
    """The client that a request of the modern era describes."""
    version, capabilities = introduction(params)
    if version not in versions:
        raise unsupported_version(version, versions)
    client = Client(send, DIALECTS[version], capabilities)
    info = params["_meta"].get(f"{META}clientInfo")
    client.info = info if isinstance(info, dict) else {}
    return client
