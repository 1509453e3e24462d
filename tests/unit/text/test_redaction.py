"""A secret is found in every form in which it may come back, and ordinary text stays as it is."""

import base64
import json
import time
from base64 import b64encode, encodebytes, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest

from mcp_conductor.text.redaction import (
    REDACTED,
    Redactor,
    inherited_secrets,
    masked,
    masked_by_name,
    secrets_by_name,
    secrets_of_environment,
    secrets_of_headers,
    secrets_of_url,
    secrets_of_words,
    without_credentials,
)

# Every kind of character that one of the forms escapes.
SECRET = 'p/q+r "s"\\t<u>&é?~0'


def in_json(text, **options):
    return json.dumps(text, **options)[1:-1]


def in_base64(text):
    return b64encode(text.encode()).decode()


def all_escaped(text, escape):
    return "".join(map(escape.format, map(ord, text)))


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        repr(SECRET)[1:-1],
        in_json(SECRET),
        in_json(SECRET, ensure_ascii=False),
        in_json(in_json(SECRET)),
        in_json(in_json(SECRET, ensure_ascii=False)),
        in_json(SECRET).replace("/", "\\/"),
        in_json(SECRET).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote(SECRET, safe="!'()*"),
        quote_plus(SECRET),
        in_base64(SECRET),
        in_base64(SECRET).replace("/", "\\/"),
        urlsafe_b64encode(SECRET.encode()).decode(),
        quote(in_base64(SECRET), safe=""),
        all_escaped(SECRET, "\\u{:04x}"),
        all_escaped(SECRET, "\\u{:04X}"),
        all_escaped(SECRET, "\\\\u{:04x}"),
        "".join(f"%{byte:02X}" for byte in SECRET.encode()),
        "".join(f"%{byte:02x}" for byte in SECRET.encode()),
        "".join(f"%25{byte:02x}" for byte in SECRET.encode()),
        "".join(f"\\x{byte:02x}" for byte in SECRET.encode()),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
    ],
)
def test_a_secret_is_taken_out_in_every_form(form):
    assert Redactor([SECRET]).redact(f"before {form} after") == f"before {REDACTED} after"


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "a-long-user:"])
@pytest.mark.parametrize("after", ["", "x", "xy", "xyz"])
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
def test_in_base64_it_is_found_wherever_it_stands_in_something_longer(before, after, encode):
    secret = "hunter22-\xff?>"
    shown = Redactor([secret]).redact(encode(f"{before}{secret}{after}".encode()).decode())
    assert REDACTED in shown
    # What is left is what stands around it, and at most one character shared with it on each side.
    assert len(shown.replace(REDACTED, "")) <= (len(before) + len(after)) * 4 // 3 + 6


@pytest.mark.parametrize(
    ("secrets", "text", "shown"),
    [
        (["hunter22"], "pass=hunter22&again=hunter22", f"pass={REDACTED}&again={REDACTED}"),
        (["abcd"], "abcd", REDACTED),
        (["abc", "a", ""], "abc a", "abc a"),
        (["abcdef", "abcdefghi"], "xabcdefghiy", f"x{REDACTED}y"),
        (["abcdefghi", "abcdef"], "xabcdefghiy abcdef", f"x{REDACTED}y {REDACTED}"),
        (["abcdef", "defghi"], "xabcdefghiy", f"x{REDACTED}y"),
        (['say "hi"'], r'{"key":"say \"hi\""}', f'{{"key":"{REDACTED}"}}'),
        ([r"C:\secret"], r'{"key":"C:\\secret"}', f'{{"key":"{REDACTED}"}}'),
        (["line-one\nline-two"], r'{"key":"line-one\nline-two"}', f'{{"key":"{REDACTED}"}}'),
        (["pässwort"], '{"key":"pässwort"}', f'{{"key":"{REDACTED}"}}'),
        (["pässwort"], r'{"key":"p\u00e4sswort"}', f'{{"key":"{REDACTED}"}}'),
        (["pass\U0001f600"], r'{"key":"pass\ud83d\ude00"}', f'{{"key":"{REDACTED}"}}'),
        (["pass\udcff"], "pass\udcff", REDACTED),
        (["pass\ud800word"], "pass\ud800word", REDACTED),
        (['pass"\\é'], r'{"key":"pass\"\\\u00e9"}', f'{{"key":"{REDACTED}"}}'),
        (['pass"\\é'], r'"{\"key\":\"pass\\\"\\\\\\u00e9\"}"', f'"{{\\"key\\":\\"{REDACTED}\\"}}"'),
        (["pass\x1bword"], "shown as pass\\x1bword", f"shown as {REDACTED}"),
        ([], "nothing to hide", "nothing to hide"),
    ],
)
def test_all_secrets_of_a_text_are_taken_out_and_nothing_else(secrets, text, shown):
    assert Redactor(secrets).redact(text) == shown


@pytest.mark.parametrize("before", range(40, 64))
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\\n", "\\r\\n", "\\\\r\\\\n", "\n  "])
def test_in_base64_it_is_found_also_where_a_line_ends_within_it(before, line_end):
    secret = "hunter22-hunter22-\xff?>"
    wrapped = encodebytes(f"{'x' * before}{secret}{'y' * 60}".encode()).decode().strip().replace("\n", line_end)
    shown = Redactor([secret]).redact(wrapped)
    assert shown.count(REDACTED) == 1
    # What is left decodes to nothing of the secret, wherever what was taken out stood.
    rest = shown.replace(REDACTED, "").replace(line_end, "")
    assert len(rest) <= (before + 60) * 4 // 3 + 6


@pytest.mark.parametrize("secret", ["hunter22-hunter22", "0123456789" * 12])
@pytest.mark.parametrize("before", range(43, 52))
def test_in_base64_it_is_found_also_where_each_line_is_a_text_of_its_own(secret, before):
    lines = encodebytes(f"{'x' * before}{secret}{'y' * 60}".encode()).decode().split()
    redactor = Redactor([secret])
    shown = [redactor.redact(f"stderr: {line}").removeprefix("stderr: ") for line in lines]
    assert shown != lines
    # A part of three characters or less may be left on a line.
    assert len("".join(shown).replace(REDACTED, "")) <= (before + 60) * 4 // 3 + 6 + 3 * 2


@pytest.mark.parametrize("text", ["using hunter22", "er22", "using the database", "x" * 60])
def test_words_that_are_no_base64_of_a_secret_stay(text):
    assert Redactor(["a-hunter22-b", "postgres://host/the-database"]).redact(text) == text


@pytest.mark.parametrize("secret", ["p\udcc3\udca4sswort", "pässwort"])
@pytest.mark.parametrize(
    "form", ["pässwort", "p\\u00e4sswort", "p%C3%A4sswort", in_base64("pässwort"), "p\udcc3\udca4sswort"]
)
def test_a_secret_that_was_read_as_bytes_is_found_as_text(secret, form):
    assert Redactor([secret]).redact(f"<{form}>") == f"<{REDACTED}>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("it is hunter22-hun…", f"it is {REDACTED}…"),
        ("it is 'hunter22-hun...", f"it is '{REDACTED}..."),
        ("…22-hunter22 it is", f"…{REDACTED} it is"),
        ("hunt … 500 more bytes … er22, it is", f"{REDACTED} … 500 more bytes … {REDACTED}, it is"),
        (r"\u0068\u0075\u006e\u0074\u0065\u00…", rf"{REDACTED}\u00…"),
        ("%68%75%6e%74%65%7…", f"{REDACTED}%7…"),
        (f"{in_base64('hunter22-hunter22')[:12]}…", f"{REDACTED}…"),
        ("hun… and …r22", "hun… and …r22"),
        ("hunter22-hun", "hunter22-hun"),
        ("a hunter…", f"a {REDACTED}…"),
    ],
)
def test_a_secret_that_was_cut_is_taken_out_where_the_cut_is_marked(text, shown):
    assert Redactor(["hunter22-hunter22"]).redact(text) == shown


@pytest.mark.parametrize(
    "piece",
    ["\\", "\\u0061", "\\u00", "%61", "%25", "%", "aaaa…", "aaa...", "…", "a" * 76 + "\n", "a\n"]
    + ["&amp;", "&amp", "&#97;", "&#", "=61", "\\141", "97, ", "6:1 ", "YWFhYWFhYWFhYWFhYWFhYWFh ", "\0a", "25", "a "],
)
def test_no_text_takes_much_longer_than_it_is_long(piece):
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    Redactor(["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "hunter22"]).redact(text)
    assert time.process_time() - began < 3


def test_every_line_of_a_secret_of_several_lines_is_taken_out():
    redactor = Redactor(["-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----"])
    assert redactor.redact("loaded MIIEvQIBADANBg") == f"loaded {REDACTED}"


def test_a_short_secret_does_not_blot_out_pieces_of_pictures():
    assert Redactor(["abcd"]).redact("xxxYWJjxxx FiY2Q") == "xxxYWJjxxx FiY2Q"
    assert Redactor(["abcd"]).redact(b64encode(b"abcd").decode()) == REDACTED


def test_what_is_learned_later_is_taken_out_too():
    redactor = Redactor()
    assert redactor.redact("hunter22") == "hunter22"
    redactor.learn(["hunter22"])
    assert redactor.redact("hunter22") == REDACTED


def test_secrets_that_are_learned_one_by_one_are_all_taken_out():
    redactor, secrets = Redactor(), [f"{number:03}-the-secret" for number in range(40)]
    for number, secret in enumerate(secrets):
        redactor.learn([secret])
        known = secrets[: number + 1]
        assert redactor.redact("|".join(known)) == "|".join(["[redacted]"] * len(known))
        assert "the-secret" not in redactor.redact(b64encode(" ".join(known).encode()).decode())


def test_to_learn_secrets_one_by_one_takes_little_longer_than_there_are_secrets():
    def seconds(number: int) -> float:
        redactor, began = Redactor(), time.process_time()
        for each in range(number):
            redactor.learn([f"{each:06}-{'secret' * 4}"])
            redactor.redact("a text without one")
        return time.process_time() - began

    assert seconds(400) < 10 * seconds(100)


def test_ten_megabytes_are_searched_for_twenty_secrets_in_seconds():
    redactor = Redactor(f"secret-number-{number:04}/+" for number in range(20))
    text = "all work and no play makes a dull text, secret-number-9999 " * 170_000
    began = time.process_time()
    assert redactor.redact(text) == text
    assert time.process_time() - began < 10


def test_a_secret_that_comes_very_often_takes_no_longer_than_its_text_is_long():
    began = time.process_time()
    assert Redactor(["aaaaaaaa"]).redact("a" * 1_000_000) == REDACTED
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("environment", "secrets"),
    [
        ({"LOG_LEVEL": "debug", "PORT": "3000"}, []),
        ({"DATABASE": "postgres://x"}, ["postgres://x"]),
        ({"API_KEY": "abcd", "gitHubToken": "t", "DB_PASSWORD": "p"}, ["abcd", "t", "p"]),
        ({"MODE": "resources", "LEVEL": "READ_ONLY", "USE": "tools,completions, prompts"}, []),
        ({"DB_PWD": "hunterhunter", "PWD": "/home"}, ["hunterhunter"]),
        (
            {"A": "correct-horse-battery", "B": "Resources7", "C": "reSourcesX"},
            ["correct-horse-battery", "Resources7", "reSourcesX"],
        ),
        ({"DB": "pg://me:hunter@host/db"}, ["pg://me:hunter@host/db", "me:hunter", "hunter", "me:hunter", "hunter"]),
    ],
)
def test_values_are_secrets_by_their_names_or_if_they_are_long_and_not_plain_words(environment, secrets):
    assert secrets_of_environment(environment) == secrets


@pytest.mark.parametrize(
    ("headers", "secrets"),
    [
        ({"X-Tenant": "me"}, ["me"]),
        ({"Authorization": "Bearer abcdef"}, ["Bearer abcdef", "abcdef"]),
        ({"Authorization": "Basic dXNlcjpwYXNz"}, ["Basic dXNlcjpwYXNz", "dXNlcjpwYXNz", "user:pass", "pass"]),
        ({"Authorization": "Basic ?"}, ["Basic ?", "?"]),
        ({"Cookie": "theme=dark; sid=abcdefgh"}, ["theme=dark; sid=abcdefgh", "sid=abcdefgh", "abcdefgh"]),
    ],
)
def test_every_value_of_a_header_is_a_secret_also_without_its_scheme(headers, secrets):
    assert [each for each in secrets_of_headers(headers) if each] == secrets


@pytest.mark.parametrize(
    "name",
    ["Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token"]
    + ["X-Goog-Api-Key", "X-Amz-Security-Token", "x-client-secret", "X-Password"],
)
def test_headers_whose_names_sound_secret_are_not_kept(name):
    assert list(without_credentials([(name, "abc")])) == [(name, REDACTED)]


@pytest.mark.parametrize(
    "name",
    ["Content-Type", "Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Origin", "User-Agent"]
    + ["WWW-Authenticate", "Proxy-Authenticate", "Access-Control-Allow-Credentials"],
)
def test_headers_of_the_protocols_themselves_are_kept(name):
    assert list(without_credentials([(name, "abc")])) == [(name, "abc")]


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("http://host/mcp?page=2&mode=fast", set()),
        ("http://host/mcp?key=abc%2Fd&region=eu-central-1", {"abc%2Fd", "abc/d", "eu-central-1"}),
        ("http://me:hun%40ter@host/mcp", {"me:hun%40ter", "me:hun@ter", "hun%40ter", "hun@ter"}),
        ("http://ghp_token@host/mcp", {"ghp_token"}),
        ("http://[bad/mcp", set()),
    ],
)
def test_user_password_and_query_of_a_url_are_secrets(url, secrets):
    assert set(secrets_of_url(url)) == secrets


def test_passwords_of_urls_are_found_in_any_word():
    assert set(secrets_of_words(["--db=redis://:hunter@host", "plain@mail.example"])) == {":hunter", "hunter"}


@pytest.mark.parametrize(
    "between",
    [
        "\x1b[0m",
        "\x1b[38;5;196m",
        "\u200b",
        "\ufeff",
        "\xad",
        r"\u001b[0m",
        r"\x1b[0m",
        r"\033[1m",
        r"\e[0m",
        r"\u200b",
        r"\\u001b[0m",
    ],
)
def test_a_secret_is_found_although_a_colour_or_something_without_a_shape_stands_in_it(between):
    redactor = Redactor(["abcdefgh12345678"])
    assert redactor.redact(f"token={between}abcdefgh{between}12345678{between} and more") in (
        f"token={between}[redacted]{between} and more", f"token={between}[redacted] and more",
    )  # fmt: skip


def test_base64_that_comes_line_by_line_is_found_in_short_lines_too():
    secret = "abcdefgh12345678ijklmnop12345qrstuvw9999"
    encoded = base64.b64encode(secret.encode()).decode()
    lines = [encoded[place : place + 20] for place in range(0, len(encoded), 20)]
    assert [Redactor([secret]).redact(line) for line in ("raw " + lines[0], *lines[1:])] == [
        "raw [redacted]", "[redacted]", "[redacted]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('{"env": {"API_KEY": "hunter2", "MODE": "fast"}, }', '{"env": {"API_KEY": "xxxxxxx", "MODE": "fast"}, }'),
        ("    API_KEY: hunter2", "    API_KEY: xxxxxxx"),
        ("args: [--token=hunter2]", "args: [--token=xxxxxxx]"),
        ('"API_KEY": "${API_KEY}"', '"API_KEY": "${API_KEY}"'),
        ('"command": "python"', '"command": "python"'),
    ],
)
def test_a_line_that_cannot_be_read_is_shown_without_values_whose_names_sound_secret(line, shown):
    assert masked_by_name(line) == shown
    assert len(shown) == len(line)


def test_what_is_masked_leaves_all_else_in_its_place():
    assert masked('{"a": "secret-1", "b": 5}', ["secret-1", "abc"]) == '{"a": "xxxxxxxx", "b": 5}'
    assert masked("k: |\n  first-line\n  second", ["first-line\nsecond"]) == "k: |\n  xxxxxxxxxx\n  xxxxxx"


SECRET_NAMES = "PASSWORD DB_PASS MYSQL_PWD API_KEY AUTH SECRET TOKEN PASSPHRASE AUTHORIZATION"


@pytest.mark.parametrize("name", SECRET_NAMES.split())
@pytest.mark.parametrize("value", ["correcthorse", "hunter2", "resources", "Secret", "open sesame"])
def test_a_plain_word_is_a_secret_where_the_name_of_its_variable_says_so(name, value):
    assert secrets_of_environment({name: value}) == [value]
    assert secrets_by_name({name: value}) == [value]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AUTH_MODE", "resources"),
        ("XDG_SESSION_CLASS", "user"),
        ("XDG_SESSION_TYPE", "wayland"),
        ("DESKTOP_SESSION", "ubuntu"),
        ("TOKEN_STORE", "memory"),
        ("GIT_AUTHOR_NAME", "tools"),
    ],
)
def test_a_plain_word_is_no_secret_where_the_name_says_what_is_chosen(name, value):
    assert secrets_of_environment({name: value}) == []
    assert secrets_by_name({name: value}) == []
    assert secrets_of_environment({name: "x7Kq9-long-secret"}) == ["x7Kq9-long-secret"]


INHERITED = "x7Kq9-long-secret"


@pytest.mark.parametrize("name", [*SECRET_NAMES.split(), "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "VAULT_SECRET_ID"])
def test_what_a_variable_of_ours_is_named_for_is_a_secret(name):
    assert inherited_secrets({name: INHERITED, "PATH": "/usr/bin"}) == [INHERITED]


@pytest.mark.parametrize(
    "value", ["", "1", "true", "hunter2", "resources", "read-only", "none", "Secret", "tools,prompts"]
)
def test_a_short_value_or_a_plain_word_that_was_not_given_to_us_stays_readable(value):
    assert inherited_secrets({"API_TOKEN": value}) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSH_AUTH_SOCK", "/tmp/ssh-x7Kq9/agent.12"),
        ("XAUTHORITY", "/root/.Xauthority"),
        ("PASSWORD_STORE_DIR", "/home/anna/.passwords"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
        ("AUTH_URL", "https://login.example/a1"),
        ("TOKEN_TTL", "86400000"),
    ],
)
def test_where_something_is_or_how_much_is_no_secret(name, value):
    assert inherited_secrets({name: value}) == []


def test_a_password_in_the_url_of_any_variable_is_a_secret():
    assert "hunter-2wo" in inherited_secrets({"DATABASE_URL": "postgres://u:hunter-2wo@host/db"})
    assert inherited_secrets({"MAIL": "anna@example.com", "GIT_REPO": "git@example.com:a/b"}) == []
