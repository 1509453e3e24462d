"""The tests that a change touches, as words for pytest: those that changed, and those that import what changed.

usage: changed_tests.py [REVISION]; by default the point where this branch left its upstream or `main`, or else HEAD.

What a file imports is read from its text, at any depth. So a test that starts a program is found by the modules
that it imports itself, not by those of the program. Where everything may be touched, everything is named.
"""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
# What every test depends on in a way that no import shows.
EVERYTHING = ("pyproject.toml", "requirements-dev.txt", "scripts/test", "scripts/setup", "tests/prefork.py")
EVERYTHING += ("tests/forkserver.py", "tests/launch.py")


def module_of(path: str) -> str:
    """The name by which PATH is imported; a file that is no module belongs to its package, or to what reads it."""
    file = Path(path)
    if path.startswith("src/mcp_conductor/checks/") and file.name in ("requirements.json", "examples.txt"):
        return "mcp_conductor.checks.requirements.topics"
    parts = list(file.with_suffix("").parts if file.suffix == ".py" else file.parent.parts)
    if parts and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts[1:] if parts[:1] == ["src"] else parts)


def imports(text: str, module: str, *, package: bool = False) -> Iterator[str]:
    """All names that the source of MODULE may import; those that are no modules do no harm."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: len(module.split(".")) - node.level + package] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def touched(changed: Iterable[str], graph: Mapping[str, set[str]]) -> set[str]:
    """The modules of GRAPH (module: what it imports) that are CHANGED, or import one that is touched."""
    found = set(changed)
    while more := {name for name, used in graph.items() if name not in found and used & found}:
        found |= more
    return found


def selected(changed: Iterable[str], sources: Mapping[str, str]) -> list[str] | None:
    """The tests that the CHANGED paths touch, of SOURCES (path: text); None: all of them."""
    paths = set(changed)
    if any(path in EVERYTHING or Path(path).name == "conftest.py" for path in paths):
        return None
    modules = {module_of(path) for path in paths if path.startswith(("src/", "tests/"))}
    if any(path.startswith("tests/screens/") for path in paths):  # also a page, or a file of its cases
        modules.add("tests.screens.test_screens")
    graph = {
        module_of(path): set(imports(text, module_of(path), package=path.endswith("__init__.py")))
        for path, text in sources.items()
    }
    found = touched(modules, graph)
    return sorted(path for path in sources if Path(path).name.startswith("test_") and module_of(path) in found)


def git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def base() -> str:
    """Where this branch began."""
    for name in ("@{upstream}", "main"):
        if found := git("merge-base", "HEAD", name):
            return found[0]
    return "HEAD"


def main(words: list[str]) -> int:
    """Print the tests, one on a line; say on stderr why they are these."""
    since = words[0] if words else base()
    changed = git("diff", "--name-only", since) + git("ls-files", "--others", "--exclude-standard")
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "src/*.py", "tests/*.py")
    existing = [path for path in listed if (ROOT / path).exists()]
    found = selected(changed, {path: (ROOT / path).read_text() for path in existing})
    some = f"{len(changed)} files have changed since {since[:12]}"
    if found is None:
        print(f"{some}, and what every test uses is among them: all tests", file=sys.stderr)
        print("tests")
    else:
        print(f"{some}, and touch these tests:", *found, sep="\n  ", file=sys.stderr)
        print(*found, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
