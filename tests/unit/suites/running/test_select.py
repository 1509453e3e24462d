"""Which files and which tests the words of a command line mean."""

import re

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.suites.language.suite import load_suite
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.running.select import (
    FilePattern,
    chosen_by,
    files_of,
    no_files,
    read_pattern,
    shard_of,
    word_for,
)

TEXT = """
description: Files of all kinds
tags: all
tests:
  - {it: reads a file, tags: [quick, safe], call: read}
  - it: "writes {{ n }}"
    tags: slow
    parametrize: [{n: 1}, {n: 2}]
    call: write
  - {it: deletes, parametrize: [{id: one, n: 1}, {id: two, n: 2}], call: delete}
"""


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "a.test.mcp.yml").write_text(TEXT)
    return load_suite(str(tmp_path / "a.test.mcp.yml"), Variables(), shown="a.test.mcp.yml")


def titles(suite, **filters):
    chosen = chosen_by(**{"keyword": None, "tags": [], "not_tags": [], "text": None, "failed": None, **filters})
    return [case.title for case in suite.cases if chosen(suite, case)]


ALL = ["reads a file", "writes 1", "writes 2", "deletes [one]", "deletes [two]"]


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({}, ALL),
        ({"keyword": "READS"}, ALL[:1]),
        ({"keyword": "reads or writes"}, ALL[:3]),
        ({"keyword": "writes and 2"}, ["writes 2"]),
        ({"keyword": "writes 2"}, ["writes 2"]),
        ({"keyword": "not (reads or deletes)"}, ALL[1:3]),
        ({"keyword": "not not reads"}, ALL[:1]),
        ({"keyword": "kinds"}, ALL),  # the description
        ({"keyword": "a.test.mcp"}, ALL),  # the file
        ({"text": "Reads"}, []),
        ({"text": "reads a"}, ALL[:1]),
        ({"text": "/^files .*READS/i"}, ALL[:1]),
        ({"text": "/WRITES/"}, []),
        ({"text": "/^writes .$/"}, ALL[1:3]),
        ({"tags": ["quick", "slow"]}, ALL[:3]),
        ({"tags": ["all"], "not_tags": ["slow"]}, [ALL[0], *ALL[3:]]),
        ({"failed": {"a.test.mcp.yml::writes 1"}}, ["writes 1"]),
        ({"failed": {"a.test.mcp.yml::reads a file [2025-06-18]"}}, []),  # of a revision that is not asked for any more
        ({"failed": {"b.test.mcp.yml::writes 1"}}, []),
    ],
)
def test_filters_choose_tests(suite, filters, left):
    assert titles(suite, **filters) == left


@pytest.mark.parametrize("keyword", ["", "(a", "a)", "and a", "a or", "not", "()"])
def test_a_keyword_that_cannot_be_read_is_refused(suite, keyword):
    with pytest.raises(UsageError):
        titles(suite, keyword=keyword)


@pytest.mark.parametrize(
    ("word", "pattern"),
    [
        ("a.yml", FilePattern("a.yml", "a.yml")),
        ("a.yaml:24", FilePattern("a.yaml:24", "a.yaml", line=24)),
        ("C:\\x\\a.yml:2", FilePattern("C:\\x\\a.yml:2", "C:\\x\\a.yml", line=2)),
        ("a.yml:b", FilePattern("a.yml:b", "a.yml:b")),
        ("a.yml::says: b", FilePattern("a.yml::says: b", "a.yml", name="says: b")),
        ("tests/", FilePattern("tests/", "tests/")),
    ],
)
def test_a_word_is_a_path_with_a_line_or_a_name(word, pattern):
    assert read_pattern(word) == pattern


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("a.yml", ALL),
        ("a.yml:5", ALL[:1]),
        ("a.yml:8", ALL[1:3]),
        ("a.yml:2", []),
        ("a.yml::deletes", ALL[3:]),
        ("a.yml::deletes [two]", ALL[4:]),
        ("a.yml::delete", []),
    ],
)
def test_a_pattern_means_tests(suite, word, meant):
    assert [case.title for case in read_pattern(word).tests(suite.cases)] == meant


# Texts of files after their first line, each with the tests that these lines mean: `.` is none.
LAYOUTS = {
    "indented": ("tests:\n  - it: a\n    list: tools\n  - it: b\n    list: tools\n", ". a a b b"),
    "at the margin": ("tests:\n- it: a\n  list: tools\n- it: b\n  list: tools", ". a a b b"),
    "blank lines and comments": (
        "tests:\n\n  # of a\n  - it: a\n\n    list: tools\n    # more of a\n\n  # of b\n  - it: b\n    list: tools\n\n# the end\n",
        ". . . a a a a . . b b . .",
    ),
    "a key after the tests": (
        "tests:\n  - it: a\n    list: tools\n  - it: b\n    list:\n      tools\n\nvars: {}\n",
        ". a a b b b . .",
    ),
    "texts of several lines": (
        "tests:\n  - it: a\n    raw: |\n      x\n\n      # y\n\n  - it: b\n    raw: >-\n      x\n\n",
        ". a a a a a . b b b .",
    ),
    "a dash alone": (
        "tests:\n  -\n    it: a\n    list: tools\n  - # b\n    # b\n\n    it: b\n    list: tools\n",
        ". a a a b b b b b",
    ),
    "one line": ("tests:\n  - {it: a, list: tools}\n  - {it: b, list: tools}\n", ". a b"),
    "in brackets": ("tests: [\n  {it: a,\n   list: tools},\n  {it: b, list: tools}]\n", ". a a b"),
    "in brackets that end where others begin": ("tests: [{it: a,\n list: tools}, {it: b,\n list: tools}]\n", "a ab b"),
    "JSON": (
        '{"description": "x",\n "tests": [\n  {\n    "it": "a",\n\t"list": "tools"\n  },\n  {\n    "it": "b", "list": "tools"}\n]}',
        ". a a a a b b .",
    ),
    "CRLF and tabs": (
        "tests:\r\n  - it: a\r\n    list: tools\t# x\r\n\r\n  - it: b\r\n    list: tools\r\n    tags: [x,\r\n\ty]\r\n\r\n",
        ". a a . b b b b .",
    ),
    "what only some readers take for the end of a line": (
        "x-a: '\u2028\u0085'\ntests:\n  - it: a\n    raw: '\u2029'\n  - it: b\n    list: tools\n",
        ". . a a b b",
    ),
    "aliases": (
        "x-a: &a {it: a, list: tools}\nx-b: &b\n  list: tools\ntests:\n  - *a\n  - it: b\n    <<: *b\n\n",
        "a . . . . b b .",
    ),
    "rows": (
        "tests:\n  - it: a\n    parametrize:\n      - {id: x}\n      # none\n      - id: y\n        n: 1\n    list: tools\n  - it: b\n    list: tools\n",
        ". xy xy x xy y y xy b b",
    ),
    "rows in one line": ("tests:\n  - it: a\n    parametrize: [{id: x}, {id: y}]\n    list: tools\n", ". xy xy xy"),
    "rows in brackets": (
        "tests:\n  - it: a\n    parametrize: [{id: x},\n      {id: y}, {id: z}]\n    list: tools\n",
        ". xyz x yz xyz",
    ),
    "all in one line": (
        "tests: [{it: a, parametrize: [{id: x}, {id: y}], list: tools}, {it: b, list: tools}]\n",
        "xyb",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_line_means_the_test_or_the_row_that_stands_there(tmp_path, layout):
    text, meant = LAYOUTS[layout]
    text = text if text.startswith("{") else f"description: x\n{text}"
    (tmp_path / "a.test.mcp.yml").write_bytes(text.encode())
    cases = load_suite(str(tmp_path / "a.test.mcp.yml"), Variables()).cases
    found = [
        "".join(re.sub(r"a \[(.)\]", r"\1", case.title) for case in read_pattern(f"a.test.mcp.yml:{line}").tests(cases))
        for line in range(2, len(meant.split()) + 2)
    ]
    assert " ".join(each or "." for each in found) == meant
    for case in cases:
        assert read_pattern(word_for("a.test.mcp.yml", cases, case)).tests(cases) == [case]
        assert case.where.line == case.lines[0] or layout == "a dash alone"


def test_files_are_found_in_one_order_and_not_in_generated_directories(tmp_path):
    for name in ("b.test.mcp.yml", "a.test.mcp.yaml", "c.yml", "node_modules/d.test.mcp.yml", ".git/e.test.mcp.yml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = {word: files_of(read_pattern(word), str(tmp_path)) for word in (".", "*.yml", "c.yml:1", "x.yml")}
    names = {word: [file.rpartition("/")[2] for file in files] for word, files in found.items()}
    assert names == {
        ".": ["a.test.mcp.yaml", "b.test.mcp.yml"],
        "*.yml": ["b.test.mcp.yml", "c.yml"],
        "c.yml:1": ["c.yml"],
        "x.yml": [],
    }


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        (".", "there is greet.test.yml, but test files are called NAME.test.mcp.yml"),
        ("gret.test.mcp.yml", "did you mean 'greet.test.yml'?"),
        ("greet.test.mcp.yml:3", "did you mean 'greet.test.yml'?"),
        ("nowhere/x.yml", "looked for from {directory}; test files are called NAME.test.mcp.yml"),
    ],
)
def test_where_no_file_is_found_those_that_are_nearly_called_so_are_named(tmp_path, word, hint):
    (tmp_path / "greet.test.yml").touch()
    assert no_files(read_pattern(word), str(tmp_path)).hint == hint.format(directory=tmp_path)


@pytest.mark.parametrize("word", ["python", "server.py", "npx", "http://127.0.0.1:8000/mcp"])
def test_a_server_in_place_of_a_file_goes_after_the_two_dashes(tmp_path, word):
    (tmp_path / "server.py").touch()
    assert files_of(read_pattern(word), str(tmp_path)) == []
    error = no_files(read_pattern(word), str(tmp_path))
    assert (error.message, error.hint) == (
        f"{word!r} is not a test file",
        "the server goes after --: conductor test -- …",
    )


@pytest.mark.parametrize(("text", "part"), [("1/1", (1, 1)), ("2/3", (2, 3))])
def test_a_shard_is_a_part_of_so_many(text, part):
    assert shard_of(text) == part


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "-1/2"])
def test_a_shard_that_cannot_be_is_refused(text):
    with pytest.raises(UsageError):
        shard_of(text)
