"""The server of the benchmarks over HTTP: the answers of trivial_server.py, one JSON body for each POST.

A POST to /events is answered by a stream with one event.

usage: trivial_http_server.py LISTENING_SOCKET [CORE]

The socket is inherited, so its parent can connect at once. With CORE it stays on that core of the machine.
It ends when its stdin does. Sockets and one selector, nothing else: no more of HTTP than the clients here need.
"""

import json
import os
import selectors
import socket
import sys

from trivial_server import RESULTS, refusal

TOOLS, PAGE = 1, 100
READ_BYTES = 2**16
HEAD_END = b"\r\n\r\n"
LENGTH = b"\r\ncontent-length:"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
)
EVENT = b"event: message\r\ndata: %s\r\n\r\n"
ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
NO_STREAM = b"HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n"


def main(listening: str, *core: str) -> None:
    """Serve all connections until stdin ends."""
    if core:
        os.sched_setaffinity(0, map(int, core))
    with selectors.DefaultSelector() as selector, socket.socket(fileno=int(listening)) as door:
        selector.register(door, selectors.EVENT_READ)
        selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is door:
                    connection, _ = door.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    selector.register(connection, selectors.EVENT_READ, bytearray())
                elif key.data is None:
                    return
                elif not serve(key.fileobj, key.data):
                    selector.unregister(key.fileobj)
                    key.fileobj.close()


def serve(connection: socket.socket, waiting: bytearray) -> bool:
    """Take what has come, and answer the requests that are whole; whether the connection goes on."""
    try:
        data = connection.recv(READ_BYTES)
        waiting += data
        while (request := next_request(waiting)) is not None:
            connection.sendall(reply(*request))
    except ConnectionError:
        return False
    return bool(data)


def next_request(waiting: bytearray) -> tuple[bytes, bytes] | None:
    """The head and the body of the first request, taken off WAITING; None while it is not whole."""
    end = waiting.find(HEAD_END)
    if end < 0:
        return None
    head = bytes(waiting[:end])
    length = int(head.lower().partition(LENGTH)[2].partition(b"\r\n")[0] or 0)
    body_begins = end + len(HEAD_END)
    if len(waiting) < body_begins + length:
        return None
    body = bytes(waiting[body_begins : body_begins + length])
    del waiting[: body_begins + length]
    return head, body


def reply(head: bytes, body: bytes) -> bytes:
    if not head.startswith(b"POST "):
        return NO_STREAM
    request = json.loads(body)
    if "id" not in request:
        return ACCEPTED
    result = RESULTS.get(request["method"], refusal)(request.get("params") or {}, TOOLS, PAGE)
    answer = b'{"jsonrpc":"2.0","id":%s,%s}' % (json.dumps(request["id"]).encode(), result)
    if head.startswith(b"POST /events "):
        event = EVENT % answer
        return STREAM % (len(event), event)
    return ANSWER % (len(answer), answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
