"""Settings of other programs: where they are, what they list, and whose they are."""

import json
from pathlib import Path

import pytest

from mcp_conductor.suites.authoring.listed_servers import listed_servers

ENTRY = {"command": "python", "args": ["server.py"]}


def write(file: Path, data: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(data if isinstance(data, str) else json.dumps(data))


def listed(directory: Path, **environ: str) -> list[tuple[str, str, bool]]:
    found = listed_servers(str(directory), environ).servers
    return [(each.name, each.source, each.of_project) for each in found]


@pytest.mark.parametrize(
    "file",
    ["mcp.json", ".mcp.json", ".mcp/any.json", ".cursor/mcp.json", ".vscode/mcp.json", "claude_desktop_config.json"],
)
@pytest.mark.parametrize("table", ["mcpServers", "servers"])
def test_settings_in_the_directory_are_those_of_the_project(tmp_path, file, table):
    write(tmp_path / file, {table: {"books": ENTRY}})
    assert listed(tmp_path, HOME=str(tmp_path / "home")) == [("books", file, True)]


@pytest.mark.parametrize(
    "file",
    [
        ".mcp.json",
        ".mcp/any.json",
        ".claude.json",
        ".cursor/mcp.json",
        ".config/Claude/claude_desktop_config.json",
        ".config/Code/User/mcp.json",
        "Library/Application Support/Claude/claude_desktop_config.json",
        "Library/Application Support/Code/User/mcp.json",
    ],
)
def test_settings_in_the_home_directory_are_those_of_the_user(tmp_path, file):
    write(tmp_path / "home" / file, {"mcpServers": {"books": ENTRY}})
    assert listed(tmp_path / "project", HOME=str(tmp_path / "home")) == [("books", f"~/{file}", False)]


def test_directories_of_programs_that_the_environment_names_are_looked_at(tmp_path):
    file = tmp_path / "elsewhere" / "Claude" / "claude_desktop_config.json"
    write(file, {"mcpServers": {"books": ENTRY}})
    for variable in ("XDG_CONFIG_HOME", "APPDATA"):
        assert listed(tmp_path, HOME=str(tmp_path / "home"), **{variable: str(tmp_path / "elsewhere")}) == [
            ("books", str(file), False)
        ]


def test_servers_of_this_project_in_the_settings_of_claude_code_are_listed_those_of_others_are_not(tmp_path):
    projects = {str(tmp_path): {"mcpServers": {"mine": ENTRY}}, "/other": {"mcpServers": {"theirs": ENTRY}}}
    write(tmp_path / "home" / ".claude.json", {"projects": projects, "mcpServers": {"all": ENTRY}})
    assert [name for name, _, _ in listed(tmp_path, HOME=str(tmp_path / "home"))] == ["mine", "all"]


def test_older_settings_of_an_editor_have_the_servers_under_mcp(tmp_path):
    write(tmp_path / ".vscode" / "settings.json", {"editor.tabSize": 4, "mcp": {"servers": {"books": ENTRY}}})
    assert listed(tmp_path) == [("books", ".vscode/settings.json", True)]


def test_what_an_editor_fills_in_becomes_what_we_can_fill_in(tmp_path):
    entry = {
        "command": "${workspaceFolder}/bin/run",
        "args": ["${workspaceFolder}"],
        "env": {"KEY": "${input:api-key}"},
    }
    write(tmp_path / ".vscode" / "mcp.json", {"servers": {"books": entry}})
    (found,) = listed_servers(str(tmp_path), {}).servers
    assert found.entry == {"command": "bin/run", "args": ["."], "env": {"KEY": "${API_KEY}"}}


@pytest.mark.parametrize(
    "data", [[], {"mcpServers": []}, {"mcpServers": {"a": 1, "b": {}, "c": {"command": "x", "url": "y"}}}]
)
def test_what_is_no_server_is_not_listed(tmp_path, data):
    write(tmp_path / "mcp.json", data)
    assert listed(tmp_path) == []


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_read(tmp_path):
    write(tmp_path / "mcp.json", "{ broken")
    write(tmp_path / ".mcp.json", {"mcpServers": {"books": ENTRY}})
    found = listed_servers(str(tmp_path), {})
    assert [each.name for each in found.servers] == ["books"]
    assert [problem.partition(" is not JSON")[0] for problem in found.problems] == ["mcp.json"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"command": 1}, "command must be a string"),
        ({"command": "x", "args": "y"}, "args must be an array of strings"),
        ({"command": "x", "args": [["y"]]}, "args must be an array of strings"),
        ({"command": "x", "env": {"A": []}}, "env must be an object with strings"),
        ({"url": "http://127.0.0.1/", "headers": []}, "headers must be an object with strings"),
    ],
)
def test_a_server_that_is_described_wrongly_is_told_and_not_listed(tmp_path, wrong, said):
    write(tmp_path / "mcp.json", {"mcpServers": {"wrong": wrong, "books": ENTRY}})
    found = listed_servers(str(tmp_path), {})
    assert [each.name for each in found.servers] == ["books"]
    assert found.problems == (f"mcp.json: server 'wrong': {said}",)


def test_values_that_are_nested_deeply_are_only_a_mistake(tmp_path):
    deep = "[" * 900 + "]" * 900
    write(
        tmp_path / "mcp.json",
        f'{{"mcpServers": {{"a": {{"command": "x", "args": [{deep}], "env": {{"A": {deep}}}}}}}}}',
    )
    assert listed_servers(str(tmp_path), {}).servers == ()


def test_numbers_of_an_environment_stay_numbers(tmp_path):
    write(tmp_path / "mcp.json", {"mcpServers": {"books": {**ENTRY, "env": {"PORT": 3000}}}})
    (found,) = listed_servers(str(tmp_path), {}).servers
    assert found.entry["env"] == {"PORT": 3000}
