"""The server that a client under test starts: it passes every byte on to the checker, and says what the checker says.

usage: python relay.py PORT TOKEN

There are no flags among these words, because clients that take a server's command line may take them for their own.

What goes through the socket are frames: one letter, a length in four bytes, and the bytes. The checker hears `h`
(the token), `d` (what the client wrote), `e` (it closed our stdin) and `t` (it sent SIGTERM); it says `d` (for stdout),
`x` (for stderr) and `q` (exit with this code). We live until the checker closes the socket: when to go is its decision.
"""

import os
import signal
import socket
import sys
import threading


def main(port: str, token: str) -> int:
    """Relay until the checker is done: the exit code."""
    try:
        line = socket.create_connection(("127.0.0.1", int(port)), timeout=10)
    except OSError:
        sys.stderr.write("the check that this server belongs to is over\n")
        return 1
    line.settimeout(None)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    lock = threading.Lock()

    def tell(kind: bytes, data: bytes = b"") -> None:
        with lock:
            line.sendall(kind + len(data).to_bytes(4, "big") + data)

    def listen() -> None:
        try:
            while data := os.read(0, 65536):
                tell(b"d", data)
            tell(b"e")
        except OSError:
            pass  # the checker is gone, and so shall we be

    signal.signal(signal.SIGTERM, lambda *_: tell(b"t"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the client
    tell(b"h", token.encode())
    threading.Thread(target=listen, daemon=True).start()
    try:
        return _obey(line)
    except OSError:
        return 0  # the client has stopped reading


def _obey(line: socket.socket) -> int:
    said = line.makefile("rb")
    while len(head := said.read(5)) == 5:
        data = said.read(int.from_bytes(head[1:], "big"))
        if head[:1] == b"q":
            return data[0]
        out = 2 if head[:1] == b"x" else 1
        while data:
            data = data[os.write(out, data) :]
    return 0


if __name__ == "__main__":
    # Not sys.exit: it would wait for the thread that reads stdin, which may stay open.
    os._exit(main(*sys.argv[1:]))
