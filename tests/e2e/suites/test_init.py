"""`conductor init`: settings and a first suite for any project that it is run in, ready to be run."""

import json
import shutil
import sys

import pytest
from tests.conftest import BOOKSHELF, ROOT

SERVER = (ROOT / "examples" / "bookshelf.py").read_text()


@pytest.fixture
def init(conductor, tmp_path):
    """Run init in a new project, and then what it says is next."""

    def run(*words, passes=True, **environ):
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
    assert "found in server.py" in done.out
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
    assert settings["args"] == ["-c", "import sys; sys.exit(5)"]
    assert "adds two numbers" in suite


@pytest.mark.parametrize("file", ["conductor.config.json", "tests/first.test.mcp.yml"])
def test_nothing_is_written_over(conductor, write, tmp_path, file):
    write("server.py", SERVER)
    mine = write(file, "mine")
    done = conductor("init")
    assert (done.code, mine.read_text()) == (2, "mine")
    assert f"{file} exists already" in done.err
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"server.py", mine.name}
