"""Placeholders: what they become, and what is refused when a file is read."""

import json

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.placeholders import (
    FILTERS,
    MISSING,
    Draft,
    Vocabulary,
    draft,
    may_have_placeholders,
    text_draft,
)
from mcp_conductor.files.source import parse

ARGUMENTS = {
    "name": "Ada",
    "age": 36,
    "none": None,
    "empty": "",
    "no": False,
    "tags": ["a", "b"],
    "deep": {"x-y": {"a.b": [10, 20]}},
}


def repeat(text: str, times: int = 2):
    if times < 0:
        raise ValueError("times must not be negative")
    return lambda scope: text * times


ROOTS = {"arguments": lambda scope: scope["arguments"], "task": lambda scope: scope["task"]}
WORDS = Vocabulary(roots=ROOTS, known={"arguments": None, "task": ("id",)})
VARIABLES = Vocabulary(
    roots={"env": lambda scope: {"HOME": "/home"}},
    functions={"count": lambda: len, "repeat": repeat, "nothing": lambda: lambda scope: MISSING},
    variable=lambda name: lambda scope: scope.get(name, MISSING),
    variables=["sid", "user", "items"],
    strict=True,
)
SCOPE = {"sid": 7, "user": {"name": "Ada", "none": None}, "items": [{"id": "x"}]}


def field(value) -> Field:
    return Field.root(parse(json.dumps(value), "some.json"), {})


def scope() -> dict:
    return {"arguments": ARGUMENTS, "task": {}}


def filled(value, words=WORDS, given=None):
    return draft(field(value), words).filled(given or scope())


def refusal(value, words=WORDS) -> UsageError:
    with pytest.raises(UsageError) as caught:
        draft(field(value), words)
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ arguments.name }}", "Ada"),
        ("{{arguments.age}}", 36),
        ("{{ arguments.tags }}", ["a", "b"]),
        ("{{ arguments.no }}", False),
        ("{{ arguments.none }}", None),
        ("{{ arguments.missing }}", None),
        ("{{ arguments.name.deeper }}", None),
    ],
)
def test_a_lone_placeholder_keeps_the_type_of_its_value(text, expected):
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, {{ arguments.name }}!", "Hello, Ada!"),
        (" {{ arguments.age }}", " 36"),
        ("{{ arguments.tags }} {{ arguments.deep }}", '["a","b"] {"x-y":{"a.b":[10,20]}}'),
        ("<{{ arguments.none }}>", "<null>"),
        ("<{{ arguments.missing }}>", "<>"),
        ("{{ arguments.name }}{{ arguments.name }}", "AdaAda"),
        ("no placeholder, } or }} or { alone", "no placeholder, } or }} or { alone"),
    ],
)
def test_within_a_text_strings_stand_as_they_are_and_other_values_as_json(text, expected):
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tags[0]", "a"),
        ("tags[-1]", "b"),
        ("tags[2]", None),
        ("tags[-3]", None),
        ("tags.0", None),
        ("deep.x-y", {"a.b": [10, 20]}),
        ('deep.x-y["a.b"][1]', 20),
        ('["name"]', "Ada"),
        ("name[0]", None),
    ],
)
def test_a_path_goes_through_members_and_indexes(path, expected):
    dot = "" if path.startswith("[") else "."
    assert filled(f"{{{{ arguments{dot}{path} }}}}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{{ arguments.missing ?? "nobody" }}', "nobody"),
        ("{{ arguments.none ?? 0 }}", 0),
        ('{{ arguments.empty ?? "x" }}', ""),
        ("{{ arguments.no ?? true }}", False),
        ('{{ arguments.missing ?? {"a": {"b": "}} | ??"}} }}', {"a": {"b": "}} | ??"}}),
        ("{{arguments.missing??null}}", None),
        ("<{{ arguments.missing ?? [] }}>", "<[]>"),
    ],
)
def test_a_default_stands_in_for_what_is_missing_or_null(text, expected):
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ arguments.name | json }}", '"Ada"'),
        ("{{ arguments.missing | json }}", "null"),
        ("{{ arguments.age | text }}", "36"),
        ("{{ arguments.missing | text }}", ""),
        ("{{ arguments.tags | count }}", 2),
        ("{{ arguments.deep | count }}", 1),
        ("{{ arguments.missing | count }}", 0),
        ("{{ arguments.age | count }}", 0),
        ("{{ arguments.missing ?? [1, 2] | count }}", 2),
        ("{{ arguments.tags | json | count }}", 9),
        ("{{ arguments.tags | count }} tags", "2 tags"),
    ],
)
def test_filters_come_after_the_default(text, expected):
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\{{ arguments.name }}", "{{ arguments.name }}"),
        (r"\{{ {{ arguments.name }}", "{{ Ada"),
        (r"{{ arguments.name }}\{{", "Ada{{"),
        (r"\{ \\", r"\{ \\"),
    ],
)
def test_a_backslash_keeps_two_braces_as_they_are(text, expected):
    assert filled(text) == expected


def test_placeholders_are_found_at_any_depth_but_not_in_keys():
    value = {"{{ no }}": 1, "list": [1, {"x": "{{ arguments.age }}"}, "{{ arguments.name }}"], "fixed": {"a": [None]}}
    assert filled(value) == {"{{ no }}": 1, "list": [1, {"x": 36}, "Ada"], "fixed": {"a": [None]}}


def test_members_stay_in_their_order():
    assert list(filled({"b": "{{ arguments.age }}", "a": 1, "c": "{{ arguments.age }}"})) == ["b", "a", "c"]


def test_what_has_no_placeholders_is_the_same_value_every_time():
    fixed = draft(field({"content": [{"type": "text", "text": r"\{{ }}"}]}), WORDS)
    assert fixed == Draft({"content": [{"type": "text", "text": "{{ }}"}]})
    assert fixed.filled(scope()) is fixed.filled(scope())


def test_filling_in_does_not_change_the_draft():
    some = draft(field({"a": ["{{ arguments.age }}"]}), WORDS)
    first = some.filled(scope())
    first["a"].append("mine")
    assert some.filled(scope()) == {"a": [36]}


@pytest.mark.parametrize(("text", "expected"), [("{{ arguments.age }}", "36"), ("{{ arguments.missing }}", "")])
def test_a_text_that_must_stay_a_text_does(text, expected):
    assert text_draft(field(text), WORDS).filled(scope()) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{{ argument.name }}", "did you mean 'arguments'?"),
        ("{{ arguments.name | jsn }}", "did you mean 'json'?"),
        ("{{ task.ib }}", "known here: id"),
        ("{{ xyz }}", "known here: arguments, task"),
        ("{{ arguments | xyz }}", f"known here: {', '.join(FILTERS)}"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(text, hint):
    error = refusal(["fine", text])
    assert error.hint == hint
    assert str(error.where) == "some.json:1:10"


@pytest.mark.parametrize(
    "text",
    [
        "{{",
        "{{ }}",
        "{{ arguments.name",
        "{{ arguments.name }",
        "{{ arguments. }}",
        "{{ arguments[x] }}",
        "{{ arguments name }}",
        "{{ arguments.name ?? }}",
        "{{ arguments.name ?? nobody }}",
        "{{ arguments.name ?? NaN }}",
        "{{ arguments.name | }}",
        "{{ arguments.name | json ?? 1 }}",
    ],
)
def test_what_cannot_be_read_is_refused(text):
    assert refusal(text).hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ sid }}", 7),
        ("{{ user }}", {"name": "Ada", "none": None}),
        ("{{ user.name }}", "Ada"),
        ("{{ items[0].id }}", "x"),
        ("{{ user.none }}", None),
        ("{{ env.HOME }}/{{ sid }}", "/home/7"),
    ],
)
def test_a_variable_begins_a_path_as_a_root_does(text, expected):
    assert filled(text, VARIABLES, SCOPE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ count() }}", 3),
        ("{{count( )}}", 3),
        ('{{ repeat("ab") }}', "abab"),
        ('{{ repeat( "}})" , 3 ) }}', "}})}})}})"),
        ('<{{ repeat("a") | json }}>', '<"aa">'),
        ('{{ nothing() ?? "else" }}', "else"),
        ("{{ count ?? 0 }}", 0),
    ],
)
def test_a_function_is_called_with_json(text, expected):
    assert filled(text, VARIABLES, SCOPE) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{{ repaet("a") }}', "did you mean 'repeat()'?"),
        ("{{ count }}", "did you mean 'count()'?"),
        ("{{ repeat() }}", "write repeat(text: str, times: int = 2)"),
        ('{{ repeat("a", 1, 2) }}', "write repeat(text: str, times: int = 2)"),
        ('{{ repeat("a", true) }}', "write repeat(text: str, times: int = 2)"),
        ('{{ repeat("a", -1) }}', "times must not be negative"),
        ("{{ repeat(a) }}", 'an argument is JSON, such as "text", 0, false or []'),
        ('{{ repeat("a" 1) }}', "arguments are separated by commas and end with )"),
        ('{{ repeat("a", 1 }}', "arguments are separated by commas and end with )"),
        ("{{ repeat(", 'an argument is JSON, such as "text", 0, false or []'),
    ],
)
def test_a_call_that_cannot_be_made_is_refused_when_the_file_is_read(text, hint):
    assert refusal(text, VARIABLES).hint == hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{{ usr }}", "did you mean 'user'?"),
        ("{{ xyz }}", "known here: items, sid, user, env, count(), repeat(), nothing()"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest(text, hint):
    assert refusal(text, VARIABLES).hint == hint


def test_a_variable_with_a_default_need_not_be_known():
    assert filled('{{ host ?? "localhost" }}', VARIABLES, SCOPE) == "localhost"
    assert filled('{{ host ?? "localhost" }}', VARIABLES, {"host": "there"}) == "there"


def test_where_any_variable_may_come_none_is_refused():
    words = Vocabulary(variable=lambda name: lambda scope: scope.get(name, MISSING))
    assert filled("{{ whatever }}", words, {"whatever": 1}) == 1
    assert filled("<{{ whatever }}>", words, {"else": 1}) == "<>"


def test_a_draft_says_which_variables_it_cannot_do_without():
    some = draft(field({"a": ["{{ sid }}", {"b": "{{ user.name }}{{ items }}"}], "c": "{{ host ?? 1 }}"}), VARIABLES)
    assert some.needs == {"sid", "user", "items"}
    assert draft(field("{{ env.HOME }}{{ count() }}"), VARIABLES).needs == set()


@pytest.mark.parametrize(
    "text", ["{{ user.nmae }}", "<{{ items[3] }}>", "{{ sid.x | json }}", "{{ env.NO }}", "{{ nothing() }}"]
)
def test_a_strict_vocabulary_refuses_what_leads_to_nothing(text):
    some = draft(field({"deep": [text]}), VARIABLES)
    with pytest.raises(UsageError) as caught:
        some.filled(SCOPE)
    assert text.strip("<>") in caught.value.message
    assert str(caught.value.where) == "some.json:1:11"


def test_a_long_list_of_names_is_cut_short():
    words = Vocabulary(variable=lambda name: lambda scope: 1, variables=[f"name{n:02}" for n in range(30)])
    hint = refusal("{{ xyz }}", words).hint
    assert hint is not None
    assert hint.endswith("name18, name19, …")


def test_what_has_no_two_braces_need_not_be_read():
    assert not may_have_placeholders({"{{ key }}": ["a { b", 1, None, {"c": "}}"}]})
    assert may_have_placeholders({"a": [1, {"b": "x {{ sid }}"}]})
    assert may_have_placeholders(r"\{{")
