"""What is secret in a command line: what the terminal must not show, and words that can be shown to others."""

from collections.abc import Sequence

from mcp_conductor.cli.flags import Given
from mcp_conductor.text.redaction import (
    REDACTED,
    Redactor,
    secrets_of_environment,
    secrets_of_headers,
    secrets_of_url,
    secrets_of_words,
)
from mcp_conductor.text.visible import one_line

_SECRET_FLAGS = (
    "--token", "--oauth-client-secret", "--oauth-code", "--oauth-code-verifier", "--oauth-refresh-token",
)  # fmt: skip


def secrets_of_flags(given: Given) -> list[str]:
    """What must not be shown of a command line, right or wrong."""
    env = dict(text.partition("=")[::2] for text in given.all("--env"))
    headers = {name: value.strip() for name, _, value in (text.partition(":") for text in given.all("--header"))}
    words = (*given.words, *given.after, *given.all("--server-url"))
    return [
        *secrets_of_environment(env),
        *secrets_of_headers(headers),
        *(value for flag in _SECRET_FLAGS for value in given.all(flag)),
        *(text.partition("=")[2] for text in given.all("--secret")),
        *(secret for word in words for secret in (secrets_of_url(word) if "://" in word else ())),
    ]


def without_secrets(given: Given, *parts: Sequence[str]) -> list[list[str]]:
    """PARTS of a command line without what is secret in it."""
    secrets = secrets_of_words([word for words in parts for word in words])
    hidden = Redactor([*secrets_of_flags(given), *secrets])
    return [[one_line(hidden.redact(word)) for word in words] for words in parts]


def without_secret(flag: str, text: str) -> str:
    """TEXT, which is given to FLAG, without what is secret in it, however short that is."""
    if flag in _SECRET_FLAGS:
        return REDACTED
    name, mark, value = text.partition(":" if flag == "--header" else "=")
    if flag == "--header":
        return f"{name}: {REDACTED}" if mark else REDACTED
    if flag == "--secret" or (flag == "--env" and secrets_of_environment({name: value})):
        return f"{name}={REDACTED}"
    return text
