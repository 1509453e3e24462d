"""How a recorded conversation was opened: in which revision, and by which request.

A client that speaks both eras may try the modern one first, and then begin with `initialize` on the same connection:
what was refused has opened nothing.
"""

from collections.abc import Iterable
from typing import NamedTuple

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, Dialect, named_in
from mcp_conductor.protocol.message import Message

OPENINGS = ("initialize", "server/discover")


class Opening(NamedTuple):
    """What opened a conversation."""

    dialect: Dialect
    request: Message  # in the modern era, which needs no opening, perhaps any request
    result: Json  # none, if it is not known


def opening_of(asked: Iterable[tuple[Message, Message | None]]) -> Opening | None:
    """What opened a conversation in which this was ASKED, each with its reply; None if nothing says which revision.

    If both eras were opened, the next request of one of them tells which is spoken.
    """
    opened: list[Opening] = []
    named: Opening | None = None
    for request, reply in asked:
        dialect = named_in(request.params)
        if named is None and dialect is not None:
            named = Opening(dialect, request, {})
        if request.method in OPENINGS:
            opened += _opened(request, reply)
        else:
            for each in opened:
                if each.dialect.handshake == (dialect is None):
                    return each
    return opened[0] if opened else named


def _opened(request: Message, reply: Message | None) -> list[Opening]:
    """What REQUEST opened, if it did."""
    result = reply.result if reply is not None and reply.kind == "result" else None
    if not isinstance(result, dict):
        return []
    agreed = DIALECTS.get(str(result.get("protocolVersion")))
    dialect = agreed if request.method == "initialize" else named_in(request.params)
    return [] if dialect is None else [Opening(dialect, request, result)]
