"""The forms that a secret has where it leaves by accident.

The threat is a program that tells more than its author meant: it prints its settings or a request, quotes a header in
an error, or puts a value into JSON, a URL, a page or a command line. So a secret is found as it is, escaped as these do
it, in hexadecimal, and in base64, also as part of something longer. A program that knows a secret and wants it out can
always write it in a way that nobody looks for; against that only helps not to give it the secret.
"""

import os
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress

# Anything shorter cannot be told from ordinary text.
SHORTEST = 4
LONG_VALUE = 8

# Of any character, letters and digits too.
ESCAPE = r"(?:\\{1,16}+(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|%(?:25){0,3}+[0-9a-fA-F]{2}|&(?:amp;){0,3}#[0-9]{1,7};)"
_SHORTEST_BASE64 = 6  # of a part of something longer
# At most sixteen backslashes: they only say how often a text was quoted, here up to four times.
_QUOTED = r"\\{0,16}+"
_NAMED = {'"': "quot", "&": "amp", "<": "lt", ">": "gt", "'": "apos"}
_CONTROLS = dict(zip("\a\b\t\n\v\f\r\0", "abtnvfr0", strict=True))


def forms(secret: str) -> set[str]:
    """Everything that SECRET and its long lines may look like, before anything in that is escaped."""
    lines = (line for line in secret.splitlines() if len(line) >= LONG_VALUE)
    return {form for text in {secret, *lines} for word in _words(text) for form in _forms(word)}


def spelled(form: str) -> str:
    """A pattern of FORM with any characters escaped, but for letters and digits; or with all of its escapes escaped."""
    if is_escaped(form):
        return form.replace("\\", r"\\{1,16}+").replace("%", "%(?:25){0,3}+").replace("&", "&(?:amp;){0,3}")
    parts = re.findall(r"[A-Za-z0-9]+|\\+|[^A-Za-z0-9\\]", form)
    return "".join(part if part.isascii() and part.isalnum() else _spellings(part) for part in parts)


def is_escaped(form: str) -> bool:
    """Whether each of its characters is escaped."""
    return re.fullmatch(rf"(?:{ESCAPE})+", form) is not None


def _words(text: str) -> set[str]:
    """TEXT, and what it is where bytes of UTF-8 were not taken for characters, or were."""
    with suppress(UnicodeError):
        data = os.fsencode(text)
        return {text, data.decode(errors="surrogateescape"), data.decode("ascii", errors="surrogateescape")}
    return {text}


def _forms(text: str) -> Iterator[str]:
    data = _bytes(text)
    units = text.encode("utf-16-be", errors="surrogatepass")
    escapes = (
        "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2)),
        "".join(f"\\x{byte:02x}" for byte in data),
        "".join(f"%{byte:02x}" for byte in data),
        "".join(f"&#{ord(each)};" for each in text),
        data.hex(),
    )
    yield text
    for each in escapes:
        yield from (each, re.sub("[a-f]", lambda digit: digit[0].upper(), each))
    for each in _base64(data):
        yield from (each, each.translate({ord("+"): "-", ord("/"): "_"}))


def _base64(data: bytes) -> Iterator[str]:
    """DATA alone; and what it gives wherever it stands in something longer, which is one of three texts."""
    yield b64encode(data).decode()
    for before in range(3):
        # The characters of which all bits are bits of DATA.
        inner = b64encode(bytes(before) + data)[-(-8 * before // 6) : 8 * (before + len(data)) // 6].decode()
        if len(inner) >= _SHORTEST_BASE64:
            yield inner


def _bytes(text: str) -> bytes:
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")


def _spellings(text: str) -> str:
    """A pattern of one character, or of some backslashes, in the escapes of JSON, Python, URLs, HTML and shells."""
    count, text = len(text), text[0]
    code, data = ord(text), _bytes(text)
    units = text.encode("utf-16-be", errors="surrogatepass").hex()
    escaped = [r"\\{1,16}+".join(["", *(f"u{units[place : place + 4]}" for place in range(0, len(units), 4))])]
    escaped += [r"\\{1,16}+".join(["", *(f"x{byte:02x}" for byte in data)])]
    escaped += [r"\\{1,16}+" + f"U{code:08x}", "".join(f"%(?:25){{0,3}}+{byte:02x}" for byte in data)]
    escaped += [f"&(?:amp;){{0,3}}(?:#{code}|#x0{{0,4}}+{code:x}|{_NAMED.get(text, '#')});"]
    written = [f"(?i:{'|'.join(escaped)})", *([r"\\{1,16}+" + _CONTROLS[text]] if text in _CONTROLS else [])]
    if text == "\\":
        return f"(?:\\\\{{{count},{16 * count}}}|(?:{'|'.join(written)}){{{count}}})"
    written += [r"\+"] * (text == " ") + [r"'\\''", "'\"'\"'"] * (text == "'")
    return f"(?:{'|'.join(written)}|{_QUOTED}{re.escape(text)})"
