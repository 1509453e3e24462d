"""YAML as nodes that know their places, and as plain data: by the rules of YAML 1.2, to which JSON belongs.

There are merge keys too, as most readers have them. What is merged stands where it was written; its place is there.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, NoReturn

from mcp_conductor.errors import Location, UsageError, location_in
from mcp_conductor.files.yaml_scalars import CORE, MOST_VALUES, NOT_ONLY_TEXT, core_value

_TAG = "tag:yaml.org,2002:"
_TEXT = _TAG + "str"
_DEEPEST = 500
# What a line begins with: each space, dash and question mark may be one level.
_INDENTS = re.compile(r"^[ \t?-]+", re.MULTILINE)
_BRACKETS = re.compile(r"""(?:(?<=[\s\[{,:])|^)(?:"(?:[^"\\]++|\\.)*+"|'(?:[^']++|'')*+')|[\[\]{}]""", re.MULTILINE)
_MOST_QUOTED = 10_000
_MERGE = "<<"
# Half of a character, as JSON spells it; a backslash before it that is itself escaped makes it something else.
_SURROGATE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?=u[dD][89a-fA-F][0-9a-fA-F]{2})")


def compose(file: str, text: str) -> Any:
    """The nodes of TEXT, each with its place; None where there is nothing."""
    import yaml

    # Every value takes a character at least, be it only the one before it.
    loader = _core_loader(counts=len(text) > MOST_VALUES)
    readable, stand_in = _without_surrogates(text)
    try:
        _refuse_depth(file, readable, loader)
        root = yaml.compose(readable, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = _location(file, text, mark) if mark else None
        raise UsageError(f"{file} is not YAML: {error.problem}", hint=_yaml_hint(text, error), where=where) from error
    except StopIteration:  # of the loader's count
        raise UsageError(f"{file}: {_TOO_MANY.format(MOST_VALUES)}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{file} is not YAML: {' '.join(str(error).split())}") from error
    if stand_in:
        _restore(root, stand_in)
    return root


def _without_surrogates(text: str) -> tuple[str, str]:
    """TEXT with another character for each backslash that begins half a character, and that character.

    JSON spells a character beyond the first 65,536 as two halves, which libyaml refuses. This way every place stays as
    it is, and what is not in double quotes, where a backslash is only a backslash, can be restored.
    """
    if "\\u" not in text or not _SURROGATE.search(text):
        return text, ""
    stand_in = next(each for each in map(chr, range(0xF0000, 0xFFFFE)) if each not in text)
    return _SURROGATE.sub(rf"\1{stand_in}", text), stand_in


def _restore(root: Any, stand_in: str) -> None:
    """Put into all scalars below ROOT what STAND_IN stands for."""
    escaped = re.compile(re.escape(stand_in) + "u([0-9a-fA-F]{4})")
    for node in _scalars(root):
        if stand_in not in node.value:
            continue
        if node.style == '"':
            halves = escaped.sub(lambda found: chr(int(found[1], 16)), node.value)
            # Two halves that belong together become one character; one alone stays, as readers of JSON keep it.
            node.value = halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        else:
            node.value = node.value.replace(stand_in, "\\")


def _scalars(root: Any) -> Iterator[Any]:
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting += node
        elif isinstance(node.value, str):
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            waiting += node.value


_BRACES = 'a text with {{ … }} must be in quotes: "{{ name }}"'
# Frequent mistakes in YAML: what libyaml says about them, the line, and what to do. The first that fits counts.
_MISTAKES = (
    ("", r"^ *\t", "indent with spaces: YAML allows no tab there"),
    ("escape", "", "in double quotes a backslash begins an escape; use 'single quotes', or write it twice"),
    ("start any token|alias", "", "a text that begins with @ ` % * & or ! must be in quotes"),
    ("", r"""(?<!["'\w])\{\{""", _BRACES),
    ("", r"""[\w"']: +[^"'\s{\[|>&*!#][^"',{}\[\]]*: """, 'a text with ": " in it must be in quotes'),
    (
        "expected ','",
        r"""[\[{,:] *[^"'\s\[{,:][^"',{}\[\]]*[\[{]""",
        "within { } and [ ], a text with brackets in it must be in quotes",
    ),
    (
        "expected key|expected ','",
        r"""[:,\[{-] *("[^"]*"|'[^']*') +[^\s,:\]}#]""",
        "there is more text after the closing quote",
    ),
    (
        "indicator|expected key|block end|not allowed",
        "",
        "is the indentation right? What belongs together begins in one column",
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
    line = _line(text, mark.line + 1)
    for suspect in (_line(text, mark.line), line):
        # Without its space, a key is the beginning of a text that goes on in the next line.
        found = _NO_SPACE.match(suspect)
        if found and "expected ','" not in error.problem:
            return f"a space is missing after {found[1]}"
    fits = (hint for said, form, hint in _MISTAKES if re.search(said, error.problem) and re.search(form, line))
    return next(fits, None)


@cache
def _core_loader(*, counts: bool) -> Any:
    """The quickest loader there is, with the rules of YAML 1.2 for what a plain scalar means.

    One that COUNTS stops after `MOST_VALUES`.
    """
    import yaml

    scalar, collections = yaml.ScalarNode, {yaml.MappingNode: _TAG + "map", yaml.SequenceNode: _TAG + "seq"}

    class CoreLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            if kind is not scalar:
                return collections[kind]
            # Most scalars can be nothing but text, as their first character shows; it need not be tried out.
            if not implicit[0] or (value and value[0] not in NOT_ONLY_TEXT):
                return _TEXT
            return super().resolve(kind, value, implicit)

    class CountingLoader(CoreLoader):
        def __init__(self, stream: Any) -> None:
            self.count = iter(range(MOST_VALUES)).__next__  # the quickest way to count, and to stop
            super().__init__(stream)

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            self.count()
            return super().resolve(kind, value, implicit)

    for name, (form, _) in CORE.items():
        CoreLoader.add_implicit_resolver(_TAG + name, re.compile(rf"(?:{form})\Z"), None)
    return CountingLoader if counts else CoreLoader


def _refuse_depth(file: str, text: str, loader: Any) -> None:
    """libyaml composes by recursion in C, and crashes on text that is nested too deeply; its events do not."""
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
    # What looks quoted may not be; as long as there is little of it, libyaml cannot crash on it.
    return indented + deepest if quoted < _MOST_QUOTED else _DEEPEST


def construct(root: Any, file: str, text: str) -> Any:
    """Plain data from YAML nodes. Aliases share one value; but all who look at it see it as often as it stands there,
    so that what it comes to in all has a bound.
    """
    from yaml import MappingNode, ScalarNode, SequenceNode

    made: dict[int, Any] = {}
    sizes: dict[int, int] = {}  # with aliases written out
    has_aliases = "&" in text and "*" in text  # perhaps; otherwise values are as many as they were composed of
    copied = 0  # members of mappings that were merged into others

    def refuse(node: Any, problem: str, hint: str | None = None) -> NoReturn:
        raise UsageError(f"{file}: {problem}", hint=hint, where=_location(file, text, node.start_mark))

    def shared(node: Any) -> Any:
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

    def with_merged(node: Any, own: dict[str, Any]) -> dict[str, Any]:
        """OWN with the members of what is merged, at their places: the file's own come first, then the first merged."""
        nonlocal copied
        whole: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not _is_merge(key_node):
                whole[key_node.value] = own[key_node.value]
                continue
            value = made[id(value_node)]
            for each in value if isinstance(value, list) else [value]:
                if not isinstance(each, dict):
                    refuse(key_node, "only mappings can be merged", "<<: *NAME, or <<: [*NAME, *NAME]")
                copied += len(each)
                if copied > MOST_VALUES:
                    refuse(key_node, _TOO_MANY.format(MOST_VALUES), "what is merged counts each time")
                for key in each:
                    whole.setdefault(key, own.get(key, each[key]))
        return whole

    def fresh(node: Any) -> Any:
        if isinstance(node, ScalarNode):
            if node.tag == _TEXT:
                return node.value
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
        merges = False
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                refuse(key_node, "a key must be plain text", _BRACES if isinstance(key_node, MappingNode) else None)
            is_text = value_node.tag == _TEXT and isinstance(value_node, ScalarNode)  # as nearly all are
            value, key = value_node.value if is_text else make(value_node), key_node.value
            if key == _MERGE and _is_merge(key_node):
                merges = True
                made[id(value_node)] = value
                continue
            if key in mapping:
                refuse(key_node, f"the key {key!r} appears twice in one mapping")
            mapping[key] = value
        if has_aliases:
            weigh(node, [value for _, value in node.value])
        return with_merged(node, mapping) if merges else mapping

    make = shared if has_aliases else fresh
    return None if root is None else make(root)


_UNFINISHED = object()
_TOO_MANY = "it has more than {:,} values"


def _scalar(node: Any) -> Any:
    kind = node.tag.removeprefix(_TAG)
    if kind in ("str", "!"):
        return node.value
    if kind not in CORE or not re.fullmatch(CORE[kind][0], node.value):
        raise ValueError(f"{node.value!r} cannot be read as {node.tag}")
    return core_value(kind, node.value)


def child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """The node below NODE, and the mark to point at: for a member of a mapping, its key."""
    if isinstance(step, int):
        found = node.value[step] if node.id == "sequence" and 0 <= step < len(node.value) else None
        return None if found is None else (found, found.start_mark)
    pairs = node.value if _is_mapping(node) else []
    for key_node, value_node in pairs:
        if key_node.value == step and not (step == _MERGE and _is_merge(key_node)):
            return value_node, key_node.start_mark
    merged = (value_node for key_node, value_node in pairs if _is_merge(key_node))
    each_merged = (one for node in merged for one in ([node] if _is_mapping(node) else node.value))
    return next((found for one in each_merged if (found := child(one, step)) is not None), None)


def _is_merge(key_node: Any) -> bool:
    return bool(key_node.value == _MERGE and not key_node.style)  # in quotes it is a name as any other


def _is_mapping(node: Any) -> bool:
    return bool(node.id == "mapping")


def _location(file: str, text: str, mark: Any) -> Location:
    return location_in(text, file, mark.line + 1, mark.column + 1)


def _line(text: str, line: int) -> str:
    return location_in(text, "", line, 1).source
