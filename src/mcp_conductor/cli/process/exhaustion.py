"""The machine is out of memory or files: one line that says which, and the end of the program."""

import errno
import os
import sys
from typing import Any

_FILES = (errno.EMFILE, errno.ENFILE)
_reserve = [bytes(1 << 20)]  # memory for the end of the program; never written to, so it is not allocated


def shortage(error: object) -> str | None:
    """What is missing and what to do, if ERROR means that memory or files have run out."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return "error: out of memory\n  hint: --max-message-size and --max-message-values take in less of a server\n"
    if isinstance(error, OSError) and error.errno in _FILES:
        return "error: too many open files\n  hint: `ulimit -n NUMBER` allows more\n"
    return None


def end_for_shortage(error: object, exit_code: int) -> None:
    """End the program and all that it started, if ERROR is a shortage: anything else would fail, too."""
    told = shortage(error)
    if told is None:
        return
    _reserve.clear()
    # Where modules cannot be loaded any more, nothing was started either.
    if (children := sys.modules.get("mcp_conductor.transport.children")) is not None:
        children.end_all()
    os.write(2, told.encode())
    os._exit(exit_code)


def ending_for_shortage(exit_code: int) -> Any:
    """A reaction of an event loop to errors in callbacks, which are not reported elsewhere.

    Files may be closed later, but memory for a message is not freed.
    """

    def react(loop: Any, context: dict[str, Any]) -> None:
        if isinstance(error := context.get("exception"), MemoryError):
            end_for_shortage(error, exit_code)
        loop.default_exception_handler(context)

    return react
