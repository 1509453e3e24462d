"""`conductor init`: settings and a first suite for any project that it is run in, ready to be run."""

import json
import os
import shlex
import shutil
import sys

import pytest
import yaml
from tests.conftest import BOOKSHELF, ROOT

from mcp_conductor.cli.commands.init.flags import CI

SERVER = (ROOT / "examples" / "bookshelf.py").read_text()


@pytest.fixture
def init(conductor, tmp_path):
    """Run init in a new project, and then what it says is next."""

    def run(*words, passes=True, **environ):
        environ.setdefault("HOME", str(tmp_path / "home"))
        done = conductor("init", *words, **environ)
        assert done.code == 0, done.all
        settings = json.loads((tmp_path / "conductor.config.json").read_text())
        suite = (tmp_path / "tests" / "first.test.mcp.yml").read_text()
        assert "next: " in done.out
        if passes:
            tested = conductor("test", **environ)
            assert tested.code == 0, tested.all + suite
        return done, settings, suite

    return run


def test_the_server_that_is_named_is_asked_what_it_offers(init):
    done, settings, suite = init("--", *BOOKSHELF)
    assert [settings["command"], *settings["args"]] == list(BOOKSHELF)
    assert "calls find_books" in suite
    assert "next: conductor test" in done.out


def test_a_file_that_looks_like_a_server_is_found(init, write):
    write("server.py", SERVER)
    done, settings, suite = init()
    assert settings["args"] == ["server.py"]
    assert "server  python server.py, in server.py" in done.out
    assert "calls find_books" in suite


def test_a_file_that_has_nothing_to_do_with_mcp_is_not_started(init, write):
    write("server.py", "open('started', 'w')")
    done, settings, suite = init(passes=False)
    assert "no server was found" in done.err
    assert "(a placeholder)" in done.out
    assert "adds two numbers" in suite


def test_the_settings_of_another_program_are_taken_but_not_their_secrets(init, write, tmp_path):
    write("tools/books.py", SERVER)
    entry = {
        "command": sys.executable,
        "args": ["tools/books.py"],
        "env": {"API_KEY": "s3cret-value", "HOME": "${HOME}"},
    }
    write(".vscode/mcp.json", json.dumps({"servers": {"other": {"url": "http://127.0.0.1:9/"}, "books": entry}}))
    done, settings, suite = init(API_KEY="from the environment")
    assert settings["env"] == {"API_KEY": "${API_KEY}", "HOME": "${HOME}"}
    assert "set API_KEY in the environment" in done.out
    assert "s3cret-value" not in done.all + suite
    assert "calls find_books" in suite


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_program_of_a_node_package_is_found(init, write):
    answer = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}}
    write("bin/run.js", f"""
        require("readline").createInterface({{input: process.stdin}}).on("line", (line) => {{
          const request = JSON.parse(line)
          const result = request.method === "initialize" ? {json.dumps(answer)} : {{}}
          if ("id" in request) console.log(JSON.stringify({{jsonrpc: "2.0", id: request.id, result}}))
        }})
    """)  # fmt: skip
    write("package.json", json.dumps({"name": "my-mcp-server", "bin": {"my": "./bin/run.js"}}))
    _, settings, suite = init()
    assert (settings["command"], settings["args"]) == ("node", ["bin/run.js"])
    assert "answers ping" in suite


def test_the_script_of_a_python_project_is_found(init, write):
    write(
        "pyproject.toml", '[project]\nname = "x"\ndependencies = ["mcp"]\nscripts = {admin = "x:a", x-server = "x:b"}\n'
    )
    script = write(".venv/bin/x-server", f"#!{sys.executable}\n{SERVER}")
    script.chmod(0o755)
    _, settings, suite = init()
    assert settings["command"] == ".venv/bin/x-server"
    assert "calls find_books" in suite


def test_a_server_that_does_not_start_leaves_a_template_and_the_reason(init):
    done, settings, suite = init("--", sys.executable, "-c", "import sys; sys.exit(5)", passes=False)
    assert "exited with code 5" in done.err
    assert "next: make the server start; its command is in conductor.config.json, then: conductor test" in done.out
    assert settings["args"] == ["-c", "import sys; sys.exit(5)"]
    assert "adds two numbers" in suite


def test_settings_that_are_there_stay_and_their_server_gets_a_suite(init, write, tmp_path):
    settings = json.dumps({"command": BOOKSHELF[0], "args": list(BOOKSHELF[1:])})
    mine = write("conductor.config.json", settings)
    done, _, suite = init()
    assert mine.read_text() == settings
    assert "calls find_books" in suite
    assert "wrote conductor.config.json" not in done.out


def test_a_suite_that_is_there_stays_and_gets_settings(init, write):
    write("server.py", SERVER)
    mine = "description: mine\ntests: [{it: answers, request: {method: ping}, expect: {ok: true}}]"
    write("tests/first.test.mcp.yml", mine)
    done, settings, suite = init()
    assert settings["args"] == ["server.py"]
    assert suite == mine
    assert "wrote tests" not in done.out


@pytest.mark.parametrize(
    ("words", "file"), [((), "tests/first.test.mcp.yml"), (("--", "python", "other.py"), "conductor.config.json")]
)
def test_where_both_are_there_nothing_is_written(conductor, write, tmp_path, words, file):
    write("server.py", SERVER)
    files = [write("conductor.config.json", "{}"), write("tests/first.test.mcp.yml", "mine")]
    done = conductor("init", *words)
    assert done.code == 2
    assert f"{file} exists already" in done.err
    assert [each.read_text() for each in files] == ["{}", "mine"]


def test_settings_that_cannot_be_read_are_told_and_nothing_is_written(conductor, write, tmp_path):
    write("conductor.config.json", "{ mine")
    done = conductor("init")
    assert done.code == 2
    assert "conductor.config.json:1:" in done.err
    assert not (tmp_path / "tests").exists()


def test_the_time_limit_is_that_of_the_start_too(init):
    done, settings, _ = init(
        "--timeout", "300ms", "--", sys.executable, "-c", "import time; time.sleep(60)", passes=False
    )
    assert "no answer to initialize within 0.3 s" in done.err
    assert settings["startupTimeout"] == 10_000


STARTED = "import pathlib; pathlib.Path('started').touch()  # an MCP server"


def test_what_settings_in_the_home_directory_list_is_told_but_not_started(init, write, tmp_path):
    listed = {"mcpServers": {"notes": {"command": sys.executable, "args": ["-c", STARTED]}}}
    write("home/.config/Claude/claude_desktop_config.json", json.dumps(listed))
    done, settings, _ = init(passes=False)
    assert "notes" in done.out
    assert "in ~/.config/Claude/claude_desktop_config.json (in your own settings, so not started)" in done.out
    assert "none of them is chosen" in done.err
    assert settings["args"] == ["server.py"]
    assert not (tmp_path / "started").exists()


def test_a_server_of_the_home_directory_is_taken_when_it_is_named(init, write):
    entry = {"command": BOOKSHELF[0], "args": list(BOOKSHELF[1:]), "env": {"TOKEN": "s3cret-value", "LEVEL": "low"}}
    write(
        "home/.cursor/mcp.json", json.dumps({"mcpServers": {"books": entry, "other": {"url": "http://127.0.0.1:9/"}}})
    )
    done, settings, suite = init("--server", "books", TOKEN="from the environment")
    assert settings["env"] == {"TOKEN": "${TOKEN}", "LEVEL": "low"}
    assert "s3cret-value" not in done.all + suite
    assert "calls find_books" in suite


def test_a_directory_that_is_the_home_directory_is_no_project(init, write, tmp_path):
    listed = {"mcpServers": {"notes": {"command": sys.executable, "args": ["-c", STARTED]}}}
    write(".cursor/mcp.json", json.dumps(listed))
    init(passes=False, HOME=str(tmp_path))
    assert not (tmp_path / "started").exists()


def test_of_several_servers_that_a_project_only_uses_none_is_started(init, write, tmp_path):
    entries = {name: {"command": sys.executable, "args": ["-c", f"{STARTED} {name}"]} for name in "ab"}
    write(".mcp.json", json.dumps({"mcpServers": entries}))
    done, _, _ = init(passes=False)
    assert "conductor init --server NAME" in done.err
    assert not (tmp_path / "started").exists()


def test_a_list_starts_and_writes_nothing(conductor, write, tmp_path):
    write("server.py", STARTED)
    write(".mcp/servers.json", json.dumps({"mcpServers": {"remote": {"url": "https://u:s3cret-pass@example.com/"}}}))
    write(".vscode/mcp.json", "{ broken")
    before = sorted(tmp_path.rglob("*"))
    done = conductor("init", "--list", HOME=str(tmp_path / "home"))
    assert done.code == 0
    assert "remote" in done.out
    assert "in .mcp/servers.json" in done.out
    assert "s3cret-pass" not in done.all
    assert "warning: .vscode/mcp.json is not JSON: " in done.err
    assert "(line 1, column 3)" in done.err
    assert sorted(tmp_path.rglob("*")) == before


def test_an_unknown_name_is_told_with_the_nearest(conductor, write, tmp_path):
    write("server.py", STARTED)
    done = conductor("init", "--server", "sever", HOME=str(tmp_path / "home"))
    assert done.code == 2
    assert "did you mean 'server'?" in done.err
    assert not (tmp_path / "conductor.config.json").exists()


def test_a_script_that_is_not_installed_is_in_the_settings_and_the_next_step_installs_it(init, write):
    write("pyproject.toml", '[project]\nname = "x"\ndependencies = ["mcp"]\nscripts = {x-server-of-mine = "x:a"}\n')
    done, settings, suite = init(passes=False)
    assert "x-server-of-mine, in pyproject.toml (it is not installed: pip install -e .)" in done.out
    assert settings["command"] == "x-server-of-mine"
    assert "adds two numbers" in suite
    assert "next: pip install -e ., then: conductor test" in done.out


POETRY = '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\nmcp = "*"\n[tool.poetry.scripts]\nx-server = "x:b"\n'


@pytest.mark.parametrize(("lock", "command"), [([], ["x-server"]), (["poetry.lock"], ["poetry", "run", "x-server"])])
def test_the_script_of_a_poetry_project_is_found(init, write, lock, command):
    write("pyproject.toml", POETRY)
    for file in lock:
        write(file, "")
    _, settings, _ = init(passes=False, PATH=os.defpath)
    assert [settings["command"], *settings.get("args", [])] == command


def test_servers_that_differ_in_their_environment_alone_are_all_listed(conductor, write, tmp_path):
    entry = {"command": "npx", "args": ["x-mcp"]}
    servers = {name: {**entry, "env": {"STAGE": name}} for name in ("prod", "staging")}
    write("mcp.json", json.dumps({"mcpServers": servers}))
    done = conductor("init", "--list", HOME=str(tmp_path / "home"))
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == ["prod", "staging"]


def test_a_server_that_two_programs_know_is_listed_once_and_found_by_both_names(init, conductor, write, tmp_path):
    for file, name in ((".cursor/mcp.json", "books"), (".config/Claude/claude_desktop_config.json", "shelf")):
        entry = {"command": BOOKSHELF[0], "args": list(BOOKSHELF[1:])}
        write(f"home/{file}", json.dumps({"mcpServers": {name: entry}}))
    listed = conductor("init", "--list", HOME=str(tmp_path / "home"))
    assert len(listed.out.splitlines()) == 2
    _, settings, _ = init("--server", "shelf")
    assert [settings["command"], *settings["args"]] == list(BOOKSHELF)


def test_in_a_repository_of_several_projects_their_directories_are_told(conductor, write, tmp_path):
    write("package.json", json.dumps({"private": True, "workspaces": ["packages/*"]}))
    write("packages/a/package.json", json.dumps({"name": "a-mcp", "scripts": {"start": "node x.js"}}))
    write("packages/web/package.json", json.dumps({"name": "web", "scripts": {"start": "vite"}}))
    write("books/pyproject.toml", '[project]\nname = "books-mcp"\nscripts = {books-mcp = "x:a"}\n')
    before = sorted(tmp_path.rglob("*"))
    done = conductor("init", HOME=str(tmp_path / "home"))
    assert done.code == 2
    assert "no server was found in this directory, but below it: books, packages/a\n" in done.err
    assert "cd books && conductor init" in done.err
    listed = conductor("init", "--list", HOME=str(tmp_path / "home"))
    assert (listed.code, "but below it: books, packages/a" in listed.err) == (0, True)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_variable_that_is_not_set_is_the_next_step(init, write):
    write("server.py", SERVER)
    entry = {"command": sys.executable, "args": ["server.py"], "env": {"KEY": "${KEY}"}}
    write("mcp.json", json.dumps({"mcpServers": {"books": entry}}))
    done, _, _ = init(passes=False)
    assert "next: set KEY in the environment, then: conductor test" in done.out


def test_names_and_commands_take_one_line_each_and_words_with_spaces_are_quoted(conductor, write, tmp_path):
    servers = {"a\nwrote everything": {"command": "python", "args": ["my server.py", "x\nnext: rm"]}}
    write("mcp.json", json.dumps({"mcpServers": servers}))
    done = conductor("init", "--list", HOME=str(tmp_path / "home"))
    assert done.out.splitlines() == [
        "found:",
        "  a wrote everything  python 'my server.py' 'x next: rm', in mcp.json",
        "conductor init takes a wrote everything",
    ]


@pytest.mark.parametrize(("service", "file"), CI.items())
def test_the_ci_file_runs_tests_that_pass_and_a_check(init, conductor, write, tmp_path, service, file):
    write("server.py", SERVER)
    done, _, _ = init("--ci", service, passes=False)
    assert f"wrote {file}" in done.out
    scripts = scripts_of(yaml.safe_load((tmp_path / file).read_text()))
    assert scripts[0] == "pip install mcp-conductor"
    test, check = (shlex.split(script)[1:] for script in scripts[1:])
    assert (test[0], check[0]) == ("test", "check")
    tested = conductor(*test, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))
    assert tested.code == 0, tested.all
    reports = {"test.xml", "test.html"}
    if service == "github":  # the line of the other service is the same, but for one report
        checked = conductor(*check, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))
        assert checked.code in (0, 1), checked.all
        reports |= {"check.xml", "check.html", "grade.svg"}
    assert {each.name for each in (tmp_path / "mcp-reports").iterdir()} == reports


def scripts_of(file):
    """What a CI file runs, in order."""
    if "jobs" in file:
        return [step["run"] for step in file["jobs"]["conductor"]["steps"] if "run" in step]
    return [*file[".conductor"]["before_script"], *file["mcp-test"]["script"], *file["mcp-check"]["script"]]


def test_a_ci_file_is_added_to_a_project_that_has_settings(conductor, write, tmp_path):
    mine = write("conductor.config.json", json.dumps({"command": "npx", "args": ["x"], "env": {"KEY": "${KEY}"}}))
    write("package.json", "{}")
    before = mine.read_text()
    done = conductor("init", "--ci", "github")
    assert done.code == 0, done.all
    text = (tmp_path / CI["github"]).read_text()
    assert "KEY: ${{ secrets.KEY }}" in text
    assert "npm install" in text
    assert mine.read_text() == before
    assert not (tmp_path / "tests").exists()
    again = conductor("init", "--ci", "github")
    assert (again.code, (tmp_path / CI["github"]).read_text()) == (2, text)
    assert "exists already" in again.err
