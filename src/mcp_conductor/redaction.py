"""What must not be shown, and how it is taken out of a text: the one place that decides both.

A secret is found in every form in which a server is likely to give it back: as it is, line by line, escaped for JSON
once or twice, quoted by Python, encoded for a URL, in hexadecimal, and in base64, also as part of something longer; and
each of these with any of its characters escaped. Where a text was cut, and says so, parts of secrets are found as well.
"""

import json
import os
import re
from binascii import Error as NotBase64, a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from urllib.parse import unquote, urlsplit

from mcp_conductor.escapes import has_escapes, origins, unescaped
from mcp_conductor.visible import CUT, visible

REDACTED = "[redacted]"
# Anything shorter cannot be told from ordinary text.
_SHORTEST = 4
_LONG_VALUE = 8
# Base64 has 64 characters: fewer than six of them may stand in any picture by chance.
_SHORTEST_BASE64 = 6
_SOUNDS_SECRET = "(?i)key|token|secret|pass|auth|cred|session|private"
_USERINFO = r"(?<=://)[^/?#@\s]+(?=@)"
_CUTS = (CUT, "...")  # the second is that of Python's libraries
_CUT = rb"(?: ?(?:%b|\.{3,}))+ ?" % CUT.encode()

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="
_LONGEST_LINE = 200  # of base64
_SHORTEST_LINE = 16  # of one that goes on

Span = tuple[int, int]


class Redactor:
    """The secrets of a run, and texts without them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._forms: set[bytes] = set()
        self._unescaped: _Parts | None = None  # as they stand in a text whose escapes have been undone
        self._base64: _Parts | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Take these out too, from now on."""
        new = {secret for secret in secrets if len(secret) >= _SHORTEST} - self._known
        if new:
            self._known |= new
            self._forms = self._forms.union(*map(_forms, new))
            self._unescaped = self._base64 = None

    @property
    def knows_secrets(self) -> bool:
        """Whether there is anything that a text could have to be without."""
        return bool(self._known)

    def redact(self, text: str) -> str:
        """TEXT without any secret, also where one overlaps another."""
        if not self._known:
            return text
        data, errors = _encoded(text)
        spans = _places(self._forms, data)
        cut = any(mark in text for mark in _CUTS)
        if cut or has_escapes(data):
            if self._unescaped is None:
                self._unescaped = _Parts({unescaped(form) for form in self._forms})
            meant = unescaped(data)
            found = [*_places(self._unescaped.forms, meant), *(self._unescaped.cut_places(meant) if cut else ())]
            spans += origins(data, found) if found else ()
        spans += self._of_wrapped_line(data)
        return _without(sorted(spans), data).decode(errors=errors) if spans else text

    def _of_wrapped_line(self, data: bytes) -> Iterator[Span]:
        """Parts of secrets in a line of base64 at the end of DATA: what a server writes may come line by line."""
        last = data[-_LONGEST_LINE:].rstrip()
        line = last.split()[-1] if last else b""  # there may be words before it that say where it is from
        if line.translate(None, _BASE64):
            return
        if self._base64 is None:
            self._base64 = _Parts({form for secret in self._known for form in _forms_in_base64(secret)})
        stop = max(0, len(data) - _LONGEST_LINE) + len(last)
        yield from self._base64.end(data, stop - len(line))
        if len(line) >= _SHORTEST_LINE:
            yield from self._base64.beginning(data, stop)
            yield from ((stop - len(line), stop) for form in self._base64.forms if line in form)


class _Parts:
    """Forms of secrets, and parts of them where a text was cut."""

    def __init__(self, forms: Iterable[bytes]) -> None:
        self.forms = {form for form in forms if len(form) >= _SHORTEST}

    @cached_property
    def _parts(self) -> dict[bytes, list[tuple[bytes, int]]]:
        """Where in which form each few bytes stand."""
        found: dict[bytes, list[tuple[bytes, int]]] = {}
        for form in self.forms:
            for place in range(len(form) - _SHORTEST + 1):
                found.setdefault(form[place : place + _SHORTEST], []).append((form, place))
        return found

    def cut_places(self, data: bytes) -> Iterator[Span]:
        """The beginnings of secrets before a mark that says that something was left out, and the ends after one."""
        for mark in re.finditer(_CUT, data):
            yield from self.beginning(data, mark.start())
            yield from self.end(data, mark.end())

    def beginning(self, data: bytes, stop: int) -> Iterator[Span]:
        """The longest beginning of a form that ends at STOP."""
        places = self._parts.get(data[max(0, stop - _SHORTEST) : stop], ())
        starts = [form[: place + _SHORTEST] for form, place in places]
        sizes = [len(each) for each in starts if data.endswith(each, 0, stop)]
        if sizes:
            yield stop - max(sizes), stop

    def end(self, data: bytes, start: int) -> Iterator[Span]:
        """The longest end of a form that begins at START."""
        places = self._parts.get(data[start : start + _SHORTEST], ())
        sizes = [len(form) - place for form, place in places if data.startswith(form[place:], start)]
        if sizes:
            yield start, start + max(sizes)


def secrets_of_environment(environment: Mapping[str, str]) -> list[str]:
    """The values that must not be shown, and the passwords of URLs among them.

    A short value is a secret only if its name says so; hiding the "debug" of LOG_LEVEL=debug everywhere would make a
    recording unreadable and protect nothing.
    """
    values = [value for name, value in environment.items() if _is_secret(name, value)]
    return [*values, *secrets_of_words(environment.values())]


def secrets_of_headers(headers: Mapping[str, str]) -> list[str]:
    """Every value, also without its scheme: "Bearer abc" may come back as "abc", and that of Basic decoded."""
    found = []
    for name, value in headers.items():
        scheme, _, rest = value.partition(" ")
        found += [value, rest]
        if name.lower() == "cookie":
            pairs = (pair.partition("=")[::2] for pair in value.split(";"))
            found += [part.strip() for each, part in pairs if _is_secret(each, part)]
        elif scheme.lower() == "basic":
            found += _of_basic(rest)
    return [value for value in found if value]


def secrets_of_url(url: str) -> list[str]:
    """The user and password of URL, and the values of its query, by the same rule as those of an environment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return secrets_of_words([url])
    pairs = (pair.partition("=")[::2] for pair in parts.query.replace(";", "&").split("&"))
    values = [value for name, value in pairs if _is_secret(name, unquote(value))]
    return [*secrets_of_words([url]), *values, *map(unquote, values)]


def secrets_of_words(words: Iterable[str]) -> list[str]:
    """The user and password of every URL in WORDS, of whatever scheme."""
    found = []
    for word in words:
        for userinfo in re.findall(_USERINFO, word) if "@" in word else ():
            user, _, password = userinfo.partition(":")
            # A name alone is a token; one with a password is a secret only if it is long.
            parts = [userinfo, password, *([user] if not password or len(user) >= _LONG_VALUE else [])]
            found += [*parts, *map(unquote, parts)]
    return [value for value in found if value]


def _is_secret(name: str, value: str) -> bool:
    return len(value) >= _LONG_VALUE or bool(re.search(_SOUNDS_SECRET, name))


def _of_basic(encoded: str) -> list[str]:
    try:
        pair = a2b_base64(encoded).decode()
    except (NotBase64, UnicodeDecodeError, ValueError):
        return []
    return [pair, pair.partition(":")[2]]


def _encoded(text: str) -> tuple[bytes, str]:
    """TEXT as UTF-8, and how errors were handled: bytes that were not UTF-8 when they came are those bytes again."""
    try:
        return text.encode(errors="surrogateescape"), "surrogateescape"
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass"), "surrogatepass"


def _places(forms: Iterable[bytes], data: bytes) -> list[Span]:
    found = []
    for form in forms:
        start = data.find(form)
        while start >= 0:
            found.append((start, start + len(form)))
            start = data.find(form, start + 1)
    return found


def _without(spans: list[Span], data: bytes) -> bytes:
    clean, end = [], 0
    for start, stop in spans:
        if start >= end:
            clean += [data[end:start], REDACTED.encode()]
        end = max(end, stop)
    return b"".join([*clean, data[end:]])


def _forms(secret: str) -> set[bytes]:
    """Everything that SECRET may look like, but for escapes."""
    forms: set[bytes] = set()
    for each in _spellings(secret):
        for text in {each, *(line for line in each.splitlines() if len(line) >= _LONG_VALUE)}:
            data = _encoded(text)[0]
            forms |= {data, text.encode(errors="surrogatepass")}
            written = _in_json(text) | {visible(text), repr(text)[1:-1], text.replace(" ", "+")}
            written |= {data.hex(), data.hex().upper()}
            written |= {form.replace("/", "\\/") for form in _in_base64(data)}
            forms |= {_encoded(form)[0] for form in written if len(form) >= _SHORTEST}
        forms |= _forms_in_base64(each)
    return forms


def _forms_in_base64(secret: str) -> set[bytes]:
    texts = {secret, *(line for line in secret.splitlines() if len(line) >= _LONG_VALUE)}
    found = {form for text in texts for form in _in_base64(_encoded(text)[0])}
    return {form.encode() for each in found for form in (each, each.replace("+", "-").replace("/", "_"))}


def _spellings(secret: str) -> set[str]:
    """SECRET, and what it is where the words of a command line or an environment are not taken for UTF-8."""
    found = {secret}
    with suppress(UnicodeEncodeError):  # then it did not come from there
        found.add(os.fsencode(secret).decode(errors="surrogateescape"))
    return found


def _in_json(text: str) -> set[str]:
    """TEXT as writers of JSON escape it, and as they escape a text that is JSON already."""
    once = _escaped(text)
    return once.union(*map(_escaped, once))


def _escaped(text: str) -> set[str]:
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    return {written, written.replace("/", "\\/")}


def _in_base64(data: bytes) -> Iterator[str]:
    """DATA alone; and what it gives wherever it stands in something longer, which is one of three texts."""
    alone = b2a_base64(data, newline=False).decode()
    yield alone
    for before in range(3):
        encoded = b2a_base64(bytes(before) + data, newline=False).decode()
        # Six bits make a character: those of which all six are bits of DATA.
        inner = encoded[-(-8 * before // 6) : 8 * (before + len(data)) // 6]
        if len(inner) >= _SHORTEST_BASE64:
            yield inner
