"""How a program ends: normally, by an error, by a signal, or by a bug of ours."""

from collections.abc import Callable, Sequence

from mcp_conductor import __version__
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.output.terminal import Interrupted, ReaderGone, Terminal
from mcp_conductor.cli.process.ending import shortage
from mcp_conductor.cli.process.exit_codes import INTERNAL_ERROR, OK, PROGRAMS, code_of_error
from mcp_conductor.errors import ConductorError, speak_of_flags


def run_program(work: Callable[[], int], argv: Sequence[str], terminal: Terminal, program: str) -> int:
    """Do the WORK of PROGRAM: the exit code. Unless all went well, there is a message on stderr."""
    had_flags = speak_of_flags()
    # A command line that turns out to be wrong says so in the form that it asks for.
    terminal.errors_as_json = _asks(argv, "--errors=json", "--errors json")
    terminal.answers_as_json = _asks(argv, "--json")
    try:
        code = _run(work, argv, terminal, program)
        terminal.answer_with_errors()
        return code
    finally:
        speak_of_flags(had_flags)  # the process goes on where main() is called from Python


def output_form(given: Given, terminal: Terminal) -> None:
    """Write from now on in the form that is GIVEN: --errors for stderr, --json for stdout."""
    terminal.errors_as_json = given.one("--errors") == "json"
    terminal.answers_as_json = "--json" in given or "json" in given.all("--report")


def _asks(argv: Sequence[str], *forms: str) -> bool:
    """Whether ARGV, which was not parsed yet, has one of FORMS; the server's own words do not count."""
    servers = False
    for place, word in enumerate(argv):
        if word == "--":
            servers = not servers
        elif word.partition("=")[0] == "--method":
            servers = False
        elif not servers and (word in forms or " ".join(argv[place : place + 2]) in forms):
            return True
    return False


def _run(work: Callable[[], int], argv: Sequence[str], terminal: Terminal, program: str) -> int:
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


def _say_internal_error(error: Exception, argv: Sequence[str], program: str, terminal: Terminal) -> None:
    """A bug of ours, in one line; with --verbose, where it is."""
    if "--verbose" in argv or "-v" in argv:
        import traceback

        terminal.say("".join(traceback.format_exception(error)))
    hint = f"this is a bug in {program}; report it with what --verbose shows"
    terminal.say_bug(f"{type(error).__name__}: {error}", hint=hint)


def version_line(program: str) -> str:
    """The line that PROGRAM --version prints."""
    import platform  # which nothing else of ours needs

    where = " ".join(filter(None, (platform.system(), platform.machine())))
    return f"{program} {__version__} ({platform.python_implementation()} {platform.python_version()}, {where})\n"
