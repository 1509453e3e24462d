"""The examples of the manual and of examples/library do what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MANUAL = (ROOT / "docs" / "library.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", MANUAL, re.DOTALL)


def run(words, environment):
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**environment, "PATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example_of_the_manual_prints_what_the_manual_says(number, tmp_path, environment, survivors):
    code, expected = BLOCKS[number]
    if "from mcp." in code:
        pytest.importorskip("mcp")
    file = tmp_path / "example.py"
    file.write_text(code)
    printed = run([str(file)], environment)
    assert printed
    if expected:
        assert printed == expected
    assert survivors() == []


def test_the_manual_has_examples_with_their_output():
    assert len(BLOCKS) >= 5
    assert sum(bool(expected) for _, expected in BLOCKS) >= 4


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("one_server", "refused: -32602 unknown tool: burn_books"),
        ("many_servers", "not there: nowhere"),
        ("in_process", "Hello, Ada!"),
    ],
)
def test_an_example_runs(name, says, environment, survivors):
    assert says in run([str(ROOT / "examples" / "library" / f"{name}.py")], environment)
    assert survivors() == []


def test_every_example_is_run():
    found = {file.stem for file in (ROOT / "examples" / "library").glob("*.py")}
    assert found == {"one_server", "many_servers", "in_process"}


def test_the_manual_names_every_kind_of_error():
    import mcp_conductor

    errors = [getattr(mcp_conductor, name) for name in mcp_conductor.__all__ if name[0].isupper()]
    kinds = {each.kind for each in errors if isinstance(each, type) and issubclass(each, mcp_conductor.ConductorError)}
    assert {kind for kind in kinds if kind not in MANUAL} == {"RUNTIME_MCP_ERROR"}
    others = {mcp_conductor.NotSeen}  # what a check of a plugin raises is not an error
    assert len(kinds) == len(
        {each for each in errors if isinstance(each, type) and issubclass(each, Exception)} - others
    )
