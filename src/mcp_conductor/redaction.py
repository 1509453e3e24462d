"""What must not be shown, and how it is taken out of a text: the one place that decides both.

A secret is found in every form in which a server is likely to give it back: as it is, line by line, escaped for JSON
once or twice, quoted by Python, encoded for a URL, and in base64, also as part of something longer.
"""

import json
import re
from binascii import Error as NotBase64, a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, unquote, urlsplit

from mcp_conductor.visible import visible

REDACTED = "[redacted]"
# Anything shorter cannot be told from ordinary text.
_SHORTEST = 4
_LONG_VALUE = 8
# Base64 has 64 characters: fewer than six of them may stand in any picture by chance.
_SHORTEST_BASE64 = 6
_SOUNDS_SECRET = "(?i)key|token|secret|pass|auth|cred|session|private"
_USERINFO = r"(?<=://)[^/?#@\s]+(?=@)"
_URL_SAFE = ("", "/", "!'()*", ";,/?:@&=+$!'()*#")  # what quote, encodeURIComponent and encodeURI leave as it is


class Redactor:
    """The secrets of a run, and texts without them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: frozenset[str] = frozenset()
        self._known: set[str] = set()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Take these out too, from now on."""
        new = {secret for secret in secrets if len(secret) >= _SHORTEST} - self._known
        if new:
            self._known |= new
            self._forms = self._forms.union(*map(_forms, new))

    def redact(self, text: str) -> str:
        """TEXT without any secret, also where one overlaps another."""
        spans = sorted(span for form in self._forms for span in _places(form, text))
        if not spans:
            return text
        clean, end = [], 0
        for start, stop in spans:
            if start >= end:
                clean += [text[end:start], REDACTED]
            end = max(end, stop)
        return "".join([*clean, text[end:]])


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


def _places(form: str, text: str) -> Iterator[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + 1)


def _forms(secret: str) -> set[str]:
    """Everything that SECRET may look like."""
    plain = {secret, *(line for line in secret.splitlines() if len(line) >= _LONG_VALUE)}
    forms = set(plain)
    for text in plain:
        data = _bytes(text)
        forms |= _in_json(text) | {visible(text), repr(text)[1:-1]} | _in_url(data)
        for encoded in _in_base64(data):
            forms |= {encoded, encoded.replace("/", "\\/"), encoded.replace("+", "-").replace("/", "_")}
            forms |= _in_url(encoded.encode())
    return {form for form in forms if len(form) >= _SHORTEST}


def _bytes(text: str) -> bytes:
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="replace")


def _in_json(text: str) -> set[str]:
    """TEXT as writers of JSON escape it, and as they escape a text that is JSON already."""
    once = _escaped(text)
    return once.union(*map(_escaped, once))


def _escaped(text: str) -> set[str]:
    forms = set()
    for written in (json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]):
        html_safe = written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        forms |= {written, written.replace("/", "\\/"), html_safe}
    return forms


def _in_url(data: bytes) -> set[str]:
    quoted = {quote(data, safe) for safe in _URL_SAFE}
    quoted |= {text.replace("%20", "+") for text in quoted}
    return quoted | {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text) for text in quoted}


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
