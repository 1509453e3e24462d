"""The quick reader of YAML agrees with the exact one on everything that it reads, and leaves the rest to it."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.screens.pages import all_cases

from mcp_conductor.files import common_yaml
from mcp_conductor.files.common_yaml import read_common_yaml
from mcp_conductor.files.source import load_text, parse
from mcp_conductor.files.yaml_nodes import compose, construct

ROOT = Path(__file__).parents[3]
FOLDERS = ("examples", "tests/screens", "tests/e2e", "tests/unit", "docs", "benchmarks", "schemas")
REAL = sorted(
    file for folder in FOLDERS for end in ("*.yml", "*.yaml", "*.yml.txt") for file in (ROOT / folder).rglob(end)
)

# Pieces that a line may be made of: usual ones, and those that look like them.
SCALARS = (
    "text", "two words", "a:b", "http://a.b/c?d=e#f", "a #b", "a#b", "a, b", "1", "-1", "+1", "007", "0x1F", "0o17", "1.5",
    ".5", "-.5", "1e3", "1e999", "null", "~", "True", "false", "yes", "2026-01-31", "1:30", '""', "''", '"a b"', '"a: b"',
    '"a # b"', '"\\n\\t\\"\\\\"', '"\\x41"', '"\\u00e9"', '"\\ud83d\\ude00"', '"é"', "'it''s'", "'a\"b'", "[]", "{}",
    '[1, two, "3"]', "[1,2]", "[a b, -5]", "{a: 1}", "{a: {b: [c, d]}, e: 'f'}", '{"a": 1}', '{"a":1}', "{a: 1, a: 2}",
    "{a}", "[a: b]", "[a, ]", "{a: }", "[a", "[a] # c", "[a]#c", "{a: b} c", "[http://a, b]", "|", ">-", "&x y", "*x", "!!str 1",
    "! a", "@a", "`a", "%a", "- a", "? a", ": a", "a: b", "a : b", "a :b", "{{ x }}", '"{{ x }}"', "é", "ß: a", "<<", "...",
    "... a", ".", "..", "./a", "---", "--- a", "-", "-a", "--a", '"a', "'a", '"a" b', "a\tb", "a\u00a0b", "a\u2028b", "# c",
    "a # c", '"a" # c', "=", "$a", "/a", "(a)", "^a", "\\a", "a\\b", "\U0001f600", "\ufeffa", "match:contains:a b", "a:",
    '"a": b', "12345678901234567890", "_1", "1_000", ".inf", "-.inf", ".nan", "0b1", "1.", "1.e5", "e5", "nothing", "N", "T",
)  # fmt: skip
KEYS = ("a", "b", "it", "c d", '"a"', "'b'", "match:partial", "x-y", "$schema", "1", "null", "a b:c", "<<", '"<<"', "é", "?", "a#b", "a ")  # fmt: skip

USUAL = (
    "text",
    "two words",
    "1",
    "true",
    '"a: b"',
    "'it''s'",
    '[1, two, "3"]',
    "{a: {b: c}, d: 1.5}",
    "match:type:string",
)


def exactly(text: str) -> object:
    return construct(compose("f.yml", text), "f.yml", text)


def assert_agrees(text: str) -> bool:
    """Whether TEXT is read quickly; then it is read exactly too, with the same values, types, order and places."""
    common = read_common_yaml(text)
    if common is None:
        return False
    assert repr(common.data) == repr(exactly(text)), text
    quick = parse(text, "f.yml")
    exact = replace(quick, common=None)
    for key, starts in common.items.items():
        for index in range(len(starts)):
            assert quick.locate((key, index)) == exact.locate((key, index)), text
    return True


def scalar_of(draw: random.Random) -> str:
    return draw.choice(USUAL if draw.random() < 0.9 else SCALARS)


def drawn(draw: random.Random, depth: int = 0) -> Iterator[str]:
    """The lines of a mapping, or of an array where it is not the outermost."""
    listed = depth > 0 and draw.random() < 0.4
    for number in range(draw.choice((1, 1, 2, 3))):
        if draw.random() < 0.02:
            yield draw.choice(("", "# c", "   # c", "  ", "---", "...", "\t"))
        begin = "- " * (listed or draw.random() < 0.01) + " " * (draw.random() < 0.02)
        if draw.random() < 0.3 and listed:
            yield begin + scalar_of(draw)
            continue
        key = (f"k{number}" if draw.random() < 0.8 else draw.choice(KEYS)) + (":" if draw.random() < 0.98 else " :")
        if depth < 4 and draw.random() < 0.45:
            yield begin + key + ("" if draw.random() < 0.95 else draw.choice((" ", " # c", " a")))
            indent = 2 if draw.random() < 0.9 else draw.choice((0, 1, 4))
            yield from (" " * (indent + len(begin) * listed) + line for line in drawn(draw, depth + 1))
        else:
            yield f"{begin}{key} {scalar_of(draw)}{draw.choice(('', '', '', '', ' ', '  # c'))}"


@pytest.mark.parametrize("scalar", SCALARS)
def test_a_scalar_means_the_same_in_every_place_or_is_left_to_the_exact_reader(scalar):
    places = (
        "a: {}\n", "a: {}", "- {}\n", "a:\n  - {}\n", "a:\n- {}\n- b\n", "a:\n  {}\n", "{}: a\n", "a:\n  - {}: b\n    c: d\n",
        "a: {}\n  b\n", "a: {}\n\n  # b\nc: d\n", "a: [{}, b]\n", "a: {{b: {}, c: d}}\n", "a: {{{}: b}}\n", "{}\n", "{} a\n",
    )  # fmt: skip
    for place in places:
        assert_agrees(place.format(scalar))


def test_all_generated_files_are_read_alike():
    draw = random.Random(16)
    read = sum(assert_agrees("\n".join(drawn(draw)) + draw.choice(("", "\n"))) for _ in range(2000))
    assert read > 500  # the others have something in them that is left to the exact reader


def test_real_files_are_read_alike_whole_or_with_a_mistake_in_them():
    draw = random.Random(16)
    texts = [load_text(str(file)) for file in REAL]
    texts += [case.files[name] for case in all_cases() for name in case.files if name.endswith((".yml", ".yaml"))]
    assert sum(map(assert_agrees, texts)) > 50
    for text in draw.choices([text for text in texts if 0 < len(text) < 1500], k=100):
        at = draw.randrange(len(text))
        assert_agrees(
            text[:at] + draw.choice(("", " ", "  ", "\n", ":", "-", '"', "#", "{", "a", "&")) + text[at + 1 :]
        )


def test_a_suite_as_people_write_it_is_read_quickly():
    text = """\
# The weather
description: "How it is"
tests:
  - it: should tell the weather
    request:
      jsonrpc: "2.0"
      params: {name: weather, arguments: {place: "Bern", days: 3}}

    expect:
      response:
        match:partial:
          content:
            - type: text
              text: "match:regex:\\\\d+ degrees"
"""
    common = read_common_yaml(text)
    assert common is not None
    assert common.data == exactly(text)
    assert common.items == {"tests": [(3, 4)]}


@pytest.mark.parametrize(
    "text",
    ["a: 1\na: 2\n", "a: &x 1\nb: *x\n", "a: |\n  b\n", "a: b\n  c\n", "a: b: c\n", "a:\n\tb: c\n", "a: 'b\n  c'\n", "- a\n", ""],
)  # fmt: skip
def test_what_is_unusual_or_wrong_is_left_to_the_exact_reader(text):
    assert read_common_yaml(text) is None


def test_a_file_that_may_have_too_many_values_is_left_to_the_exact_reader(monkeypatch):
    monkeypatch.setattr(common_yaml, "MOST_VALUES", 10)
    assert read_common_yaml("a: 1\nb: 2\n") is not None
    assert read_common_yaml("a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\n") is None
    assert read_common_yaml("a: [1, 2, 3, 4, 5, 6, 7]\n") is None
