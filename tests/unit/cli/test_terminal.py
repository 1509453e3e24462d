"""Output goes where it belongs, or nowhere; an error is shown with its place and what to do."""

import errno
import io
import json
import os
import pty

import pytest

from mcp_conductor.cli.output.terminal import ReaderGone, Terminal
from mcp_conductor.errors import ConductorError, Location, TransportError, UsageError
from mcp_conductor.report.error_text import diagnostic


class Closed(io.BytesIO):
    """A stream whose reader has gone."""

    def write(self, _) -> int:
        raise BrokenPipeError


class Full(io.BytesIO):
    """A stream on a disk without space."""

    def write(self, _) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def terminal(stdout=None, stderr=None) -> Terminal:
    return Terminal(stdout, stderr, None, {}, "/")


AS_IT_IS = [Terminal.write_result, Terminal.write_report_as_it_is]


@pytest.mark.parametrize("write", AS_IT_IS)
def test_results_and_reports_are_written_byte_for_byte(write):
    out = io.BytesIO()
    write(terminal(out), "é\n\udcff\x1b::")
    assert out.getvalue() == b"\xc3\xa9\n\xff\x1b::"


def test_a_result_on_a_terminal_means_the_same_and_holds_nothing_that_the_terminal_obeys():
    ours, theirs = pty.openpty()
    value = {"text": "\x7f\x9b2J\x85\u202e\u200f\u2066 é 😀 ##[group]"}
    with open(theirs, "wb", buffering=0) as stdout:
        terminal(stdout).write_result(json.dumps(value, ensure_ascii=False) + "\n")
        shown = os.read(ours, 1000).decode()
    os.close(ours)
    assert json.loads(shown) == value
    assert shown == '{"text": "\\u007f\\u009b2J\\u0085\\u202e\\u200f\\u2066 é 😀 ##[group]"}\r\n'


HOSTILE = "\x1b[2J\x1b[8m\x9b\x07\r\u202e\n  ::error::x\n##[group]"


@pytest.mark.parametrize("colour", [False, True])
def test_nothing_in_text_for_people_is_obeyed(colour):
    out, err = io.BytesIO(), io.BytesIO()
    terminal(out, err).show(HOSTILE, colour=colour)
    terminal(out, err).say(HOSTILE, colour=colour)
    for shown in (out.getvalue().decode(), err.getvalue().decode().removesuffix("\n")):
        assert shown == "\\x1b[2J\\x9b\\x07\\r\\u202e\n  \\x3a:error::x\n\\x23#[group]"


def test_our_colours_are_shown_where_there_are_colours_and_no_others():
    out = io.BytesIO()
    terminal(out).show("\x1b[31;1mred\x1b[0m \x1b[8mhidden\x1b[0m", colour=True)
    terminal(out).show("\x1b[31mred\x1b[0m")
    assert out.getvalue() == b"\x1b[31;1mred\x1b[0m hidden\x1b[0mred"


def test_no_secret_of_the_run_is_in_text_for_people():
    out, err = io.BytesIO(), io.BytesIO()
    here = terminal(out, err)
    here.learn(["hunter22"])
    here.show("hunter22\n")
    here.say("hunter22")
    assert out.getvalue() == err.getvalue() == b"[redacted]\n"


@pytest.mark.parametrize("stdout", [None, Closed()], ids=["never open", "reader gone"])
def test_a_closed_stdout_is_reported(stdout):
    with pytest.raises(ReaderGone):
        terminal(stdout).show("x")


def test_it_is_told_when_stdout_is_closed():
    out = io.BytesIO()
    out.close()
    with pytest.raises(ReaderGone):
        terminal(out).show("x")


def test_a_full_disk_is_told_as_what_it_is():
    with pytest.raises(UsageError) as caught:
        terminal(Full()).show("x")
    assert caught.value.message == "cannot write to stdout: No space left on device"


def test_a_high_surrogate_does_not_look_like_a_reader_that_has_gone():
    out = io.BytesIO()
    terminal(out).show("\ud800")
    assert out.getvalue()


def test_a_line_with_any_content_is_said_on_stderr():
    err = io.BytesIO()
    terminal(stderr=err).say("é \udcff \ud800")
    assert err.getvalue() == b"\xc3\xa9 \\xff \\ud800\n"


@pytest.mark.parametrize("stderr", [None, Closed()], ids=["never open", "reader gone"])
def test_a_closed_stderr_is_ignored(stderr):
    terminal(stderr=stderr).say("x")


def test_only_a_pipe_can_lose_its_reader(tmp_path):
    reading, writing = os.pipe()
    with open(reading, "rb"), open(writing, "wb") as pipe, open(tmp_path / "f", "wb") as file:
        assert terminal(pipe).pipe_out() == writing
        assert terminal(file).pipe_out() is None
    assert terminal(io.BytesIO()).pipe_out() is None
    assert terminal(None).pipe_out() is None
    assert terminal(file).pipe_out() is None


def test_after_the_reader_has_gone_python_can_still_flush_stdout():
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as pipe:
        with pytest.raises(ReaderGone):
            terminal(pipe).show("x")
        pipe.flush()


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (ConductorError("it broke"), ["error: it broke"]),
        (UsageError("it broke", hint="mend it"), ["error: it broke", "  hint: mend it"]),
        (
            UsageError("it broke", where=Location("f.json", 12, 3, '  "a": 1'), hint="mend it"),
            ["error: it broke", "  --> f.json:12:3", '  12 |   "a": 1', "     |   ^", "  hint: mend it"],
        ),
        (
            UsageError("it broke", where=Location("f.json", 2, 2, '\t"a": 1')),
            ["error: it broke", "  --> f.json:2:2", '  2 | \t"a": 1', "    | \t^"],
        ),
        (UsageError("it broke", where=Location("f.json", 1, 1)), ["error: it broke", "  --> f.json:1:1"]),
    ],
)
def test_an_error_is_shown_with_its_place_and_what_to_do(error, lines):
    assert diagnostic(error).splitlines() == lines


def test_the_servers_last_words_stand_before_what_to_do():
    error = TransportError("it died", hint="start it")
    error.stderr = ("one", "two")
    assert diagnostic(error).splitlines() == [
        "error: it died",
        "  the server's stderr:",
        "    | one",
        "    | two",
        "  hint: start it",
    ]


def test_nothing_in_an_error_is_obeyed():
    error = UsageError("::error::\x1b", hint="\r##[x]", where=Location("\x07", 1, 1, "\x9b"))
    error.stderr = ("\x1b]0;x\x07", "::add-mask::x")
    lines = diagnostic(error).split("\n")
    assert all(line.isprintable() for line in lines)
    assert not any(line.strip().startswith("::") or "##[" in line for line in lines)
