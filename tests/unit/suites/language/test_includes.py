"""What test files share: it holds in each of them, what they say themselves wins, and mistakes are told where they are."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.suites.language.suite import load_suite
from mcp_conductor.suites.language.variables import Variables

TEST = "tests: [{it: x, call: {tool: x, args: {a: '{{ a }}'}}, expect: {ok: true}}]"


@pytest.fixture
def load(tmp_path):
    """The suite whose head is HEAD, next to files with these names and texts."""

    def read(head, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.yml").write_text(text)
        (tmp_path / "a.test.mcp.yml").write_text(f"description: x\n{head}\n{TEST}\n")
        return load_suite(str(tmp_path / "a.test.mcp.yml"), Variables(), shown="tests/a.test.mcp.yml")

    return read


def lines(steps):
    return [step.given.value["call"] for step in steps]


def test_hooks_of_an_included_file_are_around_those_of_the_file(load, tmp_path):
    shared = "".join(f"{key}: [{{call: shared}}]\n" for key in ("setup", "before_each", "after_each", "teardown"))
    own = shared.replace("shared", "own")
    suite = load(f"include: one.yml\nvars: {{a: 1}}\n{own}", one=f"{shared}x-free: 1\n")
    assert lines(suite.setup) == lines(suite.before_each) == ["shared", "own"]
    assert lines(suite.after_each) == lines(suite.teardown) == ["own", "shared"]
    assert str(suite.setup[0].given.document.locate(suite.setup[0].given.path)) == "tests/one.yml:1:9"
    assert suite.files == (str(tmp_path / "one.yml"),)


def test_what_the_file_says_itself_wins(load):
    suite = load(
        "include: [one.yml, two.yml]\nvars: {b: own}\ntags: [own]",
        one="vars: {a: one, b: one, c: '{{ a }}'}\ntags: shared\ntimeout: 1s",
        two="vars: {a: two}\ntimeout: 2s",
    )
    variables = Variables().defining(suite.vars).values
    assert {name: variables[name] for name in ("a", "b", "c")} == {"a": "two", "b": "own", "c": "two"}
    assert suite.timeout == 2
    assert suite.cases[0].tags == {"own", "shared"}


def test_a_variable_of_the_file_may_use_shared_ones(load):
    suite = load("include: one.yml\nvars: {b: 2, a: '{{ b }}{{ c }}'}", one="vars: {a: 1, c: 3}")
    assert Variables().defining(suite.vars).values["a"] == "23"


@pytest.mark.parametrize(
    ("head", "one", "place", "said"),
    [
        ("include: none.yml", "", "tests/a.test.mcp.yml:2:1", "cannot read tests/none.yml: No such file"),
        ("include: [one.yml]", "tests: []", "tests/one.yml:1:1", "tests is not a known key"),
        ("include: one.yml", "include: one.yml", "tests/one.yml:1:1", "include is not a known key"),
        ("include: one.yml", "vars: {a: 1}\ntimeout: soon", "tests/one.yml:2:1", "timeout must be a time"),
        ("include: one.yml", "vars: {a: [", "tests/one.yml:2:1", "is not YAML"),
        ("include: one.yml", "- vars", "tests/one.yml:1:1", "must be an object"),
        ("include: 5", "", "tests/a.test.mcp.yml:2:1", "must be a string"),
    ],
)
def test_a_mistake_is_told_where_it_is(load, head, one, place, said):
    with pytest.raises(UsageError) as caught:
        load(f"{head}", one=one)
    found = [(str(each.where), each.message) for each in (caught.value, *caught.value.more)]
    assert any(where == place and said in message for where, message in found), found


def test_variables_of_a_file_that_cannot_be_read_are_not_missed_too(load):
    with pytest.raises(UsageError) as caught:
        load("include: none.yml")
    assert caught.value.more == ()
