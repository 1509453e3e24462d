"""Forms in which a server may say a secret, and a reader who knows nothing of how we look for them.

The reader decodes everything that can be decoded in a text, again and again, and looks for a word in all of that.
"""

import base64
import html
import json
import quopri
import re
from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote, quote_plus, unquote

SURROUNDINGS = (("", ""), ("u:", "x"), ("us:", ""))


def _escaped(secret: str, escape: str) -> str:
    return "".join(escape.format(ord(character)) for character in secret)


COMMON: tuple[Callable[[str], str], ...] = (
    str,
    lambda secret: json.dumps(secret)[1:-1],
    lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    lambda secret: quote(secret, safe=""),
    quote_plus,
    lambda secret: _escaped(secret, "\\u{:04x}"),
    lambda secret: "%" + secret.encode().hex("%").upper(),
    lambda secret: secret.encode().hex(),
    lambda secret: encodebytes(f"{'x' * 47}{secret}{'y' * 60}".encode()).decode().strip(),
    *(
        lambda secret, before=before, after=after, encode=encode: encode(f"{before}{secret}{after}".encode()).decode()
        for before, after in SURROUNDINGS
        for encode in (b64encode, urlsafe_b64encode)
    ),
)
ODD: tuple[Callable[[str], str], ...] = (
    html.escape,
    lambda secret: _escaped(secret, "&#{};"),
    lambda secret: repr(secret.encode())[2:-1],
    lambda secret: quote(quote(secret, safe=""), safe=""),
    lambda secret: json.dumps(json.dumps(secret)),
)

_ESCAPES = re.compile(
    r"\\+(?:u\{([0-9a-f]+)\}|u([0-9a-f]{4})|x([0-9a-f]{2})|([0-3][0-7]{2}))|%u([0-9a-f]{4})", re.IGNORECASE
)
_BYTES = {
    16: re.compile(r"(?:(?:0x|\\+x|=|%)?[0-9a-f]{2}[^0-9a-z]{0,8}){8,}", re.IGNORECASE),
    10: re.compile(r"(?:\d{2,3}[^0-9a-z]{1,8}){8,}", re.IGNORECASE),
    8: re.compile(r"(?:[0-3][0-7]{2}[^0-9a-z]{0,8}){8,}", re.IGNORECASE),
}
_DIGITS = {
    16: re.compile(r"(?:0x|\\+x)?([0-9a-f]{2})", re.IGNORECASE),
    10: re.compile(r"(\d{2,3})"),
    8: re.compile(r"([0-3][0-7]{2})"),
}


def is_said(word: str, text: str) -> str | None:
    """WORD somewhere in TEXT, in any form: what a reader sees there."""
    for reading in _readings(text):
        letters = re.sub(r"[\W_]+", "", reading).lower()
        if (place := letters.find(word.lower())) >= 0:
            return letters[max(0, place - 40) : place + 60]
    return None


def forms(secrets: Sequence[str], *, whole: bool) -> list[str]:
    """All of SECRETS as they are, and in every form the one or the other of them; WHOLE: each in all common forms."""
    if whole:
        common = [form(secret) for secret in secrets for form in COMMON]
    else:
        common = [*secrets, *(form(secrets[number % len(secrets)]) for number, form in enumerate(COMMON))]
    return [*common, *(form(secrets[number % len(secrets)]) for number, form in enumerate(ODD))]


def _readings(text: str) -> Iterator[str]:
    """TEXT, and what it gives when everything in it is decoded that can be."""
    plain = text
    for _ in range(3):
        yield plain
        plain = _unescaped(plain)
    yield quopri.decodestring(text.replace("\\n", "\n").encode(errors="replace")).decode(errors="replace")
    for each in {text, plain}:
        yield from (_numbers(each, base) for base in _BYTES)
        once = _decoded(each)
        twice = _decoded(_unescaped(once))
        yield from (_unescaped(once), _unescaped(twice))


def _unescaped(text: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        braced, unit, byte, octal, old = escape.groups()
        code = int(octal, 8) if octal else int(braced or unit or byte or old, 16)
        return chr(code) if code < 0x110000 else ""

    return _ESCAPES.sub(meant, unquote(html.unescape(text)))


def _numbers(text: str, base: int) -> str:
    """What all numbers of bytes stand for that come one after the other."""
    runs = _BYTES[base].findall(text)
    values = ([int(number, base) for number in _DIGITS[base].findall(run)] for run in runs)
    return "\n".join(bytes(value for value in each if value < 256).decode(errors="replace") for each in values)


def _decoded(text: str) -> str:
    """What all that looks like base64 stands for, also if it begins within a group; lines may break it."""
    words = set(re.findall(r"[A-Za-z0-9+/_-]{8,}(?:\s+[A-Za-z0-9+/_-]{2,}(?![\w.,:]))*", text.replace("\\n", "\n")))
    tight = (re.sub(r"\s", "", word).translate({ord("-"): "+", ord("_"): "/"}) for word in words)
    found = (
        base64.b64decode(f"{word[start:]}A==="[: (len(word) - start + 3) // 4 * 4])
        for word in tight
        for start in range(4)
    )
    return "\n".join(each.decode(errors="replace") for each in found)
