"""Values that look secret: by the names of their members, and by known shapes."""

import json
import time

import pytest

from mcp_conductor.text.likely_secrets import LikelySecrets, is_secret_name, may_be_in
from mcp_conductor.text.redaction import REDACTED

GITHUB = "ghp_" + "a1B2" * 9
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabcd+/==\n-----END RSA PRIVATE KEY-----"


def redacted(text):
    """As a recording does it: what is said to have nothing is not read."""
    return LikelySecrets().redact(text) if may_be_in(text) else text


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "Password",
        "new_password",
        "passwordConfirmation",
        "db-password",
        "userpassword",
        "PASSWD",
        "passphrase",
        "DB_PWD",
        "secret",
        "clientSecret",
        "secrets",
        "token",
        "apiToken",
        "auth_token",
        "github-token",
        "accessToken",
        "csrfToken",
        "authorization",
        "Authorization",
        "X-Api-Key",
        "api_key",
        "apiKey",
        "apikey",
        "accessKey",
        "private_key",
        "SECRET_KEY",
        "credentials",
        "cookie",
        "jwt",
        "password2",
    ],
)
def test_a_name_is_secret_by_its_last_words(name):
    assert is_secret_name(name)
    assert redacted(json.dumps({"params": {"arguments": {name: "hunter2"}}})) == json.dumps(
        {"params": {"arguments": {name: REDACTED}}}
    )


@pytest.mark.parametrize(
    "name",
    [
        "token_count",
        "max_tokens",
        "tokens",
        "nextPageToken",
        "page_token",
        "progressToken",
        "nextCursor",
        "syncToken",
        "tokenType",
        "secretName",
        "passwordLength",
        "key",
        "keys",
        "primaryKey",
        "public_key",
        "sortKey",
        "keyboard",
        "monkey",
        "author",
        "authority",
        "authorizationUrl",
        "token_endpoint",
        "compass",
        "passenger",
        "is_secret",
        "requires_password",
        "pin",
        "session_id",
        "cookies_enabled",
        "eos_token",
        "name",
    ],
)
def test_a_name_that_only_has_such_a_word_in_it_is_none(name):
    text = json.dumps({"params": {"_meta": {name: "abc1234567"}}})
    assert redacted(text) == text


@pytest.mark.parametrize(
    "value",
    [
        12345,
        None,
        True,
        {"type": "string"},
        "",
        "${TOKEN}",
        "Bearer $TOKEN",
        "{{ env.TOKEN }}",
        "none",
        "<token>",
        "***",
    ],
)
def test_what_is_no_text_or_stands_for_a_secret_is_kept(value):
    text = json.dumps({"token": value, "password": value})
    assert redacted(text) == text


def test_a_schema_that_describes_a_password_is_kept():
    schema = {
        "type": "object",
        "properties": {"password": {"type": "string", "title": "Password", "description": "The password of the user"}},
        "required": ["password", "token"],
        "dependentRequired": {"password": ["username"], "token": ["password"]},
    }
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "login", "inputSchema": schema}]}})
    assert redacted(text) == text


@pytest.mark.parametrize(
    "secret",
    [
        GITHUB,
        "github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsT",
        "glpat-abcdefghij0123456789",
        "sk-ant-api03-abcdefghijklmnop0123456789",
        "sk-proj-abcdefghijklmnop0123456789",
        "sk_" + "live_" + "abcdefghijklmnop012345",
        "xoxb-123456789012-abcdefghijkl",
        "AKIAIOSFODNN7EXAMPLE",
        "AIza" + "Sy0" * 11 + "ab",
        "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
        JWT,
        KEY,
    ],
)
def test_a_known_shape_is_redacted_wherever_it_stands(secret):
    for text in (f"the key is {secret}, keep it", secret, f"https://host/{secret}/x" if secret != KEY else secret):
        clean = redacted(text)
        assert secret[10:] not in clean
        assert REDACTED in clean
        message = json.dumps({"result": {"content": [{"type": "text", "text": text}]}, "id": 7})
        assert json.loads(redacted(message)) == {"result": {"content": [{"type": "text", "text": clean}]}, "id": 7}


@pytest.mark.parametrize(
    "text",
    [
        "123e4567-e89b-12d3-a456-426614174000",
        "task-management-system-for-the-people-of-2026",
        "sk-learn-is-a-library-for-machines",
        "the token is missing, the password: too short, Authorization: required, secret: string",
        "def login(password: str, token = None): return authorize(token)",
        "WWW-Authenticate: Bearer resource_metadata=https://host/x",
        "see https://example.com/@user/password-reset and mailto:me@host",
        "Mcp-Session-Id: 0123456789abcdef0123456789abcdef",
        "const token = getToken();",
        "use --password to log in, --token @FILE or --secret 'your secret'; the token abcd1234 is none",
        "--password <text2text>, --token TOKEN, --api-key $KEY1, ---password abcd1234, word--token abcd1234",
    ],
)
def test_ordinary_text_is_kept(text):
    assert redacted(text) == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer abcdef", f"Authorization: Bearer {REDACTED}"),
        ("GET /x?token=hunter&y=1 HTTP/1.1", f"GET /x?token={REDACTED}&y=1 HTTP/1.1"),
        ("DB_PASSWORD=correcthorse started", f"DB_PASSWORD={REDACTED} started"),
        ("note=api_key=abcd1234", f"note=api_key={REDACTED}"),
        ("postgres://me:hunter2@host/db", f"postgres://me:{REDACTED}@host/db"),
        ('{"password": "pa\\"ss", "a": ', f'{{"password": "{REDACTED}", "a": '),
        ('said {\\"password\\": \\"hunter\\"}', f'said {{\\"password\\": \\"{REDACTED}\\"}}'),
        ("password: hunter2", f"password: {REDACTED}"),
        ("password = 'correct horse'", f"password = '{REDACTED}'"),
        ("mysql --password=correcthorse -u me", f"mysql --password={REDACTED} -u me"),
        ("run -api-key=abcd1234", f"run -api-key={REDACTED}"),
        ("run --token abcd1234 now", f"run --token {REDACTED} now"),
        ("run --db-password 'hunter2x' now", f"run --db-password '{REDACTED}' now"),
    ],
)
def test_in_other_text_a_name_with_a_value_is_redacted(text, clean):
    assert redacted(text) == clean


def test_json_within_text_is_read_and_all_else_stays_as_it_was_written():
    inner = json.dumps({"user": "Ada", "list": [{"password": "hunter2"}], "é": "\n"})
    before, after = '{"result" :  {"content":[{"text":', '}], "n": 1.50e3, "passwords": ["a b", "c"]}}'
    outer = before + json.dumps(inner) + after
    clean = redacted(outer)
    assert clean == outer.replace("hunter2", REDACTED).replace('["a b", "c"]', f'["{REDACTED}", "{REDACTED}"]')


def test_an_escaped_name_is_read():
    assert redacted('{"\\u0070assword":"hunter2"}') == f'{{"\\u0070assword":"{REDACTED}"}}'


def test_a_value_is_redacted_where_it_is_said_again_without_its_name():
    likely = LikelySecrets()
    likely.redact('{"params":{"arguments":{"password":"hunter2-x9"}}}')
    assert likely.is_always_needed
    assert likely.redact("logged in with hunter2-x9") == f"logged in with {REDACTED}"
    assert list(likely.report()) == [
        "2 values that look secret were redacted in the recording; conductor record --keep PATH keeps one"
    ]
    likely = LikelySecrets({}, {})  # of a program that has this flag
    likely.redact('{"token":"abc"}')
    assert list(likely.report()) == ["1 value that looks secret was redacted in the recording; --keep PATH keeps one"]


def test_paths_redact_what_looks_harmless_and_keep_what_looks_secret():
    likely = LikelySecrets(
        {"params.arguments.note": ("params", "arguments", "note"), "a[*].b": ("a", None, "b"), "x": ("x",)},
        {"params.arguments.token": ("params", "arguments", "token")},
    )
    text = '{"params":{"arguments":{"note":"Ada","token":"abc","password":"p w"}},"a":[{"b":{"c":[1]}},{"b":2}]}'
    assert json.loads(likely.redact(text)) == {
        "params": {"arguments": {"note": REDACTED, "token": "abc", "password": REDACTED}},
        "a": [{"b": REDACTED}, {"b": REDACTED}],
    }
    said = list(likely.report())
    assert said[0].startswith("4 values")
    assert said[1:] == ["--redact x is nothing that was recorded"]


def test_a_path_reaches_into_json_within_text():
    likely = LikelySecrets({"result.text.pin": ("result", "text", "pin")})
    text = json.dumps({"result": {"text": json.dumps({"pin": 1234, "a": 1})}})
    assert json.loads(json.loads(likely.redact(text))["result"]["text"]) == {"pin": REDACTED, "a": 1}


def test_the_lines_of_a_private_key_are_redacted_one_by_one():
    likely = LikelySecrets()
    lines = ["loading", *KEY.split("\n"), "loaded it"]
    clean = [likely.redact(line, "stderr") for line in lines]
    assert clean == ["loading", REDACTED, REDACTED, REDACTED, REDACTED, "loaded it"]


@pytest.mark.parametrize(
    "part",
    [
        '{"password":', '"password":"', "-eyJ", "sk-", "-----BEGIN RSA PRIVATE KEY-----", "a=\\", "://a:", "token=", "\\u0070",
        'a="', "password='", "x" * 70 + "=", "[", '{"a":', "password: ", '\\\\"', "token" + " " * 4,
    ],
)  # fmt: skip
def test_hostile_text_takes_time_that_grows_with_its_length(part):
    def seconds(size):
        text = part * (size // len(part))
        began = time.process_time()
        LikelySecrets().redact(text)
        LikelySecrets().redact(json.dumps({"token": {"a": text}}))
        return time.process_time() - began

    seconds(1000)
    small, large = (min(seconds(size) for _ in range(2)) for size in (10_000, 80_000))
    assert large < 30 * small + 0.2
