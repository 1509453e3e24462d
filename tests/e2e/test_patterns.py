"""Regular expressions that others wrote: Python's own answers, in bounded time."""

import json
import re
import time

import pytest

from mcp_conductor.bounded.regex import TooSlowError, compile_regex

EVIL = "(a|aa)+$"
ENDLESS = "a" * 60 + "!"


@pytest.mark.parametrize(
    ("pattern", "flags", "text"),
    [
        (r"(?P<quote>['\"])a(?P=quote)", 0, "'a'"),
        (r"(?<=x)a(?!b)", 0, "xab"),
        (r"A", re.IGNORECASE, "a"),
        (r"^b", re.MULTILINE, "a\nb"),
        (r"(a+)+$", 0, "xaaa"),
        (r"(a+)+$", 0, "aab"),
        (r"(A|a)+$", re.IGNORECASE, "xaA"),
        (r"(\w+\s?)*\.$", re.ASCII, "é."),
        (r"(.|\n)*\Z", 0, "a\nb\ud800"),
        (r"(?P<year>\d{4})-(?P=year)", re.ASCII, "2024-2024"),
        (r"(?<=aa|bb)c+", 0, "bbc"),
        (r"\B", 0, ""),
        (r"\B|x", 0, ""),
        (r"\s+", 0, "\x1c"),
        (r"K+", re.IGNORECASE, "\u212a"),
        (r"a++b|x", 0, "aab"),
        (r"(?x) a + b", 0, "aab"),
        (r"\d{2}|x", 0, "١٢"),
    ],
)
def test_what_is_found_is_what_python_finds(pattern, flags, text):
    assert compile_regex(pattern, flags).search(text) == bool(re.search(pattern, text, flags))


@pytest.mark.parametrize(
    ("pattern", "text", "captured"),
    [
        (r"id: (\w+)", "id: a1;", "a1"),
        (r"\d+", "a12", "12"),
        (r"(?:(a)|b)*", "ab", "a"),
        (r"(a*)*", "aab", ""),
        (r"(?=.*(b))a+", "aab", "b"),
        (r"x+", "a", None),
    ],
)
def test_what_a_group_holds_is_what_python_says(pattern, text, captured):
    assert compile_regex(pattern).captured(text) == captured


def test_a_pattern_without_end_is_an_error_that_names_it_as_it_was_written():
    began = time.monotonic()
    with pytest.raises(TooSlowError) as failed:
        compile_regex(EVIL, written="/(a|aa)+$/").search(ENDLESS)
    assert time.monotonic() - began < 5
    assert failed.value.message == (
        "the regular expression '/(a|aa)+$/' takes more than 1 s for a text of 61 characters"
    )


@pytest.mark.parametrize(("pattern", "flags"), [("a" * 30_000, 0), ("a" * 3_000, re.IGNORECASE), ("(", 0)])
def test_what_is_no_pattern_or_too_long_a_one_is_refused(pattern, flags):
    with pytest.raises(re.error):
        compile_regex(pattern, flags)


def test_a_ready_pattern_without_end_is_an_error_of_the_start(cli, serve, tmp_path):
    program, script = serve(f"sys.stderr.write({ENDLESS!r} + chr(10)); sys.stderr.flush(); hear()")
    settings = {"name": "x", "command": program, "args": [script], "readyPattern": EVIL, "startupTimeout": 20000}
    (tmp_path / "conductor.config.json").write_text(json.dumps(settings))
    done = cli("--method", "ping")
    assert done.code == 1
    assert f"readyPattern: the regular expression '{EVIL}' takes more than 1 s" in done.err
