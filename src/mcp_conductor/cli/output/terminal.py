"""Where a program was started: its streams, its environment and its directory, in one value that tests can make.

Everything that a program shows goes through here, and only here (tests/test_rules.py). Text for people is without the
secrets of the run, and holds nothing that a terminal or a CI system would obey. Two methods write other text: results,
secrets and all, in which only a terminal finds nothing to obey, and reports, which have escapes of their own.
"""

import os
import re
import stat
import sys
from collections.abc import ItemsView, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from mcp_conductor import posix
from mcp_conductor.cli.process.exit_codes import code_of_signal
from mcp_conductor.errors import ConductorError, InternalError, UsageError
from mcp_conductor.text.redaction import Redactor, secrets_of_environment
from mcp_conductor.text.visible import seen_in_json, visible

# The colours of reporters.diagnostic, and no others: one could hide what follows.
_OUR_COLOURS = r"(\x1b\[(?:0|(?:[12]|3[1236])(?:;(?:[12]|3[1236]))*)m)"

_MAX_ERRORS = 100  # that --json puts on stdout
_ROOM = 4000  # bytes that a pipe takes without waiting, if it takes any


class ReaderGone(Exception):  # noqa: N818  # an event, not an error
    """The reader of our stdout has closed it."""


class Interrupted(Exception):  # noqa: N818  # an event, not an error
    """A signal came, and everything has been cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = code_of_signal(number)


class Terminal:
    """The outside world of one run."""

    def __init__(
        self,
        stdout: BinaryIO | None,
        stderr: BinaryIO | None,
        stdin: BinaryIO | None,
        environ: Mapping[str, str],
        directory: str,
    ) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.stdin = stdin
        self.environ = environ
        self.directory = directory
        self.redactor = Redactor()  # of this run
        self.errors_as_json = False  # --errors json
        self.answers_as_json = False  # --json: stdout has JSON alone
        self._errors: list[ConductorError] = []  # that were said
        self._has_written = False  # to stdout

    @classmethod
    def of_process(cls, *, bad: int) -> "Terminal":
        """The streams and the directory that we were started with; BAD is the exit code if there is no directory."""
        # A stream that was closed before we started is None.
        out, err, inp = (getattr(stream, "buffer", None) for stream in (sys.stdout, sys.stderr, sys.stdin))
        try:
            directory = os.getcwd()
        except OSError as error:
            cls(out, err, inp, os.environ, "").say(f"error: there is no working directory: {error.strerror}")
            raise SystemExit(bad) from None
        return cls(out, err, inp, os.environ, directory)

    def learn(self, secrets: Iterable[str]) -> None:
        """Never show these texts from now on."""
        self.redactor.learn(secrets)

    def show(self, text: str, *, colour: bool = False) -> None:
        """Put text for people on stdout, or with --json on stderr; raises ReaderGone when it is not read any more."""
        if self.answers_as_json:
            self.say(text.removesuffix("\n"), colour=colour)
        else:
            self._write(self._safe(text, colour=colour))

    def answer(self, text: str, value: Any) -> None:
        """Put the answer of a command on stdout: TEXT for people, or with --json the VALUE."""
        if self.answers_as_json:
            from mcp_conductor.protocol.message import render

            text = self.redactor.redact(render(value, 2)) + "\n"
            self._write(seen_in_json(text) if self.is_shown() else text)
        else:
            self.show(text)

    def announce(self, text: str, url: str) -> None:
        """Say on stderr that clients can connect to URL; with --json, put it on stdout too."""
        self.say(text)
        if self.answers_as_json:
            self.answer("", {"url": url})

    def answer_with_errors(self) -> None:
        """With --json, put on stdout the errors that were said, if there is no other answer."""
        if self.answers_as_json and self._errors and not self._has_written:
            from mcp_conductor.report.error_text import errors_as_json

            with suppress(ReaderGone):
                self.answer("", errors_as_json(self._errors))

    def show_help(self, page: str) -> None:
        """Show a page of --help; on a terminal, its lines are no longer than those of the terminal."""
        width = self.width()
        if width and max(map(len, page.split("\n"))) > width:
            from mcp_conductor.cli.flags.help import narrowed

            page = narrowed(page, width)
        self.show(page)

    def say(self, text: str, *, colour: bool = False) -> None:
        """Put a line for people on stderr; a closed stderr is ignored."""
        with suppress(OSError, ValueError):
            if self.stderr is not None:
                _put(self.stderr, self._safe(text, colour=colour).encode() + b"\n")

    def say_error(self, error: ConductorError) -> None:
        """Put on stderr what the person who must act has to know of ERROR."""
        self._note(error)
        self.say(self.error_text(error))

    def say_bug(self, what: str, *, hint: str | None = None) -> None:
        """Put on stderr that something went wrong which never should."""
        error = InternalError(what, hint=hint)
        if self.errors_as_json:
            self.say_error(error)
        else:
            self._note(error)
            self.say(f"internal error: {what}" + (f"\n  hint: {hint}" if hint else ""))

    def _note(self, error: ConductorError) -> None:
        if len(self._errors) < _MAX_ERRORS:
            self._errors.append(error)

    def error_text(self, error: ConductorError) -> str:
        """What is put on stderr of ERROR: text for a person, or lines of JSON for a program."""
        from mcp_conductor.report.error_text import diagnostic, error_lines

        return error_lines(error) if self.errors_as_json else diagnostic(error)

    def say_warning(self, problem: ConductorError) -> None:
        """Put on stderr what a person should know of PROBLEM, with which we can go on."""
        from mcp_conductor.report.error_text import warning

        self.say(warning(problem))

    def say_if_there_is_room(self, text: str) -> None:
        """Put a line for people on stderr if that can be done at once, also in the middle of another line."""
        with suppress(OSError, ValueError):
            if self.stderr is not None and posix.wait_for_room(self.stderr, 0):
                os.write(self.stderr.fileno(), self._safe(text, colour=False).encode()[:_ROOM] + b"\n")

    def write_result(self, text: str) -> None:
        """Put on stdout what was asked for: the result of mcp-cli, secrets and all, or a file that was not named.

        It is written as it is, but for what a terminal would obey or hide: there, that is written in JSON's escapes.
        """
        self._write(seen_in_json(text) if self.is_shown() else text)

    def write_report_as_it_is(self, text: str) -> None:
        """Put a report on stdout that has no secrets any more, in a form with escapes of its own."""
        self._write(text)

    def _safe(self, text: str, *, colour: bool) -> str:
        text = self.redactor.redact(text)
        if not colour:
            return visible(text)
        parts = re.split(_OUR_COLOURS, text)  # every second one is a colour
        return "".join(part if number % 2 else visible(part) for number, part in enumerate(parts))

    def _write(self, text: str) -> None:
        if self.stdout is None:
            raise ReaderGone
        self._has_written = True
        data = _encoded(text)
        try:
            _put(self.stdout, data)
        except (BrokenPipeError, ValueError) as error:  # ValueError: closed from our side
            self._forget_stdout()
            raise ReaderGone from error
        except OSError as error:
            self._forget_stdout()
            raise UsageError(f"cannot write to stdout: {error.strerror}") from error

    def draw(self, lines: Sequence[str], *, over: int, on_stderr: bool = False) -> None:
        """Put LINES in the place of the last ones, OVER in number, that were drawn; only on a terminal."""
        # Line by line: tmux keeps in its history what is erased all at once from the first line on.
        text = "\r\x1b[1A\x1b[2K" * over + "".join(f"{self._safe(line, colour=False)}\n" for line in lines)
        if not on_stderr:
            self._write(text)
        elif self.stderr is not None:
            with suppress(OSError, ValueError):
                _put(self.stderr, text.encode())

    def is_live(self, *, on_stderr: bool = False) -> bool:
        """Whether a person looks at the stream, on a terminal that can be drawn on."""
        return self.is_shown(on_stderr=on_stderr) and self.environ.get("TERM", "") not in ("", "dumb")

    def is_shown(self, *, on_stderr: bool = False) -> bool:
        """Whether a person looks at stdout."""
        with suppress(OSError, ValueError, AttributeError):
            stream = self.stderr if on_stderr else self.stdout
            return os.isatty(stream.fileno())  # type: ignore[union-attr]
        return False

    def width(self, *, on_stderr: bool = False) -> int | None:
        """How many characters fit on a line of what stdout is, if that is a terminal."""
        with suppress(OSError, ValueError, AttributeError):
            stream = self.stderr if on_stderr else self.stdout
            return os.get_terminal_size(stream.fileno()).columns  # type: ignore[union-attr]
        return None

    def pipe_out(self) -> int | None:
        """The file descriptor of stdout, if it is a pipe whose other end may be closed while we wait."""
        with suppress(OSError, ValueError, AttributeError):
            descriptor = self.stdout.fileno()  # type: ignore[union-attr]
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                return descriptor
        return None

    def _forget_stdout(self) -> None:
        """Python flushes stdout at exit, and would complain about the closed pipe a second time."""
        with suppress(OSError, ValueError, AttributeError), open(os.devnull, "wb") as null:
            os.dup2(null.fileno(), self.stdout.fileno())  # type: ignore[union-attr]


def print_to_stderr() -> None:
    """Let `print` write to stderr from now on: what a plugin prints must not stand among results or messages."""
    sys.stdout = sys.stderr  # what `Terminal` writes to is still there


def tell_all(problems: Sequence[ConductorError], terminal: Terminal) -> None:
    """Raise the last of PROBLEMS, if there are any, when the others have been shown."""
    for each in problems[:-1]:
        terminal.say_error(each)
    if problems:
        raise problems[-1]


def _put(stream: BinaryIO, data: bytes) -> None:
    """Write all of DATA: a stream without a buffer (PYTHONUNBUFFERED) may take a part of it, when a signal comes."""
    rest = memoryview(data)
    while rest:
        try:
            written = stream.write(rest)
        except BlockingIOError as error:  # a pipe that another program made so, as node does
            written = error.characters_written
        if not written:
            posix.wait_for_room(stream)
        rest = rest[written or 0 :]
    stream.flush()


def _encoded(text: str) -> bytes:
    """UTF-8; bytes that were not UTF-8 when they came go out as they came."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace")


class NotedVariables(dict[str, str]):
    """The variables of a terminal, which learns the secrets among those that are looked up."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal.environ)
        self._terminal = terminal

    def __getitem__(self, name: str) -> str:
        value = super().__getitem__(name)
        self._terminal.learn(secrets_of_environment({name: value}))
        return value

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def items(self) -> ItemsView[str, str]:  # type: ignore[override]  # as JSON is made of all of them
        self._terminal.learn(secrets_of_environment(dict(self)))
        return super().items()


def hold_standard_streams() -> None:
    """Occupy standard streams that are closed: otherwise the next file that is opened would take the place of one."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
