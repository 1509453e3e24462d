"""A secret is found in every form that it has by accident, and what only looks like one stays."""

import html
import json
import shlex
from base64 import b64encode, encodebytes
from urllib.parse import quote, quote_plus

import pytest

from mcp_conductor.text.redaction import REDACTED, LineRedactor, Redactor, redacted_lines


def in_json(text):
    return json.dumps(text)[1:-1]


def in_base64(text):
    return b64encode(text.encode()).decode()


def wrapped(text, width, prefix):
    return prefix.join(text[place : place + width] for place in range(0, len(text), width))


def as_bytes(text, spec, separator):
    return separator.join(format(byte, spec) for byte in text.encode())


def entities(text):
    return "".join(f"&#{ord(character)};" for character in text)


# What a server, a log or a console may make of a value, in as many ways as there are families.
FORMS = {
    "hex": lambda text: as_bytes(text, "02x", ""),
    "hex with backslashes": lambda text: "\\x" + as_bytes(text, "02x", "\\x"),
    "\\u escapes": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "Python": lambda text: repr(text)[1:-1],
    "Python, bytes": lambda text: repr(text.encode())[2:-1],
    "shell": lambda text: shlex.quote(text).removeprefix("'").removesuffix("'"),
    "form": quote_plus,
    "URL": lambda text: quote(text, safe=""),
    "URL, lower case": lambda text: quote(text, safe="").lower() if text.islower() else quote(text),
    "HTML": html.escape,
    "HTML, decimal": entities,
    "URL, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON, three times": lambda text: in_json(in_json(in_json(text))),
    "URL in JSON": lambda text: in_json(quote(text, safe="")),
    "base64 in short lines": lambda text: wrapped(in_base64(text), 10, "\n"),
    "base64 with a gutter": lambda text: wrapped(in_base64(text), 12, "\n   | "),
    "base64 in short lines, in JSON": lambda text: wrapped(in_base64(text), 10, "\\n"),
    "broken into lines": lambda text: wrapped(text, 9, "\n"),
    "broken into lines with an indent": lambda text: wrapped(text, 9, "\r\n        "),
    "broken into lines with a gutter": lambda text: wrapped(text, 9, " |\n  | "),
    "broken into lines in a box": lambda text: wrapped(text, 9, " │\n│ "),
    "broken into lines, in JSON": lambda text: wrapped(text, 9, "\\n  "),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("secret", ["zQ-canary_0f/Secret+7", 'Tr0ub4dor&<3>"x"=y9', "correct horse/battery+staple"])
def test_a_secret_is_taken_out_in_every_form(form, secret):
    written = form(secret)
    redactor = Redactor([secret])
    for before, after in (("before ", " after"), ("key=", ""), ("", ""), ('["', '", 1]')):
        shown = redactor.redact(f"{before}{written}{after}")
        assert REDACTED in shown
        # What stood around it is there as before, and nothing of it but the edges of what it was put into.
        rest = shown.replace(REDACTED, "")
        assert rest.startswith(before)
        assert rest.endswith(after)
        assert len(rest) - len(before) - len(after) <= len(written) // 3


@pytest.mark.parametrize("form", ["HTML, decimal", "URL, twice", "JSON, three times", "Python, bytes"])
def test_other_letters_than_those_of_ascii_are_found_in_escapes_too(form):
    secret = "pässwörter-née-ß1"
    assert Redactor([secret]).redact(f"<{FORMS[form](secret)}>") == f"<{REDACTED}>"


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("read-only", '{"annotations": {"readOnlyHint": true}}'),
        ("a b c d e", "abcde"),
        ("12345678", "[1234, 5678]"),
        ("/home/me/project/data", "cd /home/me/project"),
        ("/home/me/project/data", "/home/me/project"),
        ("https://api.example.com/v1/users", "users of https://api.example.com"),
        ("https://api.example.com/v1/users", "https://api.example.com/v1"),
        ("/srv/files/inventory-2024.sqlite", "inventory-2024.sqlite was opened"),
        ("abcd", "ABCD dcba"),
        ("secret-of-mine-1", "=73 \\163 &sect; %73 and nothing else"),
    ],
)
def test_what_only_looks_like_a_secret_stays(secret, text):
    assert Redactor([secret]).redact(text) == text


@pytest.mark.parametrize("secret", ["hunter22-hunter22", "0123456789" * 12])
@pytest.mark.parametrize("before", range(43, 52))
def test_in_base64_as_mail_breaks_it_it_is_found_where_each_line_is_a_text_of_its_own(secret, before):
    lines = encodebytes(f"{'x' * before}{secret}{'y' * 60}".encode()).decode().split()
    redactor = Redactor([secret])
    shown = [redactor.redact(f"stderr: {line}").removeprefix("stderr: ") for line in lines]
    # A part of three characters or less may be left on a line.
    assert len("".join(shown).replace(REDACTED, "")) <= (before + 60) * 4 // 3 + 6 + 3 * 2


# What one writes to a log over several lines, each of which we get as a text of its own.
OVER_LINES = {
    "narrow": lambda text: wrapped(text, 10, "\n  | "),
    "base64": lambda text: wrapped(in_base64(text), 10, "\n"),
    "wide": lambda text: wrapped(f"{'-' * 63} {text}", 76, "\n    "),
}


@pytest.mark.parametrize("form", OVER_LINES.values(), ids=OVER_LINES)
def test_of_lines_that_are_known_together_nothing_is_left(form):
    secret = "zQ7canary0fSecret7Kx9hunter22Plm4"
    lines = ["starting", *form(secret).split("\n"), "ready"]
    shown = redacted_lines(lines, Redactor([secret]).redact)
    assert (shown[0], shown[-1]) == ("starting", "ready")
    assert sum(letter.isalnum() for letter in "".join(shown[1:-1]).replace(REDACTED, "")) == 0


@pytest.mark.parametrize("form", OVER_LINES.values(), ids=OVER_LINES)
def test_of_lines_that_come_one_by_one_at_most_the_beginning_of_a_secret_is_shown(form):
    secret = "zQ7canary0fSecret7Kx9hunter22Plm4"
    lines = ["starting", *form(secret).split("\n"), "ready"]
    stream = LineRedactor(Redactor([secret]))
    shown = [stream.redact(line) for line in lines]
    assert (shown[0], shown[-1]) == ("starting", "ready")
    # So few letters or digits may be anything.
    assert sum(letter.isalnum() for letter in "".join(shown[1:-1]).replace(REDACTED, "")) <= 16
    assert len(shown) == len(lines)
