"""How text that others wrote is made safe to show: nothing in it can move a cursor, hide, or give orders.

What a server says may hold sequences that a terminal obeys, halves of characters that no file can hold, marks that turn
the direction of writing, characters without a shape, and lines that a CI system takes for commands. All of that is
written as escapes; only colours are dropped.
"""

import re
from collections.abc import Callable

CUT = "…"  # stands for what is left out

# Patterns are texts here: most calls of mcp-cli show nothing, and need not compile them.
_COLOURS = r"\x1b\[[0-9;]*m"
# C0 without tab and newline, C1, soft hyphen, marks and overrides of direction, spaces without width, separators,
# surrogates, tags, and noncharacters. Joiners stay: languages and pictures of people need them.
_UNSEEN = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    r"\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
# GitHub trims a line before it looks for `::`, and takes the older `##[…]` anywhere in a line; Azure takes `##vso[…]`,
# TeamCity `##teamcity[…]`.
_COMMAND = r"(?m)^([^\S\n]*):(?=:)|#(?=#\w{0,20}\[)"


def visible(text: str) -> str:
    """TEXT without anything that cannot be seen, except tabs and newlines, and without commands; it can be UTF-8."""
    return harmless(printable(text))


def printable(text: str) -> str:
    """TEXT without anything that cannot be seen, except tabs and newlines; it can be written as UTF-8 and as XML."""
    if text.isprintable() or re.search(_UNSEEN, text) is None:
        return text
    return re.sub(_UNSEEN, lambda found: _escape(found[0]), re.sub(_COLOURS, "", text))


def harmless(text: str, escape: Callable[[str], str] | None = None) -> str:
    """TEXT, in which ESCAPE writes one character of every workflow command, so that no CI system obeys it."""
    if "::" not in text and "##" not in text:
        return text
    write = escape or _escape
    return re.sub(_COMMAND, lambda found: f"{found[1] or ''}{write(found[0][-1])}", text)


def json_escaped(text: str) -> str:
    """TEXT, which is JSON, with the escapes of JSON for all that `visible` would change: it means the same."""
    return harmless(seen_in_json(text), _json_escape)


def seen_in_json(text: str) -> str:
    """TEXT, which is JSON, with the escapes of JSON for what cannot be seen, except tabs and newlines."""
    return re.sub(_UNSEEN, lambda found: _json_escape(found[0]), text)


def cut(text: str, most: int) -> str:
    """At most MOST characters of TEXT; the last of them is a mark, by which `redaction` finds a secret that was cut."""
    return text if len(text) <= most else text[: most - 1] + CUT


def blank(text: str) -> str:
    """What is as wide as TEXT when it is shown, and empty: a mark after it stands below what follows TEXT."""
    shown = visible(text)
    if shown.isascii() and "\t" not in shown:
        return " " * len(shown)
    from unicodedata import combining, east_asian_width

    def width(character: str) -> str:
        if character == "\t":  # it stays one, so that the mark stands where the editor shows the character
            return character
        if combining(character) or character in "\u200c\u200d\ufe0f":
            return ""
        return "  " if east_asian_width(character) in "WF" else " "

    return "".join(map(width, shown))


def cut_to_columns(text: str, most: int) -> str:
    """As `cut`, by the columns that a terminal needs for TEXT: some characters take two."""
    if text.isascii():
        return cut(text, most)
    taken = kept = 0
    for character in text:
        taken += len(blank(character))
        if taken > most:
            return text[:kept] + CUT
        kept += taken < most  # the mark needs a column, too
    return text


def one_line(text: str) -> str:
    """TEXT on one line, safe to show."""
    return visible(text if text.isprintable() else " ".join(text.splitlines()))


def _escape(character: str) -> str:
    code = ord(character)
    if code == 0x0D:
        return "\\r"
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8 when it came
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    data = character.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{data[index : index + 2].hex()}" for index in range(0, len(data), 2))
