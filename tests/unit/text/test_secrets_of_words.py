"""Which words of a command line, and which values of an environment, are secrets."""

import time

import pytest

from mcp_conductor.text.redaction import secrets_by_name, secrets_of_words


def test_what_a_command_line_gives_to_flags_that_sound_secret_is_a_secret():
    words = ["server", "--api-key", "sk-0123456789", "--password=Passw0rd77", "--auth", "none", "--port", "1234567890"]
    assert secrets_of_words(words) == ["sk-0123456789", "Passw0rd77"]


@pytest.mark.parametrize(
    ("words", "secrets"),
    [
        (["docker", "run", "-e", "GITHUB_TOKEN=abcdefgh1", "image"], {"abcdefgh1"}),
        (["docker", "run", "--env=OPENAI_API_KEY=abcdefgh1"], {"abcdefgh1"}),
        (["docker", "run", "-eMY_PASSWORD=abc=defgh1=="], {"abc=defgh1=="}),
        (["env", "SECRET=two words", "python", "server.py"], {"two words"}),
        (["server", "--set", "mode=fast,password=abcdefgh1,size=1"], {"abcdefgh1"}),
        (["server", "https://host/mcp?api_key=abcdefgh1&page=2"], {"abcdefgh1"}),
        (["proxy", "--header", "Authorization: Bearer abcdefgh1"], {"Bearer abcdefgh1", "abcdefgh1"}),
        (["proxy", "--header=Authorization: Bearer abcdefgh1"], {"Bearer abcdefgh1", "abcdefgh1"}),
        (["proxy", "-H", "X-Api-Key:abcdefgh1"], {"abcdefgh1"}),
        (["proxy", "X-Api-Key: abcdefgh1"], {"abcdefgh1"}),
        (["proxy", "-H", "Cookie: sid=abcdefgh1"], {"sid=abcdefgh1", "abcdefgh1"}),
        (["sh", "-c", "export API_KEY=abcdefgh1; exec server"], {"abcdefgh1"}),
        (["/bin/bash", "-lc", "API_KEY='two words' server --token abcdefgh1"], {"two words", "abcdefgh1"}),
        (["sh", "-c", "API_KEY=abcdefgh1 echo 'no end"], {"abcdefgh1"}),
        (["sh", "-c", "API_KEY=abcd#efgh1 server"], {"abcd#efgh1"}),
        (["sh", "-c", "proxy -H 'X-Api-Key: abcdefgh1'"], {"abcdefgh1"}),
        (["server", "-c", "api_key=abcdefgh1"], {"abcdefgh1"}),
        (["server", '{"token":"abcdefgh1","mode":"abcdefgh2"}'], {"abcdefgh1"}),
        (["server", '--config={"a": [{"apiKey": "abcdefgh1"}], "secret": {"x": "abcdefgh2"}}'], {"abcdefgh1"}),
        (["server", "--bearer", "abcdefgh1", "--pat=abcdefgh2", "--path=abcdefgh3"], {"abcdefgh1", "abcdefgh2"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_variables_and_headers_of_a_command_line_are_secrets_if_their_names_sound_so(words, secrets):
    assert set(secrets_of_words(words)) == secrets


@pytest.mark.parametrize(
    "words",
    [
        ["docker", "run", "-e", "AUTH=true", "-e", "TOKENS=1", "-e", "LOG_LEVEL=verbosely", "-e", "API_KEY"],
        ["docker", "run", "-e", "API_KEY=$SOME_API_KEY", "-e", "TOKEN=${SOME_TOKEN}", "-e", "TOKEN=%SOME_TOKEN%"],
        ["proxy", "--header", "Authorization: Bearer ${SOME_TOKEN}", "-H", "Content-Type: application/json"],
        ["uvicorn", "auth_server:application", "--port", "1234567890"],
        ["python", "-c", "session=create_session(); sorted(found, key=by_their_names)"],
        ["sh", "-c", "API_KEY=$SOME_API_KEY exec server --mode=something"],
    ],
    ids=" ".join,
)
def test_ordinary_words_of_a_command_line_are_no_secrets(words):
    assert secrets_of_words(words) == []


def test_secrets_of_an_environment_that_was_not_made_for_us_are_known_by_name_and_by_form():
    environment = {
        "DATABASE_URL": "postgres://u:hunter-two@host/db",
        "WEBHOOK_URL": "https://host/hook?token=abcdefgh1&mode=abcdefgh2",
        "COOKIE": "sid=abcdefgh3",
        "MY_PAT": "abcdefgh4",
        "BEARER": "abcdefgh5",
        "PATH": "/usr/bin",
        "LS_COLORS": "rs=0:di=01;34",
        "PATTERN": "abcdefgh6",
    }
    found = secrets_by_name(environment)
    assert {"hunter-two", "abcdefgh1", "sid=abcdefgh3", "abcdefgh4", "abcdefgh5"} <= set(found)
    assert not {"/usr/bin", "rs=0:di=01;34", "abcdefgh6", "abcdefgh2", "u"} & set(found)


@pytest.mark.parametrize("piece", ["key=", '{"key":', "key", "key:", "a.", "key=a,", "$", "Key: "])
def test_no_word_of_a_command_line_takes_much_longer_than_it_is_long(piece):
    began = time.process_time()
    secrets_of_words(["server", piece * (100_000 // len(piece))])
    assert time.process_time() - began < 3
