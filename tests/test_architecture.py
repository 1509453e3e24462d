"""ARCHITECTURE.md says what is so: its paths exist, its picture shows the real imports, its glossary is short."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "mcp_conductor"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def picture() -> set[tuple[str, str]]:
    """The arrows of the picture, from package to package."""
    block = re.search(r"```mermaid\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    return {(above, below) for above, below in re.findall(r"(\w+)(?:\[[^\]]*\])? --> (\w+)", block[1])}


def imports() -> set[tuple[str, str]]:
    """Which package or module of the top level imports which other, lazily or not."""
    found = set()
    for file in SOURCE.rglob("*.py"):
        home = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mcp_conductor."):
                found.add((home, node.module.split(".")[1]))
            elif isinstance(node, ast.ImportFrom) and node.module == "mcp_conductor":
                found |= {(home, name.name) for name in node.names if name.name != "__version__"}
    return {(home, other) for home, other in found if home != other and home not in ("__init__", "__main__")}


def reachable(arrows: set[tuple[str, str]]) -> set[tuple[str, str]]:
    below = defaultdict(set)
    for above, other in arrows:
        below[above].add(other)
    found: set[tuple[str, str]] = set()
    for start in list(below):
        ahead = list(below[start])
        while ahead:
            if (start, (other := ahead.pop())) not in found:
                found.add((start, other))
                ahead += below[other]
    return found


def test_every_arrow_of_the_picture_is_an_import():
    assert picture() - imports() == set()


def test_every_import_between_packages_goes_along_the_arrows():
    assert imports() - reachable(picture()) == set()


def test_no_arrow_leads_back():
    assert {above for above, below in reachable(picture()) if above == below} == set()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w/.]+(?:\.py|\.json|\.txt|\.toml|/))`", TEXT))))
def test_every_path_leads_to_something(path):
    assert (SOURCE / path).exists() or (ROOT / path).exists()


def test_the_glossary_has_at_most_twenty_lines():
    assert 5 < section("Words").count("\n| ") - 1 <= 20


def test_six_files_are_to_be_read_first():
    assert re.findall(r"^(\d)\. `", section("Where to begin reading"), re.MULTILINE) == list("123456")


def test_no_line_is_longer_than_120_characters():
    assert [line for line in TEXT.splitlines() if len(line) > 120] == []
