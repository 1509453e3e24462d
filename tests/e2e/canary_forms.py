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
from contextlib import suppress
from urllib.parse import quote, quote_plus, unquote

SURROUNDINGS = (("", ""), ("u:", "x"), ("us:", ""))


def _joined(separator: str, spec: str, secret: str) -> str:
    return separator.join(format(byte, spec) for byte in secret.encode())


def _escaped(secret: str, escape: str) -> str:
    return "".join(escape.format(ord(character)) for character in secret)


def _wrapped(text: str, width: int, line_end: str) -> str:
    return line_end.join(text[place : place + width] for place in range(0, len(text), width))


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


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
    lambda secret: _escaped(secret, "&#x{:x};"),
    lambda secret: html.escape(_escaped(secret, "&#{};")),
    lambda secret: _joined(":", "02x", secret),
    lambda secret: _joined(" ", "02X", secret),
    lambda secret: _joined(", ", "#04x", secret),
    lambda secret: "\\x" + _joined("\\x", "02x", secret),
    lambda secret: json.dumps(list(secret.encode())),
    lambda secret: json.dumps(list(secret)),
    lambda secret: "\\" + _joined("\\", "03o", secret),
    lambda secret: "=" + _joined("=", "02X", secret),
    lambda secret: quopri.encodestring(b"x" * 70 + secret.encode()).decode(),
    lambda secret: _escaped(secret, "\\u{{{:x}}}"),
    lambda secret: _escaped(secret, "%u{:04x}"),
    lambda secret: quote(quote(secret, safe=""), safe=""),
    lambda secret: json.dumps(json.dumps(json.dumps(secret))),
    lambda secret: _base64(quote(secret, safe="")),
    lambda secret: _base64(_base64(secret)),
    lambda secret: _base64(json.dumps({"authorization": f"Basic {_base64(secret)}"})),
    lambda secret: b64encode(secret.encode("utf-16-le")).decode(),
    lambda secret: secret.encode("utf-16-le").decode(errors="replace"),
    lambda secret: base64.b32encode(secret.encode()).decode(),
    lambda secret: base64.b32encode(f"me:{secret}".encode()).decode().lower(),
    lambda secret: base64.b85encode(secret.encode()).decode(),
    lambda secret: base64.a85encode(secret.encode()).decode(),
    lambda secret: secret[::-1],
    str.upper,
    str.lower,
    lambda secret: _wrapped(f"{'-' * 70}{secret}", 76, "\n"),
    lambda secret: _wrapped(f"{'-' * 66} {secret}", 80, "\n    | "),
    lambda secret: _wrapped(_base64(f"{secret} and {secret}"), 12, "\n"),
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
        for needle in (word.lower(), word.lower()[::-1]):
            if needle in letters:
                place = letters.index(needle)
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
        yield from (_of_base32(each), _of_base85(each))


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


def _of_base32(text: str) -> str:
    words = set(re.findall(r"[A-Za-z2-7]{14,}", text))
    groups = (word[start : start + (len(word) - start) // 8 * 8] for word in words for start in range(8))
    return "\n".join(base64.b32decode(group, casefold=True).decode(errors="replace") for group in groups)


def _of_base85(text: str) -> str:
    found = []
    for word in {*re.findall(r"\S{10,200}", text), *re.findall(r'[^\s"]{10,200}', text)}:
        for decode in (base64.b85decode, base64.a85decode):
            with suppress(ValueError, OverflowError):
                found.append(decode(word[: len(word) // 5 * 5]).decode(errors="replace"))
    return "\n".join(found)
