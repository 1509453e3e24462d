"""The forms that a secret may have: as it is, reversed, in numbers, and in the alphabets for bytes.

Escapes, another case, line breaks and separators make no form of their own: `secret_search` reads through them.
"""

import os
from base64 import b32encode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import lcm

# Anything shorter cannot be told from ordinary text.
SHORTEST = 4
LONG_VALUE = 8

Encode = Callable[[bytes], bytes]

# The alphabets in which a character stands for so many bits; and the shortest part of one that is no chance.
_BASE64: tuple[Encode, int, int] = (b64encode, 6, 6)
_BASE32: tuple[Encode, int, int] = (b32encode, 5, 8)
# Those in which all of a group decides each character: for these, a secret is found only if it was encoded alone.
_BASE85 = (
    bytes(range(33, 118)),  # Ascii85
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
)
# How a byte may be written in a list of numbers, and what may stand between them.
_NUMBERS = ("02x", "d", "#04x", "03o")
_SEPARATORS = ("", " ", ":", ",", ", ")


def encoded(text: str) -> tuple[bytes, str]:
    """TEXT as UTF-8, and how errors were handled: bytes that were not UTF-8 when they came are those bytes again."""
    try:
        return text.encode(errors="surrogateescape"), "surrogateescape"
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass"), "surrogatepass"


def forms(secret: str) -> set[bytes]:
    """Everything that SECRET may look like, and what is most likely for a long line of it."""
    found = forms_in_base64(secret)
    for text in _spellings(secret):
        found |= {*_as_text(text), *_as_numbers(encoded(text)[0], _NUMBERS[:1])}
    for data in {encoded(text)[0] for text in _words(secret)}:
        found |= {
            *_as_numbers(data, _NUMBERS),
            *_in_bits(data, *_BASE32),
            *(_in_base85(data, alphabet) for alphabet in _BASE85),
        }
    return found


def forms_in_base64(secret: str) -> set[bytes]:
    """Those of them that may be broken into lines, each a text of its own."""
    found = {form for text in _spellings(secret) for form in _in_bits(encoded(text)[0], *_BASE64)}
    return found | {form.replace(b"+", b"-").replace(b"/", b"_") for form in found}


def _spellings(secret: str) -> set[str]:
    """SECRET and its long lines."""
    lines = (line for line in secret.splitlines() if len(line) >= LONG_VALUE)
    return {spelling for text in {secret, *lines} for spelling in _words(text)}


def _words(text: str) -> set[str]:
    """TEXT, and what it is where the words of a command line are not taken for UTF-8."""
    with suppress(UnicodeEncodeError):  # then it did not come from there
        return {text, os.fsencode(text).decode(errors="surrogateescape")}
    return {text}


def _as_text(text: str) -> Iterator[bytes]:
    """In a short value, another case or order would be another word."""
    for each in {text, *((text.upper(), text.lower(), text[::-1]) if len(text) >= LONG_VALUE else ())}:
        yield encoded(each)[0]
        yield each.encode(errors="surrogatepass")
        yield encoded(each.replace(" ", "+"))[0]


def _as_numbers(data: bytes, specs: Sequence[str]) -> Iterator[bytes]:
    # Separators and the case of digits matter in short forms only: through others, the search reads without them.
    separators = _SEPARATORS if len(data) < LONG_VALUE else ("",)
    for spec in specs:
        numbers = [format(byte, spec) for byte in data]
        for separator in separators:
            written = separator.join(numbers).encode()
            yield from (written, written.upper())


def _in_bits(data: bytes, encode: Encode, bits: int, least: int) -> Iterator[bytes]:
    """DATA alone; and what it gives wherever it stands in something longer, which is one of a few texts."""
    yield encode(data)
    for before in range(lcm(8, bits) // 8):
        # The characters of which all bits are bits of DATA.
        inner = encode(bytes(before) + data)[-(-8 * before // bits) : 8 * (before + len(data)) // bits]
        if len(inner) >= least:
            yield inner


def _in_base85(data: bytes, alphabet: bytes) -> bytes:
    """As the functions of Python do, which make tables first that take longer than a secret."""
    missing = -len(data) % 4
    padded = data + bytes(missing)
    words = (int.from_bytes(padded[place : place + 4], "big") for place in range(0, len(padded), 4))
    return bytes(alphabet[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))[: -missing or None]
