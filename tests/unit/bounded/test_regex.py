"""Patterns of others are searched for in this process: with the answers of Python's engine, and not for long."""

import random
import re
import time
import warnings
from pathlib import Path

import pytest

from mcp_conductor.bounded.regex import Regex, compile_regex
from mcp_conductor.bounded.worker import at_once
from mcp_conductor.suites.matching.matchers.regexes import read_written_regex

ROOT = Path(__file__).parents[3]
LATER = object()
SEMVER = (
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$"
)


def patterns_of_our_files() -> set[str]:
    """All that stand behind `match:regex:` in tests, documentation and examples."""
    folders = ("docs", "examples", "tests/e2e/suites", "tests/golden", "tests/unit/suites")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*")]
    texts = [file.read_text(errors="replace") for file in files if file.suffix in {".py", ".md", ".yml", ".yaml"}]
    return {found[1] for text in texts for found in re.finditer(r"\bregex:([^\s\"'`]+)", text)} | {SEMVER}


def test_what_is_found_here_in_any_text_is_what_python_finds():
    choose, compared = random.Random(7), 0
    for written in sorted(patterns_of_our_files()):
        try:
            regex = read_written_regex(written)
        except ValueError:
            continue
        letters = written + "a1 -.\n"
        for _ in range(20):
            text = "".join(choose.choices(letters, k=choose.randrange(14)))
            found = at_once(regex.search, text, otherwise=LATER)
            if found is not LATER:
                assert found == bool(regex._regex.search(text)), (written, text)
                compared += 1
    assert compared > 500


ATOMS = (*r"a b . \w \d \s [ab] [^a] [a-c] \b ^ $ \Z \A A \. [^\w] [A-C] 1".split(), "\n")  # noqa: SIM905


def made_up(choose: random.Random, depth: int = 3) -> str:
    """A pattern of parts that both engines know."""
    parts = []
    for _ in range(choose.randint(1, 4)):
        if depth and choose.random() < 0.3:
            part = choose.choice(["(", "(?:", "(?=", "(?!"]) + made_up(choose, depth - 1) + ")"
        else:
            part = choose.choice(ATOMS)
        # Where a lazy group is empty, Python's engine may go on for ever.
        lazy = [] if part.startswith("(") else ["*?", "+?", "??"]
        repeat = choose.choice(["*", "+", "?", "{2}", "{1,2}", "{0,3}", *lazy])
        parts.append(part + repeat * (choose.random() < 0.4) + "|" * (choose.random() < 0.1))
    return "".join(parts)


def test_what_patterns_that_were_made_up_find_is_what_python_finds():
    choose, compared = random.Random(11), 0
    for _ in range(300):
        flags = choose.choice([re.ASCII, re.ASCII | re.MULTILINE, re.IGNORECASE, re.DOTALL, 0])
        try:
            regex = compile_regex(made_up(choose), flags)
        except re.error:
            continue
        for _ in range(5):
            text = "".join(choose.choices("aabbcABC 1.\n", k=choose.randrange(7)))
            for look, expected in ((regex.search, Regex.search), (regex.captured, Regex.captured)):
                found = at_once(look, text, otherwise=LATER)
                plain = compile_regex(regex._regex.pattern, flags)
                plain.__dict__["_has_one_way"] = True
                if found is not LATER:
                    assert found == expected(plain, text), (regex._regex.pattern, flags, text)
                    compared += 1
    assert compared > 1000


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"(a|aa)+$",
        r"^(\w+\s?)*$",
        r"(?=(a+)+$)b",
        r"(a{0,30}){0,30}$",
        r"(.*a){20}[bc]",
        r"a*a*a*a*a*[bc]",
        r"(?=(?:a*a*)*[bc])",
        r"(?i)(?:A*a*)*[bc]",
        "(" * 80 + "a+" + ")+" * 80,
        "(?:" * 12 + "a" + "){2}" * 12,
        "(" * 5 + "a*" + "){2,}" * 5 + "[bc]",
        "(?:a?b?c?d?)" * 1000,
        "a*" * 2000 + "b",
    ],
)
@pytest.mark.parametrize("length", [30, 20_000])
def test_no_pattern_takes_long_here(pattern, length):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regex = compile_regex(pattern)
    began = time.process_time()
    at_once(regex.search, "a" * length + "!")
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("plain text", 10**6),
        (r"\d{4}-\d{2}-\d{2}", 100_000),
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$", 10_000),
        (SEMVER, 100),
        (r"^[^@\s]+@[^@\s]+\.[^@\s]+$", 1000),
        (r".*error.*", 3000),
        (r"error|warning|fatal|panic", 50_000),
        (r'"(?:[^"\\]|\\.)*"', 3000),
        (r"https?://\S+", 100_000),
        (r"^[\s\S]*end$", 100_000),
        (r"(?<!\d)\d\d(?!\d)", 100_000),
        (r"(['\"])a\1", 100_000),
    ],
)
def test_what_people_write_needs_no_process_of_its_own(pattern, length):
    assert at_once(compile_regex(pattern).search, "x" * length, otherwise=LATER) is False
