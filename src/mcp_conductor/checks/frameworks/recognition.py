"""The framework that a server is built on, read from its source files and the packages beside them.

No code of the server is run, and nothing that it says of itself counts. A server is recognised where its program, or a
file of its own that the program imports, makes an object of the server class of one framework and runs it, and that
package is installed where the program looks for packages. In every other case the answer is None.
"""

import ast
import os
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from json import loads
from shutil import which
from typing import NamedTuple

from mcp_conductor.checks.frameworks.running_code import Module, dotted, made_and_run
from mcp_conductor.transport.process_tree import Command
from mcp_conductor.values import dataclass

MAX_FILES = 200
MAX_FILE_BYTES = 300_000
MAX_BYTES = 3_000_000  # of all files
MAX_LOOKS = 20_000  # at paths that may be files
MAX_DEPTH = 40  # directories above a file
_MAX_ENTRIES = 100_000  # of a directory of packages
_MAX_LINKS = 100
_PYTHON = re.compile(r"(?:python|pypy)(?:\d+(?:\.\d+)*)?(?:\.exe)?")
_NODE = re.compile(r"(?:node|nodejs|bun)(?:\.exe)?")
_WITH_VALUE = {"-r", "--require", "--import", "--loader", "--experimental-loader", "-X", "-W", "--env-file"}
_JS_IMPORT = re.compile(r"""(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*["']([^"'\n]{1,300})["']""")
# A string, or a comment, which ends with the file at the latest; // is one at the start of a line, as it may stand in
# a pattern elsewhere.
_JS_TEXT_OR_COMMENT = re.compile(
    r"""("(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?|`(?:[^`\\]|\\.)*+`?)|/\*(?:.*?\*/|.*)|(?m:^)[ \t]*//[^\n]*""",
    re.DOTALL,
)
_JS_SUFFIXES = ("", ".js", ".mjs", ".cjs", ".ts", ".mts", "/index.js", "/index.mjs", "/index.ts")
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+){0,3}")


class ServerClass(NamedTuple):
    """What the programs of a framework use, such as mcp.server.fastmcp.FastMCP, or McpServer of an npm module."""

    package: str
    module: str
    name: str
    npm: bool


@dataclass(frozen=True, slots=True)
class Recognised:
    """The framework of a server."""

    server_class: ServerClass
    version: str
    how: str


class _Sources:
    """Files of a program, read within bounds."""

    def __init__(self) -> None:
        self._read: set[str] = set()
        self._looks = 0
        self._bytes = 0

    def text(self, path: str) -> str | None:
        """The text of the file PATH, once; None for what is no file, was read before, or is too much."""
        self._looks += 1
        if self._looks > MAX_LOOKS or len(self._read) >= MAX_FILES or not os.path.isfile(path):
            return None
        real = os.path.realpath(path)
        if real in self._read:
            return None
        self._read.add(real)
        try:
            with open(real, "rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError:
            return None
        self._bytes += len(data)
        if len(data) > MAX_FILE_BYTES or self._bytes > MAX_BYTES:
            return None
        return data.decode(errors="replace")


def recognise(commands: Iterable[Command], classes: Collection[ServerClass]) -> Recognised | None:
    """The framework of the server that COMMANDS started, if it is exactly one of CLASSES."""
    found: dict[tuple[ServerClass, str], Recognised] = {}
    for command in commands:
        try:
            for each in _recognised(command, classes):
                found.setdefault((each.server_class, each.version), each)
        except (OSError, ValueError):  # a path that no system takes
            return None
    return next(iter(found.values())) if len(found) == 1 else None


def _recognised(command: Command, classes: Collection[ServerClass]) -> Iterator[Recognised]:
    if not command.words:
        return
    program, rest = command.words[0], list(command.words[1:])
    found = which(program, path=command.path) if os.path.basename(program) == program else None
    program = os.path.join(command.cwd, found or program)
    name = os.path.basename(program)
    if not _PYTHON.fullmatch(name) and not _NODE.fullmatch(name):
        # A program of a package is a text whose first line names its interpreter.
        text = _Sources().text(program) or ""
        first = text.partition("\n")[0][:1000].removeprefix("#!").split() if text.startswith("#!") else []
        if first and os.path.basename(first[0]) == "env":
            first = first[1:]
            first[:1] = [which(first[0], path=command.path) or first[0]] if first else []
        if not first:
            return
        rest, program = [program, *rest], first[0]
        name = os.path.basename(program)
    if _PYTHON.fullmatch(name):
        yield from _python(program, rest, command.cwd, [each for each in classes if not each.npm])
    elif _NODE.fullmatch(name):
        yield from _node(rest, command.cwd, [each for each in classes if each.npm])


def _program_of(words: list[str]) -> tuple[str, bool]:
    """The file or the module that an interpreter runs, and whether it is a module; nothing for code in the words."""
    skip = False
    for place, word in enumerate(words):
        if skip:
            skip = False
        elif word == "-m":
            return "".join(words[place + 1 : place + 2]), True
        elif word in ("-c", "-e", "--eval", "-p", "--print", "-"):
            break
        elif word.startswith("-"):
            skip = word in _WITH_VALUE
        else:
            return word, False
    return "", False


# Python.


def _python(program: str, words: list[str], cwd: str, classes: Collection[ServerClass]) -> Iterator[Recognised]:
    named, is_module = _program_of(words)
    packages = _site_packages(program)
    if not named or packages is None:
        return
    own = [cwd] if is_module else [os.path.dirname(os.path.realpath(os.path.join(cwd, named)))]
    # What is installed is followed where the program itself is: a module of it, or a script beside the interpreter.
    installed = is_module or os.path.realpath(own[0]) == os.path.realpath(os.path.dirname(program))
    installed_in = [packages, *_linked(packages)] if installed else []
    places = [cwd, *installed_in]
    programs = [os.path.join(cwd, named)]
    if is_module:
        programs = [file for name in (named, f"{named}.__main__") for file in _module_files(name, places)]
    sources, waiting = _Sources(), deque(programs)
    modules: list[Module] = []
    top: set[str] = {named.partition(".")[0]} if is_module else set()
    while waiting:
        file = waiting.popleft()
        tree = _tree(sources.text(file), file)
        if tree is None:
            continue
        modules.append(Module(tree, os.path.basename(file), file in programs))
        used = _used_names(tree)
        if installed and not top:
            top = {name.partition(".")[0] for name in used} - {each.package for each in classes}
        for name in sorted(used):
            beside = [os.path.dirname(file), *own] if name.startswith("./") else own
            places = [*beside, *(installed_in if name.partition(".")[0] in top else [])]
            waiting += _module_files(name.removeprefix("./"), places)
    made, runs = made_and_run(modules)
    for each in classes:
        where = made.get(f"{each.module}.{each.name}") if runs or each.name == "run" else None
        if where is not None and (version := _python_version(each.package, packages)):
            how = f"{where} uses {each.module}.{each.name}; {each.package} {version} is installed for its Python"
            yield Recognised(each, version, how)


def _tree(text: str | None, file: str) -> ast.Module | None:
    try:
        return None if text is None else ast.parse(text, file)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _used_names(tree: ast.Module) -> set[str]:
    """Dotted names that a module imports, or uses of what it imports; ./ before those that are relative to it."""
    names: set[str] = set()
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = "./" + "../" * (node.level - 1) if node.level else ""
            module = start + (node.module or "")
            names |= {f"{module}.{alias.name}" if node.module else module + alias.name for alias in node.names}
            names |= {module} if node.module else set()
    names |= imported
    for node in ast.walk(tree):
        parts = dotted(node) if isinstance(node, ast.Attribute) else []
        if any(".".join(parts[:count]) in imported for count in range(1, len(parts))):
            names.add(".".join(parts))
    return names


def _module_files(name: str, places: Iterable[str]) -> Iterator[str]:
    """The files that a module, or the module of a name in it, may be."""
    up = name.count("../")
    parts = name.replace("../", "").split(".")
    for place in places:
        base = os.path.join(place, *[".."] * up)
        for steps in (parts, parts[:-1]):
            if steps and all(part.isidentifier() for part in steps):
                yield os.path.join(base, *steps) + ".py"
                yield os.path.join(base, *steps, "__init__.py")


def _site_packages(program: str) -> str | None:
    """Where the interpreter PROGRAM looks for packages, if that is one directory."""
    for start in (os.path.abspath(program), os.path.realpath(program)):
        prefix = os.path.dirname(os.path.dirname(start))
        if start != os.path.realpath(program) and not os.path.isfile(os.path.join(prefix, "pyvenv.cfg")):
            continue
        versions = os.path.join(prefix, "lib")
        found = [
            os.path.join(versions, name, "site-packages")
            for name in (sorted(os.listdir(versions))[:1000] if os.path.isdir(versions) else [])
            if re.fullmatch(r"(?:python|pypy)3\.\d+", name)
        ]
        named = [each for each in found if os.path.basename(os.path.dirname(each)) == os.path.basename(start)]
        found = [each for each in named or found if os.path.isdir(each)]
        return found[0] if len(found) == 1 else None
    return None


def _linked(packages: str) -> Iterator[str]:
    """The directories that are added to PACKAGES by files: where editable installations are."""
    with os.scandir(packages) as entries:
        names = [each.name for each, _ in zip(entries, range(_MAX_ENTRIES), strict=False)]
    for name in [each for each in names if each.endswith(".pth")][:_MAX_LINKS]:
        for line in (_Sources().text(os.path.join(packages, name)) or "").splitlines()[:_MAX_LINKS]:
            if os.path.isabs(line) and os.path.isdir(line):
                yield line


def _python_version(package: str, packages: str) -> str | None:
    """The version of PACKAGE that is installed, if it is exactly one."""
    start = f"{package.replace('-', '_')}-"
    with os.scandir(packages) as entries:
        names = [each.name for each, _ in zip(entries, range(_MAX_ENTRIES), strict=False)]
    found = [name[len(start) : -len(".dist-info")] for name in names if name.startswith(start)]
    found = [each for each in found if _VERSION.match(each)]
    return found[0] if len(found) == 1 else None


# Node.


def _node(words: list[str], cwd: str, classes: Collection[ServerClass]) -> Iterator[Recognised]:
    named, is_module = _program_of(words)
    if not named or is_module:
        return
    sources, waiting = _Sources(), deque([os.path.join(cwd, named)])
    while waiting:
        file = os.path.realpath(waiting.popleft())
        text = sources.text(file)
        if text is None:
            continue
        code = _JS_TEXT_OR_COMMENT.sub(lambda found: found[1] or "", text)
        specifiers = dict.fromkeys(_JS_IMPORT.findall(code))
        for each in classes:
            made = re.search(rf"\b(?:new|extends)\s+(?:\w+\.)?{re.escape(each.name)}\b", code)
            if each.module in specifiers and made and (version := _npm_version(each.package, file)):
                where = os.path.basename(file)
                how = f"{where} uses {each.name} of {each.module}; {each.package} {version} is in its node_modules"
                yield Recognised(each, version, how)
        for specifier in specifiers:
            if specifier.startswith(("./", "../")):
                base = os.path.join(os.path.dirname(file), specifier)
                # TypeScript names the file that it will make.
                waiting += [base + suffix for suffix in _JS_SUFFIXES] + [base.removesuffix(".js") + ".ts"]


def _npm_version(package: str, file: str) -> str | None:
    """The version of PACKAGE that FILE would import."""
    directory = os.path.dirname(file)
    for _ in range(MAX_DEPTH):
        manifest = os.path.join(directory, "node_modules", package, "package.json")
        if os.path.isfile(manifest):
            try:
                found = loads(_Sources().text(manifest) or "null")
            except (ValueError, RecursionError):
                return None
            version = found.get("version") if isinstance(found, dict) and found.get("name") == package else None
            return version if isinstance(version, str) and _VERSION.match(version) else None
        directory, before = os.path.dirname(directory), directory
        if directory == before:
            break
    return None
