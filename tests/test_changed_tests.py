"""`scripts/test changed` runs what a change touches: by imports, at any depth, and everything where that is not enough."""

import pytest
from scripts.changed_tests import imports, module_of, selected, touched

SOURCES = {
    "src/mcp_conductor/__init__.py": "",
    "src/mcp_conductor/text/__init__.py": "",
    "src/mcp_conductor/text/visible.py": "",
    "src/mcp_conductor/report/__init__.py": "from .console import show",
    "src/mcp_conductor/report/console.py": "def show():\n    from mcp_conductor.text import visible",
    "src/mcp_conductor/files/source.py": "import mcp_conductor.text.visible as v",
    "tests/servers/plain.py": "",
    "tests/unit/text/test_visible.py": "from mcp_conductor.text.visible import cut",
    "tests/unit/report/test_console.py": "from mcp_conductor.report import show",
    "tests/unit/files/test_source.py": "from mcp_conductor.files.source import load",
    "tests/e2e/test_plain.py": "from tests.servers import plain",
    "tests/screens/pages.py": "",
    "tests/screens/test_screens.py": "from tests.screens import pages",
    "tests/unit/suites/test_manual.py": "from tests.screens.pages import all_cases",
}
ALL = [path for path in SOURCES if "/test_" in path]


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/mcp_conductor/text/visible.py", "mcp_conductor.text.visible"),
        ("src/mcp_conductor/text/__init__.py", "mcp_conductor.text"),
        ("src/mcp_conductor/checks/server/tools/examples.txt", "mcp_conductor.checks.requirements.topics"),
        ("tests/unit/text/test_visible.py", "tests.unit.text.test_visible"),
    ],
)
def test_a_file_belongs_to_a_module(path, module):
    assert module_of(path) == module


@pytest.mark.parametrize(
    ("text", "package", "found"),
    [
        ("import a.b", False, {"a.b"}),
        ("from a import b", False, {"a", "a.b"}),
        ("from . import b", False, {"p.q", "p.q.b"}),
        ("from .b import c", True, {"p.q.m.b", "p.q.m.b.c"}),
        ("from ..b import c", False, {"p.b", "p.b.c"}),
        ("def f():\n    import late", False, {"late"}),
    ],
)
def test_every_import_is_seen(text, package, found):
    assert set(imports(text, "p.q.m", package=package)) == found


def test_what_imports_something_touched_is_touched_however_far_away():
    assert touched({"a"}, {"b": {"a"}, "c": {"b"}, "d": {"e"}, "e": {"d"}}) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        (["src/mcp_conductor/text/visible.py"], ALL[:3]),
        (["src/mcp_conductor/files/source.py"], ["tests/unit/files/test_source.py"]),
        (["tests/servers/plain.py"], ["tests/e2e/test_plain.py"]),
        (["tests/e2e/test_plain.py"], ["tests/e2e/test_plain.py"]),
        (["tests/screens/call/results.md"], ["tests/screens/test_screens.py"]),
        (["tests/screens/pages.py"], ["tests/screens/test_screens.py", "tests/unit/suites/test_manual.py"]),
        (["README.md"], []),
        ([], []),
    ],
)
def test_a_change_touches_what_imports_it(changed, found):
    assert sorted(selected(changed, SOURCES)) == sorted(found)


@pytest.mark.parametrize("path", ["pyproject.toml", "tests/e2e/suites/conftest.py", "tests/prefork.py"])
def test_what_every_test_uses_touches_all(path):
    assert selected([path, "README.md"], SOURCES) is None
