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


SECRET = "key: sk-secret-1\nother: [sk-secret-2\n"


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize(
    "naming",
    ["include: NAME", "tests: [{it: x, parametrize: {file: NAME}}]",
     "tests: [{it: x, call: x, expect: {result: {'match:schema': {file: NAME}}}}]"],
    ids=["include", "parametrize", "schema"],
)  # fmt: skip
@pytest.mark.parametrize("text", [SECRET, "sk-secret-1: x\ntype: sk-secret-2\n", "- sk-secret-1", "sk-secret-1"])
@pytest.mark.parametrize("allowed", [False, True])
def test_a_file_outside_the_directory_needs_permission_and_is_never_quoted(
    tmp_path, monkeypatch, link, naming, text, allowed
):
    secret = tmp_path / "secret.yml"
    secret.write_text(text)
    tests = tmp_path / "tests"
    tests.mkdir()
    name = "../secret.yml"
    if link:
        (tests / "link.yml").symlink_to(secret)
        name = "link.yml"
    head = naming.replace("NAME", name)
    (tests / "a.test.mcp.yml").write_text(f"description: x\n{head}\n{TEST if 'tests:' not in head else ''}\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refused:
        load_suite("tests/a.test.mcp.yml", Variables(), shown="tests/a.test.mcp.yml", outside=allowed)
    mistakes = [refused.value, *refused.value.more]
    told = "".join(f"{each.message}{each.hint}{each.where and each.where.source}" for each in mistakes)
    assert "sk-secret" not in told
    assert ("--allow-outside" in told) is not allowed


@pytest.mark.parametrize("text", ["a: x\n  sk-secret-1: y", "sk-secret-1: x\ntests: sk-secret-2\n", "sk-secret-1"])
def test_a_test_file_that_is_a_link_to_elsewhere_is_quoted_only_where_that_is_allowed(tmp_path, text):
    (tmp_path / "secret.yml").write_text(text)
    (tmp_path / "tests").mkdir()
    link = tmp_path / "tests" / "a.test.mcp.yml"
    link.symlink_to(tmp_path / "secret.yml")
    for allowed in (False, True):
        with pytest.raises(UsageError) as refused:
            load_suite(str(link), Variables(), outside=allowed)
        mistakes = [refused.value, *refused.value.more]
        told = "".join(f"{each.message}{each.hint}{each.where and each.where.source}" for each in mistakes)
        assert ("sk-secret" in told) is allowed


def test_a_file_outside_the_directory_is_read_where_that_is_allowed(tmp_path):
    (tmp_path / "shared.yml").write_text("vars: {a: 1}")
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "a.test.mcp.yml").write_text(f"description: x\ninclude: ../shared.yml\n{TEST}\n")
    suite = load_suite(str(tests / "a.test.mcp.yml"), Variables(), outside=True)
    assert suite.files == (str(tmp_path / "shared.yml"),)


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
