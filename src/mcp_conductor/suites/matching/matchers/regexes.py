r"""Regular expressions in the dialect of JavaScript, which files of tests are written in, for Python's engine.

Where Python would mean something else, the pattern is translated: `$` is the end of the text only, `.` stops at every
kind of line end, `\d` and `\w` are ASCII and `\s` is not, groups are named `(?<name>…)`.
"""

import re
import warnings

from mcp_conductor.bounded.regex import Regex, compile_regex
from mcp_conductor.text.patterns import compiled_later

_SPACES = r"\t\n\x0b\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_ANY_BUT_LINE_ENDS = r"[^\n\r\u2028\u2029]"
_TOKEN = compiled_later(
    r"""
      \\u\{(?P<code>[0-9a-fA-F]{1,6})\} | \\k<(?P<reference>\w+)> | \\c(?P<control>[A-Za-z])
    | (?P<property>\\[pP]\{) | (?P<fixed>\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[1-9][0-9]?)
    | \\(?P<escaped>.) | (?P<class>\[\^?\]?) | \(\?<(?P<group>[A-Za-z_$][\w$]*)> | (?P<braces>\{[0-9]+(?:,[0-9]*)?\})
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_WRITTEN = compiled_later(r"/(.*)/([ims]*)", re.DOTALL)
_KEPT_ESCAPES = "dDwWbBnrtfvAZ"


def read_regex(pattern: str, flags: str = "") -> Regex:
    """Compile PATTERN; raises ValueError that says what is wrong with it, and where."""
    pieces = _translated(pattern, all_characters="s" in flags, lines="m" in flags)
    mode = re.ASCII | (re.IGNORECASE if "i" in flags else 0) | (re.MULTILINE if "m" in flags else 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what may mean something else one day
            return compile_regex("".join(text for text, _ in pieces), mode, written=pattern)
    except (re.error, OverflowError, RecursionError) as error:
        place = _place(pieces, getattr(error, "pos", None))
        where = "" if place is None else f" at character {place + 1}"
        raise ValueError(f"{pattern!r} is not a regular expression: {getattr(error, 'msg', error)}{where}") from None


def read_written_regex(written: str) -> Regex:
    """Compile what a file has WRITTEN: /pattern/flags, or a pattern alone; raises ValueError."""
    found = _WRITTEN.fullmatch(written)
    return read_regex(found[1], found[2]) if found else read_regex(written)


def _place(pieces: list[tuple[str, int]], pos: int | None) -> int | None:
    """Where in the original the position POS of the translation comes from."""
    if pos is None:
        return None
    for text, start in pieces:
        if pos < len(text):
            return start
        pos -= len(text)
    return pieces[-1][1] + 1 if pieces else 0


def _translated(pattern: str, *, all_characters: bool, lines: bool) -> list[tuple[str, int]]:
    """The pieces of PATTERN in Python's words, each with the place that it comes from."""
    dot = r"[\s\S]" if all_characters else _ANY_BUT_LINE_ENDS
    outside = {".": dot, "$": "(?=[\\n\\r]|\\Z)" if lines else r"\Z", "{": r"\{"}
    pieces: list[tuple[str, int]] = []
    in_class = False
    for found in _TOKEN.finditer(pattern):
        token, start = found[0], found.start()
        if in_class:
            pieces.append((_in_class(found), start))
            in_class = not (found["class"] or found["other"] or "").endswith("]")
        elif found["class"]:
            whole = {"[]": "(?!)", "[^]": r"[\s\S]"}.get(token)
            in_class = whole is None
            pieces.append((whole or token, start))
        elif found["group"]:
            pieces.append((f"(?P<{found['group'].replace('$', '_')}>", start))
        elif found["reference"]:
            pieces.append((f"(?P={found['reference']})", start))
        else:
            pieces.append((outside.get(token) or _common(found, _SPACE_ESCAPES), start))
    return pieces


_SPACE_ESCAPES = {"s": f"[{_SPACES}]", "S": f"[^{_SPACES}]"}


def _in_class(found: re.Match[str]) -> str:
    # Python reserves these for sets of sets.
    if found[0] in ("[", "[^", "[]", "[^]", "&", "~", "|"):
        return re.escape(found[0].removesuffix("]")) + ("]" if found[0].endswith("]") else "")
    return _common(found, {"s": _SPACES, "S": r"\S", "b": r"\x08"})


def _common(found: re.Match[str], escapes: dict[str, str]) -> str:
    if found["property"]:
        raise ValueError(f"{found.string!r} is not supported: there are no \\p{{…}} classes here")
    if found["code"]:
        return re.escape(chr(min(int(found["code"], 16), 0x10FFFF)))
    if found["control"]:
        return f"\\x{ord(found['control']) % 32:02x}"
    escaped = found["escaped"]
    if escaped is None:
        return found[0]
    if escaped in escapes:
        return escapes[escaped]
    if escaped in _KEPT_ESCAPES:
        return found[0]
    return r"\x00" if escaped == "0" else re.escape(escaped)
