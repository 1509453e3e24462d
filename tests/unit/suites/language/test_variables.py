"""Variables of a run: which source wins, what is refused, and what placeholders become."""

import re

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.suites.language.variables import Variables, check_name, filling, from_command_line


def run(**given) -> Variables:
    nothing = {"files": [], "pairs": [], "secrets": [], "environ": {}, "config": {}, "seed": 1}
    return from_command_line(**{**nothing, **given})


def field(text: str) -> Field:
    document = parse(text, "some.test.mcp.yml")
    return Field(document, (), document.data)


def filled(text: str, variables: Variables):
    return filling(field(text), variables.names()).filled(variables)


def refusal(**given) -> UsageError:
    with pytest.raises(UsageError) as caught:
        run(**given)
    return caught.value


@pytest.fixture
def vars_file(tmp_path):
    def write(text: str, name: str = "vars.yaml") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_each_source_wins_over_those_before_it(vars_file):
    values = run(
        config=dict.fromkeys("abcdef", "config"),
        files=[
            vars_file("{b: first, c: first, d: first, e: first, f: first}", "1.yaml"),
            vars_file('{"c": 2}', "2.json"),
        ],
        environ={"MCP_VAR_d": "environment", "MCP_VAR_e": "environment", "MCP_VAR_f": "environment", "OTHER": "x"},
        pairs=["e=early", "e=pair", "f=pair"],
        secrets=["f=secret"],
    ).values
    assert values == {"a": "config", "b": "first", "c": 2, "d": "environment", "e": "pair", "f": "secret"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8080", 8080),
        ("true", True),
        ("null", None),
        ('{"a": [1]}', {"a": [1]}),
        ('"8080"', "8080"),
        ("plain = text", "plain = text"),
        ("", ""),
        ("NaN", "NaN"),
        ("0123", "0123"),
        ("[1", "[1"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_json_where_it_can_be_and_text_otherwise(text, expected):
    assert run(pairs=[f"x={text}"]).values == {"x": expected}
    assert run(environ={"MCP_VAR_x": text}).values == {"x": expected}


@pytest.mark.parametrize(
    "given",
    [
        {"pairs": ["name"]},
        {"pairs": ["=value"]},
        {"pairs": ["a-b=value"]},
        {"pairs": ["1a=value"]},
        {"pairs": ["env=value"]},
        {"secrets": ["a b=value"]},
        {"environ": {"MCP_VAR_": "value"}},
        {"environ": {"MCP_VAR_env": "value"}},
        {"config": {"a.b": "value"}},
        {"files": ["/does/not/exist.yaml"]},
    ],
)
def test_what_cannot_be_a_variable_is_refused(given):
    refusal(**given)


def test_a_secret_given_in_the_wrong_way_is_not_shown():
    assert "hunter22" not in refusal(secrets=["hunter22"]).message


@pytest.mark.parametrize(
    ("text", "name", "where"),
    [("- a\n- b", "vars.yaml", "1:1"), ("[1]", "vars.json", "1:1"), ("good: 1\nnot good: 2", "vars.yaml", "2:1")],
)
def test_a_file_of_variables_that_is_none_is_refused_at_its_place(vars_file, text, name, where):
    assert str(refusal(files=[vars_file(text, name)]).where).endswith(f"{name}:{where}")


def test_an_empty_file_of_variables_is_refused(vars_file):
    assert "must be an object" in refusal(files=[vars_file("")]).message


def test_a_file_of_variables_may_use_the_environment(vars_file):
    assert run(files=[vars_file("home: ${HOME}")], environ={"HOME": "/home"}).values == {"home": "/home"}


def test_the_name_of_a_variable_in_a_file_is_refused_at_its_place():
    members = field("fine: 1\nnot fine: 2\n").members()
    check_name(members["fine"], "fine")
    with pytest.raises(UsageError) as caught:
        check_name(members["not fine"], "not fine")
    assert str(caught.value.where) == "some.test.mcp.yml:2:1"


def test_more_variables_leave_the_first_ones_as_they_were():
    outer = Variables(values={"a": 1, "b": 1})
    inner = outer.with_({"b": 2, "c": 2})
    assert (outer.names(), inner.names()) == ({"a", "b"}, {"a", "b", "c"})
    assert (outer.values["b"], inner.values["b"]) == (1, 2)
    assert outer.with_({}) is outer


def test_variables_of_a_file_may_use_those_before_them_and_the_environment():
    variables = run(pairs=["port=80"], environ={"HOST": "here"})
    known = variables.names()
    drafts = {}
    for name, member in field("{host: '{{ env.HOST }}', url: '{{ host }}:{{ port }}', port: 81}").members().items():
        drafts[name] = filling(member, known)
        known.add(name)
    assert variables.defining(drafts).values == {"host": "here", "url": "here:80", "port": 81}


def test_a_variable_of_a_file_may_be_a_default_for_one_that_is_given():
    given = field("{host: '{{ host ?? \"localhost\" }}'}").members()
    drafts = {"host": filling(given["host"], set())}
    assert run().defining(drafts).values == {"host": "localhost"}
    assert run(pairs=["host=there"]).defining(drafts).values == {"host": "there"}


def test_secrets_are_used_like_variables_and_are_known_by_their_text():
    variables = run(secrets=["pin=1234", "token=a=b"])
    assert variables.values == {"pin": "1234", "token": "a=b"}
    assert variables.secrets == {"1234", "a=b"}
    assert "1234" not in repr(variables)


def test_what_is_captured_can_be_a_secret_too():
    variables = run(secrets=["pin=1234"]).with_secrets({"token": {"a": ["text", 55], "b": True, "c": None}})
    assert variables.with_({"token": 1}).secrets == {"1234", "text", "55"}


def test_a_value_without_placeholders_is_itself():
    given = field("{a: [1, {b: text}]}")
    same = filling(given, set())
    assert same.filled(Variables()) is given.value
    assert same.is_fixed
    assert same.needs == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'{{ sid }}'", 7),
        ("'{{ user.tags[0] }}!'", "a!"),
        ("{a: ['{{ user.tags }}']}", {"a": [["a"]]}),
        ("'{{ env.HOME }} {{ env(\"HOME\") }}'", "/home /home"),
        ("'{{ env.NO ?? \"else\" }}'", "else"),
        (r"'\{{ sid }}'", "{{ sid }}"),
    ],
)
def test_placeholders_become_values(text, expected):
    variables = run(environ={"HOME": "/home"}).with_({"sid": 7, "user": {"tags": ["a"]}})
    assert filled(text, variables) == expected


def test_a_filling_tells_what_it_needs():
    assert filling(field("['{{ sid }}', '{{ user.name }} {{ env.HOME }} {{ uuid() }}']"), None).needs == {"sid", "user"}


def test_an_unknown_variable_is_refused_where_it_stands():
    with pytest.raises(UsageError) as caught:
        filling(field("first: 1\nsecond: '{{ sesion }}'\n"), {"session"})
    assert caught.value.hint == "did you mean 'session'?"
    assert str(caught.value.where) == "some.test.mcp.yml:2:1"


@pytest.mark.parametrize("text", ["'{{ sid }}'", "'<{{ sid.x }}>'", "'{{ env.NO }}'", "'{{ env(\"NO\") }}'"])
def test_what_leads_to_nothing_is_refused_when_it_is_used(text):
    some = filling(field(text), None)
    with pytest.raises(UsageError):
        some.filled(Variables())


def test_the_same_seed_gives_the_same_values():
    text = "['{{ uuid() }}', '{{ random_int(1, 1000000) }}', '{{ random_text(8) }}']"
    first = filled(text, run(seed=5))
    assert first == filled(text, run(seed=5))
    assert first != filled(text, run(seed=6))


def test_random_values_differ_within_a_run_and_its_scopes():
    outer = run()
    inner = outer.with_({"a": 1})
    assert len({filled("'{{ uuid() }}'", each) for each in (outer, inner, outer, inner)}) == 4


def test_random_values_of_one_test_do_not_depend_on_other_tests():
    text = "'{{ uuid() }}'"
    alone = filled(text, run().seeded_for("one"))
    everything = run()
    other = filled(text, everything.seeded_for("other"))
    assert filled(text, everything.seeded_for("one")) == alone != other
    assert filled(text, run(seed=2).seeded_for("one")) != alone


def test_generators_give_what_they_promise():
    variables = run(clock=lambda: 1_700_000_000.5)
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", filled("'{{ uuid() }}'", variables)
    )
    assert filled("'{{ now() }}'", variables) == "2023-11-14T22:13:20.500Z"
    assert {filled("'{{ random_int(1, 3) }}'", variables) for _ in range(100)} == {1, 2, 3}
    assert re.fullmatch(r"[a-z0-9]{12}", filled("'{{ random_text(12) }}'", variables))
    assert filled("'{{ random_text(0) }}'", variables) == ""


@pytest.mark.parametrize(
    "call",
    [
        "uuid(1)",
        "random_int(1)",
        "random_int(9, 1)",
        "random_int(1, 2.5)",
        "random_text(-1)",
        'random_text("8")',
        "env(1)",
        "uid()",
    ],
)
def test_a_wrong_call_is_refused_when_the_file_is_read(call):
    with pytest.raises(UsageError) as caught:
        filling(field(f"x: '{{{{ {call} }}}}'"), None)
    assert caught.value.hint
