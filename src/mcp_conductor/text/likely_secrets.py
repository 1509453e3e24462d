r"""Values that look secret although nobody said so: by the name of their member, or by a known shape.

Names are read by whole words, and their last words decide: `apiToken` is secret, `token_count` and `nextPageToken` are
not. Only texts are redacted, so a schema that describes a property named `password` stays as it is. JSON within a text
is read as JSON; in other text, `name=value`, `--name value`, `"name": "value"` and `Authorization: Bearer value` are
found.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.text.redaction import PLAIN_VALUE, REDACTED, Redactor
from mcp_conductor.text.secret_forms import LONG_VALUE, SHORTEST

Path = tuple[str | int | None, ...]  # names and indexes; None is every member or element

_MAX_DEPTH = 4  # JSON in text in JSON …
_MAX_LEARNED = 100
_LONGEST_LEARNED = 500  # characters
_SHORTEST_MIXED = 6  # characters of a value that follows a colon, or a flag
_LONGEST_NO_VALUE = 200  # characters of a reference or a placeholder
_MAX_KEY_LINES = 200  # of a private key on stderr

_SECRET_WORD = (
    "passwords?|passwd|passphrase|passcode|pwd|secrets?|credentials?|authorization|cookie|jwt|accesskey|privatekey"
    "|clientsecret|(?:api|access|auth|refresh|bearer|session)token|.*(?:password|passwd|passphrase|apikey|secretkey)"
)
_BEFORE_SECRET_KEY = "api|access|private|secret|encryption|signing|master|auth|account|ssh|webhook"
# With these, a token says where a list, a stream or a text goes on, or what a call is known by.
_BEFORE_OPEN_TOKEN = (
    "page|next|previous|prev|progress|continuation|continue|sync|resume|resumption|cursor|start|stop|end|begin|eos|bos"
    "|pad|unk|mask|sep|special|cancellation|cancel|first|last|input|output|pagination"
)
_QUALIFIER = "[0-9]+|value|raw|plain|plaintext|hash|confirm|confirmation|repeat|again|base64|header"
_QUESTION = "is|has|no|needs|requires?|uses?|show|hide|with|without"
# Members of a schema whose names are those of the properties that it describes.
_SCHEMA_LISTS = ("dependentRequired", "dependencies")

_SHAPES = compiled_later(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_\w{20,}+|glpat-[\w-]{20,}+"
    r"|(?<![\w-])sk-(?=[A-Za-z_-]{0,60}[0-9])[\w-]{20,}+|[rs]k_(?:live|test)_\w{16,}+"
    r"|xox[abeoprs]-[\w-]{10,}+|xapp-[\w-]{20,}+"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[\w-]{35}|ya29\.[\w-]{20,}+|GOCSPX-[\w-]{20,}+"
    r"|npm_[A-Za-z0-9]{36}|pypi-[\w-]{40,}+|hf_[A-Za-z0-9]{30,}+|SG\.[\w-]{16,64}\.[\w-]{16,}+"
    r"|(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+(?:\.[\w-]*+)?"
    r")",
    re.ASCII,
)
_KEY_BEGIN = "-----BEGIN "
_KEY_END = compiled_later(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY = compiled_later(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[\w+/=\s:,.()-]++|\\{1,8}[nrt])*+")
_KEY_LINE = compiled_later(r"[\w+/=\s:,.()-]*+")
_USERINFO = compiled_later(r"(?<=://)([^/?#@:\s\"']{0,256}+):([^/?#@\s\"']{1,1024}+)@")
# With dashes before it, a name may be a flag, whose value follows after white space.
_NAME = compiled_later(
    r"(?<![\w-])(?P<dashes>--?)?(?P<name>[A-Za-z][\w-]{1,63}+)"
    r"(?P<between>\\{0,8}[\"'`]?[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}|(?(dashes)[ \t]++|(?!)))",
    re.ASCII,
)
_VALUE = compiled_later(
    r"(?P<quote>\\{1,8}[\"'])(?P<escaped>[^\"'\\\n]++)|\"(?P<double>(?:[^\"\\\n]++|\\.)++)|(?P<other>['`])(?P<single>[^'`\n]++)"
    r"|(?P<scheme>(?i:bearer|basic|token|digest)[ \t]++)?(?P<bare>[^\s\"'`,;&<>()\[\]{}\\]++)"
)
_NO_VALUE = compiled_later(
    r"none|null|true|false|undefined|string|str|bool|int|required|optional|your[-_ ].*|<[^>]*>|[*.x_-]+"
    r"|(?:\w+ )?(?:\$[A-Z_][A-Z0-9_]*|\$?\{[^}]*\}{1,2}|%[A-Z_]+%)",
    re.IGNORECASE,
)
_TOKEN = compiled_later(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],]|[^\s"{}\[\],:]++', re.DOTALL)
_WORD = compiled_later(r"[A-Za-z][\w-]*+")
_NAME_PARTS = compiled_later(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

# One of these is in each name that is secret, and a run of 20 such bytes in each shape.
_IN_NAMES = (b"pass", b"token", b"secret", b"auth", b"key", b"pwd", b"cred", b"cookie", b"jwt")
_RUN_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_RUNS = bytes(65 if byte in _RUN_BYTES else 0 for byte in range(256))
_RUN = b"A" * 20
_DIGITS_AS_0 = bytes.maketrans(b"123456789", b"000000000")
_LONGEST_REMEMBERED = 1000  # bytes of a line
_MAX_REMEMBERED = 500


_plain_lines: set[bytes] = set()


def may_be_in(text: str) -> bool:
    """Tell quickly that nothing in TEXT looks secret; if anything may, it has to be read."""
    # Another digit makes no difference here, and most messages are as earlier ones but for their numbers.
    lines = text.encode(errors="surrogatepass").translate(_DIGITS_AS_0).split(b"\n")
    if _plain_lines.issuperset(lines):
        return False
    for line in lines:
        if line not in _plain_lines:
            if _may_be_in(line):
                return True
            if len(line) < _LONGEST_REMEMBERED:
                if len(_plain_lines) >= _MAX_REMEMBERED:
                    _plain_lines.clear()
                _plain_lines.add(line)
    return False


def _may_be_in(data: bytes) -> bool:
    lower = data.lower()
    for part in _IN_NAMES:
        if part in lower:
            return True
    return (
        _RUN in data.translate(_RUNS)
        or (b"://" in data and b"@" in data)
        or b"\\u00" in data  # a letter of a name may be an escape
        or b"-----BEGIN" in data
    )


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether the value of a member with this NAME is a secret."""
    return _is_secret(name[:200], "")


def _is_secret(name: str, value: str) -> bool:
    words = [word.lower() for word in _NAME_PARTS.findall(name)]
    while words and re.fullmatch(_QUALIFIER, words[-1]):
        words.pop()
    if not words or re.fullmatch(_QUESTION, words[0]):
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "token":
        return re.fullmatch(_BEFORE_OPEN_TOKEN, before) is None
    if last == "key":
        return re.fullmatch(_BEFORE_SECRET_KEY, before) is not None
    if last == "auth":  # often a mode
        return not value or (len(value) >= LONG_VALUE and re.fullmatch(PLAIN_VALUE, value) is None)
    return re.fullmatch(_SECRET_WORD, last) is not None


class LikelySecrets:
    """Redacts what looks secret in the texts of a recording, and what stands at given paths of its messages."""

    def __init__(self, redact: Mapping[str, Path] | None = None, keep: Mapping[str, Path] | None = None) -> None:
        """Paths are known by their text, as it was written."""
        self.count = 0  # values that were redacted
        self._flag = "conductor record --keep PATH" if keep is None else "--keep PATH"
        self._redact = redact or {}
        self._keep = keep or {}
        # Whether every text has to be read, also one without anything that `may_be_in` finds.
        self.is_always_needed = bool(redact or keep)
        self._matched: set[str] = set()  # those of the paths at which anything stood
        self._learned = Redactor()  # by their names: they may be said again without one
        self._learned_count = 0
        self._in_keys: dict[object, int] = {}  # lines left of a private key that has begun, by stream

    def report(self) -> Iterator[str]:
        """Say how much was redacted, and which paths led nowhere."""
        if self.count:
            values = (
                "1 value that looks secret was" if self.count == 1 else f"{self.count} values that look secret were"
            )
            yield f"{values} redacted in the recording; {self._flag} keeps one"
        for flag, paths in (("--redact", self._redact), ("--keep", self._keep)):
            for written in paths:
                if written not in self._matched:
                    yield f"{flag} {written} is nothing that was recorded"

    def redact(self, text: str, stream: object = None) -> str:
        """TEXT without what looks secret; lines of a STREAM belong together."""
        if stream in self._in_keys:
            text = self._rest_of_key(text, stream)
        clean = self._in_text(text, (), 0)
        if stream is not None and _KEY_BEGIN in text:
            keys = _KEY.findall(text)
            if keys and text.endswith(keys[-1]) and _KEY_END.search(keys[-1]) is None:
                self._in_keys[stream] = _MAX_KEY_LINES
                self.is_always_needed = True
        again = self._learned.redact(clean)
        if again is not clean:
            self.count += again.count(REDACTED) - clean.count(REDACTED)
        return again

    def _rest_of_key(self, line: str, stream: object) -> str:
        left = self._in_keys.pop(stream) - 1
        if (end := _KEY_END.search(line)) is not None:
            return REDACTED + line[end.end() :]
        if left and _KEY_LINE.fullmatch(line):
            self._in_keys[stream] = left
            return REDACTED if line.strip() else line
        return line

    def _in_text(self, text: str, path: Path, depth: int) -> str:
        if not (self._redact or self._keep) and not _has_anything(text):
            return text
        if depth < _MAX_DEPTH and text.lstrip()[:1] in ("{", "[") and _is_json(text):
            return self._in_json(text, path, depth)
        if self._is_at(path, self._keep):
            return text
        if "PRIVATE KEY" in text:
            text = _KEY.sub(self._without_keys, text)
        text = _SHAPES.sub(self._hidden, text)
        if "://" in text and "@" in text:
            text = _USERINFO.sub(self._without_password, text)
        return self._without_values(text)

    def _in_json(self, text: str, above: Path, depth: int) -> str:
        """TEXT, which is JSON at the path ABOVE, without secrets; all else stays as it was written."""
        clean: list[str] = []
        end = 0
        keys: list[str | int | None] = []  # where we are; None: in an object, before a name
        arrays: list[bool] = []
        hole = (-1, 0)  # how deep what is redacted as a whole begins, and where
        for token in _TOKEN.finditer(text):
            word, first = token[0], token[0][0]
            if first in "}]":
                keys.pop()
                arrays.pop()
                if len(keys) == hole[0]:
                    clean += [text[end : hole[1]], f'"{REDACTED}"']
                    end, hole = token.end(), (-1, 0)
                continue
            if first == ",":
                last = keys[-1]
                keys[-1] = last + 1 if isinstance(last, int) else None
                continue
            if keys and keys[-1] is None:
                keys[-1] = _unquoted(word)
                new = word if hole[0] >= 0 else _SHAPES.sub(self._hidden, word)
            elif hole[0] < 0 and self._redact and self._is_at((*above, *keys), self._redact, whole=True):
                self.count += 1
                if first in "{[":
                    hole = len(keys), token.start()
                new = word if first in "{[" else f'"{REDACTED}"'
            elif first == '"' and hole[0] < 0:
                new = self._string(word, _name_of(keys, arrays), (*above, *keys), depth)
            else:
                new = word
            if first in "{[":
                keys.append(0 if first == "[" else None)
                arrays.append(first == "[")
            if new is not word:
                clean += [text[end : token.start()], new]
                end = token.end()
        return "".join([*clean, text[end:]]) if clean else text

    def _string(self, word: str, name: str, path: Path, depth: int) -> str:
        """The text of JSON that is written as WORD, below NAME, as it may be kept."""
        text = _unquoted(word)
        if not text or (self._keep and self._is_at(path, self._keep)):
            return word
        if name and is_secret_name(name) and _is_value(text) and _is_secret(name, text):
            self._learn(text)
            self.count += 1
            return f'"{REDACTED}"'
        clean = self._in_text(text, path, depth + 1)
        return word if clean == text else json.dumps(clean, ensure_ascii=word.isascii())

    def _is_at(self, path: Path, wanted: Mapping[str, Path], *, whole: bool = False) -> bool:
        """Whether PATH is one of those that are WANTED, or, unless it has to be the WHOLE one, below one."""
        for written, each in wanted.items():
            if (len(each) == len(path) if whole else len(each) <= len(path)) and all(
                step is None or str(step) == str(there) for step, there in zip(each, path, strict=False)
            ):
                self._matched.add(written)
                return True
        return False

    def _learn(self, text: str) -> None:
        if not LONG_VALUE <= len(text) <= _LONGEST_LEARNED or re.fullmatch(PLAIN_VALUE, text):
            return
        if self._learned_count < _MAX_LEARNED:
            scheme, _, rest = text.partition(" ")
            self._learned.learn([text, rest] if scheme.isalpha() and len(rest) >= LONG_VALUE else [text])
            self._learned_count += 1
            self.is_always_needed = True

    def _hidden(self, _: "re.Match[str]") -> str:
        self.count += 1
        return REDACTED

    def _without_keys(self, found: "re.Match[str]") -> str:
        """FOUND, which begins with a private key, and may go on after its end."""
        clean, text, at = [], found[0], 0
        while (begin := text.find(_KEY_BEGIN, at)) >= 0:
            end = _KEY_END.search(text, begin)
            self.count += 1
            clean += [text[at:begin], REDACTED]
            at = len(text) if end is None else end.end()
        return "".join([*clean, text[at:]])

    def _without_password(self, found: "re.Match[str]") -> str:
        if not _is_value(found[2]):
            return found[0]
        self.count += 1
        return f"{found[1]}:{REDACTED}@"

    def _without_values(self, text: str) -> str:
        """TEXT without the values of secret names in it."""
        clean: list[str] = []
        at = end = 0
        while (name := _NAME.search(text, at)) is not None:
            at = name.end()
            if is_secret_name(name["name"]) and (found := _VALUE.match(text, at)) is not None:
                value = next(filter(None, found.group("escaped", "double", "single", "bare")))
                if self._is_said(name, found, value):
                    start = found.end() - len(value)
                    clean += [text[end:start], REDACTED]
                    at = end = found.end()
                    self._learn(value)
                    self.count += 1
        return "".join([*clean, text[end:]]) if clean else text

    def _is_said(self, name: "re.Match[str]", found: "re.Match[str]", value: str) -> bool:
        """Whether VALUE is that of a secret with NAME, and no word of a sentence or of code."""
        if not _is_value(value) or not _is_secret(name["name"], value):
            return False
        flag = not name["between"].strip()
        if not flag and (found["bare"] is None or found["scheme"] is not None):
            return True
        if name["between"] == "=":
            return len(value) >= SHORTEST
        return len(value) >= _SHORTEST_MIXED and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _has_anything(text: str) -> bool:
    """Whether TEXT has a secret name or a known shape: what `may_be_in` finds is seldom one."""
    if any(map(is_secret_name, {*_WORD.findall(text)})) or _SHAPES.search(text) is not None:
        return True
    return "PRIVATE KEY" in text or "\\u00" in text or ("://" in text and _USERINFO.search(text) is not None)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _unquoted(word: str) -> str:
    return word[1:-1] if "\\" not in word else str(json.loads(word, strict=False))


def _name_of(keys: Sequence[str | int | None], arrays: Sequence[bool]) -> str:
    """The name of the member that a text belongs to, also as an element of an array there."""
    if arrays and arrays[-1] and len(keys) > 1:
        above = keys[-3] if len(keys) > 2 else None
        return "" if above in _SCHEMA_LISTS or arrays[-2] else str(keys[-2])
    return str(keys[-1]) if keys and isinstance(keys[-1], str) else ""


def _is_value(text: str) -> bool:
    """Whether TEXT may be a secret: not a reference to one, nor what stands for one in an example."""
    return REDACTED not in text and _NO_VALUE.fullmatch(text[:_LONGEST_NO_VALUE]) is None
