"""Conversations in a few words, as a recording has them."""

from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.format import Entry
from mcp_conductor.replaying.matching import Pool
from mcp_conductor.replaying.recorded_calls import recorded_calls


def entries(*said):
    """What was SAID, a second each: (source, message) or (source, message, number of the HTTP exchange)."""
    return [
        Entry(
            Frame(float(at), source, raw if isinstance(raw, str) else compact({"jsonrpc": "2.0", **raw})), 1, *exchange
        )
        for at, (source, raw, *exchange) in enumerate(said)
    ]


def calls(*said):
    return recorded_calls(entries(*said))


def pool(*said, forget=None):
    return Pool(calls(*said), forget)


def request(identity, method="tools/call", *exchange, **params):
    return "client", {"id": identity, "method": method, "params": params}, *exchange


def told(method, **params):
    return "client", {"method": method, "params": params}


def result(identity, *exchange, **value):
    return "server", {"id": identity, "result": value}, *exchange


def note(method, *exchange, **params):
    return "server", {"method": method, "params": params}, *exchange


def question(identity, method="roots/list", *exchange, **params):
    return "server", {"id": identity, "method": method, "params": params}, *exchange


def answer(identity, **value):
    return "client", {"id": identity, "result": value}
