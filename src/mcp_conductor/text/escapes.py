r"""What a text says when its escapes are undone, and where in the text each part of that stands.

A row for each family of escapes: of JSON, JavaScript, Python, C, URLs, HTML and mail. Escapes may be escaped again.
Colours and characters without a shape are left out: a terminal shows what stands around them in one piece.
Backslashes are left out: how many stand before a character only says how often the text was quoted.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cache

from mcp_conductor.text.visible import CUT

Span = tuple[int, int]
Meaning = Callable[[bytes], bytes]

# Stands for a mark that says that something was left out; no byte of UTF-8 is like it.
CUT_BYTE = b"\xff"
_MOST_TIMES = 4
_CONTROLS = dict(zip(b"abtnvfr0", b"\a\b\t\n\v\f\r\0", strict=True))
_NAMED = {b"quot": b'"', b"amp": b"&", b"lt": b"<", b"gt": b">", b"apos": b"'"}


def _nothing(_: bytes) -> bytes:
    return b""


def _cut(_: bytes) -> bytes:
    return CUT_BYTE


def _byte(digits: bytes) -> bytes:
    return bytes((int(digits, 16),))


def _octal(digits: bytes) -> bytes:
    return bytes((int(digits, 8),))


def _character(digits: bytes) -> bytes:
    return _encoded(int(digits, 16))


def _numbered(digits: bytes) -> bytes:
    return _encoded(int(digits))


def _encoded(code: int) -> bytes:
    return chr(code).encode(errors="surrogatepass") if code <= 0x10FFFF else b""


def _pair(digits: bytes) -> bytes:
    return bytes.fromhex(digits.translate(None, b"\\u").decode()).decode("utf-16-be").encode()


def _control(letter: bytes) -> bytes:
    return bytes((_CONTROLS[letter[0]],))


def _named(name: bytes) -> bytes:
    if name in _NAMED:
        return _NAMED[name]
    from html.entities import html5  # takes milliseconds, and is hardly ever needed

    return html5.get(f"{name.decode()};", f"&{name.decode()};").encode()


_HEX = rb"[0-9a-fA-F]"
# Of an escape that was cut, what is left means nothing.
_CUT_OFF = rb"(?= ?(?:%b|\.{3}))" % CUT.encode()
# At most eight backslashes: with any number of them, a text of nothing else would be looked at again and again.
_BACKSLASHES = rb"\\(?:\\{0,7})"
# How each begins, what follows with its one group, and what that group means.
_SURE: list[tuple[bytes, bytes, Meaning]] = [
    (_BACKSLASHES, rb"((?:u001[bB]|x1[bB]|033|e)\[[0-9;]*m)", _nothing),
    (_BACKSLASHES, rb"(u(?:200[b-fB-F]|2060|[fF][eE][fF]{2}|00[aA][dD]))", _nothing),
    (_BACKSLASHES, rb"(u[dD][89abAB]%b{2}\\{1,8}u[dD][c-fC-F]%b{2})" % (_HEX, _HEX), _pair),
    (_BACKSLASHES, rb"u(%b{4})" % _HEX, _character),
    (_BACKSLASHES, rb"u\{(%b{1,6})\}" % _HEX, _character),
    (_BACKSLASHES, rb"U(%b{8})" % _HEX, _character),
    (_BACKSLASHES, rb"x(%b{2})" % _HEX, _byte),
    (_BACKSLASHES, rb"((?:u%b{0,3}|x%b?)%b)" % (_HEX, _HEX, _CUT_OFF), _nothing),
    (_BACKSLASHES, rb"([abtnvfr]|0(?![0-7]))", _control),
    (rb"%", rb"(?:25)*(%b{2})" % _HEX, _byte),
    (rb"%", rb"(?:25)*u(%b{4})" % _HEX, _character),
    (rb"%", rb"((?:25)*%b?%b)" % (_HEX, _CUT_OFF), _nothing),
    (rb"&", rb"(?:amp;)*\#[xX](%b{1,6});?" % _HEX, _character),
    (rb"&", rb"(?:amp;)*\#([0-9]{1,7});?", _numbered),
    (rb"&", rb"(?:amp;)*([a-zA-Z][a-zA-Z0-9]{1,30});", _named),
    (rb"&", rb"((?:amp;)*\#?[xX]?%b{0,6}%b)" % (_HEX, _CUT_OFF), _nothing),
    (rb"\x1b", rb"(\[[0-9;]*m)", _nothing),
    (rb"\xe2", rb"(\x80\xa6)", _cut),
    (rb"\xe2", rb"(\x80[\x8b-\x8f]|\x81\xa0)", _nothing),
    (rb"\xef", rb"(\xbb\xbf)", _nothing),
    (rb"\xc2", rb"(\xad)", _nothing),
    (rb"\.", rb"(\.\.+)", _cut),
]
# What looks like one of these is often none: `key=ad`, `C:\123`.
_DOUBTFUL: list[tuple[bytes, bytes, Meaning]] = [
    (_BACKSLASHES, rb"([0-3][0-7]{2})", _octal),
    (rb"=", rb"(%b{2})" % _HEX, _byte),
]
_REST: list[tuple[bytes, bytes, Meaning]] = [(_BACKSLASHES, rb"()", _nothing)]
_FIRST_BYTES = b"\\%&\x1b\xe2\xef\xc2"
_DOUBTFUL_ONE = rb"\\[0-3][0-7]{2}|=[0-9a-fA-F]{2}"


def has_escapes(data: bytes) -> bool:
    """Whether there may be anything to undo."""
    # To look for single bytes takes hardly any time; most texts are done with that.
    return len(data.translate(None, _FIRST_BYTES)) < len(data) or b"..." in data


def has_doubtful_escapes(data: bytes) -> bool:
    """Whether anything may be an escape that often is none."""
    return (b"\\" in data or b"=" in data) and re.search(_DOUBTFUL_ONE, data) is not None


def undone(data: bytes, *, doubtful: bool) -> list[bytes]:
    """DATA, which is UTF-8; then what the one before says with its escapes undone, as long as there are any."""
    layers = [data]
    pattern, meanings = _compiled(doubtful)

    def meant(escape: re.Match[bytes]) -> bytes:
        return meanings[escape.lastindex or 0](escape[escape.lastindex or 0])

    while len(layers) <= _MOST_TIMES and (has_escapes(layers[-1]) or (doubtful and b"=" in layers[-1])):
        layer = pattern.sub(meant, layers[-1])
        if layer == layers[-1]:
            break
        layers.append(layer)
    return layers


def origins(layers: list[bytes], spans: Iterable[Span], *, doubtful: bool) -> list[Span]:
    """Where in the first of these layers stands what has these places in the last."""
    found = list(spans)
    for data in reversed(layers[:-1] if found else ()):
        found = _origins(data, found, doubtful)
    return found


def _origins(data: bytes, spans: list[Span], doubtful: bool) -> list[Span]:
    pattern, meanings = _compiled(doubtful)
    escapes = [(0, 0)]
    starts, ends = [0], [0]  # of what they mean
    for escape in pattern.finditer(data):
        number = escape.lastindex or 0
        starts.append(ends[-1] + escape.start() - escapes[-1][1])
        ends.append(starts[-1] + len(meanings[number](escape[number])))
        escapes.append(escape.span())

    def origin(place: int) -> Span:
        """The place of one byte."""
        last = bisect_right(ends, place) - 1
        if last + 1 < len(starts) and starts[last + 1] <= place:
            return escapes[last + 1]
        start = escapes[last][1] + place - ends[last]
        return start, start + 1

    return [(origin(start)[0], origin(stop - 1)[1]) for start, stop in spans]


@cache
def _compiled(doubtful: bool) -> tuple[re.Pattern[bytes], list[Meaning]]:
    """A pattern of escapes, and what its groups mean by their numbers."""
    families: dict[bytes, list[tuple[bytes, Meaning]]] = {}
    for first, rest, meaning in _SURE + _DOUBTFUL * doubtful + _REST:
        families.setdefault(first, []).append((rest, meaning))
    # Each alternative begins with a byte of its own, which makes the search several times quicker.
    pattern = b"|".join(first + b"(?:%b)" % b"|".join(rest for rest, _ in rows) for first, rows in families.items())
    # Not one of others: it is made of the rows above.
    return re.compile(b"" + pattern), [_nothing, *(meaning for rows in families.values() for _, meaning in rows)]
