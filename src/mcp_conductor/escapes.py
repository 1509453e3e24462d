r"""What a text says when its escapes are undone, and where in the text each part of that stands.

Undone are `\uXXXX`, `\xXX` and `%XX`, also where they were escaped again, and the line breaks within base64.
Colours and characters without a shape are left out: a terminal shows what stands around them in one piece.
Backslashes are left out: how many stand before a character only says how often the text was quoted.
"""

import re
from collections.abc import Iterable, Iterator

from mcp_conductor.visible import CUT

# A line of base64 is long; so what ends other lines stays.
_AFTER_BASE64 = rb"(?<=[A-Za-z0-9+/_-]{16}%b)[ \t]*"
# Of an escape that was cut, what is left means nothing.
_CUT_OFF = rb"(?= ?(?:%b|\.{3}))" % CUT.encode()
# Each alternative begins with a byte of its own, which makes the search several times quicker. At most eight
# backslashes: with any number of them, a text of nothing else would be looked at again and again.
_ESCAPES = b"|".join(
    [
        rb"\\(?:\\{0,7}(?:(?:u001[bB]|x1[bB]|033|e)\[[0-9;]*m",
        rb"u(?:200[b-fB-F]|2060|[fF][eE][fF]{2}|00[aA][dD])",
        rb"u([dD][89abAB][0-9a-fA-F]{2})\\{1,8}u([dD][c-fC-F][0-9a-fA-F]{2})",
        rb"u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)%b)" % _CUT_OFF,
        *(end[2:] + _AFTER_BASE64 % end for end in (rb"\\n", rb"\\r\\n", rb"\\\\n")),
        rb"\\r\\\\n" + _AFTER_BASE64 % rb"\\\\r\\\\n" + rb")",
        rb"%%(?:(?:25)*([0-9a-fA-F]{2})|[0-9a-fA-F]?%b)" % _CUT_OFF,
        *(end + _AFTER_BASE64 % end for end in (rb"\n", rb"\r\n")),
        rb"\x1b\[[0-9;]*m",
        rb"\xe2(?:\x80[\x8b-\x8f]|\x81\xa0)|\xef\xbb\xbf|\xc2\xad",
    ]
)
_FIRST_BYTES = (b"\\", b"%", b"\n", b"\x1b", b"\xe2", b"\xef", b"\xc2")


def has_escapes(data: bytes) -> bool:
    """Whether there may be anything to undo."""
    # To look for a single byte takes hardly any time; most texts are done with that.
    return any(byte in data for byte in _FIRST_BYTES) and re.search(_ESCAPES, data) is not None


def unescaped(data: bytes) -> bytes:
    """DATA, which is UTF-8, with its escapes undone."""
    return re.sub(_ESCAPES, _meant, data).replace(b"\\", b"")


def origins(data: bytes, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where in DATA stands what has these places in `unescaped(data)`."""
    from bisect import bisect_right

    escapes = [(0, 0)]
    starts, ends = [0], [0]  # of what they mean
    for escape in re.finditer(_ESCAPES + rb"|\\", data):
        starts.append(ends[-1] + escape.start() - escapes[-1][1])
        ends.append(starts[-1] + len(_meant(escape).replace(b"\\", b"")))
        escapes.append(escape.span())

    def origin(place: int) -> tuple[int, int]:
        """The place of one byte."""
        last = bisect_right(ends, place) - 1
        if last + 1 < len(starts) and starts[last + 1] <= place:
            return escapes[last + 1]
        start = escapes[last][1] + place - ends[last]
        return start, start + 1

    for start, stop in spans:
        yield origin(start)[0], origin(stop - 1)[1]


def _meant(escape: re.Match[bytes]) -> bytes:
    high, low, unit, quoted, encoded = escape.groups()
    if quoted or encoded:
        return bytes((int(quoted or encoded, 16),))
    if unit:
        return chr(int(unit, 16)).encode(errors="surrogatepass")
    if low:
        return bytes.fromhex((high + low).decode()).decode("utf-16-be").encode()
    return b""
