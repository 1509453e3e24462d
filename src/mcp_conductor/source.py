"""JSON or YAML text as plain data, together with the place of every value in it.

YAML is read by the rules of YAML 1.2: `yes`, `on` and dates stay text, and a key that stands twice is refused. JSON may
have comments and trailing commas, as editors write them. Places are worked out only when somebody asks, so that a JSON
file costs no YAML parser.
"""

import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from json import JSONDecodeError, JSONDecoder
from typing import Any, ClassVar, NoReturn

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.reading import read_bytes

Path = tuple[str | int, ...]

# Possessive, so that long texts take no memory; and what is not closed goes on to the end, so that it is read once.
_COMMENTS = re.compile(r'("(?:[^"\\\n]++|\\.)*+")|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]+')
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]++|\\.)*+")|,(?=\s*+[}\]])')
# The core schema of YAML 1.2, section 10.3.2: what plain text may be besides text.
_CORE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "null": (r"~|null|Null|NULL|", lambda _: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    "int": (
        r"[-+]?[0-9]{1,4000}|0o[0-7]{1,4000}|0x[0-9a-fA-F]{1,3000}",
        lambda text: int(text, 0 if text[:2] in ("0o", "0x") else 10),
    ),
    "float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
}
_NOT_ONLY_TEXT = frozenset("~nNtTfF+-.0123456789")  # what null, booleans and numbers begin with
_TAG = "tag:yaml.org,2002:"
_DEEPEST = 500
# What a line begins with: each space, dash and question mark may be one level.
_INDENTS = re.compile(r"^[ \t?-]+", re.MULTILINE)
_BRACKETS = re.compile(r"""(?:(?<=[\s\[{,:])|^)(?:"(?:[^"\\]++|\\.)*+"|'(?:[^']++|'')*+')|[\[\]{}]""", re.MULTILINE)
_MOST_QUOTED = 10_000
MOST_VALUES = 1_000_000  # of a YAML file, its aliases written out: some seconds, and half a gigabyte


@dataclass(frozen=True)
class Document:
    """The data of one file, and where each part of it stands."""

    file: str
    text: str
    data: Any
    json: bool
    root: Any = None  # the nodes of YAML, which know their places

    def locate(self, path: Path) -> Location | None:
        """Where the value at PATH stands, or the innermost part of PATH that exists."""
        if not self.json:
            mark = self._mark(path)
            return None if mark is None else self._location(mark.line + 1, mark.column + 1)
        before = self.text[: _place_in_json(self.text, path)]
        return self._location(before.count("\n") + 1, len(before) - before.rfind("\n"))

    def lines(self, path: Path) -> tuple[int, int]:
        """The first and the last line of the value at PATH; of JSON, only the first is known."""
        node = self.root
        for step in path:
            child = _child(node, step) if node is not None else None
            if child is None:
                where = self.locate(path)
                return (1, 1) if where is None else (where.line, where.line)
            node = child[0]
        end = node.end_mark
        # A block ends where the next one begins: in the first column of a line that is not its own.
        return node.start_mark.line + 1, max(node.start_mark.line, end.line - (end.column == 0)) + 1

    def _location(self, line: int, column: int) -> Location:
        source = self._lines[line - 1] if line <= len(self._lines) else ""
        return Location(self.file, line, column, source)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def _mark(self, path: Path) -> Any:
        node = self.root
        if node is None:
            return None
        mark = node.start_mark
        for step in path:
            child = _child(node, step)
            if child is None:
                break
            node, mark = child
        return mark


def load(path: str, shown: str | None = None, *, json: bool | None = None) -> Document:
    """Read the JSON or YAML file at PATH; messages call it SHOWN. Its name tells the format, unless JSON does."""
    shown = shown or path
    try:
        text = _text(read_bytes(path))
    except OSError as error:
        raise UsageError(f"cannot read {shown}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {shown}: it is not UTF-8 text") from error
    return parse(text, shown, json=json)


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def parse(text: str, file: str, *, json: bool | None = None) -> Document:
    """Read JSON (if FILE is called so, or JSON is true) or YAML text."""
    if _is_json(file) if json is None else json:
        return Document(file, text, _parse_json(text, file), json=True)
    root = _compose(file, text)
    return Document(file, text, _construct(root, file, text), json=False, root=root)


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
        where = Location(file, error.lineno, error.colno, _source_line(text, error.lineno))
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


def _place_in_json(text: str, path: Path) -> int:
    """The offset of the key or element at PATH in a valid JSON text, or of the innermost part of PATH that exists."""
    place, depth = 0, -1
    for _, at, steps, _ in _tokens(text):
        # A key comes before its value, and is the better place to point at.
        if len(steps) > depth and steps == path[: len(steps)]:
            place, depth = at, len(steps)
    return place


def _repeated_key(file: str, text: str) -> UsageError:
    seen: set[Path] = set()
    for word, at, steps, key in _tokens(text):
        if key and steps in seen:
            before = text[:at]
            line = before.count("\n") + 1
            where = Location(file, line, at - before.rfind("\n"), _source_line(text, line))
            return UsageError(f"{file}: the key {word} stands twice in one object", where=where)
        if key:
            seen.add(steps)
    return UsageError(f"{file}: a key stands twice in one object")


def _compose(file: str, text: str) -> Any:
    import yaml

    loader = _core_loader()
    try:
        _refuse_depth(file, text, loader)
        return yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = _location(file, text, mark) if mark else None
        raise UsageError(f"{file} is not YAML: {error.problem}", hint=_yaml_hint(text, error), where=where) from error
    except StopIteration:  # of the loader's count
        raise UsageError(f"{file}: {_TOO_MANY.format(MOST_VALUES)}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{file} is not YAML: {' '.join(str(error).split())}") from error


_BRACES = 'a text with {{ … }} must stand in quotes: "{{ name }}"'
# What people write that is no YAML: what libyaml says of it, the line, and what to do. The first that fits counts.
_MISTAKES = (
    ("", r"^ *\t", "indent with spaces: YAML allows no tab there"),
    ("escape", "", "in double quotes a backslash begins an escape; use 'single quotes', or write it twice"),
    ("start any token|alias", "", "a text that begins with @ ` % * & or ! must stand in quotes"),
    ("", r"""(?<!["'\w])\{\{""", _BRACES),
    ("", r"""[\w"']: +[^"'\s{\[|>&*!#][^"',{}\[\]]*: """, 'a text with ": " in it must stand in quotes'),
    (
        "expected key|expected ','",
        r"""[:,\[{-] *("[^"]*"|'[^']*') +[^\s,:\]}#]""",
        "the text goes on after its closing quote",
    ),
    (
        "indicator|expected key|block end|not allowed",
        "",
        "is it indented right? What belongs together begins in one column",
    ),
)
_NO_SPACE = re.compile(r"^\s*(?:- +)?(?!match:)([\w$]+:)(?!\S*: )[^\s:/].*$")


def _yaml_hint(text: str, error: Any) -> str | None:
    """What to do about a mistake that is known to be made."""
    mark, began = error.problem_mark or error.context_mark, error.context_mark
    if mark is None:
        return None
    if began is not None and began.line < mark.line and re.search("flow|quoted", error.context or ""):
        return f"is what begins with {text[began.index]} in line {began.line + 1} closed?"
    line = _source_line(text, mark.line + 1)
    for suspect in (_source_line(text, mark.line), line):
        # Without its space, a key is the beginning of a text that goes on in the next line.
        found = _NO_SPACE.match(suspect)
        if found and "expected ','" not in error.problem:
            return f"a space is missing after {found[1]}"
    fits = (hint for said, form, hint in _MISTAKES if re.search(said, error.problem) and re.search(form, line))
    return next(fits, None)


@cache
def _core_loader() -> Any:
    """The quickest loader there is, with the rules of YAML 1.2 for what a plain scalar means."""
    import yaml

    class CoreLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

        def __init__(self, stream: Any) -> None:
            self.count = iter(range(MOST_VALUES)).__next__  # the quickest way to count, and to stop
            super().__init__(stream)

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            self.count()
            # Most scalars can be nothing but text, as their first character shows; it need not be tried out.
            if kind is yaml.ScalarNode and (not implicit[0] or (value and value[0] not in _NOT_ONLY_TEXT)):
                return _TAG + "str"
            return super().resolve(kind, value, implicit)

    for name, (form, _) in _CORE.items():
        CoreLoader.add_implicit_resolver(_TAG + name, re.compile(rf"(?:{form})\Z"), None)
    return CoreLoader


def _refuse_depth(file: str, text: str, loader: Any) -> None:
    """libyaml composes by recursion in C, and dies of what is nested too deeply; its events do not."""
    import yaml

    if _deepest_possible(text) < _DEEPEST:
        return
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise UsageError(f"{file} is nested too deeply", where=_location(file, text, event.start_mark))


def _deepest_possible(text: str) -> int:
    """How deep TEXT is nested at most: by its indentation, and by the brackets that are open at once."""
    indented = max(map(len, _INDENTS.findall(text)), default=0)
    if indented + text.count("[") + text.count("{") < _DEEPEST:
        return indented
    deepest = depth = quoted = 0
    for found in _BRACKETS.finditer(text):
        token = found[0]
        if len(token) > 1:
            quoted += token.count("[") + token.count("{")
        else:
            depth = depth + 1 if token in "[{" else max(0, depth - 1)
            deepest = max(deepest, depth)
    # What looks quoted may not be; as long as there is little of it, it cannot be what libyaml dies of.
    return indented + deepest if quoted < _MOST_QUOTED else _DEEPEST


def _construct(root: Any, file: str, text: str) -> Any:
    """Plain data from YAML nodes. Aliases share one value; but all who look at it see it as often as it stands there,
    so that what it comes to in all has a bound.
    """
    from yaml import MappingNode, ScalarNode, SequenceNode

    made: dict[int, Any] = {}
    sizes: dict[int, int] = {}  # with aliases written out
    has_aliases = "&" in text and "*" in text  # perhaps; otherwise values are as many as they were composed of

    def refuse(node: Any, problem: str, hint: str | None = None) -> NoReturn:
        raise UsageError(f"{file}: {problem}", hint=hint, where=_location(file, text, node.start_mark))

    def make(node: Any) -> Any:
        if id(node) not in made:
            made[id(node)] = _UNFINISHED
            made[id(node)] = fresh(node)
        if made[id(node)] is _UNFINISHED:
            refuse(node, "a value cannot contain itself")
        return made[id(node)]

    def weigh(node: Any, below: list[Any]) -> None:
        sizes[id(node)] = 1 + sum(sizes.get(id(each), 1) for each in below)
        if sizes[id(node)] > MOST_VALUES:
            refuse(node, _TOO_MANY.format(MOST_VALUES), "an alias counts as all that it stands for")

    def fresh(node: Any) -> Any:
        if isinstance(node, ScalarNode):
            try:
                return _scalar(node)
            except ValueError as error:
                refuse(node, str(error))
        if isinstance(node, SequenceNode):
            items = [make(item) for item in node.value]
            if has_aliases:
                weigh(node, node.value)
            return items
        assert isinstance(node, MappingNode)
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                refuse(key_node, "a key must be plain text", _BRACES if isinstance(key_node, MappingNode) else None)
            if key_node.value in mapping:
                refuse(key_node, f"the key {key_node.value!r} stands twice in one mapping")
            mapping[key_node.value] = make(value_node)
        if has_aliases:
            weigh(node, [value for _, value in node.value])
        return mapping

    return None if root is None else make(root)


_UNFINISHED = object()
_TOO_MANY = "it has more than {:,} values"


def _scalar(node: Any) -> Any:
    kind = node.tag.removeprefix(_TAG)
    if kind in ("str", "!"):
        return node.value
    if kind not in _CORE or not re.fullmatch(_CORE[kind][0], node.value):
        raise ValueError(f"{node.value!r} cannot be read as {node.tag}")
    value = _CORE[kind][1](node.value)
    if value in (math.inf, -math.inf):
        raise ValueError(f"{node.value[:20]}… is too large a number")
    return value


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """The node below NODE, and the mark to point at: for a member of a mapping, its key."""
    children = node.value if isinstance(node.value, list) else []
    if isinstance(step, int):
        found = children[step] if 0 <= step < len(children) else None
        return None if found is None or isinstance(found, tuple) else (found, found.start_mark)
    for child in children:
        if isinstance(child, tuple) and child[0].value == step:
            return child[1], child[0].start_mark
    return None


def _location(file: str, text: str, mark: Any) -> Location:
    return Location(file, mark.line + 1, mark.column + 1, _source_line(text, mark.line + 1))


def _source_line(text: str, line: int) -> str:
    lines = text.split("\n")
    return lines[line - 1] if 0 < line <= len(lines) else ""
