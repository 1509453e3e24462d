"""How a program ends: normally, by an error, by a signal, or by a bug of ours."""

from collections.abc import Callable, Sequence

from mcp_conductor.cli.exhaustion import shortage
from mcp_conductor.cli.exit_codes import INTERNAL_ERROR, OK, PROGRAMS, code_of_error
from mcp_conductor.cli.terminal import Interrupted, ReaderGone, Terminal
from mcp_conductor.errors import ConductorError, speak_of_flags


def run_program(work: Callable[[], int], argv: Sequence[str], terminal: Terminal, program: str) -> int:
    """Do the WORK of PROGRAM: the exit code. Unless all went well, there is a message on stderr."""
    had_flags = speak_of_flags()
    try:
        return work()
    except ReaderGone:
        return OK
    except Interrupted as interrupted:
        return interrupted.exit_code
    except ConductorError as error:
        terminal.say_error(error)
        return code_of_error(error, PROGRAMS[program])
    except Exception as error:
        if shortage(error) is not None:
            raise
        _say_internal_error(error, argv, program, terminal)
        return INTERNAL_ERROR
    finally:
        speak_of_flags(had_flags)  # the process goes on where main() is called from Python


def _say_internal_error(error: Exception, argv: Sequence[str], program: str, terminal: Terminal) -> None:
    """A bug of ours, in one line; with --verbose, where it is."""
    if "--verbose" in argv or "-v" in argv:
        import traceback

        terminal.say("".join(traceback.format_exception(error)))
    hint = f"this is a bug in {program}; report it with what --verbose shows"
    terminal.say_bug(f"{type(error).__name__}: {error}", hint=hint)
