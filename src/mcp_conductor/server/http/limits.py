"""How much a client of the HTTP server may send, keep open and leave unread, and for how long."""

from typing import NamedTuple

from mcp_conductor.protocol.budgets import DEFAULT


class Limits(NamedTuple):
    """All limits of one listening socket. Sizes of bodies are looked at after each read of up to 256 KB."""

    target_bytes: int = 8 << 10  # of the request line: 414
    head_bytes: int = 64 << 10  # 431
    body_bytes: int = DEFAULT.message_bytes  # of one request: 413
    held_bytes: int = 256 << 20  # of all bodies that wait for their answers: 503
    framing_bytes: int = 64 << 10  # of a body's chunk sizes, extensions and trailers: 400
    framing_ratio: int = 16  # and this many more for each byte of the body
    waiting: int = 16  # requests of one connection that wait for their answers; no more are read meanwhile
    connections: int = 1000  # 503
    stream_bytes: int = 64 << 20  # of events that a stream keeps; a client that reads none of them is cut off
    session_bytes: int = 16 << 20  # of events that a session keeps for clients which may resume its streams
    all_sessions_bytes: int = 32 << 20  # of those of all sessions together
    session_seconds: float = 3600.0  # without a request or an open stream, after which a session ends: 404
    idle_seconds: float = 60.0  # of a connection without a request
    head_seconds: float = 20.0  # from the first byte of a request to the end of its head: 408
    body_seconds: float = 30.0  # in which a body ends or grows by body_progress: 408
    body_progress: int = 16 << 10
    unread_seconds: float = 60.0  # in which a client that has something to read reads nothing of it
    linger_seconds: float = 2.0  # in which a client that was refused can read why


LIMITS = Limits()
