"""What is sent to a tool, a prompt or a template: from names, descriptions and the command line of the server."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.suites.authoring.argument_names import suggested_texts, words_of
from mcp_conductor.suites.authoring.case_drafts import CaseDraft
from mcp_conductor.suites.authoring.command_values import CommandValues, Places, command_values
from mcp_conductor.suites.authoring.fillings import MOST_WAYS, fillings
from mcp_conductor.suites.authoring.given_arguments import GivenArguments
from mcp_conductor.suites.authoring.known_values import KnownValues

READS = {"readOnlyHint": True}


def tool(properties, *, annotations=READS, name="look", description=""):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    item = {"name": name, "description": description, "inputSchema": schema, "annotations": annotations}
    return CaseDraft(group="Tools", what="a tool", kind="tool", item=item, tool=item, about=description)


def arguments(draft, **known):
    return [way.action["call"].get("args", {}) for way in fillings(draft, KnownValues(**known))]


@pytest.mark.parametrize("name", ["repoPath", "repo_path", "repo-path", "RepoPath", "REPO_PATH"])
def test_a_name_is_made_of_words(name):
    assert words_of(name) == ["repo", "path"]


@pytest.mark.parametrize(
    ("name", "described", "first"),
    [
        ("timezone", "", "UTC"),
        ("time_zone", "", "UTC"),
        ("targetTimeZone", "", "UTC"),
        ("time", "Time to convert in 24-hour format (HH:MM)", "12:00"),
        ("startDate", "", "2026-01-01"),
        ("email", "", "user@example.invalid"),
        ("urls", "", "http://127.0.0.1:9/"),
        ("user_id", "", "1"),
        ("revision", "", "HEAD"),
        ("query", "SELECT SQL query to execute", "SELECT 1"),
        ("zone", "IANA timezone name (e.g., 'America/New_York', 'Europe/London')", "America/New_York"),
        ("kind", "Whether to list local branches ('local') or remote ones ('remote')", "local"),
        ("resource", "such as docs/a.md", "docs/a.md"),
    ],
)
def test_a_name_and_a_description_suggest_a_value(name, described, first):
    assert suggested_texts(name, described)[0] == first


@pytest.mark.parametrize("described", ["", "The user's name, and the user's address", "What to say"])
def test_a_plain_word_suggests_nothing(described):
    assert suggested_texts("message", described) == []


def test_what_the_schema_offers_comes_before_what_a_name_suggests():
    properties = {
        "timezone": {"type": "string", "examples": ["Asia/Tokyo"]},
        "date": {"type": "string", "default": "today"},
        "url": {"enum": ["a", "b"]},
        "id": {"type": "integer", "minimum": 5},
    }
    assert arguments(tool(properties))[0] == {"timezone": "Asia/Tokyo", "date": "today", "url": "a", "id": 5}


def test_several_ways_are_offered_each_with_another_value_of_one_argument():
    described = {"one": {"type": "string", "description": "'A', 'B' or 'C'"}, "two": {"description": "'x' or 'y'"}}
    ways = arguments(tool(described))
    assert ways[:4] == [{"one": one, "two": two} for one, two in ("Ax", "Bx", "Ay", "Cx")]
    assert len(ways) <= MOST_WAYS


def test_an_array_has_one_item_for_its_name():
    assert arguments(tool({"dates": {"type": "array", "items": {"type": "string"}}}))[0] == {"dates": ["2026-01-01"]}


def test_a_tool_that_may_change_something_is_given_nothing_that_is_there():
    draft = tool({"path": {"type": "string"}, "id": {"type": "string"}}, annotations={})
    known = CommandValues(directories=("/data",), files=("/data/a.txt",))
    assert arguments(draft, command=known) == [{"path": "sample", "id": "sample"}]


# What a person gives.


def given(*pairs):
    return GivenArguments([tuple(pair.split("=")) for pair in pairs])


def test_what_is_given_wins_and_is_typed_by_the_schema():
    draft = tool({"id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}, annotations={})
    known = given("id=7", "tags=a", "tags=b", "look.id=8", "other.id=9")
    assert arguments(draft, given=known) == [{"id": 8, "tags": ["a", "b"]}]


def test_an_optional_argument_can_be_given():
    draft = tool({"a": {"type": "string"}})
    draft.item["inputSchema"]["required"] = []
    assert arguments(draft, given=given("a=x")) == [{"a": "x"}]
    assert arguments(draft) == [{}]


def test_prompts_and_templates_are_given_texts():
    (way,) = template("book://{what}", given=given("what=a b"))
    assert way.action == {"read": "book://a%20b"}
    item = {"name": "p", "arguments": [{"name": "mood"}, {"name": "more"}]}
    draft = CaseDraft(group="P", what="p", kind="prompt", item=item)
    (way,) = fillings(draft, KnownValues(given=given("p.mood=calm")))
    assert way.action == {"prompt": {"name": "p", "args": {"mood": "calm"}}}


@pytest.mark.parametrize(
    ("pair", "message", "hint"),
    [
        ("pth=x", "--arg pth: no tool, prompt or template has such an argument", "did you mean path?"),
        ("quite.different=x", "--arg quite.different: no tool, prompt or template has such an argument", "--arg NAME"),
        ("number=x", "argument 'number': 'x' is not an integer", ""),
    ],
)
def test_what_nothing_takes_is_an_error(pair, message, hint):
    found = [tool({"path": {"type": "string"}, "number": {"type": "integer"}})]
    with pytest.raises(UsageError) as raised:
        given(pair).check(found)
    assert raised.value.message == message
    assert (raised.value.hint or "").startswith(hint)


def test_one_that_takes_it_is_enough():
    found = [tool({"id": {"type": "integer"}}), tool({"id": {"type": "string"}}, name="other")]
    given("id=x").check(found)
    assert arguments(found[0], given=given("id=x"))[0] == {"id": 1}
    assert arguments(found[1], given=given("id=x")) == [{"id": "x"}]


# The command line.


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "files" / "sub").mkdir(parents=True)
    for name in ("b.txt", "a.txt", ".hidden", "api-key.txt", "server.py"):
        (tmp_path / "files" / name).write_text("x")
    return tmp_path


def test_directories_of_the_command_line_and_harmless_files_in_them_are_paths(folder):
    found = command_values(["node", "server.js", "files"], str(folder))
    assert found.directories == (str(folder / "files"),)
    assert found.files == (str(folder / "files" / "a.txt"), str(folder / "files" / "b.txt"))
    assert arguments(tool({"path": {"type": "string"}}, name="list_directory"), command=found)[0] == {
        "path": str(folder / "files")
    }
    assert arguments(tool({"paths": {"type": "array", "items": {"type": "string"}}}, name="read"), command=found)[
        0
    ] == {"paths": [str(folder / "files" / "a.txt")]}


@pytest.mark.parametrize("words", [["--repository", "files"], ["--repository=files"]])
def test_the_value_of_a_flag_is_for_an_argument_of_that_name(folder, words):
    found = command_values(["mcp-server-git", *words, "--local-timezone", "Asia/Tokyo", "-v"], str(folder))
    ways = arguments(tool({"repo_path": {"type": "string"}, "timezone": {"type": "string"}}), command=found)
    assert ways[0] == {"repo_path": str(folder / "files"), "timezone": "Asia/Tokyo"}


def test_a_repository_is_where_the_server_is_started(folder):
    (folder / ".git").mkdir()
    found = command_values(["mcp-server-git"], str(folder))
    assert arguments(tool({"repo_path": {"type": "string"}}), command=found)[0] == {"repo_path": str(folder)}


def test_words_that_are_no_paths_are_no_paths(folder):
    found = command_values(["python", "-m", "server", "\0", "", "files/server.py", "--port", "80"], str(folder))
    assert (found.directories, found.files) == ((), ())


def test_directories_become_variables_of_the_suite():
    places = Places(["/data", "/data/inner"])
    sent = {"call": {"args": {"paths": ["/data/inner/a", "/data", "/database", 7]}}}
    assert places.named_in(sent)["call"]["args"]["paths"] == ["{{ directory }}/a", "{{ directory_2 }}", "/database", 7]
    assert places.used == {"directory": "/data/inner", "directory_2": "/data"}


# Templates and prompts.


def template(uri, completed=None, **known):
    item = {"uriTemplate": uri}
    draft = CaseDraft(group="T", what="t", kind="template", item=item, completed=completed or {})
    return fillings(draft, KnownValues(**known))


def test_a_template_is_filled_in_by_completions_then_by_names_then_by_listed_resources():
    ways = template(
        "book://{shelf}/{number}", {"shelf": ["a"], "number": ["x", "y"]}, resources=("book://b/7", "no://")
    )
    assert [way.action["read"] for way in ways] == ["book://a/x", "book://a/y", "book://a/1", "book://b/7"]


def test_a_template_without_a_value_is_skipped_with_the_reason():
    (way,) = template("book://{what}")
    assert way.skip == "no value for what is known: put one in, then remove this line"
    assert way.action == {"read": "book://{what}"}


def test_a_prompt_has_its_required_arguments_in_several_ways():
    listed = [{"name": "date", "required": True}, {"name": "mood", "required": True}, {"name": "more"}]
    item = {"name": "p", "arguments": listed}
    draft = CaseDraft(group="P", what="p", kind="prompt", item=item, completed={"mood": ["calm", "wild"]})
    ways = [way.action["prompt"]["args"] for way in fillings(draft, KnownValues())]
    assert ways[:3] == [
        {"date": "2026-01-01", "mood": "calm"},
        {"date": "sample", "mood": "calm"},
        {"date": "2026-01-01", "mood": "wild"},
    ]
