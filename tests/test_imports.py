"""No import leads back to where it came from; those inside functions and those for types count too."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def imports_of(file: Path, module: str, known: set[str]) -> Iterator[str]:
    """The modules of KNOWN that FILE, which is MODULE, imports anywhere: at its top, in a function, for types alone."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            named = {f"{origin}.{alias.name}" for alias in node.names}
            yield from named & known
            if not named <= known:
                yield from {origin} & known


def cycle_in(source: Path) -> list[str] | None:
    """The modules of a cycle of imports within the package at SOURCE, if there is one."""
    files = {
        ".".join(file.relative_to(source.parents[1]).with_suffix("").parts).removesuffix(".__init__"): file
        for file in source.rglob("*.py")
    }
    graph = {module: set(imports_of(file, module, set(files))) - {module} for module, file in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


@pytest.mark.parametrize(
    "package",
    ["bounded", "bridge", "cli", "client", "files", "protocol", "pytest_plugin", "report", "server", "suites", "text", "transport"],
)  # fmt: skip
def test_no_import_leads_back_to_where_it_came_from(package):
    assert cycle_in(ROOT / "src" / "mcp_conductor" / package) is None


def test_an_import_that_leads_back_is_found_even_in_a_function(tmp_path):
    package = tmp_path / "house" / "room"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from .two import b\n")
    (package / "two.py").write_text("def b():\n    from house.room import one\n")
    assert set(cycle_in(package) or ()) == {"house.room.one", "house.room.two"}


def test_a_module_that_is_imported_with_a_name_of_its_package_does_not_hide_that(tmp_path):
    package = tmp_path / "house" / "room"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("WORD = 1\ndef f():\n    from house.room.one import b\n")
    (package / "one.py").write_text("from house.room import WORD, two\n")
    (package / "two.py").write_text("")
    assert set(cycle_in(package) or ()) == {"house.room", "house.room.one"}
