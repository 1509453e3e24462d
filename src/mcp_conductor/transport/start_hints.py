"""Why a program cannot be started, and what to do: often it is a file that another program has to run."""

import errno
import os

from mcp_conductor.errors import TransportError
from mcp_conductor.protocol.server_spec import StdioSpec

_RUNS = {".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".sh": "sh"}


def start_error(spec: StdioSpec, error: OSError | ValueError) -> TransportError:
    """The error for ERROR, by which the server of SPEC could not be started."""
    program = spec.command[0]
    if isinstance(error, ValueError):  # a NUL in a word
        return TransportError(f"cannot start {program!r}: {error}")
    return TransportError(f"cannot start {program!r}: {error.strerror}", hint=start_hint(program, spec.cwd, error))


def start_hint(program: str, directory: str | None, error: OSError) -> str | None:
    """The hint for ERROR, by which PROGRAM could not be started in DIRECTORY."""
    is_path = os.sep in program
    if not os.path.isfile(os.path.join(directory or "", program)):
        return "is it installed, and on PATH?" if isinstance(error, FileNotFoundError) else None
    if runner := _RUNS.get(os.path.splitext(program)[1]):
        return f"it is a file: {runner} {program}"
    if isinstance(error, FileNotFoundError):
        return "is the program of its first line installed (#!)?" if is_path else f"it is a file: ./{program}"
    if isinstance(error, PermissionError):
        return f"chmod +x {program}"
    return "it has no first line that says what runs it (#!)" if error.errno == errno.ENOEXEC else None
