"""docs/pytest.md: its examples are a project, and pytest says of it what the manual says."""

import os
import re
import sys
from pathlib import Path

MANUAL = Path(__file__).parent.parent.parent.parent / "docs" / "pytest.md"
_FILE = re.compile(r"```\w+\n(?:#|//) (\S+)\n(.*?)```", re.DOTALL)
_OUTPUT = re.compile(r"```\n(E .*?)```", re.DOTALL)


def test_the_examples_of_the_manual_come_out_as_it_says(run, project):
    manual = MANUAL.read_text()
    files = _FILE.findall(manual)
    assert [name for name, _ in files] == [
        "greeter.test.mcp.yml",
        "greeter.json",
        "conductor.config.json",
        "test_greeter.py",
        "test_scopes.py",
        "test_recorded.py",
        "test_wrong.py",
    ]
    for name, text in files:
        (project / name).write_text(text)
    done = run(
        "-m", "greetings or not greetings", PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    assert done.statuses == {
        "greets by name[ada]": "PASSED",
        "greets by name[empty]": "PASSED",
        "test_it_greets": "PASSED",
        "test_it_greets_while_we_wait": "PASSED",
        "test_it_speaks_an_older_revision": "PASSED",
        "test_two_servers_give_the_same_answer": "PASSED",
        "test_it_counts": "PASSED",
        "test_it_goes_on_counting": "PASSED",
        "test_it_greets_without_its_server": "PASSED",
        "test_it_says_goodbye": "FAILED",
    }, done.out
    (shown,) = _OUTPUT.findall(manual)
    assert shown in done.out


def test_the_manual_names_every_option_and_ini_value():
    from mcp_conductor import pytest_plugin

    source = Path(pytest_plugin.__file__).read_text()
    named = {*re.findall(r'addoption\(\s*"([\w-]+)"', source), *re.findall(r'addini\(\s*"(\w+)"', source)}
    assert len(named) == 16
    assert {name for name in named if name not in MANUAL.read_text()} == set()
