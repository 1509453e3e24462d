"""Plugins that cannot be loaded: each way is a usage error that names the plugin, the line and what to do."""

import os

import pytest

from mcp_conductor import plugins
from mcp_conductor.catalog import Catalog
from mcp_conductor.errors import CannotTellError, UsageError
from mcp_conductor.suites.matching.matchers import judging

THINGS: Catalog[int] = Catalog("thing", "mcp_conductor.text")

FAILING = {
    "raises": ("x = 1\n\n1 / 0\n", "raises ZeroDivisionError: division by zero", 3),
    "raises deep inside": ("def f():\n    return {}['a']\n\nf()\n", "raises KeyError: 'a'", 2),
    "raises without a text": ("raise ValueError\n", "raises ValueError", 1),
    "imports what is not there": ("import no_such_module_at_all\n", "raises ModuleNotFoundError", 1),
    "is no Python": ("def f(:\n    pass\n", "is not Python: invalid syntax", 1),
    "is binary": ("\0\0\0", "is not Python", None),
    "prints": ("import sys\nprint('hello')\n", "prints to stdout", 2),
    "writes to stdout": ("import sys\n\nsys.stdout.write('hello')\n", "prints to stdout", 3),
    "exits": ("import sys\nsys.exit(0)\n", "ends the program: sys.exit", 2),
    "exits with a reason": ("import sys\nsys.exit('no\\nmore')\n", r"ends the program: sys.exit('no\nmore')", 2),
    "raises what is no Exception": ("raise BaseException('odd')\n", "raises BaseException: odd", 1),
    "raises two lines": ("raise ValueError('two\\nlines')\n", "raises ValueError: two lines", 1),
    "registers nothing": ("x = 1\n", "registers nothing", None),
    "registers without a name": (
        "from mcp_conductor import matcher\n\n@matcher\ndef f(actual):\n    pass\n",
        "raises TypeError: a matcher has a name",
        3,
    ),
}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """What is loaded here is not there for other tests: it would be named in hints."""
    monkeypatch.setattr(plugins, "_files", {})


@pytest.mark.parametrize("name", FAILING)
def test_a_plugin_that_cannot_be_loaded_is_told_with_its_line(tmp_path, name):
    code, message, line = FAILING[name]
    (tmp_path / "ours.py").write_text(code)
    with pytest.raises(UsageError) as refused:
        plugins.load("./ours.py", str(tmp_path))
    assert refused.value.message.startswith(f"the plugin ./ours.py {message}")
    assert (refused.value.where and (refused.value.where.file, refused.value.where.line)) == (
        None if line is None else ("./ours.py", line)
    )
    assert refused.value.hint or name == "is binary"


@pytest.mark.parametrize(
    ("name", "named_in", "message", "hint"),
    [
        ("./none.py", "", "no such file", "relative to the current directory"),
        ("./none.py", "conductor.config.json", "no such file", "relative to the file that names it"),
        ("./", "", "is a directory", "name one Python file"),
    ],
)
def test_a_plugin_that_is_no_file_is_told_with_what_to_do(tmp_path, name, named_in, message, hint):
    with pytest.raises(UsageError) as refused:
        plugins.load(name, str(tmp_path), named_in)
    assert message in refused.value.message
    assert hint in str(refused.value.hint)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(UsageError):
        plugins.load("./pipe.py", str(tmp_path))


def test_a_plugin_that_is_not_installed_is_told(tmp_path):
    with pytest.raises(UsageError) as refused:
        plugins.load("no_such_plugin", str(tmp_path))
    assert refused.value.message == "unknown plugin 'no_such_plugin'"


def test_a_name_that_exists_is_refused_with_both_places(tmp_path):
    code = f"from {__name__} import THINGS\n\n\ndef make():\n    pass\n\n\nTHINGS.add('it', 1, make)\n"
    (tmp_path / "first.py").write_text(code)
    (tmp_path / "second.py").write_text(code)
    plugins.load("./first.py", str(tmp_path))
    plugins.load("first.py", str(tmp_path))  # the same file: once is enough
    with pytest.raises(UsageError) as refused:
        plugins.load("./second.py", str(tmp_path))
    assert refused.value.message == "the thing 'it' exists already: it is registered at ./first.py:4:1"
    assert str(refused.value.where) == "./second.py:4:1"
    assert THINGS.items() == [("it", 1)]


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (lambda actual: actual["name"], "raises TypeError"),
        (lambda actual: actual == 1, "returns True, but must return None"),
    ],
)
def test_a_matcher_that_fails_answers_neither_yes_nor_no(judge, message):
    with pytest.raises(CannotTellError) as failed:
        judging(judge, "the matcher 'ours'")(1)
    assert failed.value.message.startswith(f"the matcher 'ours' {message}")


def test_a_file_that_is_forgotten_can_be_loaded_again(tmp_path):
    (tmp_path / "ours.py").write_text(
        f"from {__name__} import THINGS\n\n\ndef make():\n    pass\n\n\nTHINGS.add('again', 2, make)\n"
    )
    plugins.load("./ours.py", str(tmp_path))
    (path,) = plugins.loaded_files()
    plugins.forget(path)
    assert "again" not in THINGS
    plugins.load("./ours.py", str(tmp_path))
    assert THINGS.get("again") == 2


def test_half_of_a_plugin_that_fails_leaves_no_name(tmp_path):
    (tmp_path / "ours.py").write_text(
        f"from {__name__} import THINGS\n\n\ndef make():\n    pass\n\n\nTHINGS.add('half', 3, make)\n1 / 0\n"
    )
    for _ in range(2):  # also the second time the reason is the first one
        with pytest.raises(UsageError) as refused:
            plugins.load("./ours.py", str(tmp_path))
        assert "ZeroDivisionError" in refused.value.message
    assert "half" not in THINGS
