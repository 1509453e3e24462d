"""What must not be shown, and how it is taken out of a text: the one place that decides both.

`secret_forms` has the forms in which a secret is found, and `secret_search` finds them in a text.
"""

import re
from binascii import Error as NotBase64, a2b_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mcp_conductor.text.secret_forms import LONG_VALUE, SHORTEST, encoded

if TYPE_CHECKING:
    from mcp_conductor.text.secret_search import Searches

REDACTED = "[redacted]"
_REMEMBERED = 1000  # bytes of earlier lines
_SHORTEST_WORD = 8  # characters of a word of a command line that is taken for a secret
_SOUNDS_SECRET = (
    "key|token|secret|pass|phrase|auth(?!ors?(?![a-z]))|cred|session|private|bearer|cookie|(?<![a-z])pat(?![a-z])"
    "|(?<=[a-z0-9_-])(?<!old)pwd|(?<![a-z])pw$"  # PWD and OLDPWD are directories
)
# Names that only sound so, if their value is a plain word: AUTH_MODE, XDG_SESSION_TYPE, DESKTOP_SESSION.
_OPEN_NAMES = (
    "(?i)(?<![a-z])(?:mode|type|level|class|desktop|method|backend|provider|scheme|strategy|format|store|kind)$"
    "|^desktop_session$"
)
# Names that only sound so in any environment: SSH_AUTH_SOCK, XAUTHORITY, AUTH_URL, TOKEN_TTL. The value says where or
# how much.
_OF_PLACES = (
    "(?i)(?:sock|socket|path|dir|file|home|address|askpass|authority|manager|ur[il]|host|hostname|issuer|endpoint|domain"
    "|region|port|session_id|prefix|timeout|ttl|age|size|limit|seconds|count|version)s?$"
)
# Short words, as modes and lists of features have: `resources`, `read-only`, `tools,prompts`.
_PLAIN_WORD = "(?![A-Za-z_-]{16})(?:[a-z]+(?:[-_][a-z]+)*|[A-Z]+(?:[-_][A-Z]+)*|[A-Z][a-z]+)"
PLAIN_VALUE = rf"{_PLAIN_WORD}(?:, ?{_PLAIN_WORD})*"
_COOKIES = ("cookie", "set-cookie")
# Headers of the protocols themselves, which only sound secret: a recording without them cannot be understood.
_OPEN_HEADERS = ("mcp-session-id", "www-authenticate", "proxy-authenticate", "access-control-allow-credentials")
_ADDRESSES = ("location", "content-location", "referer", "link")  # headers that may have a secret in a query
_QUERY_VALUE = r"([?&;#])([\w.-]+)=[^&;#\s>\"]+"
_HEADER_FLAGS = ("--header", "--headers", "-H")
_HEADER = r"(?:--?[\w-]+=)?([A-Za-z][\w-]*):(\s*)(.+)"
_NAMED = r"""(?<![\w.-])([\w.-]+)=(?=([^\s;&|,"'=]*={0,2}))"""
_PAIR = r"""([\w.-]+)["']?\s*[:=]\s*["']?([^\s"',{}\[\]$]+)"""
_REFERENCE = r"(?:\w+ )?(?:\$\w+|\$\{[^}]*\}|%\w+%)"  # to a variable, which is no secret
_SHELL = r"(?:.*/)?(?:ba|da|a|z|k|fi)?sh"
_CODE_FLAG = r"-[a-z]*c"
_USERINFO = r"(?<=://)[^/?#@\s]+(?=@)"


class Redactor:
    """The secrets of a run, and texts without them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._new: set[str] = set()  # those that the search does not know yet
        self._search: Searches | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Take these out too, from now on."""
        new = {secret for secret in secrets if len(secret) >= SHORTEST} - self._known
        self._known |= new
        self._new |= new

    @property
    def knows_secrets(self) -> bool:
        """Whether there is any secret to redact."""
        return bool(self._known)

    def redact(self, text: str) -> str:
        """TEXT without any secret, also where one overlaps another."""
        if not self._known:
            return text
        data, errors = encoded(text)
        spans = self.search.places(data)
        return _without(sorted(spans), data).decode(errors=errors) if spans else text

    @property
    def search(self) -> "Searches":
        """What finds the secrets."""
        if self._search is None:
            from mcp_conductor.text.secret_search import Searches

            self._search = Searches()
        if self._new:
            self._search.add(self._new)
            self._new = set()
        return self._search


class LineRedactor:
    """Redacts lines that come one by one, also the rest of a secret that began in earlier lines."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._before = b""  # what came after the last secret

    def redact(self, line: str) -> str:
        """LINE, which comes after those that were given before."""
        if not self._redactor.knows_secrets:
            return line
        data, errors = encoded(line)
        begin, all_of_it = len(self._before) + 1, self._before + b"\n" + data
        search = self._redactor.search
        spans = search.places(all_of_it, goes_on=True)
        self._before = search.after(all_of_it, spans)[-_REMEMBERED:]
        here = sorted((max(0, start - begin), stop - begin) for start, stop in spans if stop > begin)
        return _without(here, data).decode(errors=errors) if here else line


def redacted_lines(lines: Sequence[str], redact: Callable[[str], str]) -> list[str]:
    """LINES without what REDACT takes out, also where it is broken over several; they may be fewer then."""
    together = redact("\n".join(lines)).split("\n") if lines else []
    return [redact(line) for line in together]


def secrets_of_environment(environment: Mapping[str, str]) -> list[str]:
    """The values that must not be shown, and the passwords of URLs among them.

    A short value, or one that consists of plain words, is a secret only if its name says so: to hide the "debug" of
    LOG_LEVEL=debug or the "resources" of MODE=resources everywhere would make a report unreadable and protect nothing.
    """
    values = [value for name, value in environment.items() if _is_secret(name, value)]
    return [*values, *secrets_of_words(environment.values())]


def masked(text: str, secrets: Iterable[str]) -> str:
    """TEXT of a file, in which letters stand for SECRETS: all else stays in its place, and can be pointed at."""
    for secret in sorted(secrets, key=len, reverse=True):
        for line in secret.splitlines():
            if len(line) >= SHORTEST:
                text = text.replace(line, "x" * len(line))
    return text


def masked_by_name(text: str) -> str:
    """TEXT, which cannot be read, with letters for the values of names that sound secret."""

    def mask(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        return found[0][: -len(value)] + "x" * len(value) if _sounds_secret(name) else found[0]

    return re.sub(_PAIR, mask, text)


def secrets_by_name(environment: Mapping[str, str]) -> list[str]:
    """The secrets of an environment that was not made for us: values whose names say so, and passwords of URLs."""
    values = [value for name, value in environment.items() if value and _gives_away(name, value)]
    return [*values, *(secret for value in environment.values() for secret in secrets_of_words([value]))]


def inherited_secrets(environment: Mapping[str, str]) -> list[str]:
    """The secrets of an environment that is passed on as it is: values by their names, and passwords of URLs.

    Nobody chose these variables for us, so what is short, or a plain word, would be hidden in all that we say.
    """
    values = [
        value for name, value in environment.items() if _gives_away(name, value) and not re.search(_OF_PLACES, name)
    ]
    values += [secret for value in environment.values() if "@" in value for secret in _secrets_of_users(value)]
    return [value for value in values if len(value) >= LONG_VALUE and not re.fullmatch(PLAIN_VALUE, value)]


def secrets_of_headers(headers: Mapping[str, str]) -> list[str]:
    """Every value, also without its scheme: "Bearer abc" may come back as "abc", and that of Basic decoded."""
    found = []
    for name, value in headers.items():
        scheme, _, rest = value.partition(" ")
        found += [value, rest]
        if name.lower() == "cookie":
            pairs = (pair.partition("=")[::2] for pair in value.split(";"))
            found += [part.strip() for each, part in pairs if len(part) >= LONG_VALUE or _sounds_secret(each)]
        elif scheme.lower() == "basic":
            found += _of_basic(rest)
    return [value for value in found if value]


def secrets_of_request(headers: Iterable[tuple[str, str]], query: str) -> list[str]:
    """What lets a client in, of the HEADERS and the QUERY of a request of its own."""
    found = [each for name, value in headers if _is_credential(name) for each in secrets_of_headers({name: value})]
    for name, _, value in (pair.partition("=") for pair in query.split("&")):
        if _sounds_secret(name) and "session" not in name.lower():  # which is how a conversation is known
            from urllib.parse import unquote

            found += [value, unquote(value)]
    return [value for value in found if len(value) >= _SHORTEST_WORD]  # shorter ones may be modes


def without_credentials(headers: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """HEADERS of a request or an answer, in which what lets a client in is not even kept."""
    for name, value in headers:
        if _is_credential(name):
            yield name, REDACTED
        else:
            yield name, re.sub(_QUERY_VALUE, _masked_query_value, value) if name.lower() in _ADDRESSES else value


def _masked_query_value(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}={REDACTED}" if _sounds_secret(found[2]) else found[0]


def secrets_of_url(url: str) -> list[str]:
    """The user and password of URL, and the values of its query, by the same rule as those of an environment."""
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:
        return secrets_of_words([url])
    pairs = (pair.partition("=")[::2] for pair in parts.query.replace(";", "&").split("&"))
    values = [value for name, value in pairs if _is_secret(name, unquote(value))]
    return [*secrets_of_words([url]), *values, *map(unquote, values)]


def secrets_of_words(words: Iterable[str]) -> list[str]:
    """What must not be shown of a command line.

    The user and password of every URL, with any scheme; the values of flags like --api-key, of variables like
    API_KEY=VALUE, and of headers like "X-Api-Key: VALUE".
    """
    found: list[str] = []
    before, has_shell = "", False
    for word in words:
        is_code = re.fullmatch(_CODE_FLAG, before) and re.search(r"[\s(]", word)
        if not is_code:
            found += _secrets_of_word(word, before)
        elif has_shell:  # in other languages, what follows a name is seldom a value
            found += secrets_of_words(_words_of_script(word))
        found += _secrets_of_users(word) if "@" in word else ()
        has_shell = has_shell or bool(re.fullmatch(_SHELL, word))
        before = word
    return [value for value in found if value]


def _secrets_of_word(word: str, before: str) -> Iterator[str]:
    """The values in WORD that a name gives away, in it or in the flag BEFORE it."""
    values = [*_named_values(word), *_values_in_json(word)]
    if "=" not in word and not word.startswith("-") and re.match("-[^=]*$", before) and _sounds_secret(before):
        values.append(word)
    header = re.fullmatch(_HEADER, word, re.DOTALL)
    if header is not None and (header[2] or before in _HEADER_FLAGS) and _is_credential(header[1]):
        values += secrets_of_headers({header[1]: header[3]})
    # What is short may be a mode (--auth none), and stands everywhere.
    return (each for each in values if len(each) >= _SHORTEST_WORD and not re.fullmatch(_REFERENCE, each))


def _named_values(word: str) -> Iterator[str]:
    """The values of NAME=VALUE in WORD, as in --env=NAME=VALUE or in the query of a URL."""
    begin = 0  # of what is a name and a value as a whole
    for each in re.finditer(_NAMED, word):
        if _sounds_secret(each[1]):
            yield word[each.end() :] if each.start() == begin else each[2]
        begin = each.end() if each.start() == 0 and word.startswith("-") else -1


def _values_in_json(word: str) -> Iterator[str]:
    """The texts in WORD, if it is JSON or a flag with JSON, whose names sound secret."""
    begin = word.find("{")
    if begin < 0 or '"' not in word:
        return
    import json

    try:
        left: list[object] = [json.loads(word[begin:])]
    except (ValueError, RecursionError):
        return
    while left:
        part = left.pop()
        if isinstance(part, list):
            left += part
        elif isinstance(part, dict):
            left += part.values()
            yield from (value for name, value in part.items() if isinstance(value, str) and _sounds_secret(name))


def _words_of_script(script: str) -> list[str]:
    import shlex

    lexer = shlex.shlex(script, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:  # a quote has no end
        return script.split()


def _secrets_of_users(word: str) -> Iterator[str]:
    from urllib.parse import unquote

    for userinfo in re.findall(_USERINFO, word):
        user, _, password = userinfo.partition(":")
        # A name alone is a token; one with a password is a secret only if it is long.
        parts = [userinfo, password, *([user] if not password or len(user) >= LONG_VALUE else [])]
        yield from (*parts, *map(unquote, parts))


def _is_credential(header: str) -> bool:
    name = header.lower()
    return name in _COOKIES or (name not in _OPEN_HEADERS and _sounds_secret(name))


def _is_secret(name: str, value: str) -> bool:
    return _gives_away(name, value) or (len(value) >= LONG_VALUE and not re.fullmatch(PLAIN_VALUE, value))


def _gives_away(name: str, value: str) -> bool:
    """Whether NAME says that VALUE is a secret."""
    return _sounds_secret(name) and not (re.search(_OPEN_NAMES, name) and re.fullmatch(PLAIN_VALUE, value))


def _sounds_secret(name: str) -> bool:
    return bool(re.search(_SOUNDS_SECRET, name.lower()))  # in half the time of (?i)


def _of_basic(encoded: str) -> list[str]:
    try:
        pair = a2b_base64(encoded).decode()
    except (NotBase64, UnicodeDecodeError, ValueError):
        return []
    return [pair, pair.partition(":")[2]]


def _without(spans: list[tuple[int, int]], data: bytes) -> bytes:
    clean, end = [], 0
    for start, stop in spans:
        if start >= end:
            clean += [data[end:start], REDACTED.encode()]
        end = max(end, stop)
    return b"".join([*clean, data[end:]])
