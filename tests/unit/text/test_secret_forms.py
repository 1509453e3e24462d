"""A secret is found in every form, and what only looks like one stays."""

import base64
import html
import json
import quopri
from base64 import b64encode
from urllib.parse import quote

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
    "upper case": str.upper,
    "lower case": str.lower,
    "swapped case": str.swapcase,
    "reversed": lambda text: text[::-1],
    "hex": lambda text: as_bytes(text, "02x", ""),
    "hex with colons": lambda text: as_bytes(text, "02x", ":"),
    "hex with spaces": lambda text: as_bytes(text, "02X", " "),
    "hex over lines": lambda text: wrapped(as_bytes(text, "02x", " "), 24, "\n    "),
    "hex with 0x": lambda text: as_bytes(text, "#04x", ", "),
    "hex with backslashes": lambda text: "\\x" + as_bytes(text, "02x", "\\x"),
    "list of bytes": lambda text: as_bytes(text, "d", ", "),
    "list of bytes, close": lambda text: as_bytes(text, "d", ","),
    "list of bytes over lines": lambda text: as_bytes(text, "d", ",\n    "),
    "list of bytes over lines, in JSON": lambda text: as_bytes(text, "d", ",\\n    "),
    "list of characters": lambda text: '", "'.join(in_json(each) for each in text),
    "dump in octal": lambda text: as_bytes(text, "03o", " "),
    "octal escapes": lambda text: "".join(f"\\{byte:03o}" for byte in text.encode()),
    "octal escapes in JSON": lambda text: "".join(f"\\\\{byte:03o}" for byte in text.encode()),
    "octal escapes of some": lambda text: "".join(each if each.isalnum() else f"\\{ord(each):03o}" for each in text),
    "HTML": html.escape,
    "HTML, decimal": entities,
    "HTML, hexadecimal": lambda text: "".join(f"&#x{ord(each):x};" for each in text),
    "HTML, twice": lambda text: html.escape(entities(text)),
    "HTML, by name": lambda text: html.escape(text).replace("é", "&eacute;"),
    "HTML in a URL": lambda text: quote(entities(text)),
    "JavaScript": lambda text: "".join(f"\\u{{{ord(each):x}}}" for each in text),
    "old JavaScript": lambda text: "".join(f"%u{ord(each):04x}" for each in text),
    "quoted-printable": lambda text: quopri.encodestring(text.encode()).decode(),
    "quoted-printable, all": lambda text: "".join(f"={byte:02X}" for byte in text.encode()),
    "quoted-printable over lines": lambda text: quopri.encodestring(b"x" * 70 + text.encode()).decode()[70:],
    "URL, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "URL, three times": lambda text: quote(quote(quote(text, safe=""), safe=""), safe=""),
    "JSON, three times": lambda text: in_json(in_json(in_json(text))),
    "JSON in a URL": lambda text: quote(in_json(text), safe=""),
    "URL in JSON": lambda text: in_json(quote(text, safe="")),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "base32, lower case": lambda text: base64.b32encode(text.encode()).decode().lower(),
    "base32 in something longer": lambda text: base64.b32encode(f"to:{text};".encode()).decode(),
    "base85": lambda text: base64.b85encode(text.encode()).decode(),
    "ascii85": lambda text: base64.a85encode(text.encode()).decode(),
    "base64 in short lines": lambda text: wrapped(in_base64(text), 10, "\n"),
    "base64 with a gutter": lambda text: wrapped(in_base64(text), 12, "\n   | "),
    "base64 in short lines, in JSON": lambda text: wrapped(in_base64(text), 10, "\\n"),
    "base64 in lower case": lambda text: in_base64(text).lower(),
    "base64 of a URL": lambda text: in_base64(quote(text, safe="")),
    "base64 of base64": lambda text: in_base64(in_base64(text)),
    "base64 of base64 of base64": lambda text: in_base64(in_base64(in_base64(text))),
    "base64 of hex": lambda text: in_base64(text.encode().hex()),
    "base64 of JSON": lambda text: in_base64(json.dumps({"k": text})),
    "base64 of UTF-16": lambda text: b64encode(text.encode("utf-16-le")).decode(),
    "UTF-16 taken for UTF-8": lambda text: text.encode("utf-16-le").decode(errors="surrogateescape"),
    "UTF-16 taken for UTF-8, in JSON": lambda text: in_json(text.encode("utf-16-be").decode(errors="replace")),
    "broken into lines": lambda text: wrapped(text, 9, "\n"),
    "broken into lines with an indent": lambda text: wrapped(text, 9, "\r\n        "),
    "broken into lines with a gutter": lambda text: wrapped(text, 9, " |\n  | "),
    "broken into lines in a box": lambda text: wrapped(text, 9, " │\n│ "),
    "broken into lines, in JSON": lambda text: wrapped(text, 9, "\\n  "),
    "broken into lines with backslashes": lambda text: wrapped(text, 9, "\\\n"),
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


@pytest.mark.parametrize(
    "form", ["HTML, decimal", "URL, twice", "octal escapes", "quoted-printable, all", "JSON, three times"]
)
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


@pytest.mark.parametrize("width", range(61, 80))
@pytest.mark.parametrize("secret", ["zQ7canary0fSecret7Kx9hunter22Plm4", '"zQ7canary0fSecret7Kx9hunter22Plm4/+"'])
def test_a_secret_that_is_broken_over_texts_of_their_own_leaves_too_little_to_use(secret, width):
    line = f"2024-05-01 12:00:01 the server was started with {secret} and is ready"
    redactor = Redactor([secret])
    shown = [redactor.redact(part) for part in (line[:width], line[width:])]
    left = "".join(shown).replace(REDACTED, "")
    # A part of less than eight characters may be a word.
    assert sum(map(str.isalnum, left)) <= sum(map(str.isalnum, line)) - sum(map(str.isalnum, secret)) + 7


# What one writes to a log over several lines, each of which we get as a text of its own.
OVER_LINES = {
    "list of bytes": lambda text: json.dumps(list(text.encode()), indent=2),
    "hex": lambda text: wrapped(as_bytes(text, "02x", " "), 24, "\n"),
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
    # So few letters or digits may be anything; in decimal, five bytes.
    assert sum(letter.isalnum() for letter in "".join(shown[1:-1]).replace(REDACTED, "")) <= 16
    assert len(shown) == len(lines)
