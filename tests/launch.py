"""Hand the streams of this process to a fork server, and end as what it forks ends: see tests/prefork.py."""

# Few imports: that this starts quickly is all that it is for.
import _socket
import posix
import sys

_, address, *words = sys.argv
asked = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
asked.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, 1 << 18)
asked.connect(f"\0{address}")
parts = [word.encode(errors="surrogateescape") for word in ("apart", posix.getcwd(), str(len(words)), *words)]
parts += [name + b"=" + value for name, value in posix.environ.items()]
streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in range(3))
asked.sendmsg([b"\0".join(parts)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
for stream in range(3):  # a process that reads or writes there has to see when the fork closes them
    posix.close(stream)
asked.recv(64)  # its number
status = int(asked.recv(64) or 9)
if posix.WIFSIGNALED(status):
    posix.kill(posix.getpid(), posix.WTERMSIG(status))
posix._exit(posix.waitstatus_to_exitcode(status) if status > 255 else 0)
