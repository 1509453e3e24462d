"""The entry of a server for a file that is shared: what is secret in it becomes a reference to the environment."""

import re

from mcp_conductor.protocol import Json
from mcp_conductor.text.redaction import (
    secrets_of_environment,
    secrets_of_headers,
    secrets_of_url,
    secrets_of_words,
)

_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)\}")
_NAME = re.compile(r"--?([A-Za-z][\w-]*)|([A-Za-z_]\w*)=")  # of a flag, or of a variable


def without_secrets(entry: Json) -> tuple[Json, list[str]]:
    """ENTRY without secrets, and the environment variables that have to be set instead."""
    shared = dict(entry)
    texts = _texts(entry, "env")
    shared |= {"env": {**entry["env"], **_env(texts)}} if texts else {}
    headers = _texts(entry, "headers")
    shared |= {"headers": {**entry["headers"], **_headers(headers)}} if headers else {}
    if isinstance(entry.get("args"), list):
        shared["args"] = _args(entry["args"])
    if isinstance(entry.get("url"), str):
        shared["url"] = _replaced(entry["url"], secrets_of_url(entry["url"]), "URL_SECRET")
    before = references(entry)
    return shared, [each for each in references(shared) if each not in before]


def references(entry: Json) -> list[str]:
    """The environment variables that ENTRY refers to."""
    return list(dict.fromkeys(_REFERENCE.findall(str(entry))))


def secrets_in(entry: Json) -> list[str]:
    """What must not be shown of ENTRY."""
    words = [word for word in (entry.get("command"), *_list(entry, "args")) if isinstance(word, str)]
    url = entry.get("url")
    return [
        *secrets_of_words(words),
        *secrets_of_environment(_written_out(_texts(entry, "env"))),
        *secrets_of_headers(_written_out(_texts(entry, "headers"))),
        *(secrets_of_url(url) if isinstance(url, str) else ()),
    ]


def _env(texts: dict[str, str]) -> dict[str, str]:
    """Secrets by the names that they have anyway."""
    return {
        name: f"${{{_variable(name)}}}" if secrets_of_environment({name: value}) else value
        for name, value in _written_out(texts).items()
    }


def _headers(texts: dict[str, str]) -> dict[str, str]:
    """Every value: what a header is for cannot be known. A scheme stays."""
    found = {}
    for name, value in _written_out(texts).items():
        scheme, space, _ = value.partition(" ")
        kept = f"{scheme} " if space and scheme.lower() in ("bearer", "basic") else ""
        found[name] = f"{kept}${{{_variable(name).upper()}}}"
    return found


def _args(words: list[object]) -> list[object]:
    """The words of a command line; a secret is called as the flag before it, or in the same word."""
    secrets = secrets_of_words([str(word) for word in words])
    before, found = "", list[object]()
    for word in words:
        name = _NAME.match(str(word)) or _NAME.match(before)
        variable = _variable(name[1] or name[2]).upper() if name else "SECRET"
        found.append(_replaced(word, secrets, variable) if isinstance(word, str) else word)
        before = str(word)
    return found


def _replaced(text: str, secrets: list[str], variable: str) -> str:
    """TEXT with references to VARIABLE, VARIABLE_2 … in place of SECRETS."""
    number = 0
    # The longest first: one may be a part of another.
    for secret in sorted(set(secrets), key=len, reverse=True):
        if secret in text:
            number += 1
            text = text.replace(secret, f"${{{variable}{'' if number == 1 else f'_{number}'}}}")
    return text


def _texts(entry: Json, key: str) -> dict[str, str]:
    values = entry.get(key)
    return {name: value for name, value in values.items() if isinstance(value, str)} if isinstance(values, dict) else {}


def _list(entry: Json, key: str) -> list[object]:
    value = entry.get(key)
    return value if isinstance(value, list) else []


def _written_out(texts: dict[str, str]) -> dict[str, str]:
    """Those that are no references already."""
    return {name: value for name, value in texts.items() if not _REFERENCE.search(value)}


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name)
