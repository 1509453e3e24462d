"""Data as YAML that a person would have written: short things on one line, long texts as blocks, quotes where needed.

What is written here is read back by `source.py` as exactly the same data, and means the same by the rules of YAML 1.1,
which other programs still go by. Text that is not Unicode (lone surrogates) cannot be written: see `is_writable`.
"""

import re
from json import dumps
from typing import Any

from mcp_conductor.protocol.message import Digits
from mcp_conductor.text.visible import cut, harmless

WIDTH = 100
LONGEST_KEY = 500  # YAML wants to know within 1024 characters that something is a key
_DEEPEST_ON_A_LINE = 3
_PLAIN = re.compile(r"[A-Za-z_][\w./()+-]*(?: [\w./()+-]+)*", re.ASCII)
_PLAIN_LINE = re.compile(r"[A-Za-z_][!-~]*(?: [!-~]+)*")
_ENDS_PLAIN = re.compile(r":(?: |\Z)| #")  # what would be a key, or a comment
_PLAIN_KEY = re.compile(r"(?:match:)?[A-Za-z_][\w.-]*", re.ASCII)
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"])
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def is_writable(value: Any) -> bool:
    """Whether VALUE can be written and read back as it is."""
    match value:
        case str():
            return not _SURROGATE.search(value)
        case dict():
            return all(len(key) <= LONGEST_KEY and is_writable(key) and is_writable(value[key]) for key in value)
        case list():
            return all(map(is_writable, value))
        case _:
            return not isinstance(value, Digits)


def entry(key: str, value: Any, indent: int = 0) -> list[str]:
    """The lines of `KEY: VALUE`."""
    head = f"{' ' * indent}{key if _is_plain_key(key) else _quoted(key)}:"
    if isinstance(value, str) and _is_block(value):
        return [f"{head} {_block_sign(value)}", *_block_lines(value, indent + 2)]
    one_line = f"{head} {_alone(value)}"
    if _is_short(value, one_line):
        return [one_line]
    return [head, *block(value, indent + 2)]


def block(value: Any, indent: int = 0) -> list[str]:
    """The lines of an object or an array that is not empty, one below the other."""
    if isinstance(value, dict):
        return [line for key, member in value.items() for line in entry(key, member, indent)]
    return [line for element in value for line in item(element, indent)]


def item(value: Any, indent: int = 0) -> list[str]:
    """The lines of `- VALUE`."""
    one_line = f"{' ' * indent}- {_alone(value)}"
    if isinstance(value, str) and _is_block(value):
        return [f"{' ' * indent}- {_block_sign(value)}", *_block_lines(value, indent + 2)]
    if _is_short(value, one_line):
        return [one_line]
    first, *rest = block(value, indent + 2)
    return [f"{' ' * indent}- {first[indent + 2 :]}", *rest]


def on_one_line(value: Any) -> str:
    """VALUE in the way of JSON, with quotes only where they are needed."""
    match value:
        case str():
            return value if _is_plain(value) else _quoted(value)
        case dict():
            return "{" + ", ".join(f"{_flow_key(key)}: {on_one_line(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(on_one_line, value)) + "]"
        case _:
            return dumps(value, allow_nan=False)


def _alone(value: Any) -> str:
    """VALUE as the rest of a line: outside of brackets, a text needs quotes more rarely."""
    if not isinstance(value, str) or len(value) > LONGEST_KEY or value.startswith("match:"):
        return on_one_line(value)
    plain = _PLAIN_LINE.fullmatch(value) and value.lower() not in _WORDS and harmless(value) == value
    return value if plain and not _ENDS_PLAIN.search(value) else on_one_line(value)


def comment(text: str, indent: int = 0, *, most: int = WIDTH) -> str:
    """TEXT as a comment on one line, cut if it is too long."""
    words = " ".join(text.split())
    shown = harmless("".join(character if character.isprintable() else "\ufffd" for character in words))
    return f"{' ' * indent}# {cut(shown, most)}".rstrip()


def _is_short(value: Any, line: str) -> bool:
    if not isinstance(value, (dict, list)) or not value:
        return True
    return len(line) <= WIDTH and _depth(value) <= _DEEPEST_ON_A_LINE


def _depth(value: Any) -> int:
    if isinstance(value, str) and _is_block(value):
        return _DEEPEST_ON_A_LINE + 1
    if isinstance(value, list) and any(isinstance(each, str) and _alone(each) != on_one_line(each) for each in value):
        return _DEEPEST_ON_A_LINE + 1  # one below the other, they need no quotes
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if members is None else 1 + max(map(_depth, members), default=0)


def _is_plain(text: str) -> bool:
    return len(text) <= LONGEST_KEY and _PLAIN.fullmatch(text) is not None and text.lower() not in _WORDS


def _is_plain_key(key: str) -> bool:
    return len(key) <= LONGEST_KEY and _PLAIN_KEY.fullmatch(key) is not None and key.lower() not in _WORDS


def _flow_key(key: str) -> str:
    # Between brackets, a colon within a key means different things to different parsers.
    return key if _is_plain_key(key) and ":" not in key else _quoted(key)


def _is_block(text: str) -> bool:
    """Whether TEXT reads better as a block of lines, and is read back from it unchanged."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 2 or not lines[0] or lines[0][0] in " \t" or not lines[-1]:
        return False
    return all(line.isprintable() and line == line.rstrip() for line in lines) and harmless(text) == text


def _block_sign(text: str) -> str:
    return "|" if text.endswith("\n") else "|-"


def _block_lines(text: str, indent: int) -> list[str]:
    return [f"{' ' * indent}{line}" if line else "" for line in text.removesuffix("\n").split("\n")]


def _quoted(text: str) -> str:
    foreign = not text.isprintable() or harmless(text) != text
    if ('"' in text or "\\" in text) and not foreign and text.count("'") <= text.count('"'):
        return "'" + text.replace("'", "''") + "'"
    return harmless('"' + "".join(map(_escaped, text)) + '"')


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
