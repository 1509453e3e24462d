"""JSON or YAML text as plain data, together with the place of every value in it.

YAML is read by the rules of YAML 1.2: `yes`, `on` and dates stay text, and a key that stands twice is refused. JSON may
have comments and trailing commas, as editors write them. Places are worked out only when somebody asks, so that a JSON
file costs no YAML parser.
"""

import os
import re
from dataclasses import dataclass
from functools import cached_property
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn

from mcp_conductor.errors import Location, UsageError

Path = tuple[str | int, ...]

_COMMENTS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')
# The core schema of YAML 1.2, section 10.3.2.
_CORE = (
    (re.compile(r"~|null|Null|NULL|"), lambda _: None),
    (re.compile(r"true|True|TRUE"), lambda _: True),
    (re.compile(r"false|False|FALSE"), lambda _: False),
    (re.compile(r"[-+]?[0-9]{1,4000}"), int),
    (re.compile(r"0o[0-7]+"), lambda text: int(text, 0)),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: int(text, 0)),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
)


@dataclass(frozen=True)
class Document:
    """The data of one file, and where each part of it stands."""

    file: str
    text: str
    data: Any

    def locate(self, path: Path) -> Location | None:
        """Where the value at PATH stands, or the innermost part of PATH that exists."""
        node = self._root
        mark = node.start_mark if node else None
        for step in path:
            child = _child(node, step)
            if child is None:
                break
            node, mark = child
        return _location(self.file, self.text, mark) if mark else None

    @cached_property
    def _root(self) -> Any:
        return _compose(self.file, _plain_json(self.text) if _is_json(self.file) else self.text)


def load(path: str, shown: str | None = None) -> Document:
    """Read the JSON or YAML file at PATH; messages call it SHOWN."""
    shown = shown or path
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise UsageError(f"cannot read {shown}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {shown}: it is not UTF-8 text") from error
    return parse(text, shown)


def parse(text: str, file: str) -> Document:
    """Read JSON (if FILE is called so) or YAML text."""
    if _is_json(file):
        return Document(file, text, _parse_json(text, file))
    return Document(file, text, _construct(_compose(file, text), file, text))


def _is_json(file: str) -> bool:
    return os.path.splitext(file)[1].lower() in (".json", ".jsonc")


def _parse_json(text: str, file: str) -> Any:
    repeats = False

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        known = dict(pairs)
        repeats = repeats or len(known) < len(pairs)
        return known

    try:
        data = JSONDecoder(object_pairs_hook=members).decode(_plain_json(text))
    except JSONDecodeError as error:
        where = Location(file, error.lineno, error.colno, _source_line(text, error.lineno))
        raise UsageError(f"{file} is not JSON: {error.msg}", where=where) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not JSON that can be read: {error}") from error
    if repeats:
        _construct(_compose(file, _plain_json(text)), file, text)  # knows the place
    return data


def _plain_json(text: str) -> str:
    """TEXT without comments, trailing commas and tabs; every other character keeps its place."""

    def blank(found: re.Match[str]) -> str:
        return found[1] or re.sub(r"[^\n]", " ", found[0])

    return _TRAILING_COMMA.sub(blank, _COMMENTS.sub(blank, text)).replace("\t", " ")


def _compose(file: str, text: str) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = _location(file, text, mark) if mark else None
        raise UsageError(f"{file} is not YAML: {error.problem}", where=where) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{file} is not YAML: {' '.join(str(error).split())}") from error


def _construct(root: Any, file: str, text: str) -> Any:
    """Plain data from YAML nodes. Aliases share one value, so a file of aliases cannot grow without bound."""
    from yaml import MappingNode, ScalarNode, SequenceNode

    made: dict[int, Any] = {}

    def refuse(node: Any, problem: str) -> NoReturn:
        raise UsageError(f"{file}: {problem}", where=_location(file, text, node.start_mark))

    def make(node: Any) -> Any:
        if id(node) not in made:
            made[id(node)] = _UNFINISHED
            made[id(node)] = fresh(node)
        if made[id(node)] is _UNFINISHED:
            refuse(node, "a value cannot contain itself")
        return made[id(node)]

    def fresh(node: Any) -> Any:
        if isinstance(node, ScalarNode):
            return _scalar(node)
        if isinstance(node, SequenceNode):
            return [make(item) for item in node.value]
        assert isinstance(node, MappingNode)
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                refuse(key_node, "a key must be plain text")
            if key_node.value in mapping:
                refuse(key_node, f"the key {key_node.value!r} stands twice in one mapping")
            mapping[key_node.value] = make(value_node)
        return mapping

    return None if root is None else make(root)


_UNFINISHED = object()


def _scalar(node: Any) -> Any:
    if node.style in ("'", '"', "|", ">") or node.tag == "!":
        return node.value
    return next((convert(node.value) for form, convert in _CORE if form.fullmatch(node.value)), node.value)


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """The node below NODE, and the mark to point at: for a member of a mapping, its key."""
    children = node.value if isinstance(node.value, list) else []
    for index, child in enumerate(children):
        if isinstance(child, tuple):
            key, value = child
            if key.value == step:
                return value, key.start_mark
        elif index == step:
            return child, child.start_mark
    return None


def _location(file: str, text: str, mark: Any) -> Location:
    return Location(file, mark.line + 1, mark.column + 1, _source_line(text, mark.line + 1))


def _source_line(text: str, line: int) -> str:
    lines = text.splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""
