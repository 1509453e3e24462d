"""JSON or YAML text as plain data, together with the place of every value in it.

YAML is read by the rules of YAML 1.2: `yes`, `on` and dates stay text, and a key that stands twice is refused. JSON may
have comments and trailing commas, as editors write them. Places are computed only when they are needed, so that a JSON
file costs no YAML parser.
"""

import os
import re
from collections.abc import Iterator
from functools import cached_property
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn

from mcp_conductor.errors import Location, UsageError, location_in
from mcp_conductor.files.common_yaml import CommonYaml, read_common_yaml
from mcp_conductor.files.reading import read_bytes
from mcp_conductor.values import dataclass

Path = tuple[str | int, ...]

# Possessive, so that long texts take no memory; and what is not closed goes on to the end, so that it is read once.
_COMMENTS = re.compile(r'("(?:[^"\\\n]++|\\.)*+")|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]+')
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]++|\\.)*+")|,(?=\s*+[}\]])')


@dataclass(frozen=True)
class Document:
    """The data of one file, and where each part of it stands."""

    file: str
    text: str
    data: Any
    json: bool
    common: CommonYaml | None = None  # YAML that was read without places, except for some
    begins: int = 1  # the line of the file on which the text begins
    limit: str | None = None  # the directory whose files it may name; None: any
    quoted: bool = True  # whether messages may show its lines

    @cached_property
    def root(self) -> Any:
        """The nodes of YAML, which know their places; None for JSON."""
        if self.json:
            return None
        from mcp_conductor.files.yaml_nodes import compose

        return compose(self.file, self.text)

    def locate(self, path: Path) -> Location | None:
        """Where the value at PATH stands, or the innermost part of PATH that exists."""
        if not self.json:
            if (start := self._start_of_item(path)) is not None:
                line, column = start[0], start[1] + 1
                source = self._lines[line]
                end = max(column, len(source.partition(" #")[0].rstrip())) + 1  # as `_written` has it
                return Location(self.file, self.begins + line, column, source if self.quoted else "", (column, end))
            found = self._find_node(path)
            where = None if found is None else self._location_of(*found)
            # Of a whole file there is no value on one line to mark: what is there is its first member.
            return where if path or where is None else Location(where.file, where.line, where.column, where.source)
        place, (first, last) = self._json_places.find(path)
        begin = self.text.rfind("\n", 0, place) + 1
        same_line = "\n" not in self.text[place:last]
        value = (first - begin + 1, last - begin + 1) if same_line else None
        return self._location(self.text.count("\n", 0, place) + 1, place - begin + 1, value)

    def lines(self, path: Path) -> tuple[int, int]:
        """Return the first and the last line of the value at PATH; of JSON, only the first is known."""
        if path not in self._known_lines:
            self._known_lines[path] = self._find_lines(path)
        return self._known_lines[path]

    def _find_lines(self, path: Path) -> tuple[int, int]:
        node = self.root
        for step in path:
            child = _below(node, step)
            if child is None:
                where = self.locate(path)
                return (1, 1) if where is None else (where.line, where.line)
            node = child[0]
        (first, column), (last, end) = map(self._place, (node.start_mark, node.end_mark))
        if not node.flow_style and node.id != "scalar":
            # A block ends where the next one begins, so blank lines and comments between them have to be left out.
            last -= last > first and not self._lines[last][:end].strip()
            while last > first and _is_outside(self._lines[last], column):
                last -= 1
        return self._line_of_dash(first) + 1, last + 1

    def _line_of_dash(self, first: int) -> int:
        """The line of the dash of an item that begins in the line FIRST."""
        above = first - 1
        while above > 0 and _is_outside(self._lines[above], len(self._lines[above])):
            above -= 1
        return above if self._lines[above].partition("#")[0].strip() == "-" else first

    def _place(self, mark: Any) -> tuple[int, int]:
        """The line and the column of MARK, from 0; its own lines also end at U+0085, U+2028 and U+2029."""
        begin = self.text.rfind("\n", 0, mark.index) + 1
        return self.text.count("\n", 0, mark.index), mark.index - begin

    def _location_of(self, node: Any, mark: Any) -> Location:
        """The place MARK; the value is NODE, if that stands on the same line, else all that stands there."""
        (line, column), start, end = map(self._place, (mark, node.start_mark, node.end_mark))
        if start[0] == end[0] == line and end > start:
            return self._location(line + 1, column + 1, (start[1] + 1, end[1] + 1))
        return self._location(line + 1, column + 1, self._written(line, column + 1))

    def _written(self, line: int, column: int) -> tuple[int, int]:
        """From COLUMN to the end of what is written in LINE."""
        written = len(self._lines[line].partition(" #")[0].rstrip()) if line < len(self._lines) else 0
        return column, max(column, written) + 1

    def _start_of_item(self, path: Path) -> tuple[int, int] | None:
        """Where an item of a list in the outermost mapping begins, such as a test, if that is known without nodes.

        Every test that passes has a place too; to read the file a second time for it would cost as much as the first.
        """
        if self.common is None or len(path) != 2:
            return None
        key, index = path
        places = self.common.items.get(key) if isinstance(key, str) else None
        if places is None or not isinstance(index, int) or not 0 <= index < len(places):
            return None
        item = self.common.data[str(key)][index]
        return places[index] if isinstance(item, dict) and len(item) > 1 else None

    def _location(self, line: int, column: int, value: tuple[int, int] | None = None) -> Location:
        source = self._lines[line - 1] if self.quoted and line <= len(self._lines) else ""
        return Location(self.file, self.begins + line - 1, column, source, value)

    def lacks(self, part: str) -> bool:
        """Whether no text of the data has PART in it, so that it need not be searched for; if unknown, False."""
        known = self._lacking
        if part not in known:
            known[part] = self.common is not None and part not in self.text  # which has no escapes for letters
        return known[part]

    @cached_property
    def _lacking(self) -> dict[str, bool]:
        return {}

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """What readers of this document have made of parts that stand in it more than once."""
        return {}

    @cached_property
    def _known_lines(self) -> dict[Path, tuple[int, int]]:
        return {}

    @cached_property
    def _json_places(self) -> "JsonPlaces":
        return JsonPlaces(self.text)  # once: a file may have many mistakes

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def _find_node(self, path: Path) -> tuple[Any, Any] | None:
        """The node at PATH, and the mark to point at."""
        node = self.root
        if node is None:
            return None
        from mcp_conductor.files.yaml_nodes import child

        mark = node.start_mark
        for step in path:
            found = child(node, step)
            if found is None:
                break
            node, mark = found
        return node, mark


def load(
    path: str, shown: str | None = None, *, json: bool | None = None, limit: str | None = None, quoted: bool = True
) -> Document:
    """Read the JSON or YAML file at PATH; messages call it SHOWN. Its name decides the format, unless JSON is given."""
    return parse(load_text(path, shown), shown or path, json=json, limit=limit, quoted=quoted)


def load_text(path: str, shown: str | None = None) -> str:
    """The text of the file at PATH, which messages call SHOWN; its lines end with a newline."""
    try:
        return _text(read_bytes(path))
    except OSError as error:
        raise UsageError(f"cannot read {shown or path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {shown or path}: it is not UTF-8 text") from error


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def parse(text: str, file: str, *, json: bool | None = None, limit: str | None = None, quoted: bool = True) -> Document:
    """Read JSON (if FILE is called so, or JSON is true) or YAML text."""
    if _is_json(file) if json is None else json:
        return Document(file, text, _parse_json(text, file), json=True, limit=limit, quoted=quoted)
    common = read_common_yaml(text)
    if common is not None:
        return Document(file, text, common.data, json=False, common=common, limit=limit, quoted=quoted)
    from mcp_conductor.files.yaml_nodes import compose, construct

    root = compose(file, text)
    document = Document(file, text, construct(root, file, text), json=False, limit=limit, quoted=quoted)
    document.__dict__["root"] = root  # it is not read again for its places
    return document


def _is_outside(line: str, column: int) -> bool:
    """Whether LINE is blank, or a comment before COLUMN."""
    written = line.strip()
    return not written or (written[0] == "#" and len(line) - len(line.lstrip()) < column)


def _below(node: Any, step: str | int) -> Any:
    from mcp_conductor.files.yaml_nodes import child

    return None if node is None else child(node, step)


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
        data = JSONDecoder(object_pairs_hook=members, parse_constant=_refuse_constant).decode(_plain_json(text))
    except JSONDecodeError as error:
        where = location_in(text, file, error.lineno, error.colno)
        raise UsageError(f"{file} is not JSON: {error.msg}", where=where) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not JSON that can be read: {error}") from error
    if repeats:
        raise _repeated_key(file, text)
    return data


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON value")


def _plain_json(text: str) -> str:
    """TEXT without comments and trailing commas; every other character keeps its place."""

    def blank(found: re.Match[str]) -> str:
        return found[1] or re.sub(r"[^\n]", " ", found[0])

    return _TRAILING_COMMA.sub(blank, _COMMENTS.sub(blank, text))


def _tokens(text: str) -> Iterator[tuple[str, int, Path, bool]]:
    """The words of a JSON text that keys and values begin with: the word, its offset, its path, whether it is a key."""
    steps: list[str | int] = []
    key_next = False
    for found in _TOKEN.finditer(_plain_json(text)):
        word, at = found[0], found.start()
        if word == ",":
            key_next = isinstance(steps[-1], str)
            if not key_next:
                steps[-1] = int(steps[-1]) + 1
        elif word in ("}", "]"):
            steps.pop()
        elif word != ":":
            if key_next:
                steps[-1] = str(JSONDecoder().decode(word))
            yield word, at, tuple(steps), key_next
            key_next = word == "{"
            if word in ("{", "["):
                steps.append("" if word == "{" else 0)


class JsonPlaces:
    """Where everything stands in a valid JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[Path, tuple[int, int, str]] = {}  # the key or element, its value, and how that begins
        for word, at, steps, _ in _tokens(text):
            # A key comes before its value, and is the better place to point at.
            place = self._known[steps][0] if steps in self._known else at
            self._known[steps] = (place, at, word)

    def find(self, path: Path) -> tuple[int, tuple[int, int]]:
        """The offset of the key or element at PATH, or of the innermost part of PATH that exists;

        and where its value begins and ends.
        """
        inner = next((path[:depth] for depth in range(len(path), -1, -1) if path[:depth] in self._known), None)
        if inner is None:
            return 0, (0, 0)
        place, at, word = self._known[inner]
        return place, (at, at + len(word) if word not in ("{", "[") else _end_of_json(self._text, at))


def _end_of_json(text: str, start: int) -> int:
    depth = 0
    for found in _TOKEN.finditer(text, start):
        depth += (found[0] in ("{", "[")) - (found[0] in ("}", "]"))
        if not depth:
            return found.end()
    return len(text)


def _repeated_key(file: str, text: str) -> UsageError:
    seen: set[Path] = set()
    for word, at, steps, key in _tokens(text):
        if key and steps in seen:
            before = text[:at]
            line = before.count("\n") + 1
            where = location_in(text, file, line, at - before.rfind("\n"))
            return UsageError(f"{file}: the key {word} appears twice in one object", where=where)
        if key:
            seen.add(steps)
    return UsageError(f"{file}: a key appears twice in one object")
