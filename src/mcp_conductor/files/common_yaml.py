"""YAML as most people write it, as plain data: a subset that is read line by line, without places.

What is read here has the value that `yaml_nodes` gives it; a test compares the two on many files. All that is unusual
is not read here: anchors, aliases, tags, texts of several lines, tabs, keys that stand twice, and all mistakes. A suite
of a thousand tests is read in a quarter of the time, and a small one needs no parser to be imported.
"""

import re
from dataclasses import field
from json import loads
from sys import intern
from typing import Any

from mcp_conductor.files.yaml_scalars import MOST_VALUES, plain_value
from mcp_conductor.values import dataclass

# What a plain scalar may begin with, and be made of, when it is not within brackets. Each part begins with another
# character, so that nothing is tried twice.
_PLAIN = r"(?:[^ !-#%-'*,-.:<-@\[\\\]`{-~]|[-.](?=[0-9A-Za-z_/]))(?:[^ :#]++|:(?! |$)|(?<! )#| ++(?![#:]|$))*+"
_DOUBLE = r'"(?:[^"\\]++|\\["\\bfnrt])*+"'
_SINGLE = r"'(?:[^']++|'')*+'"
_SCALAR = f"{_PLAIN}|{_DOUBLE}|{_SINGLE}"
_LINE = re.compile(rf"( *+)(- ++)?+(?:({_SCALAR}):(?: ++|$))?+({_SCALAR}|[\[{{].*)?+(?: *+$| ++#)")
_NOTHING_THERE = re.compile(r" *+(?:#.*)?$")
# Within brackets: a token of the line, and the spaces after it. Plain texts are those that are never anything else.
_WORD = r"[A-Za-z0-9_$][\w$./+-]*+"
_TOKEN = re.compile(rf"(?:([\[\]{{}}])|(,)|({_DOUBLE}|{_SINGLE}|-?{_WORD}(?: {_WORD})*+)(:(?= ))?+) *+")
_LONGEST_KEY = 1000  # libyaml has a limit of 1024
_DEEPEST = 50
_NONE_YET: Any = object()  # in place of a value that the next line begins
_IN_BRACKETS: Any = object()  # in place of a value that has to be made for each line, because it can be changed


class Unusual(Exception):  # noqa: N818  # no error: the text has to be read in the other way
    """The text is not of the kind that is read here."""


@dataclass(slots=True)
class CommonYaml:
    """The data of a text; and the lists that its mapping has: where those of their items stand that are block mappings.

    Lines and columns are counted from 0.
    """

    data: dict[str, Any]
    items: dict[str, list[tuple[int, int] | None]] = field(default_factory=dict)


def read_common_yaml(text: str) -> CommonYaml | None:
    """What TEXT holds; None if it is not of the kind that is read here, or may have more than `MOST_VALUES`."""
    # Control characters, tabs, and characters that end a line for some readers and not for others.
    if not text.replace("\n", "").isprintable():
        return None
    try:
        return _Lines().read(text.split("\n"))
    except Unusual:
        return None


class _Lines:
    """Reads lines one after the other."""

    def __init__(self) -> None:
        self._left = MOST_VALUES
        self._known: dict[str, tuple[int, int, Any, Any, str]] = {}  # most lines of a suite stand in it many times

    def read(self, lines: list[str]) -> CommonYaml:  # one loop: a call for each line costs as much
        root: dict[str, Any] = {}
        whole = CommonYaml(root)
        known, values = self._known, 2 * len(lines)
        # The innermost collection, its column, and the key that waits for its value; around it, the others.
        here: Any = root
        column = 0
        waiting: str | None = None
        around: list[tuple[Any, int]] = []
        places: list[tuple[int, int] | None] = []
        if values > self._left:
            raise Unusual
        for number, line in enumerate(lines):
            found = known.get(line)
            if found is None:
                found = known[line] = self._line(line)
            indent, item, key, value, bracketed = found
            if indent != column or item or waiting is not None:
                if indent < 0:
                    if item and root:  # only what comes first can begin the only document
                        raise Unusual
                    continue
                if waiting is not None:
                    deeper = indent > column
                    if deeper or (item and indent == column):
                        around.append((here, column))
                        if len(around) > _DEEPEST:
                            raise Unusual
                        below: Any = [] if item else {}
                        if item and here is root:
                            places = whole.items[waiting] = []
                        here[waiting] = below
                        here, column = below, indent
                    waiting = None
                while indent < column:
                    here, column = around.pop()
                if indent != column:
                    raise Unusual  # such as a text that goes on
                if item:
                    if here.__class__ is not list:
                        raise Unusual
                    values += 1
                    if len(around) == 1 and around[0][0] is root:
                        places.append(None if key is None else (number, item))
                    if key is None:
                        here.append(self._bracketed(bracketed) if value is _IN_BRACKETS else value)
                        continue
                    around.append((here, column))
                    if len(around) > _DEEPEST:
                        raise Unusual
                    below = {}
                    here.append(below)
                    here, column = below, item
                elif here.__class__ is list:  # that has the column of the mapping that it is in
                    here, column = around.pop()
                    if indent != column:
                        raise Unusual
            if key is None or key in here or here.__class__ is not dict:
                raise Unusual
            if value is _NONE_YET:
                waiting = key
                here[key] = None
            else:
                here[key] = self._bracketed(bracketed) if value is _IN_BRACKETS else value
        if not root or values > self._left:
            raise Unusual
        return whole

    def _line(self, line: str) -> tuple[int, int, Any, Any, str]:
        """The column of LINE, and that of the item that begins in it; its key; its value, and its text if in brackets.

        The column is -1 where there is nothing, or only the beginning of a document, whose item is then 1.
        """
        if _NOTHING_THERE.match(line):
            return -1, 0, None, None, ""
        if line == "---":
            return -1, 1, None, None, ""
        match = _LINE.match(line)
        if match is None:
            raise Unusual
        spaces, dash, key, value = match.groups()
        indent = len(spaces)
        item = indent + len(dash) if dash else 0
        if key is not None:
            key = intern(_text(key) if key[0] in "\"'" else key)
            if len(key) > _LONGEST_KEY:
                raise Unusual
        elif value is None:
            raise Unusual
        if value is None:
            return indent, item, key, _NONE_YET, ""
        if value[0] in "[{":
            return indent, item, key, _IN_BRACKETS, line[match.start(4) :]
        return indent, item, key, _text(value), ""

    def _bracketed(self, text: str) -> Any:
        """The value of TEXT, which begins with a bracket, ends with the line, and may have a comment after it."""
        tokens = _Tokens(text)
        value = tokens.value()
        self._left -= 2 * tokens.taken
        return value if tokens.is_over() else _refuse()


class _Tokens:
    """The tokens of a value in brackets."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._depth = 0
        self.taken = 0

    def is_over(self) -> bool:
        rest = self._text[self._place :]
        return not rest or (rest[0] == "#" and self._text[self._place - 1] == " ")

    def _next(self) -> tuple[str | None, str | None, str | None, str | None]:
        """A bracket, a comma, or a text and perhaps the colon after it."""
        match = _TOKEN.match(self._text, self._place)
        if match is None:
            raise Unusual
        self._place = match.end()
        self.taken += 1
        bracket, comma, text, colon = match.groups()
        return bracket, comma, text, colon

    def value(self) -> Any:
        return self._value(*self._next())

    def _value(self, bracket: str | None, comma: str | None, text: str | None, colon: str | None) -> Any:
        if text is not None and colon is None:
            return _text(text)
        if bracket not in ("[", "{") or comma is not None or self._depth > _DEEPEST:
            raise Unusual
        self._depth += 1
        made = self._list() if bracket == "[" else self._mapping()
        self._depth -= 1
        return made

    def _list(self) -> list[Any]:
        items: list[Any] = []
        token = self._next()
        while token[0] != "]":
            items.append(self._value(*token))
            token = self._next()
            if token[1] is not None:
                token = self._next()
                if token[0] == "]":
                    raise Unusual
            elif token[0] != "]":
                raise Unusual
        return items

    def _mapping(self) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        token = self._next()
        while token[0] != "}":
            _, _, text, colon = token
            if text is None or colon is None or len(text) > _LONGEST_KEY:
                raise Unusual
            key = _text(text) if text[0] in "\"'" else text
            if key in mapping:
                raise Unusual
            mapping[key] = self.value()
            token = self._next()
            if token[1] is not None:
                token = self._next()
                if token[0] == "}":
                    raise Unusual
            elif token[0] != "}":
                raise Unusual
        return mapping


def _text(written: str) -> Any:
    """The value of a scalar as it is WRITTEN."""
    if written[0] == '"':
        return written[1:-1] if "\\" not in written else loads(written)
    if written[0] == "'":
        return written[1:-1].replace("''", "'")
    try:
        return plain_value(written)
    except ValueError:
        raise Unusual from None


def _refuse() -> Any:
    raise Unusual
