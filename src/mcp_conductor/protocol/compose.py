"""JSON-RPC messages from their parts: the one place that knows how an envelope is written.

Messages that checks break on purpose are written by hand where they are sent.
"""

from functools import lru_cache
from typing import Any

from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import Message, compact

_new_tuple = tuple.__new__
_as_json = lru_cache(100)(compact)  # of methods, which are few


def compose(method: str, params: Json | None = None, *, identity: Id | None = None) -> Json:
    """A request, or a notification if it has no IDENTITY."""
    raw: Json = {"jsonrpc": "2.0"}
    if identity is not None:
        raw["id"] = identity
    raw["method"] = method
    if params is not None:
        raw["params"] = params
    return raw


def compose_request(method: str, params: Json | None, identity: int) -> Message:
    """The message of a request; of its text, only what differs between requests is encoded."""
    if params is None:
        raw = compose(method, identity=identity)
        return Message(compact(raw), raw, "request", identity)
    raw = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
    text = f'{{"jsonrpc":"2.0","id":{identity},"method":{_as_json(method)},"params":{compact(params)}}}'
    return _new_tuple(Message, (text, raw, "request", identity, None))  # as `Message(…)`, in half the time


def compose_in(
    dialect: Dialect, method: str, params: Json | None, *, identity: Id, client: Json, capabilities: Json
) -> Json:
    """A request as DIALECT has it: in the modern era each introduces the CLIENT, in `_meta`."""
    if not dialect.handshake:
        params = dialect.stamp(params, dialect.context(client, capabilities))
    return compose(method, params, identity=identity)


def initialize_params(dialect: Dialect, client: Json, capabilities: Json) -> Json:
    """How a client introduces itself in the handshake era."""
    return {"protocolVersion": dialect.version, "capabilities": capabilities, "clientInfo": client}


def compose_reply(identity: Id | None, members: Json) -> Json:
    """A reply; MEMBERS is its result or its error."""
    return {"jsonrpc": "2.0", "id": identity, **members}


def compose_result(identity: Id | None, result: Any) -> Json:
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def compose_error(identity: Id | None, error: Any, *, named: bool = True) -> Json:
    """An error reply. One that is not NAMED has no id: newer revisions want that if the request has no readable id."""
    return {"jsonrpc": "2.0", "id": identity, "error": error} if named else {"jsonrpc": "2.0", "error": error}
