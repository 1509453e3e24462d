"""Rows of a test from a file of their own: what they are, and where mistakes in them are told."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.suites.language.suite import load_suite
from mcp_conductor.suites.language.variables import Variables

SUITE = """\
description: x
tests:
  - it: adds
    parametrize: {file: FILE}
    call: {tool: add, args: {a: "{{ a }}", b: "{{ b }}"}}
    expect: {ok: true}
"""
TABLES = {
    "rows.csv": 'id,a, b\nsmall,1,2\n\n"large, larger",300,-4\n',
    "rows.tsv": "id\ta\tb\r\nsmall\t1\t2\r\nlarge, larger\t300\t-4",
    "rows.json": '[{"id": "small", "a": 1, "b": 2}, {"id": "large, larger", "a": 300, "b": -4}]',
    "rows.yml": "- {id: small, a: 1, b: 2}\n- {id: 'large, larger', a: 300, b: -4}\n",
}


@pytest.fixture
def load(tmp_path):
    """The suite whose rows stand in the file NAME, which holds TEXT."""

    def read(name, text):
        (tmp_path / "a.test.mcp.yml").write_text(SUITE.replace("FILE", name))
        if text is not None:
            (tmp_path / name).write_text(text)
        return load_suite(str(tmp_path / "a.test.mcp.yml"), Variables(), shown="tests/a.test.mcp.yml")

    return read


@pytest.mark.parametrize("name", TABLES)
def test_rows_stand_in_a_file(load, tmp_path, name):
    suite = load(name, TABLES[name])
    rows = {case.title: case.row for case in suite.cases}
    assert rows == {"adds [small]": {"a": 1, "b": 2}, "adds [large, larger]": {"a": 300, "b": -4}}
    assert suite.files == (str(tmp_path / name),)


def test_cells_of_csv_are_json_if_they_can_be_and_text_else(load):
    suite = load("a.csv", 'a,b\n5,true\n5 apples,\n"""5""","[1, 2]"\n007,"two\nlines"\n')
    rows = [(5, True), ("5 apples", ""), ("5", [1, 2]), ("007", "two\nlines")]
    assert [(case.row["a"], case.row["b"]) for case in suite.cases] == rows


@pytest.mark.parametrize(
    ("name", "text", "place", "said"),
    [
        ("rows.csv", "a,b\n1,2\n3\n", "tests/rows.csv:3:1", "this row has 1 values, and the first line 2 names"),
        ("rows.csv", 'a,b\n"1\n\n2",3\n4\n', "tests/rows.csv:5:1", "this row has 1 values"),
        ("rows.csv", "a,b c\n1,2\n", "tests/rows.csv:1:1", "the name 'b c' in the first line"),
        ("rows.csv", "a,a\n1,2\n", "tests/rows.csv:1:1", "the name 'a' appears twice"),
        ("rows.csv", 'a,b\n1,"2" x\n', "tests/rows.csv:2:1", "is not CSV that can be read"),
        ("rows.csv", 'a,b\n1,"2\n', "tests/rows.csv:2:1", "is not CSV that can be read"),
        ("rows.csv", "a,b\n", "tests/a.test.mcp.yml:4:5", "has no rows"),
        ("rows.csv", "a\n" + "1\n" * 10_001, "tests/a.test.mcp.yml:4:5", "more than 10000 rows"),
        ("rows.json", '[{"a": 1},\n {"a b": 2}]', "tests/rows.json:2:3", "[1].a b"),
        ("rows.json", "[1,\n", "tests/rows.json:2:1", "is not JSON"),
        ("rows.json", '{"a": 1}', "tests/rows.json:1:1", "must be an array"),
        ("rows.csv", None, "tests/a.test.mcp.yml:4:19", "cannot read tests/rows.csv: No such file or directory"),
        ("rows.xls", "", "tests/a.test.mcp.yml:4:19", "which does not end with a known suffix"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_table_is_told_alone_with_its_place(load, name, text, place, said):
    with pytest.raises(UsageError) as caught:
        load(name, text)
    assert str(caught.value.where) == place
    assert said in caught.value.message
    assert caught.value.more == ()


def test_a_table_is_an_array_or_the_name_of_a_file(tmp_path):
    for wrong, said in (
        ("5", "must be an array of rows"),
        ("{fil: x}", "is not a known key"),
        ("{}", "does not name a file"),
    ):
        (tmp_path / "a.test.mcp.yml").write_text(SUITE.replace("{file: FILE}", wrong))
        with pytest.raises(UsageError) as caught:
            load_suite(str(tmp_path / "a.test.mcp.yml"), Variables())
        assert said in caught.value.message
