"""What the name and the description of an argument suggest: texts that are worth a try where a schema offers none.

All of them are harmless: an address leads to this machine, where nothing listens, and a query only reads.
"""

import re
from collections.abc import Iterator

from mcp_conductor.protocol.samples import FORMATS, SAMPLE

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_QUOTED = re.compile(r"""(?<!\w)(['"`])([^'"`\n]{1,60})\1(?!\w)""")
_EXAMPLE = re.compile(r"(?:e\.g\.|for example|such as)[,:]?\s+['\"`]?([\w./:+-]*\w)", re.IGNORECASE)
_LONGEST_DESCRIPTION = 2000
_MOST_OF_A_DESCRIPTION = 4
_MOMENT = FORMATS["date-time"]
# A name has one of these words, or all of them together are one: time_zone is timezone.
_BY_WORD = {
    "timezone": "UTC",
    "tz": "UTC",
    "datetime": _MOMENT,
    "timestamp": _MOMENT,
    "date": FORMATS["date"],
    "day": FORMATS["date"],
    "time": "12:00",
    "duration": FORMATS["duration"],
    "email": FORMATS["email"],
    "url": FORMATS["url"],
    "uri": FORMATS["uri"],
    "link": FORMATS["url"],
    "website": FORMATS["url"],
    "host": FORMATS["hostname"],
    "hostname": FORMATS["hostname"],
    "domain": FORMATS["hostname"],
    "ip": FORMATS["ipv4"],
    "uuid": FORMATS["uuid"],
    "guid": FORMATS["uuid"],
    "language": "en",
    "lang": "en",
    "locale": "en-US",
    "country": "US",
    "currency": "USD",
    "city": "Berlin",
    "color": "#000000",
    "colour": "#000000",
    "revision": "HEAD",
    "commit": "HEAD",
    "ref": "HEAD",
    "sha": "HEAD",
    "sql": "SELECT 1",
    "expression": "1 + 1",
    "glob": "*",
    "regex": FORMATS["regex"],
    "id": "1",
    "number": "1",
    "count": "1",
}
_BY_DESCRIPTION = {
    "hh:mm": "12:00",
    "yyyy-mm-dd": FORMATS["date"],
    "iso 8601": _MOMENT,
    "timezone": "UTC",
    "time zone": "UTC",
    "select": "SELECT 1",
    "sql": "SELECT 1",
    "commit": "HEAD",
    "integer": "1",
    "number": "1",
    "url": FORMATS["url"],
}


def words_of(name: str) -> list[str]:
    """The words that NAME is made of, in lower case: `repoPath`, `repo_path` and `repo-path` are repo and path."""
    return [word.lower() for word in _WORD.findall(name)]


def suggested_texts(name: str, described: str = "", about: str = "") -> list[str]:
    """Texts for an argument that is DESCRIBED so, those that fit best first; ABOUT describes what it belongs to."""
    own, other = described[:_LONGEST_DESCRIPTION], about[:_LONGEST_DESCRIPTION]
    certain, doubtful = (*_of_examples(own), *_of_name(name), *_of_description(own)), [*_of_description(other)]
    return list(dict.fromkeys((*certain, *([SAMPLE, *doubtful] if certain or doubtful else ()))))


def _of_examples(about: str) -> list[str]:
    """What a description quotes, or names as an example."""
    found = [*(each[2] for each in _QUOTED.finditer(about)), *(each[1] for each in _EXAMPLE.finditer(about))]
    return list(dict.fromkeys(found))[:_MOST_OF_A_DESCRIPTION]


def _of_name(name: str) -> Iterator[str]:
    words = words_of(name)
    together = "".join(words)
    singular = [word.removesuffix("s") for word in words]
    found = (*words, *singular)
    yield from (text for word, text in _BY_WORD.items() if word in found or (len(word) > 6 and word in together))


def _of_description(about: str) -> Iterator[str]:
    lower = about.lower()
    yield from (text for words, text in _BY_DESCRIPTION.items() if re.search(rf"\b{re.escape(words)}s?\b", lower))
