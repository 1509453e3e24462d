"""What is secret in a command line: how it is given, what the terminal must not show, what can be shown to others.

A command line can be seen by every user of the machine, and is kept by shells. So a secret can be given as @FILE or
env:NAME instead.
"""

import os
from collections.abc import Sequence

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError
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
# Flags whose values have a name before the secret, and what is between the two.
_NAMED = {"--header": ":", "--secret": "="}
_LARGEST = 1_000_000  # bytes of a file


def read_secrets(given: Given, terminal: Terminal) -> Given:
    """The same with the secrets that are given as @FILE or env:NAME; none of them is shown from now on."""
    values = dict(given.values)
    for flag in (*_SECRET_FLAGS, *_NAMED):
        if flag in values:
            values[flag] = [_with_secret(flag, text, terminal) for text in values[flag]]
    read = given.with_secrets(values)
    terminal.learn(secrets_of_flags(read))
    return read


def _with_secret(flag: str, text: str, terminal: Terminal) -> str:
    if not text and flag in _SECRET_FLAGS:  # as "$TOKEN" is where the shell has no such variable
        raise UsageError(f"{flag} is empty")
    named, value = _parts(flag, text)
    if not _is_reference(value):
        return text
    secret = _from_variable(flag, value[4:], terminal) if value[0] != "@" else _from_file(flag, value[1:], terminal)
    return named + secret


def _parts(flag: str, text: str) -> tuple[str, str]:
    """What stands before the secret in TEXT, which is given to FLAG; and the secret, or a reference to it."""
    name, mark, value = text.partition(_NAMED[flag]) if flag in _NAMED else ("", "", text)
    return name + mark, value.strip() if flag == "--header" else value


def _given_to(given: Given, flag: str) -> list[tuple[str, str]]:
    """The names and secrets given to FLAG, but no references."""
    parts = [_parts(flag, text) for text in given.all(flag)]
    return [(name, value) for name, value in parts if not _is_reference(value)]


def _is_reference(value: str) -> bool:
    return value.startswith(("@", "env:"))


def _from_variable(flag: str, name: str, terminal: Terminal) -> str:
    value = terminal.environ.get(name)
    if not value:
        problem = "is not set" if value is None else "is empty"
        raise UsageError(f"{flag}: the environment variable {name!r} {problem}")
    return value


def _from_file(flag: str, file: str, terminal: Terminal) -> str:
    from mcp_conductor.files.reading import read_bytes

    try:
        text = read_bytes(os.path.join(terminal.directory, os.path.expanduser(file)), _LARGEST).decode()
    except OSError as error:
        raise UsageError(f"{flag}: cannot read {file!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{flag}: {file!r} is not UTF-8") from error
    # The line end that editors and `echo` put there is no part of a secret.
    secret = text.removesuffix("\n").removesuffix("\r")
    if not secret:
        raise UsageError(f"{flag}: {file!r} is empty")
    return secret


def secrets_of_flags(given: Given) -> list[str]:
    """What must not be shown of a command line, right or wrong."""
    env = dict(text.partition("=")[::2] for text in given.all("--env"))
    headers = {name.removesuffix(":"): value for name, value in _given_to(given, "--header")}
    words = (*given.words, *given.after, *given.all("--server-url"))
    return [
        *secrets_of_environment(env),
        *secrets_of_headers(headers),
        *(value for flag in (*_SECRET_FLAGS, "--secret") for _, value in _given_to(given, flag)),
        *secrets_of_words(words),
        *(secret for word in words for secret in (secrets_of_url(word) if "://" in word else ())),
    ]


def without_secrets(given: Given, *parts: Sequence[str]) -> list[list[str]]:
    """PARTS of a command line without what is secret in it."""
    secrets = secrets_of_words([word for words in parts for word in words])
    hidden = Redactor([*secrets_of_flags(given), *secrets])
    return [[one_line(hidden.redact(word)) for word in words] for words in parts]


def without_secret(flag: str, text: str) -> str:
    """TEXT, which is given to FLAG, without what is secret in it, however short that is; a reference is not secret."""
    if (flag in _SECRET_FLAGS or flag in _NAMED) and _is_reference(_parts(flag, text)[1]):
        return text
    if flag in _SECRET_FLAGS:
        return REDACTED
    name, mark, value = text.partition(":" if flag == "--header" else "=")
    if flag == "--header":
        return f"{name}: {REDACTED}" if mark else REDACTED
    if flag == "--secret" or (flag == "--env" and secrets_of_environment({name: value})):
        return f"{name}={REDACTED}"
    return text
