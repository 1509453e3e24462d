"""A terminal to run our programs on: what it shows in the end, with what has left it at the top."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

_TOKEN = re.compile(r"\x1b\[(\d+)A|(\x1b\[2K|\x1b\[[\d;]*m|\r|\n|[^\x1b\r\n]+)")


def screen(data: str) -> list[str]:
    """The lines that are left of DATA; a terminal would break those that are too long."""
    lines, row = [""], 0
    for up, token in _TOKEN.findall(data):
        if up:
            row -= int(up)
            assert row >= 0, "the cursor leaves the screen"
        elif token == "\x1b[2K":
            lines[row] = ""
        elif token == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif token != "\r" and not token.startswith("\x1b"):
            lines[row] = token if lines[row] == "" else lines[row] + token
    return lines


def run_on_terminal(words: list[str], columns: int, **options) -> tuple[int, str]:
    """Run a program on a terminal so wide: its exit code, and what is on the screen when it has ended."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, **options) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                seen += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    lines = screen(seen.decode().replace("\r\n", "\n"))
    shown = [line[start : start + columns] for line in lines for start in range(0, max(len(line), 1), columns)]
    return process.returncode, "\n".join(shown)
